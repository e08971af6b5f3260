"""Losses that need the targets themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray, Table
from omtree.problem.losses.loss import Guide, Loss, LossAt, Scaled


@dataclass(frozen=True, eq=False)
class SampleLoss(Loss):
    """Losses that need the targets themselves: merged row ``i`` has the samples ``start[i] .. start[i + 1] - 1``.

    ``"quantile"`` has the level as its parameter, ``"huber"`` the distance from which the loss is linear.
    """

    kind: Literal["quantile", "huber"]
    parameter: float
    start: npt.NDArray[np.int64]
    target: FloatArray
    weight: FloatArray
    n_labels = 1
    refines = True

    def native(self) -> tuple[Any, ...]:
        """What the kernel is told."""
        return self.kind, self.start, self.target, self.weight, float(self.parameter)

    def in_units(self, table: Table, weight_unit: float, loss_unit: Callable[[], float]) -> Scaled:
        """Weights of samples are divided. Distances alone matter: around zero they have all their digits."""
        unit = loss_unit()
        loss = replace(self, weight=self.weight / unit, target=self.target - np.median(self.target))
        return Scaled(loss, table.statistics, weight_unit, unit)

    def guide(self, table: Table, step: int) -> Guide:
        """The samples."""
        row = np.repeat(np.arange(table.n_rows), np.diff(self.start))
        kept = row % step == 0
        return Guide(row[kept] // step, self.target[kept], self.weight[kept])

    def near_predictions(self, statistics: FloatArray) -> tuple[FloatArray, FloatArray, LossAt] | None:
        """From the samples of the rows, where every row has some."""
        if not (np.diff(self.start) > 0).all():
            return None
        level = delta = self.parameter

        def over_rows(values: FloatArray) -> FloatArray:
            return np.asarray(np.add.reduceat(self.weight * values, self.start[:-1]))

        def quantile(p: float) -> tuple[FloatArray, FloatArray]:
            above = self.target - p
            slope = np.where(above > 0, -level, np.where(above < 0, 1.0 - level, 0.0))
            return over_rows(-slope * above), over_rows(slope)

        def huber(p: float) -> tuple[FloatArray, FloatArray]:
            distance = np.abs(self.target - p)
            value = np.where(distance <= delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta))
            return over_rows(value), over_rows(np.clip(p - self.target, -delta, delta))

        by_kind: dict[str, LossAt] = {"quantile": quantile, "huber": huber}
        return self.target, self.weight, by_kind[self.kind]

    def blind_to(self, n_rows: int, n_more: int) -> SampleLoss:
        """The rows behind the others have no samples."""
        return replace(self, start=np.concatenate([self.start, np.full(n_more, self.start[-1])]))
