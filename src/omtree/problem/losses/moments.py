"""Squared and Poisson loss, from three sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from omtree.data.table import FloatArray, Table
from omtree.problem.losses.loss import AdditiveLoss, Formula, Gains, Guide, LossAt, Scaled
from omtree.problem.losses.units import power_below

#: Poisson losses below this part of the mean are differences that sums of logarithms lose the digits of.
NEARLY_EQUAL = 1e-6


@dataclass(frozen=True)
class MomentLoss(AdditiveLoss):
    """Losses that three sums decide: weight, sum of targets, and sum of their own losses at the mean of all.

    Targets are distances from that mean; of Poisson losses, in parts of it, and the loss is in units of it.

    Attributes
    ----------
    kind : {"squared", "poisson"}
    unit : float
        What the loss that the sums give is to be multiplied by.
    """

    kind: Literal["squared", "poisson"]
    unit: float = 1.0
    n_labels = 1
    any_depth: ClassVar[bool] = True

    def native(self) -> Formula:
        """What the kernel is told."""
        return self.kind, 3, 1, 1, np.empty(0)

    def gains(self, statistics: FloatArray, weight: FloatArray) -> Gains:
        """From all sums but the one that is the same for every tree."""
        return self.kind, np.ascontiguousarray(statistics[:, :2]), True

    def in_units(self, table: Table, weight_unit: float, loss_unit: Callable[[], float]) -> Scaled:
        """Targets are divided: the first of the sums is the weight, which engines rely on.

        Where targets are parts of their mean already, the unit of weights makes the losses near one.
        """
        target = 1.0
        if self.kind == "squared":
            _, total, squares = table.statistics.sum(axis=0).tolist()
            largest = max(0.0, squares - total * total / float(table.weight.sum()))
            target = power_below(math.sqrt(largest / table.n_rows / weight_unit))
        else:
            weight_unit = loss_unit()
        statistics = table.statistics / (weight_unit * np.array([1.0, target, target * target]))
        return Scaled(replace(self, unit=1.0), statistics, weight_unit, weight_unit * target * target * self.unit)

    def scale_of_sums(self, n_sums: int, per_weight: float) -> tuple[MomentLoss, FloatArray, float, float]:
        """Targets are divided where they are no parts of their mean."""
        loss = replace(self, unit=1.0)
        if self.kind != "squared":
            return loss, np.full(n_sums, 1.0 / per_weight), per_weight, per_weight * self.unit
        target = power_below(math.sqrt(per_weight))
        scale = np.array([1.0, 1.0 / target, 1.0 / target**2])
        return loss, scale, 1.0, target * target * self.unit

    def guide(self, table: Table, step: int) -> Guide:
        """The means of the rows."""
        return guide_of_means(table.statistics[::step, 0], table.statistics[::step, 1])

    def near_predictions(self, statistics: FloatArray) -> tuple[FloatArray, FloatArray, LossAt]:
        """From the sums of the rows."""
        weight, total, third = statistics[:, :3].T

        def squared(p: float) -> tuple[FloatArray, FloatArray]:
            return third - 2.0 * p * total + p * p * weight, weight * p - total

        def poisson(p: float) -> tuple[FloatArray, FloatArray]:
            # The row's mean is 1 + total / weight, the prediction 1 + p.
            slope = np.log1p(p)
            return third - total * slope + weight * (p - slope), weight - (weight + total) / (1.0 + p)

        by_kind: dict[str, LossAt] = {"squared": squared, "poisson": poisson}
        return total / weight, weight, by_kind[self.kind]

    def zero_one_sums(self, table: Table) -> tuple[str, FloatArray] | None:
        """Sums of the rows; of Poisson losses those of y and y log y, y being one above what is above the mean."""
        if self.kind == "squared":
            return "squared", table.statistics
        weight, above, excess = table.statistics.T
        if excess.sum() < NEARLY_EQUAL * weight.sum():
            return None
        return "poisson", np.stack([weight, weight + above, excess + above], axis=1)


def guide_of_means(weight: FloatArray, total: FloatArray) -> Guide:
    """Rows by their weights and the sums of their targets."""
    return Guide(np.arange(len(weight)), total / (weight if total.ndim == 1 else weight[:, None]), weight)
