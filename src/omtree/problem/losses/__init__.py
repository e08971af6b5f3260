"""What a rule can cost, in the terms of the kernel: an objective chooses one of these."""

from __future__ import annotations

from typing import TypeGuard

from omtree.problem.losses.hazard import HazardLoss
from omtree.problem.losses.impurity import ImpurityLoss
from omtree.problem.losses.linear import LinearLoss
from omtree.problem.losses.lines import LinesLoss
from omtree.problem.losses.loss import AdditiveLoss, Formula, Loss
from omtree.problem.losses.moments import MomentLoss
from omtree.problem.losses.rows import RowLoss, RowNumbers
from omtree.problem.losses.samples import SampleLoss
from omtree.problem.losses.squares import SquaresLoss

__all__ = [
    "AdditiveLoss",
    "Formula",
    "HazardLoss",
    "ImpurityLoss",
    "LinearLoss",
    "LinesLoss",
    "Loss",
    "MomentLoss",
    "RowLoss",
    "RowNumbers",
    "SampleLoss",
    "SquaresLoss",
    "adds_up",
]


def adds_up(loss: Loss) -> TypeGuard[AdditiveLoss]:
    """Whether sums over the rows of a rule decide the loss: searches over tables take these.

    >>> adds_up(MomentLoss("squared")), adds_up(RowLoss(lambda rows, allowed: (0.0, 0)))
    (True, False)
    """
    return loss.additive
