"""Squared distances of several targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from omtree.data.table import FloatArray, Table
from omtree.problem.losses.loss import AdditiveLoss, Formula, Gains, Guide, Scaled
from omtree.problem.losses.moments import guide_of_means


@dataclass(frozen=True)
class SquaresLoss(AdditiveLoss):
    """Squared distances of several targets from their means, from their weight, their sums and that of all squares.

    Attributes
    ----------
    n_targets : int
    """

    n_targets: int
    n_labels = 1

    def native(self) -> Formula:
        """What the kernel is told."""
        return "squares", self.n_targets + 2, 1, 1, np.empty(0)

    def gains(self, statistics: FloatArray, weight: FloatArray) -> Gains:
        """From all sums but the one that is the same for every tree."""
        return "squares", np.ascontiguousarray(statistics[:, :-1]), True

    def in_units(self, table: Table, weight_unit: float, loss_unit: Callable[[], float]) -> Scaled:
        """All sums are divided."""
        unit = loss_unit()
        return Scaled(self, table.statistics / unit, unit, unit)

    def guide(self, table: Table, step: int) -> Guide:
        """The means of the rows."""
        return guide_of_means(table.statistics[::step, 0], table.statistics[::step, 1:-1])

    def zero_one_sums(self, table: Table) -> tuple[str, FloatArray]:
        """All sums."""
        return "squared", table.statistics
