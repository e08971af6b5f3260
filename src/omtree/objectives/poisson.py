"""Poisson deviance: for counts and rates; every rule predicts the mean of its targets."""

from __future__ import annotations

import numpy as np

from omtree.data.table import FloatArray, Table, weighted_sum
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
        """Targets are not negative, and not all zero; those that are not in memory yet are checked once they are."""
        if len(target) == 0:
            return
        if target.values.min(initial=0.0) < 0:
            raise ValueError("objective='poisson' needs targets of at least 0, and y has negative ones; use another.")
        if not target.values.any():
            raise ValueError("objective='poisson' needs a target above 0, and y is zero in every row.")

    def loss(self, rule: RuleStatistics) -> float:
        """Half the deviance."""
        from_first, mean = rule.deviations
        centre = rule.mean
        return centre * weighted_sum(rule.weights, excess((from_first - mean) / centre)) if centre > 0 else 0.0

    def distances(self, targets: FloatArray, predicted: FloatArray) -> FloatArray:
        """Half the deviance; a rule that has seen nothing but zeros is taken to expect a little more than that."""
        mean = np.maximum(predicted, _LEAST_MEAN)
        return np.asarray(mean * excess((targets - mean) / mean))

    def statistics(self, targets: FloatArray, weights: FloatArray) -> FloatArray:
        """Weight, and the sums of how far targets are above their mean, in parts of it, and of what that exceeds.

        From these nearly equal targets lose no digits; the loss is in units of the mean.
        """
        every = RuleStatistics(targets=targets, weights=weights)
        from_first, mean = every.deviations
        above = (from_first - mean) / every.mean
        return np.stack([weights, weights * above, weights * excess(above)], axis=1)

    def kernel(self, table: Table, target: Target, weight: FloatArray) -> Loss:
        """From the three sums."""
        return MomentLoss("poisson", RuleStatistics(targets=target.values, weights=weight).mean)


def excess(above: FloatArray) -> FloatArray:
    """``(1 + x) log(1 + x) - x``: half the deviance of a target of ``1 + x`` from 1.

    >>> excess(np.array([-1.0, 0.0, 1.0])).round(6).tolist()
    [1.0, 0.0, 0.386294]
    """
    x = np.maximum(above, -1.0)
    far = (1.0 + x) * np.log1p(np.where(x > -1.0, x, 0.0)) - x
    near = x * x * (0.5 - x * (1 / 6 - x * (1 / 12 - x / 20)))
    return np.asarray(np.where(np.abs(x) < 1e-3, near, far))


objective = Poisson
