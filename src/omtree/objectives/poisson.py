"""Poisson deviance: for counts and rates; every rule predicts the mean of its targets."""

from __future__ import annotations

import numpy as np

from omtree.data.table import FloatArray, Table
from omtree.objectives.objective import Objective, RuleStatistics
from omtree.problem.losses import Loss, MomentLoss
from omtree.sources.target import Target

#: What a mean of zero counts as for rows that it was not fitted to.
_LEAST_MEAN = 1e-3


class Poisson(Objective):
    """Half the Poisson deviance: the sum of ``y log(y / mean) - y + mean``."""

    unit = "Poisson loss"
    tasks = ("regression",)
    refines = True

    def check(self, target: Target) -> None:
        """Targets are not negative, and not all zero."""
        if target.values.min(initial=0.0) < 0:
            raise ValueError("objective='poisson' needs targets of at least 0, and y has negative ones; use another.")
        if not target.values.any():
            raise ValueError("objective='poisson' needs a target above 0, and y is zero in every row.")

    def loss(self, rule: RuleStatistics) -> float:
        """Half the deviance."""
        y, mean = rule.targets, rule.mean
        if mean <= 0:
            return 0.0
        # y - mean adds up to nothing within a rule.
        return float(rule.weights @ (_y_log_y(y) - y * np.log(mean)))

    def distances(self, targets: FloatArray, predicted: FloatArray) -> FloatArray:
        """Half the deviance; a rule that has seen nothing but zeros is taken to expect a little more than that."""
        mean = np.maximum(predicted, _LEAST_MEAN)
        return np.asarray(_y_log_y(targets) - targets * np.log(mean) - targets + mean)

    def statistics(self, targets: FloatArray, weights: FloatArray) -> FloatArray:
        """Weight, and the sums of y and y log y."""
        return np.stack([weights, weights * targets, weights * _y_log_y(targets)], axis=1)

    def kernel(self, table: Table, target: Target, weight: FloatArray) -> Loss:
        """From the three sums."""
        return MomentLoss("poisson")


def _y_log_y(y: FloatArray) -> FloatArray:
    return np.asarray(y * np.log(np.where(y > 0, y, 1.0)))


objective = Poisson
