"""Binning numbers and merging rows in the kernel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omtree import _native


def reference_merge(codes):
    seen = {}
    row_of = [seen.setdefault(tuple(row), len(seen)) for row in codes.T.tolist()]
    first = [row_of.index(i) for i in range(len(seen))]
    return row_of, first


@pytest.mark.parametrize("n_thresholds", [0, 1, 7, 24, 25, 253])
@pytest.mark.parametrize("stride", [1, 3])
def test_bin_codes_count_thresholds(n_thresholds, stride):
    """A code is the number of thresholds at or below the value, for few and many thresholds, dense or strided."""
    rng = np.random.default_rng(n_thresholds)
    values = rng.normal(size=(1301, stride))[:, 0]
    thresholds = np.sort(rng.choice(values, n_thresholds, replace=False)) if n_thresholds else np.empty(0)
    values[::17] = np.nan
    codes = np.empty(len(values), dtype=np.uint8)
    _native.bin_codes(values, thresholds, 254, codes)
    expected = np.where(np.isnan(values), 254, np.searchsorted(thresholds, values, side="right"))
    assert codes.tolist() == expected.tolist()


def test_bin_codes_refuses_lengths_that_differ():
    """Values and codes of different length are refused, not read past their end."""
    with pytest.raises(ValueError, match="differ in length"):
        _native.bin_codes(np.zeros(3), np.zeros(1), 255, np.zeros(2, dtype=np.uint8))
    with pytest.raises(ValueError, match="differ in length"):
        _native.merge_rows(np.zeros((1, 3), dtype=np.uint8), np.zeros(2, dtype=np.int64))


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n_features=st.integers(0, 30),
    n_rows=st.integers(0, 1500),
    top=st.sampled_from([1, 2, 4, 255]),
)
def test_merge_rows_agrees_with_a_dictionary(seed, n_features, n_rows, top):
    """Equal rows, and only those, get the same number, in order of first appearance."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, top + 1, size=(n_features, n_rows)).astype(np.uint8)
    if n_rows:  # make repeats likely even for wide rows
        codes = np.ascontiguousarray(codes[:, rng.integers(0, n_rows, n_rows) // 2])
    row_of = np.empty(n_rows, dtype=np.int64)
    first = _native.merge_rows(codes, row_of)
    expected_rows, expected_first = reference_merge(codes) if n_features else ([0] * n_rows, [0] * min(1, n_rows))
    assert row_of.tolist() == expected_rows
    assert first.tolist() == expected_first


def test_merge_rows_keeps_many_distinct_rows_apart():
    """The table of rows grows as often as it must, and rows seen before are found again afterwards."""
    number = np.arange(70_000)
    codes = np.stack([number % 251, number // 251 % 251, number // 251**2]).astype(np.uint8)
    codes = np.ascontiguousarray(np.concatenate([codes, codes], axis=1))
    row_of = np.empty(140_000, dtype=np.int64)
    first = _native.merge_rows(codes, row_of)
    assert np.array_equal(first, number)
    assert np.array_equal(row_of, np.concatenate([number, number]))
