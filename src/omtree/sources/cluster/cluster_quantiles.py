"""The values of one numeric column of a cluster, counted where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.summaries import N_RANGES, Points, Ranges
from omtree.data.table import FloatArray
from omtree.sources.cluster.cluster_facts import add_values
from omtree.sources.cluster.frames import Cluster


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
        found = self._cluster.add_up(self._cluster.tasks(_ranges, self._parts, _edges(low, high)), _add_ranges)
        used = np.flatnonzero(found[3])
        least, most, weights, rows = (part[used] for part in found)
        return Ranges(used, least, most, weights, rows)

    def points(self, low: float, high: float, numbers: Sequence[int]) -> Points:
        """The distinct values in some of the ranges."""
        tasks = self._cluster.tasks(_points, self._parts, _edges(low, high), tuple(numbers))
        return Points(*self._cluster.add_up(tasks, add_values))


def _edges(low: float, high: float) -> FloatArray:
    """The ends of the span and of the ranges between."""
    # Halves, as the difference of two doubles may be too large for one.
    edges = 2.0 * np.linspace(low / 2, high / 2, N_RANGES + 1)
    edges[[0, -1]] = low, high
    return np.asarray(edges)


def _inside(part: tuple[Any, Any], edges: FloatArray) -> tuple[FloatArray, FloatArray, npt.NDArray[np.intp]]:
    """The values in a span that weigh something, their weights, and the numbers of their ranges."""
    column, weights = part
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    inside = (values >= edges[0]) & (values <= edges[-1])
    weight = np.ones(len(values))
    if weights is not None:
        weight = weights.to_numpy(dtype=np.float64)
        inside &= weight > 0
    values = values[inside]
    return values, weight[inside], np.searchsorted(edges[1:-1], values, side="right")


def _ranges(part: tuple[Any, Any], edges: FloatArray) -> tuple[FloatArray, ...]:
    values, weight, place = _inside(part, edges)
    size = len(edges) - 1
    least, most = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(least, place, values)
    np.maximum.at(most, place, values)
    sums = np.bincount(place, weights=weight, minlength=size).astype(np.float64)
    return least, most, sums, np.bincount(place, minlength=size).astype(np.float64)


def _add_ranges(parts: Sequence[tuple[FloatArray, ...]]) -> tuple[FloatArray, ...]:
    low, high, weights, rows = (np.stack(each) for each in zip(*parts, strict=True))
    return low.min(axis=0), high.max(axis=0), weights.sum(axis=0), rows.sum(axis=0)


def _points(part: tuple[Any, Any], edges: FloatArray, numbers: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    values, weight, place = _inside(part, edges)
    chosen = np.isin(place, numbers)
    return add_values([(values[chosen], weight[chosen])])
