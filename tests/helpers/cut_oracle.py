"""The best tree over all cuts by trying every one, for a handful of rows: slow, plain, and apart from the engine."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Cuttable:
    """Rows with a value in every view, and what a set of them costs as a leaf."""

    views: npt.NDArray[np.float64]
    cost: Callable[[Rows], float]
    mass: npt.NDArray[np.float64]

    @classmethod
    def errors(
        cls, views: npt.NDArray[np.float64], labels: Sequence[int], weights: Sequence[float], mass: Sequence[float]
    ) -> Cuttable:
        """Weight of the wrong rows."""

        def cost(rows: Rows) -> float:
            by_class: dict[int, float] = {}
            for row in rows:
                by_class[labels[row]] = by_class.get(labels[row], 0.0) + weights[row]
            return sum(by_class.values()) - max(by_class.values())

        return cls(views, cost, np.asarray(mass, dtype=float))

    @classmethod
    def squares(cls, views: npt.NDArray[np.float64], targets: Sequence[float], weights: Sequence[float]) -> Cuttable:
        """Squared distances from the weighted mean."""
        y, w = np.asarray(targets, dtype=float), np.asarray(weights, dtype=float)

        def cost(rows: Rows) -> float:
            own, weight = y[list(rows)], w[list(rows)]
            mean = (own * weight).sum() / weight.sum()
            return float((weight * (own - mean) ** 2).sum())

        return cls(views, cost, w)


def best_multiway(data: Cuttable, depth: int, leaves: int) -> float:
    """The least loss of a tree whose nodes split a view into any number of intervals."""

    @functools.cache
    def best(rows: Rows, depth: int, leaves: int) -> float:
        found = data.cost(rows)
        if depth == 0 or leaves == 1:
            return found
        for view in data.views:
            values = sorted({view[row] for row in rows})

            def rest(start: int, left: int, view: Any = view, values: Any = values) -> float:
                """The least loss of the values from the given one on, with so many leaves left."""
                if start == len(values):
                    return 0.0
                least = math.inf
                for end in range(start + 1, len(values) + 1):
                    if (start, end) == (0, len(values)):
                        continue
                    inside = tuple(row for row in rows if values[start] <= view[row] <= values[end - 1])
                    for share in range(1, left + 1):
                        least = min(least, best(inside, depth - 1, share) + rest(end, left - share, view, values))
                return least

            found = min(found, rest(0, leaves))
        return found

    return best(tuple(range(data.views.shape[1])), depth, leaves)


def best_multiway_of_boxes(
    views: npt.NDArray[np.int64],
    labels: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    depth: int,
    leaves: int,
) -> float:
    """The same for errors over two views of a few whole numbers: boxes of them are nodes, so rows may be many."""
    sizes = [int(view.max()) + 1 for view in views]
    cells = np.zeros((*sizes, int(labels.max()) + 1))
    np.add.at(cells, (views[0], views[1], labels), weights)

    @functools.cache
    def best(box: tuple[tuple[int, int], tuple[int, int]], depth: int) -> npt.NDArray[np.float64]:
        """By leaves at most: none, one, ..."""
        (a, b), (c, d) = box
        counts = cells[a:b, c:d].sum(axis=(0, 1))
        found = np.full(leaves + 1, counts.sum() - counts.max())
        found[0] = math.inf
        for side in (0, 1) if depth > 0 and found[1] > 0 else ():
            low, high = box[side]
            # The least for the values below each one, by the leaves used.
            least = {low: np.zeros(leaves + 1)}
            for end in range(low + 1, high + 1):
                least[end] = np.full(leaves + 1, math.inf)
                for start in range(low, end) if high > low + 1 else ():
                    if (start, end) == (low, high):
                        continue
                    part = best((box[0], (start, end)) if side else ((start, end), box[1]), depth - 1)
                    for own in range(1, leaves + 1):
                        more = least[start][: leaves + 1 - own] + part[own]
                        least[end][own:] = np.minimum(least[end][own:], more)
            found = np.minimum(found, least[high])
        return found

    return float(best(((0, sizes[0]), (0, sizes[1])), depth)[leaves])


Partitions = Callable[[Rows], Iterator[list[Rows]]]


def intervals(view: npt.NDArray[np.float64]) -> Partitions:
    """The ways to part rows into intervals of a view, whose missing cells (NaN) join any of them or stand alone."""

    def partitions(rows: Rows) -> Iterator[list[Rows]]:
        values = sorted({view[row] for row in rows if not math.isnan(view[row])})
        absent = tuple(row for row in rows if math.isnan(view[row]))
        for cuts in itertools.product([False, True], repeat=max(0, len(values) - 1)):
            number = dict(zip(values, itertools.accumulate((False, *cuts)), strict=False))
            parts = [
                tuple(row for row in rows if number.get(view[row]) == part)
                for part in range(sum(cuts) + 1 if values else 0)
            ]
            if not absent:
                yield parts
                continue
            yield [*parts, absent]
            for i, part in enumerate(parts):
                yield [*parts[:i], part + absent, *parts[i + 1 :]]

    return partitions


def groups_of_levels(view: npt.NDArray[np.float64]) -> Partitions:
    """The ways to part rows into groups of the values of a view."""

    def partitions(rows: Rows) -> Iterator[list[Rows]]:
        values = sorted({view[row] for row in rows})
        for numbers in itertools.product(range(len(values)), repeat=len(values)):
            groups = [[value for value, own in zip(values, numbers, strict=True) if own == g] for g in set(numbers)]
            yield [tuple(row for row in rows if view[row] in group) for group in groups]

    return partitions


def best_of_partitions(cost: Callable[[Rows], float], n: int, ways: list[Partitions], depth: int, leaves: int) -> float:
    """The least loss of a tree whose nodes part their rows in one of these ways."""

    @functools.cache
    def best(rows: Rows, depth: int, leaves: int) -> float:
        found = cost(rows)
        if depth == 0 or leaves == 1 or found == 0.0:
            return found
        for partitions in ways:
            for parts in partitions(rows):
                if not 2 <= len(parts) <= leaves:
                    continue
                least = [0.0] + [math.inf] * leaves
                for part in parts:
                    own = tuple(sorted(part))
                    least = [
                        min((least[used - s] + best(own, depth - 1, s) for s in range(1, used + 1)), default=math.inf)
                        for used in range(leaves + 1)
                    ]
                found = min(found, *least)
        return found

    return best(tuple(range(n)), depth, leaves)


def best_binary(data: Cuttable, depth: int, leaves: int, support: float) -> float:
    """The least loss of a binary tree."""

    @functools.cache
    def best(rows: Rows, depth: int, leaves: int) -> float:
        if data.mass[list(rows)].sum() < support - 1e-9:
            return math.inf
        found = data.cost(rows)
        if depth == 0 or leaves == 1:
            return found
        for view in data.views:
            for low in sorted({view[row] for row in rows})[:-1]:
                left = tuple(row for row in rows if view[row] <= low)
                right = tuple(row for row in rows if view[row] > low)
                for share in range(1, leaves):
                    found = min(found, best(left, depth - 1, share) + best(right, depth - 1, leaves - share))
        return found

    return best(tuple(range(data.views.shape[1])), depth, leaves)
