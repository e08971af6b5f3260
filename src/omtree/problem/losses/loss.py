"""What every loss tells the engines about itself, so that none of them has to ask which one it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray, Table

#: A loss that adds up: its formula, how many sums over the rows of a rule decide it, how many of these add up to the
#: weight of the rule, how many labels there are, and what a unit of each sum costs under each.
Formula = tuple[str, int, int, int, FloatArray]
#: What makes a leaf good, the sums of every row that decide it, and whether the first of them is the weight.
Gains = tuple[str, FloatArray, bool]
#: Loss and slope (any subgradient) of every row at a prediction.
LossAt = Callable[[float], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False)
class Guide:
    """What a greedy tree is grown by: one entry a class of a row, a sample, or a row.

    Attributes
    ----------
    rows : array of int
        The merged row of each entry.
    target : array
        Positions of classes, or numbers.
    weight : array of float
    of_classes : bool
    """

    rows: npt.NDArray[np.intp]
    target: npt.NDArray[Any]
    weight: FloatArray
    of_classes: bool = False


@dataclass(frozen=True, eq=False)
class Scaled:
    """A loss in units of its own.

    Attributes
    ----------
    loss : Loss
    statistics : array of float
        Of the rows, in the units.
    weight : float
        What a unit of weight was.
    unit : float
        What a unit of the loss was.
    """

    loss: Loss
    statistics: FloatArray
    weight: float
    unit: float


class Loss(ABC):
    """What a rule costs; an objective chooses one of the kinds beside this file.

    Attributes
    ----------
    additive : bool
        Whether sums over the rows of a rule decide it: searches over tables take these.
    any_depth : bool
        Whether the search for trees of any depth at a price per leaf knows it.
    words : str
        What is to be said about the answers of rules, for people.
    unit : float
        What the kernel's loss is multiplied by, where it is in units of its own.
    """

    additive: ClassVar[bool] = False
    any_depth: ClassVar[bool] = False
    words: str = ""
    unit: float = 1.0

    # How many labels a rule may predict, and whether two rules never cost more than one for the rows of both, which
    # bounds need: fields of some losses, constants of others.
    n_labels: Any
    refines: Any

    @abstractmethod
    def native(self) -> tuple[Any, ...]:
        """What the kernel is told."""

    @abstractmethod
    def in_units(self, table: Table, weight_unit: float, loss_unit: Callable[[], float]) -> Scaled:
        """The loss with weights and losses of rows in the order of one.

        Parameters
        ----------
        table : Table
        weight_unit : float
            What makes the weights of rows near one.
        loss_unit : callable
            Gives about what a row adds to the loss, where that depends on the rows it is with.
        """

    def of_counted(self, mean_weight: float) -> tuple[Loss, float]:
        """The loss in units for rows that are elsewhere with their weights, and what a unit of it was."""
        return self, 1.0

    def guide(self, table: Table, step: int) -> Guide | None:
        """What a greedy tree for every so many rows is grown by; None where there is nothing like it."""
        return None

    def near_predictions(self, statistics: FloatArray) -> tuple[FloatArray, FloatArray, LossAt] | None:
        """The rows' own best predictions, their weights, and their losses at any one; None where that is not known."""
        return None

    def zero_one_sums(self, table: Table) -> tuple[str, FloatArray] | None:
        """What makes a leaf good and the sums by row that decide it, for the search over 0/1 columns.

        The sums are the weight, those that decide the loss, and one that is the same for every tree. None: not known
        to that search.
        """
        return None

    def blind_to(self, n_rows: int, n_more: int) -> Self:
        """The loss where more rows stand behind the first ones, which cost nothing."""
        return self


class AdditiveLoss(Loss):
    """Losses that sums over the rows of a rule decide."""

    additive: ClassVar[bool] = True
    refines = True

    @abstractmethod
    def native(self) -> Formula:
        """What the kernel is told."""

    @abstractmethod
    def gains(self, statistics: FloatArray, weight: FloatArray) -> Gains:
        """What the search in neighbourhoods goes by."""

    def scale_of_sums(self, n_sums: int, per_weight: float) -> tuple[Loss, FloatArray, float, float]:
        """The loss in units where sums come from elsewhere.

        Parameters
        ----------
        n_sums : int
            The weight among them.
        per_weight : float
            What a unit of weight loses where all rows are in one rule, as a power of two.

        Returns
        -------
        loss : Loss
        scale : array of float
            What the sums are to be multiplied by.
        weight, unit : float
            What units of weight and of the loss were.
        """
        return self, np.full(n_sums, 1.0 / per_weight), per_weight, per_weight
