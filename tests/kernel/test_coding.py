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


def test_count_classes_adds_weights():
    """Each sample adds its weight, or one, to its row and class; impossible rows and classes are refused."""
    row_of, classes = np.array([0, 1, 1, 0]), np.array([1, 0, 0, 1])
    counts = np.zeros((2, 2))
    _native.count_classes(row_of, classes, np.array([1.0, 2.0, 0.5, 1.0]), counts)
    assert counts.tolist() == [[0.0, 2.0], [2.5, 0.0]]
    _native.count_classes(row_of, classes, np.empty(0), counts)
    assert counts.tolist() == [[0.0, 4.0], [4.5, 0.0]]
    for rows, labels in (([2], [0]), ([-1], [0]), ([0], [2]), ([0], [-1])):
        with pytest.raises(IndexError):
            _native.count_classes(np.array(rows), np.array(labels), np.empty(0), counts)
    with pytest.raises(ValueError, match="differ in length"):
        _native.count_classes(row_of, classes[:2], np.empty(0), counts)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(0, 200),
    n_codes=st.integers(0, 300),
    n_classes=st.integers(0, 4),
    weighted=st.booleans(),
)
def test_count_codes_agrees_with_numpy(seed, n, n_codes, n_classes, weighted):
    """The weight of each class at each code, missing cells first, and that of all classes together."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, max(0, n_codes), size=n).astype(np.int32)
    classes = rng.integers(0, max(1, n_classes), size=n if n_classes else 0)
    weights = rng.integers(0, 8, size=n if weighted else 0) / 4
    counts = np.zeros((n_codes + 1, max(1, n_classes)))
    np.add.at(counts, (codes + 1, classes if n_classes else 0), weights if weighted else 1.0)
    totals, joint = _native.count_codes(codes, n_codes, classes, max(1, n_classes), weights)
    assert joint.tolist() == counts.tolist()
    assert totals == counts.sum(axis=1).tolist()


@pytest.mark.parametrize(("code", "label"), [(-2, 0), (3, 0), (0, -1), (0, 2)])
@pytest.mark.parametrize("weights", [np.empty(0), np.ones(1)])
def test_count_codes_refuses_what_it_has_no_place_for(code, label, weights):
    """A code or class outside its range is refused, not counted elsewhere."""
    with pytest.raises(IndexError, match="no such code or class"):
        _native.count_codes(np.array([code], np.int32), 3, np.array([label]), 2, weights)


def test_count_codes_refuses_lengths_that_differ():
    """Classes and weights are one for each cell, or none."""
    codes, labels = np.zeros(3, np.int32), np.zeros(3, np.int64)
    for classes, weights in ((labels[:2], np.empty(0)), (labels, np.ones(2))):
        with pytest.raises(ValueError, match="differ in length"):
            _native.count_codes(codes, 1, classes, 1, weights)
