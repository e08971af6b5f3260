"""Squared distances from a line or a plane in every rule."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray, Table
from omtree.problem.losses.loss import AdditiveLoss, Formula, Gains, Guide, Scaled
from omtree.problem.losses.moments import guide_of_means
from omtree.problem.losses.units import power_below


@dataclass(frozen=True)
class LinesLoss(AdditiveLoss):
    """Squared distances from a line along the best of some columns, or from a plane over all of them.

    Attributes
    ----------
    n_columns : int
    together : bool
        Whether a rule takes all columns.
    words : str
        What the rules answer, for people.
    """

    n_columns: int
    together: bool
    words: str = ""
    n_labels = 1

    @property
    def kind(self) -> str:
        """What the kernel calls it."""
        return "planes" if self.together else "lines"

    @property
    def powers(self) -> npt.NDArray[np.intp]:
        """The power of the target in each sum."""
        n = self.n_columns
        inner = [0] * n + [1] * n + [0] * (n * (n + 1) // 2) if self.together else [0, 0, 1] * n
        return np.array([0, 1, *inner, 2])

    def native(self) -> Formula:
        """What the kernel is told."""
        return self.kind, len(self.powers), 1, 1, np.empty(0)

    def gains(self, statistics: FloatArray, weight: FloatArray) -> Gains:
        """From all sums."""
        return self.kind, np.ascontiguousarray(statistics), True

    def in_units(self, table: Table, weight_unit: float, loss_unit: Callable[[], float]) -> Scaled:
        """Weights and targets are divided."""
        target = power_below(math.sqrt(loss_unit() / weight_unit))
        statistics = table.statistics / (weight_unit * target**self.powers)
        return Scaled(self, statistics, weight_unit, weight_unit * target * target)

    def guide(self, table: Table, step: int) -> Guide:
        """The means of the rows."""
        return guide_of_means(table.statistics[::step, 0], table.statistics[::step, 1])
