"""The best tree over all cuts by trying every one, for a handful of rows: slow, plain, and apart from the engine."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
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
