"""The pricers against plain enumeration of every path of the graph."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

from helpers import datasets
from omtree import _native
from omtree.data.table import Feature, Table
from omtree.engines.rules.pricing import native_pricer
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Problem

Key = tuple[bytes, int]


@dataclass(frozen=True, eq=False)
class Case:
    """A problem with prices of rows, and everything a pricing call takes."""

    problem: Problem
    value: np.ndarray
    constant: float

    @cached_property
    def _members(self) -> np.ndarray:
        """Which rows meet which condition, condition by condition."""
        codes = self.problem.table.codes
        met = [np.isin(codes[level.position], s) for level in self.problem.graph for s in level.code_sets]
        return np.array(met).reshape(-1, codes.shape[1])

    def price(
        self,
        threshold: float = 0.0,
        limit: int = 10**6,
        *,
        stop_when_full: bool = False,
        all_labels: bool = False,
        seconds: float = 1e9,
        k_best: int = 0,
        n_threads: int = 1,
    ) -> Answer:
        """What the kernel says."""
        pricer = native_pricer(self.problem, n_threads)
        depth = self.problem.max_depth
        conditions, label, cost, least, complete, overflow, looked_at = pricer.price(
            self.value,
            self.constant,
            depth,
            self.problem.min_support,
            threshold,
            limit,
            stop_when_full,
            all_labels,
            seconds,
            k_best,
        )
        rules = conditions.reshape(-1, max(1, depth))
        return Answer(rules, label, cost, least, complete, overflow, looked_at)

    def rows_of(self, rule: np.ndarray) -> np.ndarray:
        """Which rows a rule of condition numbers covers, from the definition of a path."""
        return np.logical_and.reduce(self._members[rule[rule >= 0]], axis=0)

    def true_cost(self, rule: np.ndarray, label: int) -> float:
        """Cost of a rule from its definition."""
        return float(self.constant + self.value[self.rows_of(rule), label].sum())

    def everything(self, all_labels: bool = False) -> dict[Key, float]:
        """Every distinct set of rows with its label (or all labels): the least cost of a rule that has it."""
        graph = self.problem.graph
        first = np.cumsum([0, *(len(level.code_sets) for level in graph)])
        weight = self.problem.table.weight
        found: dict[Key, float] = {}
        stack = [(np.ones(len(weight), dtype=bool), 0, 0)]
        while stack:
            rows, length, next_level = stack.pop()
            if not rows.any() or weight[rows].sum() < self.problem.min_support - 1e-9:
                continue
            costs = self.value[rows].sum(axis=0) + self.constant
            for label in range(len(costs)) if all_labels else [int(costs.argmin())]:
                key = (rows.tobytes(), label)
                found[key] = min(found.get(key, math.inf), float(costs[label]))
            if length == self.problem.max_depth:
                continue
            for level in range(next_level, len(graph)):
                for i in range(first[level], first[level + 1]):
                    stack.append((rows & self._members[i], length + 1, level + 1))
        return found


@dataclass(frozen=True, eq=False)
class Answer:
    """A pricing answer with names."""

    conditions: np.ndarray
    label: np.ndarray
    cost: np.ndarray
    least: float
    complete: bool
    overflow: bool
    looked_at: int

    def keys(self, case: Case) -> list[Key]:
        """Sets of rows and labels, in order."""
        return [
            (case.rows_of(rule).tobytes(), int(label)) for rule, label in zip(self.conditions, self.label, strict=True)
        ]


def nominal(name: str, position: int, n_values: int, has_missing: bool, order: tuple[int, ...]) -> Feature:
    """A nominal feature with numbers as levels."""
    return Feature(name, position, "nominal", n_values, has_missing, levels=tuple(range(n_values)), target_order=order)


def nominal_table(rng: np.random.Generator, n_values: int, n_rows: int = 40) -> Table:
    """Two nominal features, one with many codes, "missing" among them, and an ordered one."""
    features = (
        nominal("many", 0, n_values - 1, True, tuple(rng.permutation(n_values).tolist())),
        nominal("few", 1, 3, False, (2, 0, 1)),
        Feature("level", 2, "ordinal", 4, False, levels=tuple("abcd")),
    )
    codes = np.array([rng.permutation(np.arange(n_rows) % f.n_codes) for f in features], dtype=np.uint8)
    counts = rng.integers(0, 3, size=(n_rows, 2)) + np.array([[0.5, 0.25]])
    return Table(features, codes, counts, np.arange(n_rows, dtype=np.int64))


def make_case(
    seed: int,
    table: Table | None = None,
    categories: str = "groups",
    depth: int | None = None,
    whole: bool = False,
    support: float | None = None,
) -> Case:
    """A random case; with `whole` all prices are small whole numbers, so that there are many ties."""
    rng = np.random.default_rng(seed)
    if table is None:
        table = datasets.random_table(rng)
    n_rows, n_classes = table.statistics.shape
    graph = FeatureGraph(table.features, categories, order=rng.permutation(len(table.features)).tolist())
    if whole:
        value = rng.integers(-2, 3, size=(n_rows, n_classes)).astype(float)
    else:
        value = rng.normal(scale=rng.choice([0.1, 1.0, 100.0]), size=(n_rows, n_classes))
    support = float(rng.choice([0.25, 1.0, 2.0, 5.0])) if support is None else support
    depth = int(rng.integers(1, 5)) if depth is None else depth
    problem = Problem(table, graph, LinearLoss(1.0 - np.eye(n_classes)), depth, 4, support)
    constant = float(rng.integers(-1, 3)) if whole else float(rng.normal())
    return Case(problem, value, constant)


def check_costs(case: Case, answer: Answer) -> None:
    """Costs are true and sorted, supports are kept, no set of rows comes twice with one label."""
    assert (np.diff(answer.cost) >= 0).all()
    weight = case.problem.table.weight
    for rule, label, cost in zip(answer.conditions, answer.label, answer.cost, strict=True):
        assert cost == pytest.approx(case.true_cost(rule, label), abs=1e-9)
        assert weight[case.rows_of(rule)].sum() >= case.problem.min_support - 1e-9
    keys = answer.keys(case)
    assert len(set(keys)) == len(keys)


def check_exact(case: Case, answer: Answer, threshold: float, all_labels: bool = False) -> None:
    """The answer holds every rule below the threshold, and only those."""
    expected = {key: cost for key, cost in case.everything(all_labels).items() if cost < threshold}
    check_costs(case, answer)
    found = dict(zip(answer.keys(case), answer.cost, strict=True))
    assert found.keys() == expected.keys()
    assert all(found[key] == pytest.approx(expected[key], abs=1e-9) for key in expected)
    assert answer.complete
    assert not answer.overflow


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("categories", ["groups", "values"])
def test_exact_finds_all_rules_below_a_threshold(seed: int, categories: str) -> None:
    """Whatever the features and prices, the exact pricer lists every rule below the threshold once, with its cost."""
    case = make_case(seed, categories=categories)
    costs = sorted(case.everything().values())
    for threshold in (0.0, (costs[0] + costs[-1]) / 2, costs[-1] + 1.0, costs[0] - 1.0):
        answer = case.price(threshold)
        check_exact(case, answer, threshold)
        assert answer.least == pytest.approx(min(costs[0], threshold), abs=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_exact_with_all_labels(seed: int) -> None:
    """With all labels every prediction that is cheap enough makes a rule of its own."""
    case = make_case(seed)
    costs = sorted(case.everything(all_labels=True).values())
    for threshold in (0.0, (costs[0] + costs[-1]) / 2, costs[-1] + 1.0):
        check_exact(case, case.price(threshold, all_labels=True), threshold, all_labels=True)


@pytest.mark.parametrize(
    ("n_values", "categories"),
    [(6, "groups"), (7, "groups"), (12, "groups"), (70, "groups"), (130, "groups"), (12, "values"), (254, "values")],
)
def test_exact_with_many_codes(n_values: int, categories: str) -> None:
    """Single values, complements and runs along the target are summed correctly, across machine words too."""
    table = nominal_table(np.random.default_rng(n_values), n_values, n_rows=max(40, n_values))
    if n_values > 12:  # fewer features, or plain enumeration takes too long
        table = Table(table.features[:1], table.codes[:1], table.statistics, table.row_of)
    case = make_case(n_values, table, categories, depth=2, support=0.5)
    check_exact(case, case.price(1.0), 1.0)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("whole", [False, True])
def test_limit_keeps_the_cheapest(seed: int, whole: bool) -> None:
    """With a limit the answer holds the cheapest rules, and says that there are more exactly when there are."""
    case = make_case(seed, whole=whole)
    costs = sorted(cost for cost in case.everything().values() if cost < 3.0)
    for limit in (1, 2, 5, len(costs), len(costs) + 1):
        if limit == 0:
            continue
        answer = case.price(3.0, limit)
        check_costs(case, answer)
        assert answer.complete
        assert answer.overflow == (len(costs) > limit)
        assert answer.cost == pytest.approx(costs[:limit], abs=1e-9)
        assert answer.least == pytest.approx(min([*costs, 3.0]), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_limit_survives_pruning(seed: int) -> None:
    """When far more rules than the limit are met on the way, the cheapest are still the ones that stay."""
    table = nominal_table(np.random.default_rng(seed), 8)
    for whole in (False, True):
        case = make_case(seed, table, depth=3, whole=whole, support=0.5)
        costs = sorted(case.everything().values())
        assert len(costs) > 4 * 3 + 1024
        answer = case.price(costs[-1] + 1.0, 3)
        check_costs(case, answer)
        assert answer.cost == pytest.approx(costs[:3], abs=1e-9)
        assert answer.overflow
        assert answer.complete
        assert answer.least == pytest.approx(costs[0], abs=1e-9)


def test_stop_when_full() -> None:
    """An enumeration that meets too many rules stops early and says so; one that does not is complete."""
    table = nominal_table(np.random.default_rng(0), 8)
    case = make_case(0, table, depth=3, support=0.5)
    costs = sorted(case.everything().values())
    full = case.price(costs[-1] + 1.0, 3, stop_when_full=True)
    assert full.overflow
    assert not full.complete
    assert full.looked_at < case.price(costs[-1] + 1.0).looked_at
    below = (costs[20] + costs[21]) / 2
    check_exact(case, case.price(below, 21, stop_when_full=True), below)
    assert case.price(below, 20, stop_when_full=True).overflow


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("k_best", [0, 1, 3, 1000])
def test_threads_do_not_change_the_answer(seed: int, k_best: int) -> None:
    """One thread or several: the same rules in the same order, ties included."""
    table = nominal_table(np.random.default_rng(seed), 7)
    case = make_case(seed, table, depth=3, whole=seed % 2 == 0)
    for threshold, limit in ((0.0, 10**6), (5.0, 7), (1e6, 20)):
        one = case.price(threshold, limit, k_best=k_best)
        for n_threads in (2, 3):
            other = case.price(threshold, limit, k_best=k_best, n_threads=n_threads)
            assert (one.conditions == other.conditions).all()
            assert (one.label == other.label).all()
            assert (one.cost == other.cost).all()
            assert (one.least, one.complete, one.overflow) == (other.least, other.complete, other.overflow)


@pytest.mark.parametrize("seed", range(20))
def test_pruning_looks_at_fewer_rules_and_loses_none(seed: int) -> None:
    """A low threshold prunes; `least` is then the threshold unless a rule is below it."""
    table = nominal_table(np.random.default_rng(seed), 6)
    case = make_case(seed, table, depth=3)
    costs = sorted(case.everything().values())
    for threshold in (costs[0] - 0.5, (costs[0] + costs[1]) / 2, costs[0] + 1.0):
        answer = case.price(threshold)
        assert answer.cost == pytest.approx([cost for cost in costs if cost < threshold], abs=1e-9)
        assert answer.least == pytest.approx(min(costs[0], threshold), abs=1e-9)
        assert answer.looked_at <= case.price(costs[-1] + 1.0).looked_at


@pytest.mark.parametrize("depth", [0, 1, 9])
def test_depths(depth: int) -> None:
    """Without conditions there is one rule; more depth than features is no error."""
    case = make_case(3, depth=depth, support=0.25)
    check_exact(case, case.price(1e6), 1e6)
    if depth == 0:
        assert len(case.price(1e6).cost) == 1


def test_rules_longer_than_the_kernel_can_hold_are_refused() -> None:
    """A depth beyond the kernel's longest rule is an error, not a write beyond the end of an array."""
    n = _native.MAX_RULE_LENGTH + 4
    features = tuple(Feature(f"f{i}", i, "nominal", 2, False) for i in range(n))
    codes = np.tril(np.ones((n, n), dtype=np.uint8))
    table = Table(features, np.ascontiguousarray(codes), np.ones((n, 2)), np.arange(n, dtype=np.int64))
    problem = Problem(table, FeatureGraph(features), LinearLoss(1.0 - np.eye(2)), n, 4, 0.5)
    case = Case(problem, np.zeros((n, 2)), 0.0)
    for k_best in (0, 10):
        with pytest.raises(ValueError, match="depth"):
            case.price(-1.0, k_best=k_best)


@pytest.mark.parametrize("all_labels", [False, True])
def test_a_rule_without_rows_is_no_rule(all_labels: bool) -> None:
    """With no support demanded, rules that cover nothing still do not count."""
    for seed in range(20):
        case = make_case(seed, support=0.0)
        check_exact(case, case.price(1e6, all_labels=all_labels), 1e6, all_labels)


@pytest.mark.parametrize("k_best", [0, 50])
def test_no_time(k_best: int) -> None:
    """With no time left the pricer returns at once, has proven nothing, and what it found is true."""
    table = nominal_table(np.random.default_rng(0), 8)
    case = make_case(0, table, depth=3)
    for n_threads in (1, 2):
        answer = case.price(1e6, seconds=1e-9, k_best=k_best, n_threads=n_threads)
        assert not answer.complete
        check_costs(case, answer)


@pytest.mark.parametrize("seed", range(40))
def test_shortest_paths_with_large_k_is_exact(seed: int) -> None:
    """When every partial path may go on, the heuristic finds all rules below the threshold, but claims no proof."""
    case = make_case(seed)
    expected = {key: cost for key, cost in case.everything().items() if cost < 1.0}
    answer = case.price(1.0, k_best=10**6)
    check_costs(case, answer)
    found = dict(zip(answer.keys(case), answer.cost, strict=True))
    assert found == pytest.approx(expected, abs=1e-9)
    assert not answer.complete


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("k_best", [1, 3])
def test_shortest_paths_with_small_k(seed: int, k_best: int) -> None:
    """With small K the rules are some of those below the threshold, with true costs; `least` is that of the best."""
    case = make_case(seed)
    expected = case.everything()
    answer = case.price(1.0, k_best=k_best)
    check_costs(case, answer)
    for key, cost in zip(answer.keys(case), answer.cost, strict=True):
        assert expected[key] == pytest.approx(cost, abs=1e-9)
        assert cost < 1.0
    if len(answer.cost):
        assert answer.least == pytest.approx(answer.cost[0], abs=1e-9)
    assert len(case.price(1.0, 2, k_best=k_best).cost) == min(2, len(answer.cost))


@pytest.mark.parametrize("seed", range(10))
def test_cover(seed: int) -> None:
    """`cover` lists the rows of each rule in order, all or some; a rule without conditions has them all."""
    case = make_case(seed, depth=3)
    rules = case.price(1e6).conditions
    rules = np.concatenate([np.full((1, rules.shape[1]), -1, dtype=np.int32), rules])
    rules = np.ascontiguousarray(rules)
    all_rows = np.arange(case.problem.table.n_rows, dtype=np.int32)
    pricer = native_pricer(case.problem, 1)
    for asked in (all_rows, all_rows[::2].copy(), all_rows[:0]):
        start, places = pricer.cover(rules, asked)
        assert start[0] == 0
        assert start[-1] == len(places)
        share = np.arange(1.0, len(rules) + 1)
        coverage = np.zeros(len(asked))
        for i, rule in enumerate(rules):
            inside = case.rows_of(rule)[asked]
            assert places[start[i] : start[i + 1]].tolist() == np.flatnonzero(inside).tolist()
            coverage += share[i] * inside
        assert pricer.coverage(rules, share, asked).tolist() == coverage.tolist()


def test_cover_of_nothing() -> None:
    """No rules cover nothing."""
    start, rows = native_pricer(make_case(0, depth=2).problem, 1).cover(
        np.empty((0, 2), dtype=np.int32), np.arange(3, dtype=np.int32)
    )
    assert start.tolist() == [0]
    assert len(rows) == 0
