"""The values of one numeric column of a cluster, counted where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from omtree.cluster.frames import Cluster
from omtree.data.summaries import N_RANGES, Points, Ranges
from omtree.data.table import FloatArray


class DaskNumbers:
    """Counts of the numbers that are not missing and weigh something.

    Parameters
    ----------
    cluster : Cluster
    parts : sequence
        Tasks of which the results are the column and the weights (or None) of each partition.
    """

    def __init__(self, cluster: Cluster, parts: Sequence[Any]) -> None:
        self._cluster = cluster
        self._parts = parts

    def ranges(self, low: float, high: float) -> Ranges:
        """Counts in the ranges of a span."""
        tasks = self._cluster.tasks(_ranges, self._parts, low, high, _edges(low, high))
        found = self._cluster.add_up(tasks, _add_ranges)
        used = found[3] > 0
        return Ranges(np.flatnonzero(used), *(part[used] for part in found))

    def points(self, low: float, high: float, numbers: Sequence[int]) -> Points:
        """The distinct values in some of the ranges."""
        tasks = self._cluster.tasks(_points, self._parts, low, high, _edges(low, high), tuple(numbers))
        return Points(*self._cluster.add_up(tasks, _add_points))


def _edges(low: float, high: float) -> FloatArray:
    """Where the ranges of a span meet."""
    # Halves, as the difference of two doubles may be too large for one.
    return 2.0 * np.linspace(low / 2, high / 2, N_RANGES + 1)[1:-1]


def _positive(part: tuple[Any, Any]) -> tuple[FloatArray, FloatArray]:
    column, weights = part
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    weight = np.ones(len(values)) if weights is None else weights.to_numpy(dtype=np.float64)
    inside = ~np.isnan(values) & (weight > 0)
    return values[inside], weight[inside]


def _ranges(part: tuple[Any, Any], low: float, high: float, edges: FloatArray) -> tuple[FloatArray, ...]:
    values, weight = _positive(part)
    inside = (values >= low) & (values <= high)
    values, weight = values[inside], weight[inside]
    place = np.searchsorted(edges, values, side="right")
    least, most = np.full(len(edges) + 1, np.inf), np.full(len(edges) + 1, -np.inf)
    np.minimum.at(least, place, values)
    np.maximum.at(most, place, values)
    size = len(edges) + 1
    sums = np.bincount(place, weights=weight, minlength=size).astype(np.float64)
    return least, most, sums, np.bincount(place, minlength=size).astype(np.float64)


def _add_ranges(parts: Sequence[tuple[FloatArray, ...]]) -> tuple[FloatArray, ...]:
    low, high, weights, rows = (np.stack(each) for each in zip(*parts, strict=True))
    return low.min(axis=0), high.max(axis=0), weights.sum(axis=0), rows.sum(axis=0)


def _points(
    part: tuple[Any, Any], low: float, high: float, edges: FloatArray, numbers: Sequence[int]
) -> tuple[FloatArray, FloatArray]:
    values, weight = _positive(part)
    wanted = np.zeros(len(edges) + 1, dtype=bool)
    wanted[list(numbers)] = True
    inside = (values >= low) & (values <= high) & wanted[np.searchsorted(edges, values, side="right")]
    return _add_points([(values[inside], weight[inside])])


def _add_points(parts: Sequence[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    values, place = np.unique(np.concatenate([values for values, _ in parts]), return_inverse=True)
    weights = np.concatenate([weights for _, weights in parts])
    return values, np.bincount(place, weights=weights, minlength=len(values)).astype(np.float64)
