"""Absolute error: every rule predicts a median of its targets."""

from __future__ import annotations

import numpy as np

from omtree.data.table import FloatArray, Table
from omtree.objectives.objective import Objective, RuleStatistics
from omtree.objectives.quantile import Quantile
from omtree.problem.losses import Loss, SampleLoss
from omtree.sources.target import Target, samples_by_row


class Absolute(Objective):
    """The sum of distances from the medians of the rules."""

    unit = "absolute error"
    tasks = ("regression",)
    refines = True

    def predict(self, rule: RuleStatistics) -> float:
        """The lower median."""
        return Quantile(0.5).predict(rule)

    def loss(self, rule: RuleStatistics) -> float:
        """Distances from the median."""
        return float(rule.weights @ abs(rule.targets - self.predict(rule)))

    def distances(self, targets: FloatArray, predicted: FloatArray) -> FloatArray:
        """How far off."""
        return np.asarray(abs(targets - predicted))

    def kernel(self, table: Table, target: Target, weight: FloatArray) -> Loss:
        """Twice the pinball loss at one half, so every sample counts twice."""
        start, targets, weights = samples_by_row(table, target, weight)
        return SampleLoss("quantile", 0.5, start, targets, 2.0 * weights)


objective = Absolute
