"""The tree search under any loss and any limits, against brute force and against its own accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from helpers import datasets, general_oracle
from omtree.data.table import Feature, Table
from omtree.deadline import Deadline
from omtree.engines.trees import TreeSolution, solve
from omtree.engines.trees.general import solve_general
from omtree.problem import limits as rule_limits
from omtree.problem.graph import FeatureGraph
from omtree.problem.limits import LinearLimit, PathShape, RatioLimit, RuleLimits
from omtree.problem.losses import ImpurityLoss, LinearLoss, Loss, MomentLoss, RowLoss, SampleLoss
from omtree.problem.problem import Problem

LOSSES = ["linear", "gini", "entropy", "squared", "poisson", "quantile", "huber", "rows", "refining rows"]
LIMITS = ["none", "linear", "ratio", "prices", "at_most", "needs", "above", "root", "predicate", "several"]


def random_loss(rng: np.random.Generator, kind: str, table: Table) -> tuple[Loss, Table]:
    """A loss and the table with the statistics it needs."""
    n_rows, n_classes = table.statistics.shape
    if kind == "linear":
        costs = rng.integers(0, 9, size=(n_classes, int(rng.integers(2, 4)))) / 4
        return LinearLoss(costs), table
    if kind in ("gini", "entropy"):
        return ImpurityLoss(kind, n_classes), table  # type: ignore[arg-type]
    start = np.concatenate([[0], np.cumsum(rng.integers(1, 3, size=n_rows))]).astype(np.int64)
    target = rng.integers(0, 12, size=start[-1]) / 2
    weight = rng.integers(1, 4, size=start[-1]) / 1.0
    row_weight = np.add.reduceat(weight, start[:-1])
    if kind in ("squared", "poisson"):
        second, third = target, target**2
        if kind == "poisson":
            second, third = target - 1.0, target * np.log(np.where(target > 0, target, 1.0)) - target + 1.0
        moments = np.stack([np.add.reduceat(weight * v, start[:-1]) for v in (np.ones_like(target), second, third)], 1)
        return MomentLoss(kind), replace(table, statistics=moments, row_weight=row_weight)  # type: ignore[arg-type]
    if kind in ("quantile", "huber"):
        parameter = float(rng.choice([0.25, 0.5, 0.8])) if kind == "quantile" else float(rng.choice([0.5, 2.0]))
        return SampleLoss(kind, parameter, start, target, weight), replace(table, row_weight=row_weight)  # type: ignore[arg-type]
    number = rng.random(n_rows)
    if kind == "rows":

        def any_loss(rows: np.ndarray, allowed: Sequence[bool] | None) -> tuple[float, int]:
            by_label = [abs(np.sin(37 * number[rows].sum())), abs(np.cos(23 * number[rows].sum()))]
            labels = [label for label in range(2) if allowed is None or allowed[label]]
            label = min(labels, key=lambda label: by_label[label])
            return float(by_label[label]), label

        return RowLoss(any_loss, 2), table
    weights = table.weight

    def spread(rows: np.ndarray, allowed: Sequence[bool] | None) -> tuple[float, int]:
        return float(weights[rows].sum() * np.ptp(number[rows])), 0

    return RowLoss(spread, 1, refines=True), table


def random_limits(rng: np.random.Generator, kind: str, table: Table, n_labels: int) -> RuleLimits:
    """Limits of one kind, or of several; often but not always such that some tree meets them."""
    n_rows, n_features = len(table.weight), len(table.features)
    if kind == "several":
        first, second = (random_limits(rng, str(rng.choice(LIMITS[1:-1])), table, n_labels) for _ in range(2))
        return RuleLimits(
            first.measures if first.measures is not None else second.measures,
            first.linear if first.measures is not None else second.linear,
            first.ratios if first.measures is not None else second.ratios,
            first.prices or second.prices,
            first.shape if first.shape != PathShape() else second.shape,
            first.predicate or second.predicate,
        )
    measures = rng.integers(0, 4, size=(n_rows, 4)) / 2
    measures[:, 1] += measures[:, 0]
    measures[:, 3] += measures[:, 2]
    if kind == "linear":
        per_label = rng.random() < 0.5
        coefficient = rng.integers(-1, 3, size=(4, n_labels if per_label else 1)) / 1.0
        total = measures.sum(axis=0) @ coefficient
        chosen = [LinearLimit(coefficient, float(rng.choice([-1.0, 0.0, 1.0, total.max() / 4])))]
        if rng.random() < 0.4:
            most = float(table.weight.sum() / 2)
            measures = np.column_stack([measures, table.weight])
            chosen[0] = LinearLimit(np.vstack([coefficient, np.zeros((1, coefficient.shape[1]))]), chosen[0].at_least)
            chosen.append(LinearLimit(np.array([[0.0], [0], [0], [0], [-1]]), -most))
        return RuleLimits(measures, tuple(chosen))
    if kind == "ratio":
        return RuleLimits(measures, ratios=(RatioLimit(0, 1, 2, 3, float(rng.choice([0.1, 0.3, 0.5]))),))
    if kind == "prices":
        full = rng.integers(1, 5, size=n_features) / 1.0
        again = full * rng.choice([0.0, 0.5, 1.0], size=n_features)
        group = rng.integers(-1, 2, size=n_features)
        limit = float(rng.choice([2.0, 4.0, 6.0, np.inf]))
        weight = float(rng.choice([0.0, 0.01, 0.3]))
        of_group = tuple(group.tolist())
        return RuleLimits(prices=rule_limits.TestPrices(tuple(full), tuple(again), of_group, limit, weight))
    a, b = rng.permutation(max(n_features, 2))[:2].tolist()
    if kind == "at_most":
        chosen_features = frozenset(rng.permutation(n_features)[: int(rng.integers(1, n_features + 1))].tolist())
        return RuleLimits(shape=PathShape(at_most=((chosen_features, int(rng.integers(0, 2))),)))
    if kind == "needs" and n_features > 1:
        return RuleLimits(shape=PathShape(needs=((a, frozenset({b}), bool(rng.random() < 0.5)),)))
    if kind == "above" and n_features > 1:
        return RuleLimits(shape=PathShape(above=((a, b),)))
    if kind == "root":
        return RuleLimits(shape=PathShape(root=int(rng.integers(n_features))))
    if kind == "predicate":
        seed = int(rng.integers(100))

        def demand(conditions: Sequence[tuple[int, tuple[int, ...]]], rows: np.ndarray, label: int) -> bool:
            inside = np.ones(n_rows, dtype=bool)
            for feature, codes in conditions:
                assert 0 < len(codes) < table.features[feature].n_codes
                inside &= np.isin(table.codes[feature], codes)
            assert len({feature for feature, _ in conditions}) == len(conditions)
            assert np.flatnonzero(inside).tolist() == rows.tolist()
            mixed = seed + label + sum(7 * f + sum(3 * c + 1 for c in codes) for f, codes in conditions)
            return mixed % 4 != 0

        return RuleLimits(predicate=demand)
    return RuleLimits()


def random_problem(rng: np.random.Generator, loss: str, limits: str, categories: str) -> Problem:
    """A tiny problem with this kind of loss and limits."""
    table = datasets.random_table(rng, n_features=int(rng.integers(1, 4)), max_values=4)
    chosen, table = random_loss(rng, loss, table)
    graph = FeatureGraph(table.features, categories, order=rng.permutation(len(table.features)).tolist())  # type: ignore[arg-type]
    depth, leaves = int(rng.integers(1, 4)), int(rng.integers(1, 8))
    support = float(rng.choice([0.25, 1.0, 2.0, 3.0]))
    return Problem(
        table, graph, chosen, depth, leaves, support, limits=random_limits(rng, limits, table, chosen.n_labels)
    )


def check_trees(problem: Problem, solution: TreeSolution, splits: str) -> None:
    """Every tree is allowed and has the loss and the number of leaves that are stated."""
    for size, (tree, loss) in enumerate(zip(solution.trees, solution.losses, strict=True), start=1):
        assert (tree is None) == np.isinf(loss)
        if tree is not None:
            value, leaves = general_oracle.tree_value(problem, tree)
            assert value == pytest.approx(loss, abs=1e-8)
            assert leaves <= size


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("loss", LOSSES)
def test_equals_brute_force(loss: str, limits: str, splits: str) -> None:
    """Losses for every number of leaves are those of the best allowed trees; infeasible exactly when there is none."""
    for seed in range(4):
        rng = np.random.default_rng([seed, LOSSES.index(loss), LIMITS.index(limits), splits == "binary"])
        problem = random_problem(rng, loss, limits, str(rng.choice(["groups", "values"])))
        max_children = int(rng.integers(2, 4)) if rng.random() < 0.3 else None
        expected = general_oracle.best_trees(problem, splits, max_children)
        for options in ({}, {"use_bounds": False}, {"use_cache": False}, {"n_jobs": 2}):
            found = solve_general(problem, splits=splits, max_children=max_children, **options)  # type: ignore[arg-type]
            assert found.losses == pytest.approx(expected, abs=1e-8)
            assert found.status == ("infeasible" if np.isinf(expected[-1]) else "optimal")
            assert found.bound == pytest.approx(expected[-1], abs=1e-8)
            check_trees(problem, found, splits)


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("seed", range(20))
def test_equals_the_search_for_linear_costs(seed: int, splits: str) -> None:
    """Where the fast search applies, both find the same losses, also with large nominal features."""
    rng = np.random.default_rng(seed)
    table = datasets.random_table(rng, n_features=4, n_rows=60, max_values=8)
    n_classes = table.statistics.shape[1]
    graph = FeatureGraph(table.features, "groups")
    costs = (1.0 - np.eye(n_classes)) * rng.integers(1, 4, size=(n_classes, 1))
    problem = Problem(table, graph, LinearLoss(costs), int(rng.integers(1, 5)), 8, float(rng.integers(1, 4)))
    max_children = int(rng.integers(2, 5)) if rng.random() < 0.5 else None
    fast = solve(problem, splits=splits, max_children=max_children)  # type: ignore[arg-type]
    for options in ({}, {"use_bounds": False}):
        general = solve_general(problem, splits=splits, max_children=max_children, **options)  # type: ignore[arg-type]
        assert general.losses == pytest.approx(fast.losses, abs=1e-8)
        check_trees(problem, general, splits)


def larger_problem(depth: int, n_rows: int = 400, seed: int = 0) -> Problem:
    """Regression with six features of six values."""
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(0, 6, size=(n_rows, 6)), axis=0).T.astype(np.uint8)
    cuts = np.arange(1, 6) - 0.5
    features = tuple(Feature(f"x{f}", f, "numeric", 6, False, thresholds=cuts) for f in range(6))
    n = codes.shape[1]
    target = codes[0] * (codes[1] > 2) - 2.0 * (codes[2] < 3) * (codes[3] > 1) + rng.normal(size=n)
    moments = np.stack([np.ones(n), target, target**2], axis=1)
    table = Table(features, codes, moments, np.arange(n), np.ones(n))
    return Problem(table, FeatureGraph(features), MomentLoss("squared"), depth, 8, 10.0)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_accelerations_agree_on_more_rows(depth: int) -> None:
    """Bounds, cache and threads leave the losses of a larger regression as they are."""
    problem = larger_problem(depth, n_rows=150 if depth == 4 else 400)
    reference = solve_general(problem, use_bounds=False, use_cache=True)
    for options in ({}, {"use_cache": False}, {"n_jobs": 2}):
        found = solve_general(problem, **options)  # type: ignore[arg-type]
        assert found.losses == pytest.approx(reference.losses, rel=1e-9)
        check_trees(problem, found, "multiway")


def test_threads_find_the_same_of_equal_trees() -> None:
    """Whichever thread is the first to find one of several best trees, the same one is returned."""
    features = tuple(Feature(name, f, "ordinal", 2, False, levels=("low", "high")) for f, name in enumerate("abc"))
    codes = np.array([[row >> f & 1 for row in range(8)] for f in range(3)], dtype=np.uint8)
    target = np.arange(8.0)
    moments = np.stack([np.ones(8), target, target**2], axis=1)
    table = Table(features, codes, moments, np.arange(8), np.ones(8))
    problem = Problem(table, FeatureGraph(features), MomentLoss("squared"), 3, 8, 1.0)
    alone = solve_general(problem).tree
    assert all(solve_general(problem, n_jobs=3).tree == alone for _ in range(200))


def test_deadline_gives_a_tree_and_a_valid_bound() -> None:
    """When the time is up the best tree known is returned, and the bound is not above the optimum."""
    problem = larger_problem(5, n_rows=3000)
    found = solve_general(problem, deadline=Deadline(0.3))
    assert found.status == "time_limit"
    shallow = solve_general(larger_problem(2, n_rows=3000))
    assert found.tree is not None
    check_trees(problem, found, "multiway")
    assert found.bound <= found.value <= solve_general(larger_problem(1, n_rows=3000)).value + 1e-9
    assert found.bound <= shallow.value


def test_errors_of_a_python_loss_come_through() -> None:
    """An exception in a user's function ends the search and reaches the caller, also from threads."""
    problem = larger_problem(2)

    def broken(rows: np.ndarray, allowed: Sequence[bool] | None) -> tuple[float, int]:
        if len(rows) < 100:
            raise ZeroDivisionError("no such mean")
        return float(len(rows)), 0

    for n_jobs in (1, 2):
        with pytest.raises(ZeroDivisionError, match="no such mean"):
            solve_general(replace(problem, loss=RowLoss(broken)), n_jobs=n_jobs)
