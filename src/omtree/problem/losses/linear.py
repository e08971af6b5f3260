"""Costs by label: errors, costs by pair of classes, costs by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from omtree.data.table import FloatArray, Table
from omtree.problem.losses.loss import AdditiveLoss, Formula, Gains, Guide, Scaled
from omtree.problem.losses.units import near_one

#: Beyond so many labels a table of sums outgrows the processor's cache.
MOST_LABELS = 32


@dataclass(frozen=True, eq=False)
class LinearLoss(AdditiveLoss):
    """The cheapest label, where a label costs so much for each unit of weight of every stratum.

    The table's statistics are the weights of the strata: classes, or classes within groups.

    Attributes
    ----------
    costs : array of float, shape (n_strata, n_labels)
        Not negative.
    """

    costs: FloatArray
    any_depth: ClassVar[bool] = True

    @property
    def n_labels(self) -> int:
        """Number of labels a rule may predict."""
        return int(self.costs.shape[1])

    def native(self) -> Formula:
        """What the kernel is told."""
        n_strata, n_labels = self.costs.shape
        return "linear", n_strata, n_strata, n_labels, np.array(self.costs, dtype=np.float64).ravel()

    def gains(self, statistics: FloatArray, weight: FloatArray) -> Gains:
        """How much cheaper each label is than the dearest; the weights themselves where every error costs the same."""
        gains = self.costs.max(axis=1, keepdims=True) - self.costs
        if np.array_equal(gains, np.eye(len(gains))):
            return "label", np.ascontiguousarray(statistics), False
        return "label", np.column_stack([weight, statistics @ gains]), True

    def in_units(self, table: Table, weight_unit: float, loss_unit: Callable[[], float]) -> Scaled:
        """Weights are divided, and costs."""
        cost = near_one(float(self.costs.max(initial=0.0)))
        return Scaled(LinearLoss(self.costs / cost), table.statistics / weight_unit, weight_unit, weight_unit * cost)

    def of_counted(self, mean_weight: float) -> tuple[LinearLoss, float]:
        """Costs are divided."""
        unit = near_one(float(self.costs.max(initial=0.0)) * mean_weight)
        return LinearLoss(self.costs / unit), unit

    def scale_of_sums(self, n_sums: int, per_weight: float) -> tuple[LinearLoss, FloatArray, float, float]:
        """What answers cost is divided."""
        return self, np.array([1.0] + [1.0 / per_weight] * self.n_labels), 1.0, per_weight

    def guide(self, table: Table, step: int) -> Guide | None:
        """The strata, each at the cost of its most expensive mistake: close enough for a start."""
        row, stratum = np.nonzero(table.statistics[::step])
        weight = table.statistics[::step][row, stratum] * self.costs.max(axis=1)[stratum]
        return Guide(row, stratum, weight, of_classes=True) if weight.any() else None

    def zero_one_sums(self, table: Table) -> tuple[str, FloatArray] | None:
        """What each label costs by row, where that is not weights of classes."""
        if table.row_weight is None or not 1 < self.n_labels <= MOST_LABELS:
            return None
        costs = table.statistics @ self.costs
        return "least", np.column_stack([table.row_weight, costs, np.zeros(table.n_rows)])
