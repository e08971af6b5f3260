"""The normal matrix of the master's LP."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from omtree import _native


@pytest.mark.parametrize("seed", range(8))
def test_normal_matrix(seed: int) -> None:
    """The lower triangle gains the weighted sum of outer products of the columns; the upper one stays as it is."""
    rng = np.random.default_rng(seed)
    n_columns, n_rows = int(rng.integers(0, 40)), int(rng.integers(1, 30))
    cover = sparse.random(n_columns, n_rows, density=rng.random(), random_state=rng, format="csr")
    cover.data[:] = 1.0
    cover.sort_indices()
    weight = rng.random(n_columns)
    before = rng.normal(size=(n_rows, n_rows))
    out = before.copy()
    _native.add_normal_matrix(cover.indptr.astype(np.int32), cover.indices.astype(np.int32), weight, out)
    dense = cover.toarray()
    expected = before + np.tril(dense.T @ (weight[:, None] * dense))
    assert out == pytest.approx(expected, abs=1e-12)


def test_empty_columns() -> None:
    """Columns that cover no row add nothing."""
    out = np.zeros((3, 3))
    _native.add_normal_matrix(np.zeros(3, np.int32), np.empty(0, np.int32), np.ones(2), out)
    assert not out.any()
