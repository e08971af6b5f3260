"""Features from counted columns are those of the columns themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omtree.data.binning import quantile_thresholds
from omtree.data.build import make_features
from omtree.data.column import Column
from omtree.data.columns import read_columns
from omtree.data.summaries import ColumnSummary, Points, Ranges, features_of, quantile_points
from omtree.data.table import Feature


class Counted:
    """Counts a column in memory, in a few ranges at a time."""

    def __init__(self, values: np.ndarray, weights: np.ndarray, n_ranges: int = 5) -> None:
        inside = ~np.isnan(values) & (weights > 0)
        self.values, self.weights, self.n_ranges = values[inside], weights[inside], n_ranges

    def _numbers(self, low: float, high: float) -> np.ndarray:
        edges = 2.0 * np.linspace(low / 2, high / 2, self.n_ranges + 1)[1:-1]
        number = np.searchsorted(edges, self.values, side="right")
        return np.where((self.values >= low) & (self.values <= high), number, -1)

    def ranges(self, low: float, high: float) -> Ranges:
        number = self._numbers(low, high)
        used = np.unique(number[number >= 0])
        own = [self.values[number == each] for each in used]
        return Ranges(
            used,
            np.array([part.min() for part in own]),
            np.array([part.max() for part in own]),
            np.array([self.weights[number == each].sum() for each in used]),
            np.array([len(part) for part in own]),
        )

    def points(self, low: float, high: float, numbers: Sequence[int]) -> Points:
        inside = np.isin(self._numbers(low, high), numbers)
        values, place = np.unique(self.values[inside], return_inverse=True)
        return Points(values, np.bincount(place, weights=self.weights[inside]))


finite = st.floats(allow_nan=False, allow_infinity=False)
columns = st.one_of(
    st.lists(finite, min_size=1, max_size=60),
    st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=60),
    st.lists(st.sampled_from([0.0, 1e-9, 1.0, 1.0 + 2**-52, 1e308, -1e308]), min_size=1, max_size=60),
)


@settings(deadline=None, max_examples=150)
@given(columns, st.integers(2, 9), st.integers(0, 20), st.booleans())
def test_quantiles_from_ranges(cells: list[float], n_bins: int, most_rows: int, weighted: bool) -> None:
    """Whatever the values, ranges lead to the thresholds of all values, with weights too."""
    values = np.array(cells)
    weights = (np.arange(len(values)) % 3 + (not weighted)).astype(float) if weighted else np.ones(len(values))
    if not weights.any():
        return
    counted = Counted(values, weights)
    points = quantile_points(counted, counted.values.min(), counted.values.max(), n_bins, most_rows)
    found = quantile_thresholds(points.values, points.weights, n_bins)
    assert found.tolist() == quantile_thresholds(values, weights, n_bins).tolist()


def summary(column: Column, labels: np.ndarray, weights: np.ndarray) -> ColumnSummary:
    """A column with the rows of equal value and label as one entry."""
    seen: dict[tuple[float, int], float] = {}
    for value, label, weight in zip(column.values.tolist(), labels.tolist(), weights.tolist(), strict=True):
        key = (None if value != value else value, label)
        seen[key] = seen.get(key, 0.0) + weight
    values = [np.nan if value is None else value for value, _ in seen]
    counted = Column(column.name, column.kind, np.array(values, column.values.dtype), column.has_missing, column.levels)
    return ColumnSummary(counted, np.array(list(seen.values())), np.array([label for _, label in seen]))


def same(here: Feature, there: Feature) -> bool:
    """Whether two features are alike in everything."""
    thresholds = [None if each.thresholds is None else each.thresholds.tolist() for each in (here, there)]
    rest = [
        (each.name, each.column, each.kind, each.n_values, each.has_missing, each.levels, each.target_order)
        for each in (here, there)
    ]
    return thresholds[0] == thresholds[1] and rest[0] == rest[1]


@pytest.mark.filterwarnings("ignore:Column")
@pytest.mark.parametrize("binning", ["quantile", "supervised"])
@pytest.mark.parametrize("seed", range(5))
def test_features_of_counted_columns(binning: str, seed: int) -> None:
    """Thresholds, levels, missing cells, orders along the target, groups of very many levels: all the same."""
    rng = np.random.default_rng(seed)
    n_rows, n_classes = 400, 2 + seed % 2
    rows = pa.table(
        {
            "number": rng.normal(size=n_rows).round(1),
            "gaps": np.where(rng.random(n_rows) < 0.2, np.nan, rng.integers(0, 4, n_rows)),
            "text": pa.array([None if rng.random() < 0.1 else str(rng.integers(0, 6)) for _ in range(n_rows)]),
            "many": pa.array([f"{rng.integers(0, 90)}" for _ in range(n_rows)]),
            "flag": rng.random(n_rows) < 0.3,
            "constant": np.ones(n_rows),
        }
    )
    labels = rng.integers(0, n_classes, n_rows)
    weights = rng.integers(0, 3, n_rows).astype(float)
    raw = read_columns(rows)
    here, dropped = make_features(raw, labels, n_classes, weights, binning=binning)
    counted = [summary(column, labels, weights) for column in raw]
    there, left_out = features_of(counted, n_classes, binning=binning, n_rows=len(labels))
    assert dropped == left_out
    assert len(here) == len(there)
    assert all(same(*pair) for pair in zip(here, there, strict=True))


def test_distinct_values_are_counted_up_to_a_limit() -> None:
    """Missing cells and values of no weight do not count."""
    column = Column("x", "numeric", np.array([1.0, 2.0, 2.0, 3.0, np.nan]), True)
    counted = ColumnSummary(column, np.array([1.0, 1.0, 1.0, 0.0, 1.0]), np.zeros(5, int))
    assert counted.n_distinct(10) == 2
    assert counted.n_distinct(1) == 1
