"""Features from what is known of whole columns: distinct values and the weight at each, wherever the rows are.

Binning looks at a column only through its distinct values, so a column whose values were counted elsewhere (by a
database, or part by part on a cluster) gives the same feature as the column itself. Of a number with very many
distinct values not even those are needed: `quantile_points` asks for counts in ranges, and looks closer only where a
quantile falls, until it is known exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from omtree.data.binning import Binning
from omtree.data.build import TargetArray, make_features
from omtree.data.column import Column, Columns
from omtree.data.table import Feature, FloatArray

#: Ranges into which the values of a column are counted at a time.
N_RANGES = 4096


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """A column, with the rows that have the same value (and class) as one entry.

    Attributes
    ----------
    column : Column
        The values of the entries; levels are those of the whole column.
    weights : array of float
        Weight of each entry; zero where all rows of it weigh nothing.
    guide : array of int or float
        The class of each entry, or its mean target where that is a number; zeros where it does not matter.
    """

    column: Column
    weights: FloatArray
    guide: TargetArray

    def n_distinct(self, most: int) -> int:
        """How many different values of positive weight there are, but no more than `most`."""
        values = self.column.values[self.weights > 0]
        present = values[~np.isnan(values)] if self.column.levels is None else values[values >= 0]
        return min(most, len(np.unique(present)))


def features_of(
    summaries: Sequence[ColumnSummary],
    n_classes: int,
    n_bins: int = 8,
    binning: Binning = "quantile",
    group_levels: bool = True,
    n_rows: int | None = None,
) -> tuple[tuple[Feature, ...], list[tuple[str, str]]]:
    """The same as `make_features` of the whole columns.

    Parameters
    ----------
    summaries : sequence of ColumnSummary
        One for each column, in order.
    n_classes : int
        0 where the target is a number.
    n_bins, binning, group_levels, n_rows
        As in `make_features`.

    Examples
    --------
    >>> ages = Column("age", "numeric", np.array([18.0, 35.0, 60.0]), False)
    >>> (age,), dropped = features_of([ColumnSummary(ages, np.array([5.0, 1.0, 2.0]), np.zeros(3, int))], 2, n_bins=2)
    >>> age.thresholds.tolist()
    [30.0]
    """
    features: list[Feature] = []
    dropped: list[tuple[str, str]] = []
    for position, summary in enumerate(summaries):
        columns = Columns((summary.column,), len(summary.weights))
        made, left_out = make_features(
            columns, summary.guide, n_classes, summary.weights, n_bins, binning, group_levels, n_rows
        )
        features += [replace(feature, column=position) for feature in made]
        dropped += left_out
    return tuple(features), dropped


@dataclass(frozen=True, eq=False)
class Points:
    """Values of a column in increasing order, and the weight at each."""

    values: FloatArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class Ranges:
    """Counts of values in the ranges into which a span is divided, empty ones left out, in increasing order.

    Attributes
    ----------
    number : array of int
        Of each range.
    low, high : array of float
        Smallest and largest value in it.
    weights : array of float
    rows : array of int
    """

    number: npt.NDArray[np.integer[Any]]
    low: FloatArray
    high: FloatArray
    weights: FloatArray
    rows: npt.NDArray[np.integer[Any]]

    def __len__(self) -> int:
        return len(self.low)


class NumberCounts(Protocol):
    """Counts the values of one numeric column that are not missing and have positive weight.

    How a span of values is divided into about `N_RANGES` ranges is up to the one who counts.
    """

    def ranges(self, low: float, high: float) -> Ranges:
        """Counts in the ranges of a span, its ends included."""

    def points(self, low: float, high: float, numbers: Sequence[int]) -> Points:
        """The distinct values in some of the ranges of a span, and the weight at each."""


def quantile_points(counts: NumberCounts, low: float, high: float, n_bins: int, most_rows: int = 1_000_000) -> Points:
    """Values and weights that have the same `n_bins` quantile bins as the whole column.

    Exact where quantiles fall; the values between are represented by the ends of their ranges.

    Parameters
    ----------
    counts : NumberCounts
    low, high : float
        Smallest and largest value.
    n_bins : int
    most_rows : int
        Ranges with more rows than this are divided again, the values of the others counted one by one.
    """
    known: list[Points] = []
    open_spans = [(low, high, 0.0)]
    targets: FloatArray | None = None
    slack = 0.0
    while open_spans:
        low, high, before = open_spans.pop()
        ranges = counts.ranges(low, high)
        after = before + np.cumsum(ranges.weights)
        if targets is None:
            targets = float(after[-1]) * np.arange(1, n_bins) / n_bins
            # Sums of weights in another order may differ a little.
            slack = 1e-9 * float(after[-1])
        start = after - ranges.weights
        on_target = np.asarray((start[:, None] - slack <= targets) & (targets <= after[:, None] + slack))
        # A column of few values keeps them all apart.
        hit = (on_target.any(axis=1) | (len(ranges) <= n_bins)) & (ranges.low < ranges.high)
        known.append(_ends(ranges, ~hit))
        # A span that cannot be divided any more has few values, however many rows.
        divide = hit & (ranges.rows > most_rows) & (len(ranges) > 1)
        ends = ranges.low[divide].tolist(), ranges.high[divide].tolist()
        open_spans += zip(*ends, start[divide].tolist(), strict=True)
        exact = ranges.number[hit & ~divide].tolist()
        if exact:
            known.append(counts.points(low, high, exact))
    values = np.concatenate([points.values for points in known])
    weights = np.concatenate([points.weights for points in known])
    order = np.argsort(values, kind="stable")
    return Points(values[order], weights[order])


def _ends(ranges: Ranges, chosen: npt.NDArray[np.bool_]) -> Points:
    """The smallest and the largest value of each range, with half its weight each; one value has all of it."""
    low, high, weights = ranges.low[chosen], ranges.high[chosen], ranges.weights[chosen]
    wide = low < high
    return Points(
        np.concatenate([low, high[wide]]), np.concatenate([np.where(wide, weights / 2, weights), weights[wide] / 2])
    )
