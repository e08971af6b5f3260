"""Binary trees whose tests have prices, against brute force, the general search and the search's own accelerations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers import datasets, general_oracle
from omtree.data.table import Feature, Table
from omtree.deadline import Deadline
from omtree.engines.trees import TreeSolution, solve_general, solve_priced
from omtree.problem import limits as rule_limits
from omtree.problem.graph import FeatureGraph
from omtree.problem.limits import PathShape, RuleLimits
from omtree.problem.losses import ImpurityLoss, LinearLoss
from omtree.problem.problem import Problem

OPTIONS = ({}, {"use_bounds": False}, {"use_cache": False}, {"n_jobs": 2})


def random_prices(rng: np.random.Generator, n_features: int) -> RuleLimits:
    """Prices in groups with discounts; often a limit on what the tests of a rule may cost."""
    full = rng.integers(0, 5, size=n_features) / 1.0
    again = full * rng.choice([0.0, 0.5, 1.0], size=n_features)
    group = tuple(rng.integers(-1, 2, size=n_features).tolist())
    limit = float(rng.choice([2.0, 4.0, 6.0, np.inf, np.inf]))
    weight = float(rng.choice([0.0, 0.01, 0.1, 0.3]))
    return RuleLimits(prices=rule_limits.TestPrices(tuple(full), tuple(again), group, limit, weight))


def random_problem(rng: np.random.Generator, depth: int) -> Problem:
    """A tiny problem with whole weights, any costs, and prices."""
    table = datasets.random_table(rng, n_features=int(rng.integers(1, 4)), max_values=4, weights="integer")
    n_classes = table.statistics.shape[1]
    costs = rng.integers(0, 9, size=(n_classes, int(rng.integers(2, 4)))) / 4
    if rng.random() < 0.4:
        costs = 1.0 - np.eye(n_classes)
    graph = FeatureGraph(table.features, "groups", order=rng.permutation(len(table.features)).tolist())
    leaves, support = int(rng.integers(2, 2**depth + 2)), float(rng.choice([1.0, 2.0, 5.0]))
    limits = random_prices(rng, len(table.features))
    return Problem(table, graph, LinearLoss(costs), depth, leaves, support, limits=limits)


def check_trees(problem: Problem, found: TreeSolution) -> None:
    """Every tree has the loss, prices included, the support and at most the leaves that are stated."""
    for size, (tree, loss) in enumerate(zip(found.trees, found.losses, strict=True), start=1):
        assert (tree is None) == np.isinf(loss)
        if tree is not None:
            value, leaves = general_oracle.tree_value(problem, tree)
            assert value == pytest.approx(loss, abs=1e-8)
            assert leaves <= size


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_equals_brute_force(depth: int) -> None:
    """The losses for every number of leaves, and of any number, are those of the best trees that can be paid for."""
    for seed in range(25 if depth < 4 else 10):
        problem = random_problem(np.random.default_rng([seed, depth]), depth)
        expected = general_oracle.best_trees(problem, "binary")
        for options in OPTIONS:
            found = solve_priced(problem, **options)  # type: ignore[arg-type]
            assert found is not None
            assert found.losses == pytest.approx(expected, abs=1e-8)
            check_trees(problem, found)
            last = solve_priced(problem, every_size=False, **options)  # type: ignore[arg-type]
            assert last is not None
            assert last.value == pytest.approx(expected[-1], abs=1e-8)
            assert last.bound == pytest.approx(expected[-1], abs=1e-8)
            assert last.status == ("infeasible" if np.isinf(expected[-1]) else "optimal")
            check_trees(problem, last)


def larger_problem(depth: int, leaves: int, n_rows: int = 150, n_features: int = 5, seed: int = 0) -> Problem:
    """Numbers of five values, two groups of tests, two costs."""
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(0, 5, size=(n_rows, n_features)), axis=0).T.astype(np.uint8)
    cuts = np.arange(1, 5) - 0.5
    features = tuple(Feature(f"x{f}", f, "numeric", 5, False, thresholds=cuts) for f in range(n_features))
    n = codes.shape[1]
    positive = (codes[0] > 2) * (codes[1] > 1) + (codes[2] > 3) + rng.normal(size=n) > 0.6
    counts = np.stack([~positive, positive], axis=1) * rng.integers(1, 4, size=(n, 1)).astype(float)
    table = Table(features, codes, counts, np.arange(n))
    group = tuple(f % 3 - 1 for f in range(n_features))
    full = tuple(1.0 + f % 4 for f in range(n_features))
    again = tuple(price / 2 for price in full)
    limits = RuleLimits(prices=rule_limits.TestPrices(full, again, group, 7.0, 0.02))
    costs = np.array([[0.0, 1.5], [4.0, 0.0]])
    return Problem(table, FeatureGraph(features), LinearLoss(costs), depth, leaves, 3.0, limits=limits)


@pytest.mark.parametrize(("depth", "leaves"), [(2, 4), (3, 5), (3, 8), (4, 9), (4, 16)])
def test_equals_the_general_search(depth: int, leaves: int) -> None:
    """On more rows the losses are those of the general search, whatever is switched off."""
    problem = larger_problem(depth, leaves)
    expected = solve_general(problem, splits="binary")
    for options in OPTIONS:
        found = solve_priced(problem, every_size=False, **options)  # type: ignore[arg-type]
        assert found is not None
        assert found.status == "optimal"
        assert found.value == pytest.approx(expected.value, abs=1e-8)
        check_trees(problem, found)
    sized = solve_priced(problem)
    assert sized is not None
    assert sized.losses == pytest.approx(expected.losses, abs=1e-8)


def test_deadline_gives_a_tree_and_a_valid_bound() -> None:
    """When the time is up a tree is returned that is what it says, and the bound is not above it."""
    problem = larger_problem(7, 128, n_rows=3000, n_features=12)
    found = solve_priced(problem, every_size=False, deadline=Deadline(0.05))
    assert found is not None
    assert found.status == "time_limit"
    assert found.bound <= found.value
    check_trees(problem, found)


def test_what_it_is_not_for_is_left_to_others() -> None:
    """Other losses and limits, splits into more than two, and fractions of weights: no answer."""
    problem = larger_problem(2, 4)
    fractions = replace(problem.table, statistics=problem.table.statistics / 3)
    assert solve_priced(problem) is not None
    assert solve_priced(problem, splits="multiway") is None
    assert solve_priced(replace(problem, loss=ImpurityLoss("gini", 2))) is None
    assert solve_priced(replace(problem, limits=replace(problem.limits, shape=PathShape(root=0)))) is None
    assert solve_priced(replace(problem, limits=RuleLimits())) is None
    assert solve_priced(replace(problem, table=fractions)) is None
