"""Huber loss: squared for small distances, linear for large ones, so that outliers count less."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omtree.data.table import FloatArray, Table
from omtree.objectives.objective import Objective, RuleStatistics
from omtree.problem.losses import Loss, SampleLoss
from omtree.sources.target import Target, samples_by_row


@dataclass(frozen=True)
class Huber(Objective):
    """Half the square of distances up to `delta`, and ``delta * (distance - delta / 2)`` beyond."""

    delta: float = 1.0
    unit = "Huber loss"
    tasks = ("regression",)
    refines = True

    def check(self, target: Target) -> None:
        """The distance is positive."""
        delta = self.delta
        if isinstance(delta, bool) or not isinstance(delta, (int, float, np.number)) or not 0 < delta < np.inf:
            raise ValueError(f"delta={delta!r} is not possible; use a positive number.")
        spread = np.ptp(target.values)
        if not delta > 1e-13 * spread:
            raise ValueError(
                f"delta={delta!r} is nothing beside targets that differ by {spread:g}; raise it, or use "
                "objective='absolute'."
            )

    def predict(self, rule: RuleStatistics) -> float:
        """The centre of least loss: where the clipped distances cancel out."""
        from_first, _ = rule.deviations
        return float(rule.targets[0] + self._centre(from_first, rule.weights))

    def _centre(self, y: FloatArray, w: FloatArray) -> float:
        # Between two neighbouring breakpoints the slope is linear in the centre. Sums over the sorted targets find
        # those two; their own slopes are summed anew, since differences of sums lose digits.
        order = np.argsort(y)
        rising = y[order]
        distinct = rising[np.append(True, np.diff(rising) > 0)]
        breaks = np.union1d(distinct - self.delta, distinct + self.delta)
        weight, moment = (np.concatenate([[0.0], np.cumsum(part[order])]) for part in (w, w * y))
        low, high = 0, len(breaks) - 1
        while high - low > 1:
            middle = (low + high) // 2
            centre = breaks[middle]
            below, above = np.searchsorted(rising, [centre - self.delta, centre + self.delta])
            near = centre * (weight[above] - weight[below]) - (moment[above] - moment[below])
            slope = near + self.delta * (weight[below] + weight[above] - weight[-1])
            low, high = (middle, high) if slope <= 0 else (low, middle)
        left, right = self._slope(y, w, breaks[low]), self._slope(y, w, breaks[high])
        if right == left:
            return float((breaks[low] + breaks[high]) / 2)
        return float(breaks[low] - left * (breaks[high] - breaks[low]) / (right - left))

    def loss(self, rule: RuleStatistics) -> float:
        """The least loss."""
        from_first, _ = rule.deviations
        return float(rule.weights @ self.distances(from_first, np.array(self._centre(from_first, rule.weights))))

    def distances(self, targets: FloatArray, predicted: FloatArray) -> FloatArray:
        """Squared up to `delta`, linear beyond."""
        distance = np.abs(targets - predicted)
        near = distance <= self.delta
        return np.where(near, distance**2 / 2, self.delta * (distance - self.delta / 2))

    def kernel(self, table: Table, target: Target, weight: FloatArray) -> Loss:
        """From the samples of each row."""
        return SampleLoss("huber", self.delta, *samples_by_row(table, target, weight))

    def _slope(self, y: FloatArray, w: FloatArray, centre: float) -> float:
        return float(w @ np.clip(centre - y, -self.delta, self.delta))


objective = Huber
