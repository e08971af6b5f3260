"""The tree search for every loss that adds up, against brute force, its own accelerations and the judged search."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from test_general import check_trees, larger_problem, random_problem

from helpers import general_oracle
from omtree.data.table import Feature, Table
from omtree.deadline import Deadline
from omtree.engines.trees import solve
from omtree.engines.trees.general import solve_general
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import ImpurityLoss, LinearLoss, MomentLoss
from omtree.problem.problem import Problem

LOSSES = ["linear", "gini", "entropy", "squared", "poisson", "costs of rows"]
OPTIONS = [{}, {"use_bounds": False}, {"use_cache": False}, {"n_jobs": 2}, {"counting": "histogram"}]


def additive_problem(rng: np.random.Generator, loss: str) -> Problem:
    """A tiny problem, with weights that are whole numbers or not."""
    problem = random_problem(rng, "linear" if loss == "costs of rows" else loss, "none", "groups")
    table = problem.table
    scale = rng.choice([1.0, 0.375])
    weight = None if table.row_weight is None else table.row_weight * scale
    statistics = table.statistics * scale
    if loss == "costs of rows":
        # What each row costs under each label says nothing about its weight.
        weight = rng.integers(1, 4, size=len(table.weight)) * scale
        statistics = rng.random((len(weight), 3)) * rng.integers(0, 2, size=(len(weight), 3))
        problem = dataclasses.replace(problem, loss=LinearLoss(np.eye(3)))
    return dataclasses.replace(
        problem, table=dataclasses.replace(table, statistics=statistics, row_weight=weight), min_support=scale
    )


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("loss", LOSSES)
def test_equals_brute_force(loss: str, splits: str) -> None:
    """Losses for every number of leaves are those of the best trees, whichever accelerations are on."""
    for seed in range(6):
        rng = np.random.default_rng([seed, LOSSES.index(loss), splits == "binary"])
        problem = additive_problem(rng, loss)
        max_children = int(rng.integers(2, 4)) if rng.random() < 0.3 else None
        expected = general_oracle.best_trees(problem, splits, max_children)
        for options in OPTIONS:
            found = solve(problem, splits=splits, max_children=max_children, **options)  # type: ignore[arg-type]
            assert found.losses == pytest.approx(expected, abs=1e-8)
            assert found.status == ("infeasible" if np.isinf(expected[-1]) else "optimal")
            assert found.bound == pytest.approx(expected[-1], abs=1e-8)
            check_trees(problem, found, splits)
        last = solve(problem, splits=splits, max_children=max_children, every_size=False)  # type: ignore[arg-type]
        assert last.value == pytest.approx(expected[-1], abs=1e-8)


def wide_problem(rng: np.random.Generator, loss: str) -> Problem:
    """Eleven features of all kinds: with missing values, in any groups, and with too many values for those."""
    kinds = ["numeric", "ordinal", "nominal", "nominal"]
    features, codes = [], []
    for f in range(11):
        kind, n = kinds[f % 4], [8, 5, 4, 11][f % 4]
        missing = f == 4
        facts = {"thresholds": np.arange(n - 1.0)} if kind == "numeric" else {"levels": tuple("abcdefghijk"[:n])}
        order = None if kind != "nominal" else tuple(rng.permutation(n).tolist())
        features.append(Feature(f"x{f}", f, kind, n, missing, target_order=order, **facts))  # type: ignore[arg-type]
        codes.append(rng.integers(0, n + missing, size=300))
    table = np.array(codes, dtype=np.uint8)
    y = np.where(table[0] > 3, table[2] % 2, table[3] > 6) * 2.0 + rng.integers(0, 3, size=300) / 2
    if loss in ("squared", "poisson"):
        third = y**2 if loss == "squared" else y * np.log(np.maximum(y, 0.1)) - y + 1
        sums = np.stack([np.ones(300), y if loss == "squared" else y - 1, third], axis=1)
        chosen = MomentLoss(loss)  # type: ignore[arg-type]
    else:
        sums = np.eye(3)[(y > 0.5).astype(int) + (y > 2)]
        chosen = LinearLoss(rng.random((3, 3))) if loss == "linear" else ImpurityLoss(loss, 3)  # type: ignore
    graph = FeatureGraph(tuple(features), "groups")
    weight = np.ones(300) if loss in ("squared", "poisson") else None
    return Problem(Table(tuple(features), table, sums, np.arange(300), weight), graph, chosen, 3, 6, 15.0)


@pytest.mark.parametrize("loss", LOSSES[:-1])
def test_equals_the_judged_search_on_features_of_all_kinds(loss: str) -> None:
    """Features split many at once and one by one have the losses that a judge of single rules finds."""
    problem = wide_problem(np.random.default_rng(LOSSES.index(loss)), loss)
    expected = solve_general(problem).losses
    for options in OPTIONS[3:]:
        assert solve(problem, **options).losses == pytest.approx(expected, rel=1e-9)  # type: ignore[arg-type]


@pytest.mark.parametrize("order", [None, (7, 2, 9, 0, 4, 1, 8, 3, 6, 5)])
@pytest.mark.parametrize("every_size", [True, False])
def test_one_of_many_values_against_all_others(order: tuple[int, ...] | None, every_size: bool) -> None:
    """A value in the middle of the order is split off below other tests, which runs would take three leaves for."""
    levels = Feature("x0", 0, "nominal", 10, False, levels=tuple("abcdefghij"), target_order=order)
    features = (levels, *(Feature(f"x{f}", f, "ordinal", 2, False, levels=("S", "L")) for f in (1, 2)))
    codes = np.array(np.meshgrid(range(10), [0, 1], [0, 1])).reshape(3, -1)
    middle = 4 if order is None else order[4]
    y = np.where(codes[1] == 0, codes[2], np.where(codes[0] == middle, 5.0, 2.0))
    sums = np.stack([np.ones(len(y)), y, y**2], axis=1)
    table = Table(features, codes.astype(np.uint8), sums, np.arange(len(y)), np.ones(len(y)))
    for depth in (2, 3):
        problem = Problem(table, FeatureGraph(features, "groups"), MomentLoss("squared"), depth, 4, 1.0)
        assert solve(problem, every_size=every_size).value == pytest.approx(0.0, abs=1e-9)
        assert solve(dataclasses.replace(problem, max_leaves=3)).value == pytest.approx(5.0)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_accelerations_agree_on_more_rows(depth: int) -> None:
    """Bounds, cache, threads and kernels leave the losses of a larger regression as they are."""
    problem = larger_problem(depth, n_rows=150 if depth == 4 else 400)
    reference = solve_general(problem)
    for options in OPTIONS if depth < 4 else [{}, {"n_jobs": 2}]:
        found = solve(problem, **options)  # type: ignore[arg-type]
        assert found.losses == pytest.approx(reference.losses, rel=1e-9)
        check_trees(problem, found, "multiway")


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.3])
def test_deadline_gives_a_tree_and_a_valid_bound(seconds: float) -> None:
    """When the time is up the best tree known is returned, and the bound is not above the optimum."""
    problem = larger_problem(5, n_rows=3000)
    found = solve(problem, deadline=Deadline(seconds), every_size=False)
    assert found.status == "time_limit"
    assert found.tree is not None
    check_trees(problem, found, "multiway")
    assert found.bound <= found.value
    assert found.bound <= solve(larger_problem(3, n_rows=3000), every_size=False).value
