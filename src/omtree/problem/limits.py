"""What every single rule has to respect, in the terms of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray

#: Conditions as (feature, codes), the numbers of the merged rows, and the label.
Predicate = Callable[[Sequence[tuple[int, tuple[int, ...]]], npt.NDArray[np.uint32], int], bool]


@dataclass(frozen=True, eq=False)
class LinearLimit:
    """``sum of coefficient * measure >= at_least`` in every rule.

    Attributes
    ----------
    coefficient : array of float, shape (n_measures, 1) or (n_measures, n_labels)
        With a column per label where the limit depends on what the rule predicts.
    at_least : float
    """

    coefficient: FloatArray
    at_least: float


@dataclass(frozen=True)
class RatioLimit:
    """``|a / b - c / d| <= tolerance`` for four measures, in every rule where `b` and `d` are positive."""

    a: int
    b: int
    c: int
    d: int
    tolerance: float


@dataclass(frozen=True)
class TestPrices:
    """What testing features costs; within a group every test but one is had for the lower price.

    Attributes
    ----------
    full, again : tuple of float
        By position of the feature in the table.
    group : tuple of int
        By feature; -1 where it belongs to none.
    limit : float
        Most that the tests of one rule may cost; may be infinite.
    weight : float
        What a unit of price, paid by a unit of row weight, adds to the loss.
    """

    full: tuple[float, ...]
    again: tuple[float, ...]
    group: tuple[int, ...]
    limit: float
    weight: float = 0.0

    def price(self, features: Iterable[int]) -> float:
        """What testing these features costs.

        >>> TestPrices((5.0, 4.0, 1.0), (3.0, 2.0, 1.0), (0, 0, -1), 10.0).price([0, 1, 2])
        8.0
        """
        total = 0.0
        discounts: dict[int, list[float]] = {}
        for f in set(features):
            total += self.full[f]
            if self.group[f] >= 0:
                discounts.setdefault(self.group[f], []).append(self.full[f] - self.again[f])
        return total - sum(sum(given) - max(given) for given in discounts.values())


@dataclass(frozen=True)
class PathShape:
    """Which features may stand on one path, by their positions in the table.

    Attributes
    ----------
    at_most : tuple of (features, n)
        No path tests more than `n` of these.
    needs : tuple of (feature, others, first)
        A rule that tests the feature tests all the others; with `first` they stand above it in a tree.
    above : tuple of (early, late)
        `late` never stands above `early` on a path of a tree.
    root : int or None
        Every rule tests it, and a tree tests it first.
    """

    at_most: tuple[tuple[frozenset[int], int], ...] = ()
    needs: tuple[tuple[int, frozenset[int], bool], ...] = ()
    above: tuple[tuple[int, int], ...] = ()
    root: int | None = None

    def may_follow(self, tested: Collection[int], feature: int) -> bool:
        """Whether a node of a tree below tests of these may split the feature; rules are judged as a whole besides.

        >>> order = PathShape(above=((0, 1),), root=2)
        >>> [order.may_follow(tested, 0) for tested in ([], [2], [2, 1], [2, 0, 1])]
        [False, True, False, True]
        """
        if not tested and self.root is not None and feature != self.root:
            return False
        if any(first and feature == late and not others <= set(tested) for late, others, first in self.needs):
            return False
        return feature in tested or not any(early == feature and late in tested for early, late in self.above)


@dataclass(frozen=True)
class ForcedNode:
    """What is given of a node of the tree, by positions of features in the table and codes.

    Attributes
    ----------
    feature : int
        The one it splits; -1 where that is open.
    parts : tuple of tuple of int
        The codes of its children; empty where they are open.
    free_code : int
        A code that may join any part or stand alone; -1 where there is none.
    children : tuple of int
        Positions of what is given of the children: by part, and then one for a child of the free code alone; a single
        one holds for all children where the parts are open. -1: nothing.
    leaf : bool
        Whether it must not be split.
    closed : frozenset of int
        Features that it must not split.
    labels : tuple of bool
        What it may predict as a leaf; empty: anything.
    """

    feature: int = -1
    parts: tuple[tuple[int, ...], ...] = ()
    free_code: int = -1
    children: tuple[int, ...] = ()
    leaf: bool = False
    closed: frozenset[int] = frozenset()
    labels: tuple[bool, ...] = ()


@dataclass(frozen=True, eq=False)
class RuleLimits:
    """All of them; the default limits nothing.

    Attributes
    ----------
    measures : array of float, shape (n_rows, n_measures) or None
        What `linear` and `ratios` refer to: numbers of the merged rows that add up over a rule.
    linear : tuple of LinearLimit
    ratios : tuple of RatioLimit
    prices : TestPrices or None
    shape : PathShape
    predicate : callable or None
        Any other demand, asked last.
    forced : tuple of ForcedNode
        The part of a tree that is given, its root first; empty where nothing is.
    """

    measures: FloatArray | None = None
    linear: tuple[LinearLimit, ...] = ()
    ratios: tuple[RatioLimit, ...] = ()
    prices: TestPrices | None = None
    shape: PathShape = PathShape()
    predicate: Predicate | None = None
    forced: tuple[ForcedNode, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is no limit at all."""
        limited = self.linear or self.ratios or self.prices or self.predicate or self.forced
        return not limited and self.shape == PathShape()
