"""How mixed the classes of a rule are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from omtree.data.table import FloatArray, Table
from omtree.problem.losses.loss import AdditiveLoss, Formula, Gains, Guide, LossAt, Scaled


@dataclass(frozen=True)
class ImpurityLoss(AdditiveLoss):
    """How mixed the classes of a rule are, times its weight; the statistics are the weights of the classes."""

    kind: Literal["gini", "entropy"]
    n_labels: int
    any_depth: ClassVar[bool] = True

    def native(self) -> Formula:
        """What the kernel is told."""
        return self.kind, self.n_labels, self.n_labels, self.n_labels, np.empty(0)

    def gains(self, statistics: FloatArray, weight: FloatArray) -> Gains:
        """From the weights of the classes."""
        return self.kind, np.ascontiguousarray(statistics), False

    def in_units(self, table: Table, weight_unit: float, loss_unit: Callable[[], float]) -> Scaled:
        """Weights are divided."""
        return Scaled(self, table.statistics / weight_unit, weight_unit, weight_unit)

    def guide(self, table: Table, step: int) -> Guide:
        """The classes."""
        row, label = np.nonzero(table.statistics[::step])
        return Guide(row, label, table.statistics[::step][row, label], of_classes=True)

    def near_predictions(self, statistics: FloatArray) -> tuple[FloatArray, FloatArray, LossAt] | None:
        """The impurity of two classes is the least loss of a predicted share of the second."""
        if self.n_labels != 2:
            return None
        first, second = statistics[:, 0], statistics[:, 1]
        weight = first + second

        def gini(p: float) -> tuple[FloatArray, FloatArray]:
            return 2.0 * (second * (1.0 - p) ** 2 + first * p * p), weight * p - second

        def entropy(p: float) -> tuple[FloatArray, FloatArray]:
            return -second * np.log(p) - first * np.log1p(-p), first / (1.0 - p) - second / p

        by_kind: dict[str, LossAt] = {"gini": gini, "entropy": entropy}
        return second / weight, weight, by_kind[self.kind]
