"""Squared error: every rule predicts the mean of its targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from omtree.data.table import FloatArray, Table, are_whole
from omtree.objectives.objective import IntArray, Objective, RuleStatistics
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
        losses, _ = _of_parts(rule.targets, rule.weights, np.array([0, len(rule.targets)]))
        return float(losses[0])

    def of_rules(
        self, target: Target, weights: FloatArray, order: IntArray, starts: IntArray
    ) -> list[tuple[float, Any]]:
        """Of all rules at once."""
        inside = order[starts[0] : starts[-1]]
        losses, means = _of_parts(target.values[inside], weights[inside], starts - starts[0])
        return list(zip(losses.tolist(), means.tolist(), strict=True))

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


def _of_parts(targets: FloatArray, weights: FloatArray, starts: IntArray) -> tuple[FloatArray, FloatArray]:
    """Squared distances from the mean, and that, of the samples between each start and the next."""
    begin, sizes = starts[:-1], np.diff(starts)
    firsts = targets[begin]
    # Far from zero, distances from the first of them keep the digits.
    distances = targets - np.repeat(firsts, sizes)
    mass = np.add.reduceat(weights, begin)
    means = np.add.reduceat(weights * distances, begin) / mass
    whole = np.logical_and.reduceat(distances == np.floor(distances), begin)
    centred = distances - np.repeat(np.where(whole, np.round(means), means), sizes)
    moments = weights * centred
    totals = np.add.reduceat(moments, begin)
    excess = np.add.reduceat(moments * centred, begin) - totals * totals / mass
    # Sums that overflow stay not-a-number.
    return np.where(excess < 0, 0.0, excess), firsts + means


objective = Squared
