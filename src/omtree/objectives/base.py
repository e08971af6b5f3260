"""What an objective tells the engines."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from omtree.data.table import FloatArray


@runtime_checkable
class Objective(Protocol):
    """A loss that is a sum over the rows: what a row of one class costs when its rule predicts another.

    Attributes
    ----------
    unit : str
        What the loss counts, in the plural, for people.
    """

    @property
    def unit(self) -> str:
        """What the loss counts, in the plural, for people."""

    def costs(self, class_scale: FloatArray) -> FloatArray:
        """``costs[true, predicted]`` per unit of sample weight, zero on the diagonal.

        Parameters
        ----------
        class_scale : array of float, shape (n_classes,)
            How much a row of each class matters (`class_weight`).
        """
