"""The master MIP over all rules against the oracle."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from helpers.rule_cases import Tiny, hard, tiny, with_rows
from omtree.deadline import Deadline
from omtree.engines.rules.mip import MipAnswer, solve_mip
from omtree.engines.rules.pool import ColumnPool, IntArray
from omtree.engines.rules.pricing import native_pricer

NOTHING: IntArray = np.empty(0, dtype=np.int32)


def full_pool(case: Tiny) -> ColumnPool:
    """Every rule of the problem as a column."""
    p = case.problem
    native = native_pricer(p, 1)
    conditions, label, *_ = native.price(
        p.row_costs(), 0.0, p.max_depth, p.min_support, 1e9, 10**6, False, bool(p.model_limits), 1e9, 0
    )
    pool = ColumnPool(p, native)
    pool.add(conditions.reshape(-1, p.max_depth), label)
    return pool


def solve(pool: ColumnPool, start: IntArray = NOTHING, integral: bool = False, seconds: float = 30.0) -> MipAnswer:
    """The MIP over all columns of a pool."""
    every = np.arange(len(pool))
    return solve_mip(pool, every, start, integral=integral, gap=0.0, deadline=Deadline(seconds), seed=0)


def is_integral(case: Tiny) -> bool:
    """Whether all losses are whole numbers."""
    costs = case.problem.row_costs()
    return bool((costs == np.round(costs)).all())


@pytest.mark.parametrize("seed", range(30))
def test_over_all_rules(seed: int) -> None:
    """Over all rules the MIP's optimum is the oracle's, and its bound proves it."""
    case = hard(seed) if seed % 2 else tiny(seed)
    pool = full_pool(case)
    answer = solve(pool, integral=is_integral(case))
    assert answer.complete
    assert pool.is_model(answer.columns)
    assert answer.value == pytest.approx(case.best(), abs=1e-9)
    assert answer.bound <= answer.value + 1e-6
    assert answer.bound > answer.value - (1.0 if is_integral(case) else 1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_with_constraints(seed: int) -> None:
    """With constraints over the model the optimum is the oracle's; without any model the bound is infinite."""
    case = with_rows(seed)
    pool = full_pool(case)
    answer = solve(pool, integral=is_integral(case))
    assert answer.complete
    if case.best() is None:
        assert len(answer.columns) == 0
        assert np.isinf(answer.bound)
    else:
        assert pool.is_model(answer.columns)
        assert answer.value == pytest.approx(case.best(), abs=1e-9)


def test_start() -> None:
    """A known model helps and harms not: the optimum is the same, and with no time the model itself is not lost."""
    for seed in range(6):
        case = hard(seed)
        pool = full_pool(case)
        best = solve(pool)
        again = solve(pool, start=best.columns)
        assert again.value == best.value
        one_rule = np.flatnonzero(np.diff(pool.cover().indptr) == case.problem.table.n_rows)[:1].astype(np.int32)
        assert solve(pool, start=one_rule).value == best.value
        hurried = solve(pool, start=one_rule, seconds=0.0)
        assert len(one_rule) == 0 or pool.is_model(hurried.columns)
        assert hurried.bound <= best.value + 1e-6
        assert solve(pool, start=best.columns, seconds=0.0).value == best.value


def test_some_candidates_only() -> None:
    """Columns that are no candidates are not used, and the numbers in the answer are those of the pool."""
    case = hard(1)
    pool = full_pool(case)
    best = solve(pool)
    others = np.setdiff1d(np.arange(len(pool)), best.columns)
    answer = solve_mip(pool, others, NOTHING, integral=False, gap=0.0, deadline=Deadline(30), seed=0)
    assert not set(answer.columns) & set(best.columns)
    assert pool.is_model(answer.columns)
    assert answer.value >= best.value


def test_no_model_among_the_candidates() -> None:
    """When some row is in no candidate, there is no model, and the bound over these rules is infinite."""
    case = hard(2)
    pool = full_pool(case)
    missing_first = np.flatnonzero(pool.cover(rows=np.zeros(1, dtype=np.int32)).toarray().ravel() == 0)
    answer = solve_mip(pool, missing_first, NOTHING, integral=True, gap=0.0, deadline=Deadline(30), seed=0)
    assert len(answer.columns) == 0
    assert np.isinf(answer.bound)


def test_leaf_limit() -> None:
    """More rules allowed are never worse; one rule is the rule for all rows."""
    case = hard(3)
    values = []
    for leaves in range(1, 6):
        limited = Tiny(dataclasses.replace(case.problem, max_leaves=leaves))
        answer = solve(full_pool(limited))
        assert len(answer.columns) <= leaves
        assert answer.value == pytest.approx(limited.best(), abs=1e-9)
        values.append(answer.value)
    assert values == sorted(values, reverse=True)


def test_no_time() -> None:
    """With no time at all an answer comes back, and what it says is true."""
    case = hard(4)
    answer = solve(full_pool(case), seconds=0.0)
    assert answer.bound <= case.best() + 1e-6
    assert answer.value >= case.best()
