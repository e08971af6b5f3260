"""Squared error: every rule predicts the mean of its targets."""

from __future__ import annotations

import numpy as np

from omtree.data.table import FloatArray, Table, weighted_sum
from omtree.objectives.objective import Objective, RuleStatistics
from omtree.problem.losses import Loss, MomentLoss
from omtree.sources.target import Target


class Squared(Objective):
    """The sum of squared distances from the means of the rules."""

    unit = "squared error"
    tasks = ("regression",)
    refines = True

    def loss(self, rule: RuleStatistics) -> float:
        """Squared distances from the mean."""
        from_first, mean = rule.deviations
        return weighted_sum(rule.weights, (from_first - mean) ** 2)

    def statistics(self, targets: FloatArray, weights: FloatArray) -> FloatArray:
        """Weight, and the sums of targets and their squares, from the mean of all, or digits would be lost."""
        from_first, mean = RuleStatistics(targets=targets, weights=weights).deviations
        centred = from_first - mean
        return np.stack([weights, weights * centred, weights * centred**2], axis=1)

    def kernel(self, table: Table, target: Target, weight: FloatArray) -> Loss:
        """From the three sums."""
        return MomentLoss("squared")


objective = Squared
