"""The search over sums of targets, against brute force, the general search and its own accelerations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers import datasets, general_oracle
from omtree.data.table import Feature, Table
from omtree.deadline import Deadline
from omtree.engines.trees import TreeSolution, solve_general, solve_sums
from omtree.problem.graph import FeatureGraph
from omtree.problem.limits import PathShape, RuleLimits
from omtree.problem.losses import LinearLoss, MomentLoss
from omtree.problem.problem import Problem

OPTIONS = ({}, {"use_bounds": False}, {"use_cache": False}, {"n_jobs": 2})


def moments(rng: np.random.Generator, n_rows: int, kind: str) -> np.ndarray:
    """Weight, sum of targets and the third sum of one to three samples per row; weights are fractions of four."""
    sums = np.zeros((n_rows, 3))
    for row in range(n_rows):
        for _ in range(int(rng.integers(1, 4))):
            target, weight = int(rng.integers(0, 12)) / 2, int(rng.integers(1, 9)) / 4
            third = target**2
            if kind == "poisson":
                third = (target * np.log(target) if target > 0 else 0.0) - target + 1.0
                target -= 1.0
            sums[row] += weight * np.array([1.0, target, third])
    return sums


def random_problem(rng: np.random.Generator, kind: str, depth: int) -> Problem:
    """Up to three features of up to four values, missing cells among them, and seldom more than ten rows."""
    table = datasets.random_table(rng, n_features=int(rng.integers(1, 4)), max_values=4)
    if kind == "costs":
        n_labels = int(rng.integers(2, 6))
        costs = rng.integers(0, 9, (table.n_rows, n_labels)) / 2.0
        table = replace(table, statistics=costs, row_weight=rng.integers(1, 9, table.n_rows) / 4)
        loss: MomentLoss | LinearLoss = LinearLoss(np.eye(n_labels))
    else:
        statistics = moments(rng, table.n_rows, kind)
        table = replace(table, statistics=statistics, row_weight=statistics[:, 0])
        loss = MomentLoss(kind)  # type: ignore[arg-type]
    graph = FeatureGraph(table.features, "groups", order=rng.permutation(len(table.features)).tolist())
    support = float(rng.choice([0.25, 1.0, 2.0, 4.0]))
    return Problem(table, graph, loss, depth, int(rng.integers(2, 2**depth + 2)), support)


def check_trees(problem: Problem, found: TreeSolution) -> None:
    """Every tree has the loss, the support and at most the leaves that are stated."""
    for size, (tree, loss) in enumerate(zip(found.trees, found.losses, strict=True), start=1):
        assert (tree is None) == np.isinf(loss)
        if tree is not None:
            value, leaves = general_oracle.tree_value(problem, tree)
            assert value == pytest.approx(loss, abs=1e-8)
            assert leaves <= size


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("kind", ["squared", "poisson", "costs"])
def test_equals_brute_force(kind: str, depth: int) -> None:
    """The losses for every number of leaves, and the loss where sizes do not matter, are those of the best trees."""
    for seed in range(12 if depth < 4 else 6):
        rng = np.random.default_rng([seed, depth, ("poisson", "squared", "costs").index(kind)])
        problem = random_problem(rng, kind, depth)
        expected = general_oracle.best_trees(problem, "binary")
        for options in OPTIONS:
            found = solve_sums(problem, **options)  # type: ignore[arg-type]
            assert found is not None
            assert found.losses == pytest.approx(expected, abs=1e-8)
            assert found.status == ("infeasible" if np.isinf(expected[-1]) else "optimal")
            check_trees(problem, found)
            last = solve_sums(problem, every_size=False, **options)  # type: ignore[arg-type]
            assert last is not None
            assert last.value == pytest.approx(expected[-1], abs=1e-8)
            assert last.bound == pytest.approx(expected[-1], abs=1e-8)
            check_trees(problem, last)


def flags(n_rows: int, n_columns: int, depth: int, leaves: int, kind: str = "squared", seed: int = 0) -> Problem:
    """0/1 columns, half of them nested thresholds of two numbers."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_rows, 2))
    columns = [numbers[:, i % 2] > np.quantile(numbers[:, i % 2], (i + 1) / (n_columns + 1)) for i in range(n_columns)]
    for i in range(0, n_columns, 2):
        columns[i] = rng.random(n_rows) < 0.4
    codes = np.array(columns).astype(np.uint8)
    target = rng.poisson(np.exp(0.4 * codes[0] * numbers[:, 0] + 0.5 * codes[1] - 0.3 * codes[2] * codes[3]))
    features = tuple(Feature(f"x{i}", i, "ordinal", 2, False, levels=(0, 1)) for i in range(n_columns))
    if kind == "costs":
        costs = np.abs(target[:, None] - np.arange(6)) * rng.uniform(0.5, 2.0, (n_rows, 6))
        table = Table(features, codes, costs, np.arange(n_rows), np.ones(n_rows))
        return Problem(table, FeatureGraph(features), LinearLoss(np.eye(6)), depth, leaves, 5.0)
    third = target**2
    if kind == "poisson":
        third = np.where(target > 0, target * np.log(np.maximum(target, 1)), 0.0) - target + 1.0
        target = target - 1
    sums = np.stack([np.ones(n_rows), target, third], axis=1).astype(float)
    table = Table(features, codes, sums, np.arange(n_rows), np.ones(n_rows))
    return Problem(table, FeatureGraph(features), MomentLoss(kind), depth, leaves, 5.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["squared", "poisson", "costs"])
@pytest.mark.parametrize(("depth", "leaves"), [(2, 4), (3, 5), (3, 8), (4, 7), (4, 16), (5, 32)])
def test_equals_the_general_search(kind: str, depth: int, leaves: int) -> None:
    """On more rows and columns the losses are those of the general search, whatever is switched off."""
    problem = flags(120, 6 if depth > 4 else 12, depth, leaves, kind)
    expected = solve_general(problem, splits="binary")
    for options in OPTIONS:
        found = solve_sums(problem, every_size=False, **options)  # type: ignore[arg-type]
        assert found is not None
        assert found.status == "optimal"
        assert found.value == pytest.approx(expected.value, rel=1e-9)
        check_trees(problem, found)
    sized = solve_sums(problem)
    assert sized is not None
    assert sized.losses == pytest.approx(expected.losses, rel=1e-9)
    check_trees(problem, sized)


def test_multiway_trees_over_two_values_are_binary() -> None:
    """Without a third value anywhere, multiway splits are the same trees."""
    problem = flags(200, 9, 3, 8)
    found = solve_sums(problem, splits="multiway")
    assert found is not None
    assert found.losses == pytest.approx(solve_general(problem, splits="multiway").losses, rel=1e-9)


@pytest.mark.parametrize("depth", [3, 4, 6])
def test_deadline_gives_a_tree_and_a_valid_bound(depth: int) -> None:
    """When the time is up a tree is returned that is what it says, and the bound is not above it."""
    problem = flags(4000, 60, depth, 2**depth, seed=1)
    leaf = solve_sums(replace(problem, max_depth=1), every_size=False)
    found = solve_sums(problem, every_size=False, deadline=Deadline(0.05 if depth > 3 else 0.005))
    assert leaf is not None
    assert found is not None
    assert found.status == "time_limit"
    assert found.bound <= found.value
    assert found.bound <= leaf.value
    check_trees(problem, found)


def test_no_time_at_all_gives_a_leaf() -> None:
    """A deadline that has passed leaves the tree of one leaf."""
    problem = flags(300, 10, 4, 16)
    found = solve_sums(problem, deadline=Deadline(0.0))
    assert found is not None
    assert found.status == "time_limit"
    assert found.tree is not None
    assert not found.tree.branches
    check_trees(problem, found)


def test_what_it_is_not_for_is_left_to_others() -> None:
    """Other losses, limits on rules, splits into more than two, and weights too far apart: no answer."""
    problem = flags(100, 6, 2, 4)
    three = Feature("x0", 0, "ordinal", 3, False, levels=(0, 1, 2))
    features = (three, *problem.table.features[1:])
    wide = replace(problem, table=replace(problem.table, features=features), graph=FeatureGraph(features))
    light = problem.table.statistics.copy()
    light[0] *= 1e-10
    assert solve_sums(problem) is not None
    assert solve_sums(wide, splits="binary") is not None
    assert solve_sums(wide, splits="multiway") is None
    assert solve_sums(replace(problem, loss=LinearLoss(np.ones((3, 1))))) is None
    assert solve_sums(replace(problem, limits=RuleLimits(shape=PathShape(root=0)))) is None
    assert solve_sums(replace(problem, table=replace(problem.table, statistics=light))) is None
