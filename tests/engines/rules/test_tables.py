"""Joint tables against the rows they were counted from: same sums, same prices, same optimum."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from helpers import datasets
from helpers.rule_cases import check_model, hard, make_problem, tiny, with_rows
from omtree import _native
from omtree.data.table import Table
from omtree.deadline import Deadline
from omtree.engines.rules import Options, master, model_rows, rule_counts, solve
from omtree.engines.rules.pool import ColumnPool, Duals
from omtree.engines.rules.pricing import PricedRules, RulePricer, native_pricer
from omtree.engines.rules.rule_counts import RuleCounts
from omtree.problem.problem import Problem


def odd_weights(problem: Problem, seed: int) -> Problem:
    """The same with weights whose sums are not exact, and row weights that are not the sums of the statistics."""
    rng = np.random.default_rng(seed)
    table = problem.table
    statistics = table.statistics * rng.random(table.statistics.shape)
    weighed = Table(table.features, table.codes, statistics, table.row_of, rng.random(table.n_rows) + 0.1)
    return dataclasses.replace(problem, table=weighed, min_support=0.05 * float(weighed.weight.sum()))


def random_problem(seed: int) -> Problem:
    """Any kind of features, weights, costs, limits and constraints over the whole model."""
    problem = with_rows(seed, 2).problem if seed % 3 == 0 else tiny(seed).problem
    return odd_weights(problem, seed) if seed % 4 == 1 else problem


def sparse_duals(problem: Problem, rng: np.random.Generator) -> Duals:
    """Prices on some of the rows, and one for all of them."""
    n_rows = problem.table.n_rows
    at = np.sort(rng.choice(n_rows, int(rng.integers(0, n_rows + 1)), replace=False)).astype(np.int32)
    scale = float(problem.row_costs().max()) + 0.1
    own = scale * rng.normal(0.2, 0.6, len(at))
    return Duals(at, own, float(rng.normal(0.2, 0.2)), -float(rng.random()), rng.random(len(problem.model_limits)))


def with_tables(problem: Problem, n_threads: int = 1) -> ColumnPool:
    """A pool that answers from tables."""
    pool = ColumnPool(problem, native_pricer(problem, n_threads))
    pool.counts.make_tables(Deadline())
    assert pool.counts.tables is not None
    return pool


def every_rule(problem: Problem) -> np.ndarray:
    """All paths of the graph as condition numbers, those without rows included."""
    first = np.cumsum([0, *(len(level.code_sets) for level in problem.graph)])
    rules: list[list[int]] = []
    stack: list[tuple[list[int], int]] = [([], 0)]
    while stack:
        rule, next_level = stack.pop()
        rules.append(rule + [-1] * (problem.max_depth - len(rule)))
        if len(rule) < problem.max_depth:
            for level in range(next_level, len(problem.graph)):
                stack += [([*rule, i], level + 1) for i in range(first[level], first[level + 1])]
    return np.array(rules, dtype=np.int32)


@pytest.mark.parametrize("seed", range(24))
def test_sums_of_rules(seed: int) -> None:
    """Statistics, weight and hash of every rule are the same from tables and from rows."""
    problem = random_problem(seed)
    rules = every_rule(problem)
    pool = with_tables(problem, 1 + seed % 2)
    from_rows = RuleCounts(problem, native_pricer(problem, 1)).totals(rules)
    from_tables = pool.counts.totals(rules)
    for a, b in zip(from_rows, from_tables, strict=True):
        assert a.shape == b.shape
        assert a == pytest.approx(b, rel=1e-12, abs=1e-12) if a.dtype.kind == "f" else (a == b).all()


def enumerated(problem: Problem, duals: Duals) -> dict[tuple[bytes, int], float]:
    """Reduced cost of every set of rows with every label, from the definition."""
    weight, found = problem.table.weight, {}
    prices = duals.cover(weight)
    values = problem.row_costs() - prices[:, None]
    for row, price in zip(problem.model_limits, duals.rows, strict=True):
        values = values - price * (problem.table.statistics @ row.coefficient)
    for path in problem.graph.paths(problem.max_depth):
        rows = np.ones(problem.table.n_rows, dtype=bool)
        for condition in path:
            rows &= np.isin(problem.table.codes[condition.feature], condition.codes)
        if rows.any() and weight[rows].sum() >= problem.min_support * (1 - 1e-9):
            for label, cost in enumerate(values[rows].sum(axis=0) - duals.leaf):
                found[rows.tobytes(), label] = float(cost)
    return found


def keys_of(pool: ColumnPool, priced: PricedRules) -> list[tuple[bytes, int]]:
    """Rows and label of each rule, in order."""
    start, rows = native_pricer(pool.problem, 1).cover(
        priced.conditions, np.arange(pool.problem.table.n_rows, dtype=np.int32)
    )
    keys = []
    for j, label in enumerate(priced.label):
        inside = np.zeros(pool.problem.table.n_rows, dtype=bool)
        inside[rows[start[j] : start[j + 1]]] = True
        keys.append((inside.tobytes(), int(label)))
    return keys


@pytest.mark.parametrize("seed", range(40))
def test_prices_under_sparse_duals(seed: int) -> None:
    """A scan of the tables finds what the exact pricer over rows finds, and what plain enumeration says."""
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    duals = sparse_duals(problem, rng)
    pools = [with_tables(problem, 1 + seed % 2), ColumnPool(problem, native_pricer(problem, 1))]
    tabled, rowwise = (RulePricer(problem, pool, native_pricer(problem, 1), Options()) for pool in pools)
    expected = least_costs(problem, enumerated(problem, duals))
    costs = sorted(expected.values())
    for below in (costs[0] - 1.0, 0.5 * (costs[0] + costs[len(costs) // 2]), costs[-1] + 1.0):
        wanted = {key: cost for key, cost in expected.items() if cost < below}
        for pool, pricer in zip(pools, (tabled, rowwise), strict=True):
            found = pricer.enumerate(duals, below, 10**6, Deadline())
            assert found.proven
            assert not found.overflow
            keys = keys_of(pool, found)
            assert len(set(keys)) == len(keys)
            assert least_costs(problem, dict(zip(keys, found.cost, strict=True))) == pytest.approx(wanted, abs=1e-9)
            assert found.least == pytest.approx(min(below, costs[0]), abs=1e-9)
    assert tabled.enumerate(duals, costs[-1] + 1.0, 1, Deadline()).overflow == (len(costs) > 1)


def least_costs(problem: Problem, costs: dict[tuple[bytes, int], float]) -> dict[object, float]:
    """By rows and label where labels are free, otherwise by rows: which of two equal labels comes is left open."""
    least: dict[object, float] = {}
    for (rows, label), cost in costs.items():
        key = (rows, label) if problem.free_labels else rows
        least[key] = min(least.get(key, math.inf), cost)
    return least


@pytest.mark.parametrize("seed", range(10))
def test_the_cheapest_of_many(seed: int) -> None:
    """With a limit the cheapest rules come back, and the least cost is still that of all."""
    problem = random_problem(seed)
    duals = sparse_duals(problem, np.random.default_rng(seed))
    pool = with_tables(problem, 2)
    pricer = RulePricer(problem, pool, native_pricer(problem, 1), dataclasses.replace(Options(), batch=3))
    all_rules = pricer.enumerate(duals, 1e-9, 10**6, Deadline())
    few = pricer.price_exactly(duals, -1e-9, Deadline())
    assert few.proven
    assert few.cost.tolist() == pytest.approx(all_rules.cost[:3].tolist(), abs=1e-9)
    assert few.least == pytest.approx(all_rules.least, abs=1e-9)


def test_many_rules_of_little_difference() -> None:
    """A scan that must drop rules all the time ends with the cheapest ones, whatever the number of threads."""
    rng = np.random.default_rng(0)
    table = datasets.random_table(
        rng, n_features=4, n_rows=150, n_classes=3, max_values=5, kinds=("numeric",), weights="unit"
    )
    problem = make_problem(table, 1.0 - np.eye(3), 3, 6, 1.0)
    duals = sparse_duals(problem, rng)
    every = RulePricer(problem, with_tables(problem), native_pricer(problem, 1), Options())
    costs = every.enumerate(duals, 1e6, 10**6, Deadline()).cost
    assert len(costs) > 1500
    for n_threads in (1, 2, 3):
        pricer = RulePricer(problem, with_tables(problem, n_threads), native_pricer(problem, 1), Options(batch=10))
        found = pricer.price_exactly(duals, -1e6, Deadline())
        assert found.cost.tolist() == pytest.approx(costs[:10].tolist(), abs=1e-9)
        assert found.least == pytest.approx(costs[0], abs=1e-9)


def test_when_there_are_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are made for rules of up to three conditions, if they fit in memory and the time suffices."""

    def made(problem: Problem, deadline: Deadline | None = None) -> bool:
        own = RuleCounts(problem, native_pricer(problem, 1))
        own.make_tables(deadline or Deadline())
        return own.tables is not None

    wide = tiny(0, depth=4, n_features=4).problem
    assert not made(wide)
    assert made(dataclasses.replace(wide, max_depth=3))
    assert made(tiny(0, depth=4, n_features=3).problem)
    assert not made(hard(0).problem, Deadline(0.0))
    pricer = native_pricer(hard(0).problem, 1)
    statistics = hard(0).problem.table.statistics
    assert not _native.RuleTables(pricer, statistics, np.ones(statistics.shape[1]), 3, -1.0).complete
    for name in ("TABLE_BYTES", "SCAN_BYTES", "MOST_RULES"):
        with monkeypatch.context() as patch:
            patch.setattr(rule_counts, name, 10)
            assert not made(hard(0).problem)


@pytest.mark.parametrize("seed", range(12))
def test_optimum_with_and_without(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables off and on, all rows at once or some at a time: same optimum, bound and relaxation as the oracle's."""
    case = hard(seed) if seed < 4 else with_rows(seed, 1) if seed < 8 else tiny(seed)
    best, relaxed = case.best(), case.lp()
    for some_rows in (False, True):
        if some_rows:
            monkeypatch.setattr(master, "FIRST_ROWS", 2)
            monkeypatch.setattr(master, "MORE_ROWS", 2)
            monkeypatch.setattr(master, "LOOK_AT", 3)
            monkeypatch.setattr(model_rows, "ALL_ROWS", 2)
            monkeypatch.setattr(model_rows, "FIRST_ROWS", 2)
            monkeypatch.setattr(model_rows, "MORE_ROWS", 1)
        for options in (Options(), Options(tables=False), Options(warm_start=False)):
            solution = solve(case.problem, options, Deadline(30))
            if best is None:
                assert solution.status == "infeasible"
                continue
            assert solution.status == "optimal"
            assert solution.value == pytest.approx(best, abs=1e-9)
            assert solution.bound == solution.value
            check_model(case.problem, solution)
            if solution.lp_value is not None and solution.exact_pricing:
                assert solution.lp_value == pytest.approx(relaxed, rel=1e-4, abs=1e-4)


def test_without_proof_on_some_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The MIP over some rows alone gives models of all rows: a choice that is none teaches rows until it is one."""
    monkeypatch.setattr(model_rows, "ALL_ROWS", 2)
    monkeypatch.setattr(model_rows, "FIRST_ROWS", 1)
    monkeypatch.setattr(model_rows, "MORE_ROWS", 1)
    for seed in range(6):
        case = hard(seed)
        solution = solve(case.problem, Options(proof=False, warm_start=False), Deadline(30))
        check_model(case.problem, solution)
        assert solution.bound <= case.best() + 1e-6 <= solution.value + 2e-6


def noisy(n_rows: int) -> Problem:
    """Rows with a rule of four features in them, and noise."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 4, size=(6, n_rows)).astype(np.uint8)
    label = ((codes[0] > 1) & (codes[1] < 2)) ^ ((codes[2] == 3) | (codes[3] == 0))
    label = np.where(rng.random(n_rows) < 0.1, ~label, label).astype(int)
    table = datasets.random_table(rng, n_features=6, n_rows=4, n_classes=2, kinds=("ordinal",), missing=0.0)
    features = tuple(
        dataclasses.replace(feature, n_values=4, levels=tuple(range(4)), has_missing=False)
        for feature in table.features
    )
    statistics = np.eye(2)[label]
    return make_problem(Table(features, codes, statistics, np.arange(n_rows)), 1.0 - np.eye(2), 2, 4, 0.01 * n_rows)


def test_more_rows_than_are_looked_at() -> None:
    """On a table of which only a part is looked at the optimum is that of all rows, and no worse than the tree's."""
    problem = noisy(model_rows.ALL_ROWS + 5000)
    tabled = solve(problem, Options(), Deadline(60))
    plain = solve(problem, Options(tables=False, warm_start=False), Deadline(60))
    assert tabled.status == plain.status == "optimal"
    assert tabled.value == plain.value == tabled.bound
    assert tabled.rows < 2000
    check_model(problem, tabled)


def test_a_bound_at_the_time_limit() -> None:
    """When the time is over in the middle of the work there is a model and, from one scan of the tables, a bound."""
    problem = noisy(3000)
    limited = solve(dataclasses.replace(problem, max_depth=3, max_leaves=8), Options(max_iterations=2, proof=False))
    assert 0.0 < limited.bound <= limited.value
    best = solve(dataclasses.replace(problem, max_depth=3, max_leaves=8), deadline=Deadline(60))
    assert limited.bound <= best.value + 1e-6
