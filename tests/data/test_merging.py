"""Rows that are merged part by part are merged as all at once."""

from __future__ import annotations

import numpy as np
import pytest

import omtree.data.merging
from omtree.data.merging import Merger


@pytest.mark.parametrize("n_weights", [0, 1, 2])
def test_parts_and_the_whole(n_weights: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rows in the same order with the same sums, to the last digit, however the parts are cut."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (4, 1000)).astype(np.uint8)
    weights = rng.random((n_weights, 1000))
    results = []
    for first_merge, size in ((1 << 18, 1000), (10, 7), (100, 64), (1, 1)):
        monkeypatch.setattr(omtree.data.merging, "_FIRST_MERGE", first_merge)
        merger = Merger(4, n_weights, 10**6)
        for start in range(0, 1000, size):
            part = weights[:, start : start + size] if n_weights else None
            assert merger.add(rows[:, start : start + size], part)
        results.append(merger.result())
    _, first = np.unique(rows, axis=1, return_index=True)
    assert results[0][0].tolist() == rows[:, np.sort(first)].tolist()
    for merged, sums in results[1:]:
        assert merged.tolist() == results[0][0].tolist()
        assert sums.tolist() == results[0][1].tolist()
    assert results[0][1].sum() == pytest.approx(weights.sum() if n_weights else 1000)


def test_too_many_rows_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """More different rows than allowed."""
    monkeypatch.setattr(omtree.data.merging, "_FIRST_MERGE", 10)
    merger = Merger(1, 0, most_rows=20)
    assert merger.add(np.arange(15, dtype=np.uint8)[None, :])
    assert not merger.add(np.arange(100, dtype=np.uint8)[None, :])


def test_nothing() -> None:
    """No rows are no rows."""
    rows, weights = Merger(3, 1, 10).result()
    assert rows.shape == (3, 0)
    assert weights.shape == (1, 0)
