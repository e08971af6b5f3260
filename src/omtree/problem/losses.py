"""What a rule can cost, in the terms of the kernel: an objective chooses one of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeGuard

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray

RowNumbers = npt.NDArray[np.uint32]

#: A loss that adds up: its formula, how many sums over the rows of a rule decide it, how many of these add up to the
#: weight of the rule, how many labels there are, and what a unit of each sum costs under each.
Formula = tuple[str, int, int, int, FloatArray]
#: What makes a leaf good, the sums of every row that decide it, and whether the first of them is the weight.
Gains = tuple[str, FloatArray, bool]


@dataclass(frozen=True, eq=False)
class LinearLoss:
    """The cheapest label, where a label costs so much for each unit of weight of every stratum.

    The table's statistics are the weights of the strata: classes, or classes within groups.

    Attributes
    ----------
    costs : array of float, shape (n_strata, n_labels)
        Not negative.
    """

    costs: FloatArray
    refines: ClassVar[bool] = True
    additive: ClassVar[bool] = True

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


@dataclass(frozen=True)
class ImpurityLoss:
    """How mixed the classes of a rule are, times its weight; the statistics are the weights of the classes."""

    kind: Literal["gini", "entropy"]
    n_labels: int
    refines: ClassVar[bool] = True
    additive: ClassVar[bool] = True

    def native(self) -> Formula:
        """What the kernel is told."""
        return self.kind, self.n_labels, self.n_labels, self.n_labels, np.empty(0)

    def gains(self, statistics: FloatArray, weight: FloatArray) -> Gains:
        """From the weights of the classes."""
        return self.kind, np.ascontiguousarray(statistics), False


@dataclass(frozen=True)
class MomentLoss:
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
    n_labels: ClassVar[int] = 1
    refines: ClassVar[bool] = True
    additive: ClassVar[bool] = True

    def native(self) -> Formula:
        """What the kernel is told."""
        return self.kind, 3, 1, 1, np.empty(0)

    def gains(self, statistics: FloatArray, weight: FloatArray) -> Gains:
        """From all sums but the one that is the same for every tree."""
        return self.kind, np.ascontiguousarray(statistics[:, :2]), True


@dataclass(frozen=True)
class SquaresLoss:
    """Squared distances of several targets from their means, from their weight, their sums and that of all squares.

    Attributes
    ----------
    n_targets : int
    """

    n_targets: int
    n_labels: ClassVar[int] = 1
    refines: ClassVar[bool] = True
    additive: ClassVar[bool] = True

    def native(self) -> Formula:
        """What the kernel is told."""
        return "squares", self.n_targets + 2, 1, 1, np.empty(0)

    def gains(self, statistics: FloatArray, weight: FloatArray) -> Gains:
        """From all sums but the one that is the same for every tree."""
        return "squares", np.ascontiguousarray(statistics[:, :-1]), True


@dataclass(frozen=True)
class LinesLoss:
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
    n_labels: ClassVar[int] = 1
    refines: ClassVar[bool] = True
    additive: ClassVar[bool] = True

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


@dataclass(frozen=True)
class HazardLoss:
    """Losses of a hazard that is proportional to that of all rows, from four sums.

    These are weight, exposure (the cumulative hazard of all up to the time of a row), events above the exposure, and
    the losses of the rows by themselves.

    Attributes
    ----------
    kind : {"hazard", "logrank"}
        Half the deviance, or what the log-rank score leaves over.
    """

    kind: Literal["hazard", "logrank"] = "hazard"

    n_labels: ClassVar[int] = 1
    refines: ClassVar[bool] = True
    additive: ClassVar[bool] = True

    def native(self) -> Formula:
        """What the kernel is told."""
        return self.kind, 4, 1, 1, np.empty(0)

    def gains(self, statistics: FloatArray, weight: FloatArray) -> Gains:
        """From all sums but the one that is the same for every tree."""
        return self.kind, np.ascontiguousarray(statistics[:, :3]), True


@dataclass(frozen=True, eq=False)
class SampleLoss:
    """Losses that need the targets themselves: merged row ``i`` has the samples ``start[i] .. start[i + 1] - 1``.

    ``"quantile"`` has the level as its parameter, ``"huber"`` the distance from which the loss is linear.
    """

    kind: Literal["quantile", "huber"]
    parameter: float
    start: npt.NDArray[np.int64]
    target: FloatArray
    weight: FloatArray
    n_labels: ClassVar[int] = 1
    refines: ClassVar[bool] = True
    additive: ClassVar[bool] = False

    def native(self) -> tuple[Any, ...]:
        """What the kernel is told."""
        return self.kind, self.start, self.target, self.weight, float(self.parameter)


@dataclass(frozen=True, eq=False)
class RowLoss:
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
    additive: ClassVar[bool] = False

    def native(self) -> tuple[Any, ...]:
        """What the kernel is told."""
        return "rows", self.function, self.n_labels


#: Losses that sums over the rows of a rule decide.
AdditiveLoss = LinearLoss | ImpurityLoss | MomentLoss | SquaresLoss | LinesLoss | HazardLoss
Loss = AdditiveLoss | SampleLoss | RowLoss


def adds_up(loss: Loss) -> TypeGuard[AdditiveLoss]:
    """Whether sums over the rows of a rule decide the loss: searches over tables take these.

    >>> adds_up(MomentLoss("squared")), adds_up(RowLoss(lambda rows, allowed: (0.0, 0)))
    (True, False)
    """
    return loss.additive
