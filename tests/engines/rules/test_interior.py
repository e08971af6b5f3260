"""The interior-point solver against HiGHS."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from omtree.engines.rules.interior import BoxedLP, InteriorPoint, solve_interior


def reference(lp: BoxedLP) -> float:
    """Optimum by the simplex method."""
    a = np.vstack([lp.cover.toarray().T, lp.dense])
    n = len(lp.rhs)
    result = linprog(
        np.concatenate([lp.cost, lp.over, lp.under]),
        A_eq=np.hstack([a, np.eye(n), -np.eye(n)]),
        b_eq=lp.rhs,
        method="highs",
    )
    assert result.status == 0, result.message
    return float(result.fun)


def random_lp(seed: int, n_rows: int | None = None, n_columns: int | None = None, degenerate: bool = False) -> BoxedLP:
    """A partitioning LP with a share row, a leaf-count row and one more row, boxed like a master."""
    rng = np.random.default_rng(seed)
    n_rows = n_rows or int(rng.integers(1, 25))
    n_columns = n_columns or int(rng.integers(1, 60))
    cover = rng.random((n_columns, n_rows)) < rng.choice([0.1, 0.3, 0.7])
    cover[0] = True
    if degenerate:
        # Columns twice, rows twice, many equal costs and ties.
        cover = np.vstack([cover, cover])
        cover = np.hstack([cover, cover])
    n_columns, n_rows = cover.shape
    price = rng.integers(1, 5, size=n_rows).astype(float)
    cost = np.minimum(rng.integers(0, 3, size=(n_columns, n_rows)), price) * cover
    cost = np.zeros(n_columns) if degenerate and seed % 2 else cost.sum(axis=1)
    everything = 2 * float(price.sum())
    free = 1e-9 * everything
    dense = np.vstack([cover.mean(axis=1), np.ones(n_columns), rng.integers(-2, 3, size=n_columns)]).astype(float)
    over = np.concatenate([2 * price, [free if seed % 3 else everything, free, everything / 2]])
    under = np.concatenate([2 * price, [free if seed % 3 else everything, everything, free]])
    rhs = np.concatenate([np.ones(n_rows), [1.0, float(rng.integers(1, 6)), float(rng.integers(-3, 3))]])
    return BoxedLP(cost, sparse.csr_matrix(cover.astype(float)), dense, rhs, over, under)


def check(lp: BoxedLP, point: InteriorPoint, tolerance: float) -> None:
    """Feasible, with duals in their box, and as good as was asked for."""
    value = reference(lp)
    scale = 1.0 + abs(value)
    assert point.value == pytest.approx(value, abs=2 * tolerance * scale + 1e-6)
    assert min(point.x.min(), point.up.min(), point.down.min()) >= 0
    assert (point.dual <= lp.over).all()
    assert (point.dual >= -lp.under).all()
    residual = lp.times(point.x) + point.up - point.down - lp.rhs
    assert np.abs(residual).max() < 1e-3
    # A dual point proves a bound: its objective less what negative reduced costs can still gain.
    assert lp.rhs @ point.dual <= value + 2 * tolerance * scale + 1e-3 * scale


@pytest.mark.parametrize("seed", range(40))
def test_boxed_masters(seed: int) -> None:
    """On masters of all shapes the value is that of the simplex method, and duals are in their box."""
    lp = random_lp(seed)
    for tolerance in (1e-2, 1e-6):
        check(lp, solve_interior(lp, tolerance), tolerance)


@pytest.mark.parametrize("seed", range(20))
def test_degenerate_masters(seed: int) -> None:
    """Repeated rows and columns, ties and zero costs do no harm."""
    lp = random_lp(seed, degenerate=True)
    check(lp, solve_interior(lp, 1e-6), 1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_reduced_costs(seed: int) -> None:
    """At a sharp solution no column has a reduced cost much below zero."""
    lp = random_lp(seed)
    point = solve_interior(lp, 1e-7)
    reduced = lp.cost - lp.transposed(point.dual)
    assert reduced.min() > -1e-4 * (1.0 + abs(point.value))


def test_products() -> None:
    """`times` and `transposed` multiply by the whole matrix."""
    lp = random_lp(3)
    a = np.vstack([lp.cover.toarray().T, lp.dense])
    rng = np.random.default_rng(0)
    x, y = rng.random(a.shape[1]), rng.random(a.shape[0])
    assert lp.times(x) == pytest.approx(a @ x)
    assert lp.transposed(y) == pytest.approx(a.T @ y)


def test_steps_are_few() -> None:
    """A master of a hundred rows takes some dozens of steps at most, and a rough answer takes fewer."""
    lp = random_lp(1, n_rows=100, n_columns=300)
    rough, sharp = solve_interior(lp, 1e-2), solve_interior(lp, 1e-6)
    assert rough.steps <= sharp.steps <= 40
