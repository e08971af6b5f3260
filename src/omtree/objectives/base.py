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

    def costs(self, n_classes: int) -> FloatArray:
        """``costs[true, predicted]`` per unit of sample weight, zero on the diagonal."""
