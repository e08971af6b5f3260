"""Trees of any depth and size with a price per leaf, against brute force and the search's own accelerations."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from helpers import datasets, general_oracle, oracle
from omtree.data.table import Feature, Table
from omtree.deadline import Deadline
from omtree.engines.dispatch import TreeSolver
from omtree.engines.reductions.leaf_prices import price_path
from omtree.engines.trees import solve, solve_any_depth
from omtree.objectives.error import Error
from omtree.objectives.squared import Squared
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import ImpurityLoss, LinearLoss, MomentLoss, RowLoss
from omtree.problem.problem import Node, Problem, leaves_of

SPLITS: tuple[Literal["binary", "multiway"], ...] = ("binary", "multiway")


def random_problem(seed: int) -> Problem:
    """A tiny problem with whole weights and a price: errors or other costs, missing values, nominal features."""
    rng = np.random.default_rng(seed)
    table = datasets.random_table(
        rng, n_features=int(rng.integers(1, 4)), max_values=4, weights="integer", n_rows=int(rng.integers(3, 9))
    )
    n_classes = table.statistics.shape[1]
    costs = 1.0 - np.eye(n_classes)
    if rng.random() < 0.4:
        costs = rng.integers(0, 9, size=(n_classes, int(rng.integers(2, 4)))) / 4
    graph = FeatureGraph(table.features, "groups", order=rng.permutation(len(table.features)).tolist())
    support, price = float(rng.choice([1.0, 1.0, 2.0, 5.0])), float(rng.choice([0.01, 0.3, 0.5, 1.0, 1.7, 3.0]))
    n = table.n_rows
    return Problem(table, graph, LinearLoss(costs), n, max(2, n), support, leaf_price=price)


def best_losses(problem: Problem, splits: str) -> np.ndarray:
    """The least loss for every number of leaves, by brute force."""
    table = problem.table
    return np.array(
        oracle.best_trees_of_any_depth(
            table.codes, table.statistics, table.features, problem.costs, problem.min_support, splits
        )
    )


def with_prices(problem: Problem, losses: np.ndarray, price: float) -> float:
    """The least loss and price of leaves."""
    return float((losses + price * np.arange(1, len(losses) + 1)).min())


def most_children(node: Node) -> int:
    """Most children of a node in the tree."""
    return max([len(node.branches), *(most_children(child) for _, child in node.branches)])


@pytest.mark.parametrize("splits", SPLITS)
@pytest.mark.parametrize("first", range(0, 120, 20))
def test_equals_brute_force(splits: Literal["binary", "multiway"], first: int) -> None:
    """The value is that of the best of all trees, with every acceleration and without, and its tree has it."""
    for seed in range(first, first + 20):
        problem = random_problem(seed)
        expected = with_prices(problem, best_losses(problem, splits), problem.leaf_price)
        for options in ({}, {"use_bounds": False}, {"use_cache": False}, {"cache_mb": 1e-3}):
            found = solve_any_depth(problem, splits=splits, **options)  # type: ignore[arg-type]
            assert found is not None
            assert found.value == pytest.approx(expected, abs=1e-9)
            assert found.bound == pytest.approx(expected, abs=1e-9)
            if np.isinf(expected):
                assert found.status == "infeasible"
                continue
            assert found.status == "optimal"
            assert found.tree is not None
            value, leaves = general_oracle.tree_value(replace(problem, leaf_price=0.0), found.tree)
            assert value + problem.leaf_price * leaves == pytest.approx(found.value, abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_no_node_has_too_many_children(seed: int) -> None:
    """With a limit on children the tree keeps it and is as good: it may test a feature again."""
    problem = random_problem(seed)
    for most in (2, 3):
        free, limited = solve_any_depth(problem), solve_any_depth(problem, max_children=most)
        assert free is not None
        assert limited is not None
        assert limited.value == free.value
        assert limited.tree is None or most_children(limited.tree) <= most


def larger_problem(price: float, n_rows: int = 400, seed: int = 0) -> Problem:
    """Eight features of three values each, where no small tree is perfect."""
    rng = np.random.default_rng(seed)
    codes = np.unique(rng.integers(0, 3, size=(n_rows, 8)), axis=0).T.astype(np.uint8)
    features = tuple(Feature(f"x{f}", f, "ordinal", 3, False, levels=("a", "b", "c")) for f in range(8))
    n = codes.shape[1]
    positive = (codes[0] > 0) * (codes[1] > 1) + (codes[2] == 1) + rng.normal(size=n) > 0.6
    counts = np.stack([~positive, positive], axis=1).astype(float)
    table = Table(features, codes, counts, np.arange(n))
    return Problem(table, FeatureGraph(features), LinearLoss(1.0 - np.eye(2)), n, n, 1.0, leaf_price=price)


def test_equals_the_search_by_size() -> None:
    """Where the price allows few leaves only, it is the best tree of those that the search within limits finds."""
    for support in (1.0, 20.0):
        problem = replace(larger_problem(15.0), min_support=support)
        sized = solve(replace(problem, max_depth=6, max_leaves=7, leaf_price=0.0), splits="binary")
        values = sized.losses + problem.leaf_price * np.arange(1, 8)
        assert values.argmin() < 6  # or larger trees might be better
        found = solve_any_depth(problem, splits="binary")
        assert found is not None
        assert found.value == pytest.approx(values.min())


def test_short_limits() -> None:
    """However short the time, there is a tree with the value that is stated, and the bound is below the optimum."""
    problem = larger_problem(3.0)
    best = solve_any_depth(problem)
    assert best is not None
    assert best.status == "optimal"
    ended = set()
    for seconds in (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3):
        found = solve_any_depth(problem, deadline=Deadline(seconds))
        assert found is not None
        assert found.bound <= best.value + 1e-9
        assert found.value >= best.value - 1e-9
        assert found.tree is not None
        value, leaves = general_oracle.tree_value(replace(problem, leaf_price=0.0), found.tree)
        assert value + problem.leaf_price * leaves == pytest.approx(found.value)
        ended.add(found.status)
    assert "time_limit" in ended


@pytest.mark.parametrize("seed", range(60))
def test_path_of_prices(seed: int) -> None:
    """The trees for all higher prices are on the hull of the best losses by size, and bounds are below all of these."""
    problem = replace(random_problem(seed), min_support=1.0, leaf_price=0.05)
    losses = best_losses(problem, "binary")
    answer = TreeSolver(Error(), "binary")(problem, Deadline(None))
    assert answer.sizes is not None
    path = answer.sizes()
    assert len(path.losses) == answer.n_sizes == len(path.roots)
    bounds = path.losses if path.bounds is None else path.bounds
    assert (np.array(path.losses) >= losses[: answer.n_sizes] - 1e-9).all()
    assert (np.array(bounds) <= losses[: answer.n_sizes] + 1e-9).all()
    for root, loss in zip(path.roots, path.losses, strict=True):
        assert root is not None
        assert general_oracle.tree_value(replace(problem, leaf_price=0.0), root)[0] == pytest.approx(loss, abs=1e-9)
    for price in (0.05, 0.2, 0.7, 1.3, 4.0):
        expected = with_prices(problem, losses, price)
        assert with_prices(problem, np.array(path.losses), price) == pytest.approx(expected, abs=1e-9)


def test_path_that_time_ends() -> None:
    """Where there is no time for the trees of other prices, the two that are known stand, and nothing is proven."""
    problem = larger_problem(5.0)
    best = solve_any_depth(problem)
    assert best is not None
    assert best.tree is not None
    assert len(leaves_of(best.tree)) > 2
    losses = {0: 90.0, len(best.tree.branches): 1.0}
    ended = Deadline(0.0)
    path = price_path(
        lambda price: pytest.fail("not asked"), lambda tree: losses[len(tree.branches)], Node(0), best.tree, ended
    )
    assert path.losses[0] == 90.0
    assert path.losses[-1] == 1.0
    assert not path.proven
    assert path.bounds is None


def real_problem(seed: int) -> Problem:
    """A tiny problem whose sums are no whole numbers: fractions of weights, squared loss, impurities, a price."""
    problem = random_problem(seed)
    rng = np.random.default_rng(1000 + seed)
    table, n = problem.table, problem.table.n_rows
    kind = ("errors", "squared", "gini", "entropy")[seed % 4]
    if kind == "squared":
        weight, target = rng.choice([1.0, 0.5, 2.3], n), rng.normal(size=n).round(1)
        sums = np.column_stack([weight, weight * target, weight * target**2])
        table = replace(table, statistics=sums, row_weight=weight)
        return replace(problem, table=table, loss=MomentLoss("squared"), leaf_price=float(rng.choice([0.02, 0.1, 0.6])))
    table = replace(table, statistics=table.statistics * rng.choice([0.3, 1.7, 1.0], (n, 1)))
    loss = problem.loss if kind == "errors" else ImpurityLoss(kind, table.statistics.shape[1])
    return replace(problem, table=table, loss=loss, leaf_price=problem.leaf_price / 3)


def real_losses(problem: Problem, splits: str) -> np.ndarray:
    """The least loss for every number of leaves, by brute force and formulas written anew."""
    statistics, loss = problem.table.statistics, problem.loss

    def leaf(rows: np.ndarray) -> float:
        sums = statistics[rows].sum(axis=0)
        if isinstance(loss, MomentLoss):
            return float(sums[2] - sums[1] ** 2 / sums[0])
        if isinstance(loss, LinearLoss):
            return float((sums @ loss.costs).min())
        share = sums[sums > 0] / sums.sum()
        return float(sums.sum() * (1 - (share**2).sum() if loss.kind == "gini" else -(share @ np.log(share))))

    table = problem.table
    return np.array(
        oracle.best_trees_by_leaf(table.codes, table.weight, table.features, leaf, problem.min_support, splits)
    )


@pytest.mark.parametrize("splits", SPLITS)
@pytest.mark.parametrize("first", range(0, 120, 20))
def test_sums_that_are_not_whole(splits: Literal["binary", "multiway"], first: int) -> None:
    """Squared loss, impurities and fractions of weights: the best of all trees, with accelerations and without."""
    solved = 0
    for seed in range(first, first + 20):
        problem = real_problem(seed)
        expected = with_prices(problem, real_losses(problem, splits), problem.leaf_price)
        for options in ({}, {"use_bounds": False}, {"use_cache": False}, {"cache_mb": 1e-3}):
            found = solve_any_depth(problem, splits=splits, **options)  # type: ignore[arg-type]
            assert found is not None
            assert found.value == pytest.approx(expected, abs=1e-7)
            assert found.bound == pytest.approx(expected, abs=1e-7)
            if np.isinf(expected):
                assert found.status == "infeasible"
                continue
            assert found.status == "optimal"
            assert found.tree is not None
            value, leaves = general_oracle.tree_value(replace(problem, leaf_price=0.0), found.tree)
            assert value + problem.leaf_price * leaves == pytest.approx(found.value, abs=1e-7)
            solved += leaves > 2
    assert solved > 0


@pytest.mark.parametrize("seed", range(1, 60, 2))
def test_path_of_prices_of_numbers(seed: int) -> None:
    """Of squared loss and of entropy, all prices from one fit, and no bound above the best of its size."""
    problem = replace(real_problem(seed), min_support=0.0, leaf_price=0.01)
    losses = real_losses(problem, "binary")
    answer = TreeSolver(Squared(), "binary")(problem, Deadline(None))
    assert answer.sizes is not None
    path = answer.sizes()
    bounds = path.losses if path.bounds is None else path.bounds
    assert (np.array(bounds) <= losses[: answer.n_sizes] + 1e-7).all()
    for price in (0.01, 0.05, 0.3, 1.0):
        expected = with_prices(problem, losses, price)
        assert with_prices(problem, np.array(path.losses), price) == pytest.approx(expected, abs=1e-7)


def test_short_limits_of_numbers() -> None:
    """However short the time, the value is that of the tree, and the bound below the optimum; both get better."""
    problem = larger_problem(3.0, n_rows=120)
    rng = np.random.default_rng(3)
    weight = rng.choice([0.5, 1.3], problem.table.n_rows)
    target = weight * (problem.table.statistics[:, 1] + rng.normal(0, 0.3, len(weight)))
    sums = np.column_stack([weight, target, target**2 / weight])
    table = replace(problem.table, statistics=sums, row_weight=weight)
    problem = replace(problem, table=table, loss=MomentLoss("squared"), leaf_price=1.5)
    best = solve_any_depth(problem)
    assert best is not None
    assert best.status == "optimal"
    statuses = set()
    for seconds in (0.0, 0.001, 0.01, 0.1):
        found = solve_any_depth(problem, deadline=Deadline(seconds))
        assert found is not None
        assert found.tree is not None
        assert found.bound <= best.value + 1e-9 <= found.value + 2e-9
        value, leaves = general_oracle.tree_value(replace(problem, leaf_price=0.0), found.tree)
        assert value + problem.leaf_price * leaves == pytest.approx(found.value)
        statuses.add(found.status)
    assert "time_limit" in statuses


def test_not_for_this_search() -> None:
    """A loss that does not add up, and nominal features split into single values, are left to others."""
    problem = random_problem(0)
    own = replace(problem, loss=RowLoss(lambda rows, allowed: (float(len(rows)), 0)))
    assert solve_any_depth(own) is None
    with pytest.raises(ValueError, match="give max_depth a number"):
        TreeSolver(Error())(replace(own, limited=False), Deadline(None))
    assert TreeSolver(Error())(own, Deadline(None)).solution.status == "optimal"
