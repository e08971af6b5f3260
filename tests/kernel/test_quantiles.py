"""Distinct values and quantile cuts in the kernel."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omtree import _native

EQUAL = np.empty(0)


def reference_cuts(values, weights, n_bins):
    """The cuts by their definition, over exact fractions."""
    keep = ~np.isnan(values) & (weights > 0)
    distinct = sorted(set(values[keep].tolist()))
    total = sum(Fraction(w) for w in weights[keep].tolist())
    cuts = set()
    q, reached = 1, Fraction(0)
    for i, value in enumerate(distinct):
        reached += sum(Fraction(w) for w in weights[keep & (values == value)].tolist())
        targets = 0
        while q < n_bins and reached * n_bins >= q * total:
            q, targets = q + 1, targets + 1
        last = i == len(distinct) - 1
        if targets and not last:
            cuts.add((value, distinct[i + 1]))
        if i > 0 and (targets > 1 or (targets and last)):
            cuts.add((distinct[i - 1], value))
    return sorted(cuts)


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 400),
    spread=st.sampled_from([1, 3, 30, 10**6]),
    n_bins=st.integers(2, 12),
    heavy=st.sampled_from([0.0, 0.4, 0.9]),
)
def test_cuts_agree_with_their_definition(seed, n, spread, n_bins, heavy):
    """Cuts equal those computed by definition, with ties, heavy values, missing cells and whole weights."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, spread + 1, n) / 4
    values[rng.random(n) < heavy] = rng.choice(values)
    values[rng.random(n) < 0.1] = np.nan
    weights = rng.integers(0, 4, n).astype(float)
    assert _native.quantile_cuts(values, weights, n_bins) == reference_cuts(values, weights, n_bins)
    assert _native.quantile_cuts(values, EQUAL, n_bins) == reference_cuts(values, np.ones(n), n_bins)


@pytest.mark.parametrize("n_bins", [2, 8, 200])
def test_cuts_of_many_values_are_order_statistics(n_bins):
    """On many distinct values each cut lies right above the value of its rank, also when the column is strided."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50_000, 2))[:, 1]
    ordered = np.sort(values)
    ranks = [-(-q * len(values) // n_bins) for q in range(1, n_bins)]
    assert _native.quantile_cuts(values, EQUAL, n_bins) == [(ordered[r - 1], ordered[r]) for r in ranks]


def test_sorted_periodic_and_constant_columns():
    """Columns whose evenly spaced sample misleads still get exact cuts."""
    n = 20_000
    weights = np.ones(n)
    for values in (np.arange(n) * 1.0, np.arange(n) % 10 * 1.0, np.zeros(n), -np.arange(n) // 3 * 1.0):
        table = dict(zip(*np.unique(values, return_counts=True), strict=True))
        few = np.array(list(table))
        expected = reference_cuts(few, np.array(list(table.values()), dtype=float), 8) if len(few) < 50 else None
        found = _native.quantile_cuts(values, weights, 8)
        if expected is not None:
            assert found == expected
        else:
            assert len(found) == 7
            assert all(abs(np.mean(values <= lo) - q / 8) < 1e-3 for q, (lo, _) in enumerate(found, 1))


def test_few_distinct_stops_at_its_limit():
    """Up to the limit all distinct values come back sorted; above it one more than the limit comes back."""
    values = np.array([3.0, np.nan, 1.0, 3.0, 2.0, 9.0])
    weights = np.array([1.0, 1.0, 2.0, 1.0, 1.0, 0.0])
    assert _native.few_distinct(values, weights, 3).tolist() == [1.0, 2.0, 3.0]
    assert _native.few_distinct(values, EQUAL, 4).tolist() == [1.0, 2.0, 3.0, 9.0]
    assert len(_native.few_distinct(values, EQUAL, 2)) == 3
    assert _native.few_distinct(np.full(4, np.nan), EQUAL, 2).tolist() == []
