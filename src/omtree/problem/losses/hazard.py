"""Losses of proportional hazards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from omtree.data.table import FloatArray, Table
from omtree.problem.losses.loss import AdditiveLoss, Formula, Gains, Guide, LossAt, Scaled
from omtree.problem.losses.moments import MomentLoss, guide_of_means


@dataclass(frozen=True)
class HazardLoss(AdditiveLoss):
    """Losses of a hazard that is proportional to that of all rows, from four sums.

    These are weight, exposure (the cumulative hazard of all up to the time of a row), events above the exposure, and
    the losses of the rows by themselves.

    Attributes
    ----------
    kind : {"hazard", "logrank"}
        Half the deviance, or what the log-rank score leaves over.
    """

    kind: Literal["hazard", "logrank"] = "hazard"
    n_labels = 1

    def native(self) -> Formula:
        """What the kernel is told."""
        return self.kind, 4, 1, 1, np.empty(0)

    def gains(self, statistics: FloatArray, weight: FloatArray) -> Gains:
        """From all sums but the one that is the same for every tree."""
        return self.kind, np.ascontiguousarray(statistics[:, :3]), True

    def in_units(self, table: Table, weight_unit: float, loss_unit: Callable[[], float]) -> Scaled:
        """All sums are divided."""
        unit = loss_unit()
        return Scaled(self, table.statistics / unit, unit, unit)

    def guide(self, table: Table, step: int) -> Guide:
        """Events in parts of the exposure; rows without any say nothing about hazards."""
        exposure = table.statistics[::step, 1]
        return guide_of_means(np.maximum(exposure, 1e-12 * exposure.sum()), table.statistics[::step, 2])

    def near_predictions(self, statistics: FloatArray) -> tuple[FloatArray, FloatArray, LossAt] | None:
        """Events in parts of those expected are counts over the exposure, or numbers that weigh so much."""
        if not (statistics[:, 1] > 0).all():
            return None
        return MomentLoss("poisson" if self.kind == "hazard" else "squared").near_predictions(statistics[:, 1:])
