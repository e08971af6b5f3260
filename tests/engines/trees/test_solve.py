"""The tree search against brute force, and its accelerations against each other."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from helpers import datasets, oracle
from helpers.facts import recompute
from omtree.data.table import Table
from omtree.deadline import Deadline
from omtree.engines.trees import TreeSolution, solve
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Node, Problem


def random_problem(rng: np.random.Generator, categories: str = "groups", **options: object) -> Problem:
    """A tiny random problem; costs are 0/1, weighted by class, or arbitrary."""
    table = datasets.random_table(rng, **options)  # type: ignore[arg-type]
    n_classes = table.statistics.shape[1]
    costs = 1.0 - np.eye(n_classes)
    if rng.random() < 0.3:
        costs = costs * rng.integers(1, 4, size=(n_classes, 1))
    elif rng.random() < 0.3:
        costs = costs * rng.integers(1, 9, size=(n_classes, n_classes)) / 4
    support = float(rng.choice([0.25, 1.0, 2.0, 3.0]))
    graph = FeatureGraph(table.features, categories, order=rng.permutation(len(table.features)).tolist())
    return Problem(table, graph, LinearLoss(costs), int(rng.integers(0, 4)), int(rng.integers(1, 9)), support)


def brute_force(problem: Problem, categories: str = "groups", **options: object) -> list[float]:
    """The oracle's losses."""
    table = problem.table
    return oracle.best_trees(
        table.codes,
        table.statistics,
        table.features,
        problem.costs,
        problem.max_depth,
        problem.max_leaves,
        problem.min_support,
        categories,
        **options,  # type: ignore[arg-type]
    )


def rules(node: Node, conditions: tuple = ()) -> Iterator[tuple[tuple, int]]:
    """The leaves as rules; repeated conditions on a feature intersect to one."""
    if not node.branches:
        merged: dict[int, frozenset[int]] = {}
        for condition in conditions:
            codes = frozenset(condition.codes)
            merged[condition.feature] = merged.get(condition.feature, codes) & codes
        yield tuple(merged.items()), node.label
    for condition, child in node.branches:
        yield from rules(child, (*conditions, condition))


def depth(node: Node) -> int:
    """Most splits from the root to a leaf."""
    return max((1 + depth(child) for _, child in node.branches), default=0)


def check_trees(problem: Problem, solution: TreeSolution, splits: str, max_children: int | None) -> None:
    """Recompute from the samples everything the solution says about its trees."""
    codes, labels, weights = datasets.samples(problem.table)
    for size, (tree, loss) in enumerate(zip(solution.trees, solution.losses, strict=True), start=1):
        if tree is None:
            assert np.isinf(loss)
            continue
        leaves = list(rules(tree))
        facts = recompute(codes, labels, weights, leaves, problem.costs)
        assert facts.is_partition
        assert facts.loss == pytest.approx(loss, abs=1e-9)
        assert facts.supports.min() >= problem.min_support - 1e-9
        assert facts.n_rules <= size
        assert depth(tree) <= problem.max_depth
        check_node(problem, tree, splits, max_children, ())


def check_node(problem: Problem, node: Node, splits: str, max_children: int | None, used: tuple[int, ...]) -> None:
    """Every split is one the problem allows."""
    if not node.branches:
        return
    features = {condition.feature for condition, _ in node.branches}
    assert len(features) == 1
    (feature,) = features
    assert len(node.branches) >= 2
    assert len(node.branches) <= (2 if splits == "binary" else max_children or 99)
    # Right below each other they would be one test with more children.
    assert splits == "binary" or max_children is not None or feature not in used[-1:]
    for (a, _), (b, _) in itertools.combinations(node.branches, 2):
        assert not set(a.codes) & set(b.codes)
    level = problem.graph.levels[problem.graph.level_of(feature)]
    large = level.feature.n_codes > oracle.ALL_SUBSETS or problem.graph.categories == "single"
    large_nominal = not level.feature.ordered and large
    for condition, child in node.branches:
        # Split again, a large nominal feature may leave a rest that is no condition of its own; two such splits right
        # below each other have become one.
        if not (large_nominal and (feature in used or splits == "multiway")):
            assert condition in level.nodes
        check_node(problem, child, splits, max_children, (*used, feature))


@pytest.mark.parametrize("categories", ["groups", "values"])
@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("seed", range(60))
def test_equals_brute_force(seed: int, splits: str, categories: str) -> None:
    """The loss for every number of leaves is that of the best of all trees, and the trees are as stated."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, categories)
    max_children = None if rng.random() < 0.6 else int(rng.integers(2, 4))
    solution = solve(problem, splits=splits, max_children=max_children)
    expected = brute_force(problem, categories, splits=splits, max_children=max_children)
    np.testing.assert_allclose(solution.losses, expected, atol=1e-9)
    assert solution.status == ("infeasible" if np.isinf(expected[-1]) else "optimal")
    check_trees(problem, solution, splits, max_children)


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("seed", range(30))
def test_large_nominal_features(seed: int, splits: str) -> None:
    """Features with more values than all groups are tried for are split along the target or one value off."""
    rng = np.random.default_rng(1000 + seed)
    problem = random_problem(rng, n_features=2, kinds=("nominal",), max_values=8, n_rows=14)
    solution = solve(problem, splits=splits)
    np.testing.assert_allclose(solution.losses, brute_force(problem, splits=splits), atol=1e-9)
    check_trees(problem, solution, splits, None)


@pytest.mark.parametrize("kinds", [("numeric",), ("nominal",), ("numeric", "ordinal", "nominal")])
@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("seed", range(12))
def test_accelerations_change_nothing(seed: int, splits: str, kinds: tuple) -> None:
    """Bounds, cache, counting and threads, off and on, give the same losses."""
    rng = np.random.default_rng(2000 + seed)
    problem = random_problem(rng, n_features=4, n_rows=30, kinds=kinds)
    problem = Problem(problem.table, problem.graph, problem.loss, 3, 7, problem.min_support)
    expected = solve(problem, splits=splits, use_bounds=False, use_cache=False, counting="histogram").losses
    for use_bounds, use_cache, counting, n_jobs in itertools.product(
        [False, True], [False, True], ["bits", "histogram", "tables", "auto"], [1, 2]
    ):
        solution = solve(
            problem, splits=splits, use_bounds=use_bounds, use_cache=use_cache, counting=counting, n_jobs=n_jobs
        )
        np.testing.assert_allclose(solution.losses, expected, atol=1e-9)
        check_trees(problem, solution, splits, None)


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("seed", range(10))
def test_deep_trees(seed: int, splits: str) -> None:
    """Below depth three, where subproblems nest, bounds and counting change nothing either."""
    rng = np.random.default_rng(5000 + seed)
    problem = random_problem(rng, n_features=4, n_rows=40, max_values=3, weights="integer")
    problem = Problem(problem.table, problem.graph, problem.loss, 5, 12, problem.min_support)
    expected = solve(problem, splits=splits, use_bounds=False, counting="histogram").losses
    for counting, n_jobs in itertools.product(["bits", "histogram", "tables", "auto"], [1, 2]):
        solution = solve(problem, splits=splits, counting=counting, n_jobs=n_jobs)
        np.testing.assert_allclose(solution.losses, expected, atol=1e-9)
        check_trees(problem, solution, splits, None)


@pytest.mark.parametrize("seed", range(20))
def test_threads_give_the_same_tree(seed: int) -> None:
    """With two threads the trees themselves are those of one thread."""
    rng = np.random.default_rng(3000 + seed)
    problem = random_problem(rng, n_features=4, n_rows=30, weights="unit")
    problem = Problem(problem.table, problem.graph, problem.loss, 3, 8, 1.0)
    assert list(solve(problem, n_jobs=1).trees) == list(solve(problem, n_jobs=2).trees)


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("seed", range(20))
def test_zero_one_features(seed: int, splits: str) -> None:
    """Features with two values, for which counting is special, give the losses of brute force."""
    rng = np.random.default_rng(4000 + seed)
    problem = random_problem(rng, n_features=4, n_rows=14, kinds=("nominal",), max_values=2, missing=0.0)
    solution = solve(problem, splits=splits)
    np.testing.assert_allclose(solution.losses, brute_force(problem, splits=splits), atol=1e-9)
    check_trees(problem, solution, splits, None)


def full_problem(table: Table, max_depth: int, support: float, categories: str = "groups") -> Problem:
    """Errors, as many leaves as a binary tree of that depth can have."""
    n_classes = table.statistics.shape[1]
    graph = FeatureGraph(table.features, categories)
    return Problem(table, graph, LinearLoss(1.0 - np.eye(n_classes)), max_depth, 2**max_depth, support)


@pytest.mark.parametrize(
    ("categories", "errors"), [("values", [288, 263, 204]), ("groups", [282, 213, 134])], ids=["values", "groups"]
)
def test_tic_tac_toe(categories: str, errors: list[int]) -> None:
    """The known optima of depth 2, 3, 4 with at least 1 % of the boards in a leaf."""
    table = datasets.tic_tac_toe().table()
    for max_depth, expected in enumerate(errors, start=2):
        assert solve(full_problem(table, max_depth, 9.58, categories)).value == expected


def test_balance_scale() -> None:
    """The known optima of depth 2, 3, 4, 5 with at least 1 % of the settings in a leaf."""
    table = datasets.balance_scale().table()
    found = [solve(full_problem(table, max_depth, 6.25)).value for max_depth in (2, 3, 4, 5)]
    assert found == [177, 138, 95, 74]


def test_a_passed_deadline_leaves_a_tree_and_a_valid_bound() -> None:
    """Without time there is still a tree, and the bound is no more than the best loss."""
    problem = full_problem(datasets.balance_scale().table(), 5, 6.25)
    for seconds in (0.0, 0.002):
        solution = solve(problem, deadline=Deadline(seconds))
        assert solution.tree is not None
        assert solution.bound <= 74
        assert solution.value >= 74
        check_trees(problem, solution, "multiway", None)
    assert solve(problem, deadline=Deadline(0.0)).status == "time_limit"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_deadline_anywhere_in_the_search_leaves_a_tree(n_jobs: int) -> None:
    """Wherever the search is stopped, its trees are complete and their losses and the bound are true."""
    problem = full_problem(datasets.tic_tac_toe().table(), 5, 9.58)
    for seconds in (0.0, 0.001, 0.003, 0.01, 0.03, 0.1):
        solution = solve(problem, deadline=Deadline(seconds), n_jobs=n_jobs)
        assert solution.bound <= 60 <= solution.value <= 332
        check_trees(problem, solution, "multiway", None)


def test_only_the_last_size() -> None:
    """Looking for the best tree of any size alone finds the same tree loss."""
    problem = full_problem(datasets.tic_tac_toe().table(), 3, 9.58)
    every = solve(problem, splits="binary")
    last = solve(problem, splits="binary", every_size=False)
    assert every.value == last.value == 216
    check_trees(problem, last, "binary", None)


def test_a_small_cache_is_emptied_not_outgrown() -> None:
    """A cache too small for all subproblems changes nothing but the time."""
    problem = full_problem(datasets.balance_scale().table(), 4, 6.25)
    small, large = solve(problem, cache_mb=0.01), solve(problem, cache_mb=64)
    assert small.value == large.value
    assert small.cache_entries < large.cache_entries


@pytest.mark.parametrize("kernels", ["portable", "avx2", ""])
def test_every_version_of_the_inner_loops(kernels: str) -> None:
    """The loops for older processors give the known optima as well; a version that is not there is not used."""
    program = """
from helpers import datasets
from omtree import _native
print(_native.kernels_in_use())
from test_solve import full_problem, solve
table = datasets.tic_tac_toe().table()
print([solve(full_problem(table, 3, 9.58), splits=splits).value for splits in ("binary", "multiway")])
scale = datasets.balance_scale().table()
print([solve(full_problem(scale, 4, 6.25), splits=splits).value for splits in ("binary", "multiway")])
"""
    here = Path(__file__).parent
    environment = {
        **os.environ,
        "OMTREE_KERNELS": kernels,
        "PYTHONPATH": os.pathsep.join([str(here), str(here.parents[1])]),
    }
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    used, _, optima = done.stdout.partition("\n")
    # What the processor has is not for the test to say, but never more than was asked for.
    allowed = {"portable": ["portable"], "avx2": ["avx2", "neon", "portable"]}
    assert used in allowed.get(kernels, ["avx512", "avx2", "neon", "portable"])
    assert optima == "[216.0, 213.0]\n[102.0, 95.0]\n"


def test_bad_arguments_are_named() -> None:
    """What can't be solved is refused in a sentence that names the parameter."""
    problem = full_problem(datasets.balance_scale().table(), 2, 1.0)
    with pytest.raises(ValueError, match="max_children"):
        solve(problem, max_children=1)
    with pytest.raises(ValueError, match="splits"):
        solve(problem, splits="ternary")  # type: ignore[arg-type]
