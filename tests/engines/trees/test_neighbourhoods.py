"""Trees by neighbourhoods: as good as the best where a neighbourhood is the whole tree, never better, never worse."""

from __future__ import annotations

import itertools
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from test_general import random_loss
from test_solve import brute_force, check_node, depth, random_problem, rules

from helpers import datasets, general_oracle
from helpers.facts import recompute
from omtree.data.build import make_features, make_number_table, make_table
from omtree.data.columns import read_columns
from omtree.deadline import Deadline
from omtree.engines.trees import solve
from omtree.engines.trees.neighbourhoods import Improved, improve, weighed
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import LinearLoss, MomentLoss
from omtree.problem.problem import Node, Problem


def n_leaves(node: Node) -> int:
    """Leaves of a tree."""
    return sum(n_leaves(child) for _, child in node.branches) or 1


def check_tree(problem: Problem, found: Improved, splits: str) -> None:
    """Recompute from the samples what is said of a tree, and that the problem allows it."""
    facts = recompute(*datasets.samples(problem.table), list(rules(found.root)), problem.costs)
    assert facts.is_partition
    assert facts.loss == pytest.approx(found.value, abs=1e-9)
    assert facts.supports.min() >= problem.min_support - 1e-9
    assert n_leaves(found.root) <= problem.max_leaves
    assert depth(found.root) <= problem.max_depth
    check_node(problem, found.root, splits, None, ())


def large_problem(seed: int, max_depth: int = 4, max_leaves: int = 16, regression: bool = False) -> Problem:
    """Numbers, one of them with missing cells, and a nominal column; too much for brute force."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 5))
    X[:, 3] = rng.integers(0, 7, 600)
    y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + (X[:, 3] % 3) + 0.3 * rng.normal(size=600)
    X[rng.random(600) < 0.1, 1] = np.nan
    columns = read_columns(X, {3: "nominal"})
    if regression:
        features, _ = make_features(columns, y, 0, None, n_bins=40)
        moments = np.stack([np.ones(600), y, y**2], axis=1)
        table = make_number_table(columns, features, moments, np.ones(600))
        return Problem(table, FeatureGraph(features), MomentLoss("squared"), max_depth, max_leaves, 3.0)
    labels = np.digitize(y, [0.0, 1.5])
    features, _ = make_features(columns, labels, 3, None, n_bins=40)
    table = make_table(columns, features, labels, 3)
    return Problem(table, FeatureGraph(features), LinearLoss(1.0 - np.eye(3)), max_depth, max_leaves, 3.0)


@pytest.mark.parametrize("categories", ["groups", "values"])
@pytest.mark.parametrize("seed", range(40))
def test_binary_trees_of_two_levels_are_the_best(seed: int, categories: str) -> None:
    """A window is a whole tree of depth two: the loss is that of brute force; deeper trees are never below it."""
    problem = random_problem(np.random.default_rng(seed), categories)
    best = brute_force(problem, categories, splits="binary")
    if np.isinf(best[0]) or problem.max_depth == 0:
        return
    found = improve(problem, splits="binary")
    check_tree(problem, found, "binary")
    assert found.value >= best[-1] - 1e-9
    if problem.max_depth <= 2 and categories == "groups":
        assert found.value == pytest.approx(best[-1], abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_multiway_trees_keep_to_their_space(seed: int) -> None:
    """With each feature once on a path no tree beats brute force, and one level of up to four leaves equals it."""
    problem = random_problem(np.random.default_rng(100 + seed))
    best = brute_force(problem)
    if np.isinf(best[0]) or problem.max_depth == 0:
        return
    found = improve(problem, once=True)
    check_tree(problem, found, "multiway")
    assert found.value >= best[-1] - 1e-9
    shallow = replace(problem, max_depth=1, max_leaves=min(problem.max_leaves, 4))
    if all(feature.n_codes <= 5 or feature.ordered for feature in problem.table.features):
        assert improve(shallow, once=True).value == pytest.approx(brute_force(shallow)[-1], abs=1e-9)


@pytest.mark.parametrize("kind", ["linear", "gini", "entropy", "squared", "poisson"])
@pytest.mark.parametrize("seed", range(12))
def test_every_loss(seed: int, kind: str) -> None:
    """For every loss that is known the best binary tree of two levels is found."""
    rng = np.random.default_rng(seed)
    loss, table = random_loss(rng, kind, datasets.random_table(rng))
    problem = Problem(table, FeatureGraph(table.features), loss, 2, int(rng.integers(1, 6)), 1.0)
    best = general_oracle.best_trees(problem, "binary")[-1]
    if np.isfinite(best):
        found = improve(problem, splits="binary")
        assert found.value == pytest.approx(best, abs=1e-6)
        assert general_oracle.tree_value(problem, found.root)[0] == pytest.approx(found.value, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_a_price_per_leaf(seed: int) -> None:
    """The sum of loss and prices is the least over all sizes, where a window is the whole tree."""
    rng = np.random.default_rng(seed)
    problem = replace(random_problem(rng), max_depth=2, max_leaves=4)
    by_size = brute_force(problem, splits="binary")
    if np.isinf(by_size[0]):
        return
    price = float(rng.choice([0.25, 0.75, 1.5, 4.0]))
    found = improve(problem, splits="binary", leaf_price=price)
    best = min(loss + price * size for size, loss in enumerate(by_size, start=1))
    assert found.value + price * n_leaves(found.root) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("seed", range(3))
def test_more_work_is_never_worse(seed: int, splits: str, regression: bool) -> None:
    """The loss falls with the work, and equal work gives equal trees."""
    problem = large_problem(seed, regression=regression)
    found = [improve(problem, splits=splits, work=work, patience=20) for work in (0.0, 1e5, 1e6, 1e7, 3e7)]  # type: ignore[arg-type]
    values = [tree.value for tree in found]
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in itertools.pairwise(values))
    assert values[-1] < values[0]
    again = improve(problem, splits=splits, work=1e7, patience=20)  # type: ignore[arg-type]
    assert (again.root, again.value) == (found[3].root, found[3].value)


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("seed", range(4))
def test_more_levels_are_not_worse(seed: int, splits: str) -> None:
    """Deep trees do better than shallow ones for the same work, though no greedy test finds what two levels would."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2000, 8))
    y = ((X[:, 0] * X[:, 1] > 0) ^ (X[:, 2] > 1) ^ (rng.random(2000) < 0.2)).astype(int)
    columns = read_columns(X, {})
    features, _ = make_features(columns, y, 2, None, n_bins=40)
    table, graph, loss = make_table(columns, features, y, 2), FeatureGraph(features), LinearLoss(1.0 - np.eye(2))
    for work in (1e7, 4e7):
        values = [
            improve(Problem(table, graph, loss, levels, 2**levels, 1.0), splits=splits, work=work).value  # type: ignore[arg-type]
            for levels in (3, 4, 5, 6, 7, 8, 10)
        ]
        assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("max_leaves", [5, 16])
def test_no_worse_than_its_starts(splits: str, max_leaves: int) -> None:
    """A tree of another search is a start: without any work the answer is as good, and its loss is confirmed."""
    problem = large_problem(5, 2, max_leaves)
    other = solve(problem, splits=splits, deadline=Deadline(20.0))  # type: ignore[arg-type]
    assert other.tree is not None
    assert weighed(problem, other.tree)[1] == other.value
    started = improve(problem, splits=splits, starts=[other.tree], work=0.0)  # type: ignore[arg-type]
    assert started.value <= other.value
    deeper = improve(replace(problem, max_depth=3), splits=splits, starts=[other.tree], work=1e6)  # type: ignore[arg-type]
    assert deeper.value <= other.value


@pytest.mark.parametrize("max_leaves", [3, 6, 11])
def test_few_leaves(max_leaves: int) -> None:
    """A limit on leaves that binds is kept, and more leaves are never worse."""
    problem = large_problem(2, 5, max_leaves)
    start = improve(problem, splits="binary", patience=20)
    assert n_leaves(start.root) <= max_leaves
    more = improve(replace(problem, max_leaves=max_leaves + 1), splits="binary", starts=[start.root], patience=20)
    assert more.value <= start.value


def test_time_ends_it() -> None:
    """Without an end to the random changes the deadline ends them, soon."""
    problem = large_problem(1, 8, 256)
    started = time.monotonic()
    found = improve(problem, patience=10**9, deadline=Deadline(0.3))
    assert not found.ended
    assert not found.interrupted
    assert time.monotonic() - started < 5.0


def test_ctrl_c_ends_it() -> None:
    """Ctrl-C ends the search with the best tree so far."""
    problem = large_problem(1, 8, 256)
    timer = threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,))
    timer.start()
    found = improve(problem, patience=10**9, deadline=Deadline(60.0))
    timer.join()
    assert found.interrupted
    assert np.isfinite(found.value)


@pytest.mark.parametrize("seed", range(4))
def test_few_children_keep_the_depth(seed: int) -> None:
    """A start with nodes of three children, whose tests would be too many, does not lead beyond the depth."""
    problem = large_problem(seed, max_depth=2, max_leaves=9, regression=True)
    start = solve(problem, max_children=3).trees[-1]
    found = improve(problem, splits="multiway", max_children=3, starts=[start], work=1, seed=seed)
    assert depth(start) == 2
    assert depth(found.root) <= 2


def test_no_time_gives_a_small_tree_of_many_rows() -> None:
    """A tree that is wanted in any case does not grow for as long as it likes; with time it has all its leaves."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 12))
    labels = (X[:, 0] * X[:, 1] + rng.normal(size=len(X)) > 0).astype(int)
    columns = read_columns(X)
    features, _ = make_features(columns, labels, 2)
    table = make_table(columns, features, labels, 2)
    problem = Problem(table, FeatureGraph(features), LinearLoss(1.0 - np.eye(2)), 10, 1024, 50.0)
    hurried = improve(problem, splits="binary", deadline=Deadline(0.0))
    patient = improve(problem, splits="binary", patience=0, work=1e8)
    assert 2 <= n_leaves(hurried.root) <= 300 < n_leaves(patient.root)
    assert patient.value < hurried.value < labels.sum()
