"""Where to cut numbers into bins.

Every function here returns increasing thresholds; bin ``b`` holds ``thresholds[b - 1] <= x < thresholds[b]``. They
look at the data only through its distinct values and the weight at each, so a row of weight 2 counts as two rows and a
row of weight 0 as none. Missing cells (NaN) take no part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data.table import MAX_CODES, FloatArray

Binning = Literal["quantile", "supervised", "exact"]

Impurity = Callable[[FloatArray], FloatArray]

_EQUAL = np.empty(0)


#: Whether cuts are numbers to read; every fit sets it for its own thread.
_ROUND = ContextVar("round_cuts", default=True)


@contextmanager
def rounding_cuts(wanted: bool) -> Iterator[None]:
    """While it lasts, cuts are the most readable numbers there are, or in the middle between two values.

    >>> with rounding_cuts(False):
    ...     readable_between(0.2137, 0.2891)
    0.2514
    """
    token = _ROUND.set(wanted)
    try:
        yield
    finally:
        _ROUND.reset(token)


def readable_between(low: float, high: float) -> float:
    """The most readable number ``t`` with ``low < t <= high``.

    Zero if it is there; an integer between integers; otherwise the number with the fewest significant digits, of those
    the one closest to the middle.

    >>> readable_between(17.0, 18.0), readable_between(0.2137, 0.2891), readable_between(-3.5, 1.0)
    (18.0, 0.25, 0.0)
    """
    return _readable(low, high) if _ROUND.get() else float(_middles(np.array([low]), np.array([high]))[0])


@lru_cache(maxsize=256)
def _readable(low: float, high: float) -> float:
    return float(_native.readable_between(np.array([low]), np.array([high]))[0])


def _each_between(low: FloatArray, high: FloatArray) -> FloatArray:
    return _native.readable_between(low, high) if _ROUND.get() else _middles(low, high)


def _middles(low: FloatArray, high: FloatArray) -> FloatArray:
    middle = low / 2 + high / 2
    return np.where((low < middle) & (middle <= high), middle, high)


def quantile_thresholds(values: FloatArray, weights: FloatArray | None, n_bins: int) -> FloatArray:
    """Thresholds that cut the weight into `n_bins` parts as equal as the values allow.

    A column with at most `n_bins` distinct values keeps them all apart. Otherwise the cuts come right above the
    smallest values with at least ``q / n_bins`` of the weight at or below them. A value on which several cuts fall gets
    a bin of its own, and there may be fewer bins then; the largest value is cut off below.

    >>> quantile_thresholds(np.array([1.0, 2.0, 2.0, 3.0, 7.5, 9.0]), None, 3)
    array([3., 5.])
    """
    distinct = _native.few_distinct(values, _EQUAL if weights is None else weights, n_bins)
    if len(distinct) <= n_bins:
        return _boundaries(distinct)
    cuts = np.array(_native.quantile_cuts(values, _EQUAL if weights is None else weights, n_bins)).reshape(-1, 2)
    return _each_between(cuts[:, 0].copy(), cuts[:, 1].copy())


def exact_thresholds(
    values: FloatArray, weights: FloatArray | None, max_thresholds: int = MAX_CODES - 1, name: str = "x"
) -> FloatArray:
    """A threshold between every two neighbouring distinct values; an error naming the column when they are too many."""
    distinct = _native.few_distinct(values, _EQUAL if weights is None else weights, max_thresholds + 1)
    if len(distinct) > max_thresholds + 1:
        raise ValueError(
            f"Column {name!r} has more than {max_thresholds + 1} distinct values, too many for binning='exact'; "
            "use binning='adaptive', 'quantile' or 'supervised'."
        )
    return _boundaries(distinct)


def supervised_thresholds(
    values: FloatArray,
    labels: npt.NDArray[np.integer | np.floating],
    weights: FloatArray | None,
    max_thresholds: int,
    *,
    numbers: bool = False,
) -> FloatArray:
    """Thresholds where the label changes between neighbouring distinct values.

    No other threshold can be needed by a tree that separates the labels of this column as well as possible. When there
    are more than `max_thresholds`, those are kept that best-first splitting by information gain takes first. Where the
    labels are `numbers`, it is the squared error that is reduced.
    """
    keep = ~np.isnan(values)
    if weights is not None:
        keep &= weights > 0.0
    order = np.argsort(values[keep], kind="stable")
    ordered = values[keep][order]
    if len(ordered) == 0:
        return np.empty(0)
    label = labels[keep][order]
    weight = np.ones(len(ordered)) if weights is None else weights[keep][order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] > ordered[:-1]]))
    if numbers:
        centred = label - np.average(label, weights=weight)
        below = [np.cumsum(moment) for moment in (weight, weight * centred, weight * centred**2)]
        cuts = np.arange(len(starts) - 1)
    else:
        below = [np.cumsum(weight * (label == own)) for own in range(int(label.max()) + 1)]
        least, most = np.minimum.reduceat(label, starts), np.maximum.reduceat(label, starts)
        mixed = least[1:] != most[1:]
        cuts = np.flatnonzero(mixed | (least[1:] != least[:-1]) | (most[1:] != most[:-1]))
    if len(cuts) > max_thresholds:
        # What the samples up to each cut add up to, with nothing before the first and everything after the last.
        up_to = np.concatenate([starts[cuts + 1] - 1, [len(ordered) - 1]])
        padded = np.concatenate([np.zeros((1, len(below))), np.stack([sums[up_to] for sums in below], axis=1)])
        cuts = cuts[np.sort(_native.best_cuts(padded, max_thresholds, numbers)) - 1]
    distinct = ordered[starts]
    return _each_between(distinct[cuts], distinct[cuts + 1])


def entropy(mass: FloatArray) -> FloatArray:
    """Entropy of the classes times their weight."""
    total = mass.sum(axis=-1, keepdims=True)
    share = np.divide(mass, total, out=np.ones_like(mass), where=mass > 0)
    return np.asarray(-(mass * np.log(share)).sum(axis=-1))


def squared_error(moments: FloatArray) -> FloatArray:
    """Squared distances from the mean, from weight and the sums of targets and their squares."""
    weight = moments[..., 0]
    explained = np.divide(moments[..., 1] ** 2, weight, out=np.zeros_like(weight), where=weight > 0)
    return np.asarray(moments[..., 2] - explained)


def spread_of_charges(sums: FloatArray) -> FloatArray:
    """How little the answers differ in what they cost, from weight and the costs of the answers.

    >>> apart, together = np.array([2.0, 0.0, 4.0]), np.array([2.0, 2.0, 2.0])
    >>> spread_of_charges(np.stack([apart, together])).tolist()
    [-4.0, -0.0]
    """
    weight, charges = sums[..., 0], sums[..., 1:]
    squares = ((charges - charges.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    return np.asarray(-np.divide(squares, weight, out=np.zeros_like(weight), where=weight > 0))


def refine_thresholds(
    values: FloatArray, weights: FloatArray | None, current: FloatArray, chosen: Iterable[float], per_side: int
) -> FloatArray:
    """Finer thresholds around those that turned out to matter.

    Keeps every threshold in `chosen` and adds up to `per_side` quantile cuts on each of its sides, between it and the
    neighbouring threshold of `current`. The other thresholds of `current` are given up.

    >>> ages = np.arange(18.0, 80.0)
    >>> refine_thresholds(ages, None, np.array([30.0, 45.0, 60.0]), [45.0], 2)
    array([35., 40., 45., 50., 55.])
    """
    result = set(map(float, chosen))
    edges = np.concatenate([[-np.inf], current, [np.inf]])
    for cut in sorted(result):
        place = int(np.searchsorted(edges, cut))
        after = int(np.searchsorted(edges, cut, side="right"))
        for low, high in ((edges[place - 1], cut), (cut, edges[after])):
            inside = (values >= low) & (values < high)
            result.update(
                quantile_thresholds(values[inside], None if weights is None else weights[inside], per_side + 1).tolist()
            )
    return np.array(sorted(result))


def _boundaries(distinct: FloatArray) -> FloatArray:
    return _each_between(distinct[:-1].copy(), distinct[1:].copy())
