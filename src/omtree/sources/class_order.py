"""The order of classes: as it was declared, with the positive one last, or sorted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from omtree.data.columns import ordered_categories


@dataclass(frozen=True, eq=False)
class ClassOrder:
    """Where each class is inside a fit, where labels are sorted outside.

    Attributes
    ----------
    places : array of int
        The position among the sorted classes of each class inside.
    ordered : bool
        Whether more than two classes go from low to high.
    """

    places: npt.NDArray[np.intp]
    ordered: bool

    @classmethod
    def of(cls, classes: npt.NDArray[Any], y: Any, positive: Any, order: Sequence[Any] | None) -> ClassOrder:
        """The order of sorted classes.

        Parameters
        ----------
        classes : array
        y : array, list or series
            An ordered categorical says the order where none is declared.
        positive : class or None
            The second of two.
        order : sequence of classes or None
            From the lowest to the highest.

        Examples
        --------
        >>> ClassOrder.of(np.array(["high", "low", "middle"]), None, None, ["low", "middle", "high"]).places.tolist()
        [1, 2, 0]
        """
        known = classes.tolist()
        if positive is not None and positive_first(known, positive):
            return cls(np.array([1, 0]), False)
        levels = list(order) if order is not None else _categories(y)
        if levels is None:
            return cls(np.arange(len(known)), False)
        if order is not None:
            absent = [label for label in known if label not in levels]
            if absent or len(set(levels)) < len(levels):
                fault = f"does not name the class {absent[0]!r}" if absent else "names a class twice"
                raise ValueError(f"class_order={levels!r} {fault}; name every class once, from the lowest on.")
        if len(known) < 3:
            # Two classes are told apart, and the second one is the positive one.
            return cls(np.arange(len(known)), False)
        return cls(np.array([known.index(level) for level in levels if level in known]), True)

    def inside(self, labels: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """The positions inside of labels that are positions among the sorted classes."""
        return np.argsort(self.places)[labels]


def positive_first(known: Sequence[Any], positive: Any) -> bool:
    """Whether the positive class is the first of the two, which have to change places then.

    >>> positive_first(["bad", "good"], "bad")
    True
    """
    if len(known) != 2:
        raise ValueError(
            f"positive={positive!r} is for a target of two classes, and y has {len(known)}; "
            "name the class in the constraint (class_=...) instead."
        )
    if positive not in known:
        raise ValueError(f"positive={positive!r} is not a class of y; it has {known[0]!r} and {known[1]!r}.")
    return bool(known[0] == positive)


def _categories(y: Any) -> list[Any] | None:
    """The categories of an ordered categorical, from the lowest on."""
    if isinstance(y, np.ndarray):
        return None
    series = nw.from_native(y, pass_through=True, allow_series=True)
    if not isinstance(series, nw.Series):
        categories = getattr(y, "categories", None)  # a pandas categorical that is no series
        return list(categories) if categories is not None and getattr(y, "ordered", False) else None
    levels = ordered_categories(series, series.dtype)
    return None if levels is None else list(levels)
