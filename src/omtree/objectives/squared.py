"""Squared error: every rule predicts the mean of its targets."""

from __future__ import annotations

import numpy as np

from omtree.data.table import FloatArray, Table, are_whole
from omtree.objectives.objective import Objective, RuleStatistics
from omtree.problem.losses import Loss, MomentLoss
from omtree.sources.target import Target


class Squared(Objective):
    """The sum of squared distances from the means of the rules."""

    unit = "squared error"
    tasks = ("regression",)
    refines = True
    exact_sums = True

    def loss(self, rule: RuleStatistics) -> float:
        """Squared distances from the mean."""
        weight, total, squares = self.statistics(rule.targets, rule.weights).sum(axis=0)
        excess = float(squares - total * total / weight)
        return 0.0 if excess < 0 else excess  # sums that overflow stay not-a-number

    def statistics(self, targets: FloatArray, weights: FloatArray) -> FloatArray:
        """Weight, and the sums of targets and their squares, from the mean of all, or digits would be lost.

        Targets that are whole numbers apart stay so: their sums are exact then, wherever and in whatever order rows are
        added up.
        """
        from_first, mean = RuleStatistics(targets=targets, weights=weights).deviations
        centred = from_first - (np.round(mean) if are_whole(from_first) else mean)
        return np.stack([weights, weights * centred, weights * centred**2], axis=1)

    def kernel(self, table: Table, target: Target, weight: FloatArray) -> Loss:
        """From the three sums."""
        return MomentLoss("squared")


objective = Squared
