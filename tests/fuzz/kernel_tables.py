"""The kernel's tables against NumPy: codes of numbers, merged rows, counts, distinct values, quantiles."""

from __future__ import annotations

import numpy as np

from omtree import _native

#: Numbers at the ends of what doubles hold.
EDGES = np.array([0.0, -0.0, 1.0, np.nextafter(1.0, 2.0), 5e-324, -5e-324, 1e308, -1e308, 1e-300, np.nan, 2**53, 0.1])


def check(number: int) -> None:
    """Table `number`."""
    rng = np.random.default_rng(number)
    n = int(rng.choice([1, 2, 3, 17, 64, 65, 200]))
    values = rng.choice(EDGES, n) if rng.random() < 0.5 else rng.normal(size=n).round(int(rng.integers(0, 3)))
    _check_codes(values, rng)
    _check_merge(n, rng)
    _check_counts(n, rng)
    _check_cuts(values, rng)


def _check_codes(values: np.ndarray, rng: np.random.Generator) -> None:
    present = np.unique(values[~np.isnan(values)])
    thresholds = present[rng.random(len(present)) < 0.5]
    codes = np.empty(len(values), dtype=np.uint8)
    _native.bin_codes(values, thresholds, 255, codes)
    expected = np.where(np.isnan(values), 255, np.searchsorted(thresholds, values, side="right"))
    assert codes.tolist() == expected.tolist()


def _check_merge(n: int, rng: np.random.Generator) -> None:
    codes = rng.integers(0, int(rng.choice([1, 2, 3, 256])), (int(rng.integers(1, 5)), n)).astype(np.uint8)
    row_of = np.empty(n, dtype=np.int64)
    first = _native.merge_rows(codes, row_of)
    seen: dict[tuple[int, ...], int] = {}
    assert row_of.tolist() == [seen.setdefault(tuple(row), len(seen)) for row in codes.T.tolist()]
    assert codes[:, first].T.tolist() == [list(row) for row in seen]


def _check_counts(n: int, rng: np.random.Generator) -> None:
    n_classes = int(rng.integers(1, 6))
    rows, classes = rng.integers(0, n, n), rng.integers(0, n_classes, n)
    weights = rng.integers(0, 1000, n).astype(float)
    counts = np.zeros((n, n_classes))
    _native.count_classes(rows, classes, weights, counts)
    expected = np.zeros((n, n_classes))
    np.add.at(expected, (rows, classes), weights)
    assert np.array_equal(counts, expected)


def _check_cuts(values: np.ndarray, rng: np.random.Generator) -> None:
    finite = np.sort(values[~np.isnan(values)])
    if len(finite) == 0:
        return
    weights = rng.integers(1, 4, len(finite)).astype(float)
    distinct = np.unique(finite)
    found = _native.few_distinct(finite, weights, 1000)
    assert np.array_equal(np.unique(found), distinct)
    for low, high in _native.quantile_cuts(finite, weights, int(rng.integers(2, 9))):
        assert low < high
        assert low in distinct
        assert high in distinct
    if len(distinct) > 1:
        cuts = _native.readable_between(distinct[:-1].copy(), distinct[1:].copy())
        assert ((cuts > distinct[:-1]) & (cuts <= distinct[1:])).all()
