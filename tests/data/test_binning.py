"""Thresholds: where they lie, how they read, and that weights are repetitions."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omtree.data.binning import (
    exact_thresholds,
    quantile_thresholds,
    readable_between,
    refine_thresholds,
    supervised_thresholds,
)

finite = st.floats(allow_nan=False, allow_infinity=False)


def digits(number):
    """Significant digits of the shortest decimal that reads as the number."""
    return len(Decimal(repr(number)).normalize().as_tuple().digits) if number else 0


@settings(deadline=None, max_examples=300)
@given(finite, finite)
def test_readable_number_lies_between(a, b):
    """The chosen threshold lies in (low, high] and has no more digits than high; zero if zero lies there."""
    low, high = min(a, b), max(a, b)
    if low == high:
        return
    chosen = readable_between(low, high)
    assert low < chosen <= high
    assert digits(chosen) <= digits(high)
    assert chosen == 0.0 or not low < 0.0 <= high


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, 1.0),
        (2.0, 3.0, 3.0),
        (17.0, 18.0, 18.0),
        (18.0, 35.0, 30.0),
        (99.0, 101.0, 100.0),
        (-3.0, -2.0, -2.0),
        (-5.0, 7.0, 0.0),
        (0.2137, 0.2891, 0.25),
        (1234.5, 1299.9, 1270.0),
        (5.1, 5.10001, 5.10001),
        (1e-9, 3e-9, 2e-9),
    ],
)
def test_readable_numbers(low, high, expected):
    """Examples: integers between integers, few digits, close to the middle."""
    chosen = readable_between(low, high)
    assert low < chosen <= high
    assert digits(chosen) <= digits(expected)
    assert abs(chosen - (low + high) / 2) <= abs(expected - (low + high) / 2)


def test_few_values_are_all_kept():
    """A column with at most n_bins distinct values has a threshold between every two neighbours."""
    values = np.array([5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0, np.nan])
    assert quantile_thresholds(values, None, 3).tolist() == [2.0, 4.0]
    assert quantile_thresholds(values[:1], None, 3).tolist() == []


@pytest.mark.parametrize("heavy", [0.0, 50.0, 99.0])
def test_heavy_value_never_hides_the_others(heavy):
    """A value with nearly all the weight, low, middle or high, gets a bin of its own."""
    values = np.concatenate([np.arange(100.0), np.full(10_000, heavy)])
    thresholds = quantile_thresholds(values, None, 8)
    bins = np.searchsorted(thresholds, values, side="right")
    own = np.searchsorted(thresholds, heavy, side="right")
    assert set(values[bins == own].tolist()) == {heavy}
    assert 1 <= len(thresholds) <= 7


columns = st.lists(
    st.tuples(
        st.one_of(st.just(float("nan")), st.integers(-30, 30).map(lambda v: v / 4)),
        st.integers(0, 3),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=60,
)


@settings(deadline=None, max_examples=150)
@given(columns, st.integers(2, 9))
def test_weights_are_repetitions(rows, n_bins):
    """Whole weights give the thresholds of repeated rows, weight zero those of absent rows, for every strategy."""
    values, weights, labels = (np.array(part) for part in zip(*rows, strict=True))
    weights = weights.astype(float)
    times = weights.astype(int)
    repeated, labels_repeated = np.repeat(values, times), np.repeat(labels, times)
    assert np.array_equal(quantile_thresholds(values, weights, n_bins), quantile_thresholds(repeated, None, n_bins))
    assert np.array_equal(exact_thresholds(values, weights), exact_thresholds(repeated, None))
    assert np.array_equal(
        supervised_thresholds(values, labels, weights, n_bins),
        supervised_thresholds(repeated, labels_repeated, None, n_bins),
    )
    current = quantile_thresholds(values, weights, n_bins)
    assert np.array_equal(
        refine_thresholds(values, weights, current, current[:2], 2),
        refine_thresholds(repeated, None, current, current[:2], 2),
    )


@settings(deadline=None, max_examples=100)
@given(columns, st.integers(2, 9))
def test_thresholds_increase_and_separate(rows, n_bins):
    """Thresholds increase, leave no bin empty and stay within their number."""
    values, _, labels = (np.array(part) for part in zip(*rows, strict=True))
    present = values[~np.isnan(values)]
    for thresholds in (
        quantile_thresholds(values, None, n_bins),
        supervised_thresholds(values, labels, None, n_bins - 1),
        exact_thresholds(values, None),
    ):
        assert (np.diff(thresholds) > 0).all()
        bins = np.searchsorted(thresholds, present, side="right")
        assert len(set(bins.tolist())) == len(thresholds) + bool(len(present))
    assert len(quantile_thresholds(values, None, n_bins)) < n_bins
    assert len(supervised_thresholds(values, labels, None, n_bins - 1)) < n_bins


def test_supervised_cuts_only_where_labels_change():
    """Neighbouring values of one and the same class are never cut apart; mixed ones are."""
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 5.0, 6.0])
    labels = np.array([0, 0, 1, 1, 0, 1, 1])
    assert supervised_thresholds(values, labels, None, 10).tolist() == [3.0, 5.0, 6.0]


def test_supervised_keeps_the_most_informative_cuts():
    """When there are too many candidates, those that tell the classes apart best are kept."""
    rng = np.random.default_rng(0)
    values = np.arange(1000.0)
    labels = ((values >= 300) & (values < 700)).astype(int)
    noisy = np.where(rng.random(1000) < 0.05, 1 - labels, labels)
    kept = supervised_thresholds(values, noisy, None, 2)
    assert len(kept) == 2
    assert np.abs(kept - [300, 700]).max() < 20


def test_exact_thresholds_name_the_column_when_too_many():
    """More distinct values than codes are refused in a sentence that names the column."""
    assert len(exact_thresholds(np.arange(254.0), None)) == 253
    with pytest.raises(ValueError, match=r"Column 'age' has more than 254 distinct values"):
        exact_thresholds(np.arange(255.0), None, name="age")


def test_refining_keeps_what_was_chosen_and_stays_between_neighbours():
    """Chosen thresholds stay; per_side new ones lie between each of them and its old neighbour on either side."""
    values = np.random.default_rng(1).normal(size=2000)
    current = quantile_thresholds(values, None, 8)
    refined = refine_thresholds(values, None, current, [current[0], current[3]], 3)
    assert {current[0], current[3]} <= set(refined.tolist())
    for low, high in (
        (-np.inf, current[0]),
        (current[0], current[1]),
        (current[2], current[3]),
        (current[3], current[4]),
    ):
        assert ((refined > low) & (refined < high)).sum() == 3
    assert len(refined) == 2 + 4 * 3
