"""Any function of the rows of a rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.table import Table
from omtree.problem.losses.loss import Loss, Scaled

RowNumbers = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class RowLoss(Loss):
    """Any function of the merged rows of a rule, in Python.

    Attributes
    ----------
    function : callable
        Given the numbers of the rows and the labels that are allowed (None: all), returns loss and label.
    n_labels : int
    refines : bool
        Whether two rules never cost more than one rule for the rows of both; bounds need that.
    """

    function: Callable[[RowNumbers, Sequence[bool] | None], tuple[float, int]]
    n_labels: int = 1
    refines: bool = False

    def native(self) -> tuple[Any, ...]:
        """What the kernel is told."""
        return "rows", self.function, self.n_labels

    def in_units(self, table: Table, weight_unit: float, loss_unit: Callable[[], float]) -> Scaled:
        """What the function gives is divided."""
        unit, function = loss_unit(), self.function

        def divided(rows: RowNumbers, allowed: Sequence[bool] | None) -> tuple[float, int]:
            value, label = function(rows, allowed)
            return value / unit, label

        return Scaled(replace(self, function=divided), table.statistics, weight_unit, unit)

    def blind_to(self, n_rows: int, n_more: int) -> RowLoss:
        """The function is not told of rows behind the first ones."""
        function = self.function
        return replace(self, function=lambda rows, allowed: function(rows[rows < n_rows], allowed))
