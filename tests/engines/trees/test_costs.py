"""Costs of any shape: kinds of sample in the rows, labels of a leaf in the columns."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from test_solve import check_trees

from helpers import datasets, oracle
from omtree.engines.trees import solve
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Problem


def rectangular_problem(rng: np.random.Generator, n_features: int, n_rows: int, max_values: int) -> Problem:
    """Two to five kinds of sample, one to four labels, costs that are whole, fractions of four or any numbers."""
    n_kinds, n_labels = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    table = datasets.random_table(
        rng, n_features, n_rows, n_kinds, max_values=max_values, weights="integer" if rng.random() < 0.6 else None
    )
    costs = {
        "whole": rng.integers(0, 4, (n_kinds, n_labels)).astype(float),
        "fractions": rng.integers(0, 12, (n_kinds, n_labels)) / 4,
        "any": rng.random((n_kinds, n_labels)) * rng.choice([0.01, 1.0, 30.0]),
    }[str(rng.choice(["whole", "fractions", "any"]))]
    support = float(rng.choice([0.25, 1.0, 2.0, 4.0]))
    return Problem(table, FeatureGraph(table.features), LinearLoss(costs), 3, int(rng.integers(2, 9)), support)


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("seed", range(100))
def test_equals_brute_force(seed: int, splits: str) -> None:
    """The losses for every number of leaves are those of brute force, with bounds and cache on and off."""
    problem = rectangular_problem(np.random.default_rng(seed), n_features=3, n_rows=14, max_values=3)
    table = problem.table
    expected = oracle.best_trees(
        table.codes,
        table.statistics,
        table.features,
        problem.costs,
        problem.max_depth,
        problem.max_leaves,
        problem.min_support,
        splits=splits,
    )
    for use_bounds, use_cache in itertools.product([True, False], [True, False]):
        solution = solve(problem, splits=splits, use_bounds=use_bounds, use_cache=use_cache)  # type: ignore[arg-type]
        np.testing.assert_allclose(solution.losses, expected, rtol=1e-9, atol=1e-9)
        check_trees(problem, solution, splits, None)
    last = solve(problem, splits=splits, every_size=False)  # type: ignore[arg-type]
    np.testing.assert_allclose(last.value, expected[-1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_in_deeper_trees(seed: int, splits: str) -> None:
    """Below depth three, where bounds work most, they change no loss either."""
    problem = rectangular_problem(np.random.default_rng(7000 + seed), n_features=5, n_rows=60, max_values=3)
    problem = dataclasses.replace(problem, max_depth=4, max_leaves=16 - seed % 4)
    expected = solve(problem, splits=splits, use_bounds=False, counting="histogram")  # type: ignore[arg-type]
    for use_cache, counting in itertools.product([True, False], ["auto", "histogram"]):
        solution = solve(problem, splits=splits, use_cache=use_cache, counting=counting)  # type: ignore[arg-type]
        np.testing.assert_allclose(solution.losses, expected.losses, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(solution.bound, solution.value, rtol=1e-9, atol=1e-9)


def test_a_single_label_needs_no_split() -> None:
    """With one label every tree costs the same, and the one that is returned is a leaf."""
    problem = rectangular_problem(np.random.default_rng(1), n_features=3, n_rows=14, max_values=3)
    loss = LinearLoss(np.ones((problem.table.statistics.shape[1], 1)))
    problem = dataclasses.replace(problem, loss=loss, min_support=1.0)
    solution = solve(problem)
    assert solution.losses.tolist() == [problem.table.statistics.sum()] * problem.max_leaves
    assert solution.tree is not None
    assert not solution.tree.branches


def test_costs_below_zero_are_refused() -> None:
    """The bounds rest on costs that are not negative."""
    problem = rectangular_problem(np.random.default_rng(1), n_features=2, n_rows=8, max_values=3)
    with pytest.raises(ValueError, match="below zero"):
        solve(dataclasses.replace(problem, loss=LinearLoss(problem.costs - 40.0)))
