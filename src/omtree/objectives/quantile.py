"""Quantile loss: every rule predicts a quantile of its targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omtree.data.table import FloatArray, Table
from omtree.objectives.objective import Objective, RuleStatistics
from omtree.problem.losses import Loss, SampleLoss
from omtree.sources.target import Target, samples_by_row


@dataclass(frozen=True)
class Quantile(Objective):
    """The pinball loss: distances above the prediction count `quantile`, those below ``1 - quantile``."""

    quantile: float = 0.5

    @property
    def unit(self) -> str:  # type: ignore[override]
        """Which quantile."""
        return f"pinball loss at {self.quantile:g}"

    tasks = ("regression",)
    refines = True

    def check(self, target: Target) -> None:
        """The level is a share."""
        level = self.quantile
        if isinstance(level, bool) or not isinstance(level, (int, float, np.number)) or not 0 < level < 1:
            raise ValueError(f"quantile={level!r} is not possible; use a number above 0 and below 1.")

    def predict(self, rule: RuleStatistics) -> float:
        """The smallest target with at least this share of the weight at or below it."""
        order = np.argsort(rule.targets, kind="stable")
        below = np.cumsum(rule.weights[order])
        place = int(np.searchsorted(below, self.quantile * below[-1] * (1 - 1e-12)))
        return float(rule.targets[order[min(place, len(order) - 1)]])

    def loss(self, rule: RuleStatistics) -> float:
        """The least pinball loss."""
        distance = rule.targets - self.predict(rule)
        return float(rule.weights @ np.maximum(self.quantile * distance, (self.quantile - 1.0) * distance))

    def distances(self, targets: FloatArray, predicted: FloatArray) -> FloatArray:
        """The pinball loss."""
        distance = targets - predicted
        return np.asarray(np.maximum(self.quantile * distance, (self.quantile - 1.0) * distance))

    def kernel(self, table: Table, target: Target, weight: FloatArray) -> Loss:
        """From the samples of each row."""
        return SampleLoss("quantile", self.quantile, *samples_by_row(table, target, weight))


objective = Quantile
