"""Rules to start from."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import omtree.engines.rules.start
from helpers import datasets
from helpers.facts import recompute
from helpers.rule_cases import hard, make_problem, tiny
from omtree.deadline import Deadline
from omtree.engines.rules.pool import ColumnPool
from omtree.engines.rules.pricing import native_pricer
from omtree.engines.rules.start import greedy_models, greedy_paths, tree_paths
from omtree.problem.problem import Path, Problem


def check(problem: Problem, paths: list[Path]) -> float:
    """The rules are a model within the limits, made of conditions of the graph; its loss."""
    codes, labels, weights = datasets.samples(problem.table)
    facts = recompute(codes, labels, weights, paths, problem.costs)
    assert facts.is_partition
    assert facts.supports.min() >= problem.min_support - 1e-9
    assert facts.depth <= problem.max_depth
    assert facts.n_rules <= problem.max_leaves
    nodes = {node for level in problem.graph for node in level.nodes}
    assert all(condition in nodes for path in paths for condition in path.conditions)
    assert all(len({c.feature for c in path.conditions}) == len(path.conditions) for path in paths)
    return facts.loss


@pytest.mark.parametrize("seed", range(40))
def test_greedy_rules_are_a_model(seed: int) -> None:
    """scikit-learn's tree, where it can be said in the graph's conditions, is a model."""
    problem = (hard(seed) if seed % 2 else tiny(seed)).problem
    paths = greedy_paths(problem, 0)
    if paths:
        check(problem, paths)


def test_greedy_rules_exist() -> None:
    """With groups of values, and limits that leave room, there are greedy rules in most cases."""
    assert sum(bool(greedy_paths(hard(seed).problem, 0)) for seed in range(20)) >= 15
    table = datasets.balance_scale().table()
    problem = make_problem(table, 1.0 - np.eye(3), 4, 16, 6.25)
    assert check(problem, greedy_paths(problem, 0)) < 625 / 2


@pytest.mark.parametrize("seed", range(30))
def test_trees_are_models(seed: int) -> None:
    """Every tree that the search finds is a model; larger ones are better; none beats the best rules."""
    case = hard(seed) if seed % 2 else tiny(seed)
    best = case.best()
    if best is None:
        return
    losses = [check(case.problem, paths) for paths in tree_paths(case.problem, Deadline(30), 1)]
    assert losses
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] >= best - 1e-9


def test_no_time_for_trees() -> None:
    """Without time the search gives what it has, and that is valid."""
    problem = make_problem(datasets.tic_tac_toe().table(), 1.0 - np.eye(2), 3, 4, 9.0)
    found = list(tree_paths(problem, Deadline(0.0), 1))
    assert found
    for paths in found:
        check(problem, paths)


@pytest.mark.parametrize(("seconds", "full"), [(None, 2), (0.001, 0), (0.0, 0)])
def test_no_greedy_tree_is_grown_that_takes_longer_than_there_is(
    monkeypatch: pytest.MonkeyPatch, seconds: float | None, full: int
) -> None:
    """With a moment left a tree is grown on some rows, once; on all of them nominal values are tried both ways."""
    problem = make_problem(datasets.tic_tac_toe().table(), 1.0 - np.eye(2), 3, 4, 9.0)
    monkeypatch.setattr(omtree.engines.rules.start, "GREEDY_CELLS", 20_000)
    honest, grown = omtree.engines.rules.start.greedy_paths, []

    def noting(*args: Any, most_rows: int | None = None, **kwargs: Any) -> list[Path]:
        grown.append(most_rows)
        return honest(*args, most_rows=most_rows, **kwargs)

    monkeypatch.setattr(omtree.engines.rules.start, "greedy_paths", noting)
    pool = ColumnPool(problem, native_pricer(problem, 1))
    models = list(greedy_models(pool, 0, Deadline(seconds)))
    assert len(models) == len(grown) == max(1, full)
    assert sum(most is None for most in grown) == full


def test_interrupted_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C during the tree search ends the engine, with the trees found by then."""
    problem = make_problem(datasets.tic_tac_toe().table(), 1.0 - np.eye(2), 3, 4, 9.0)
    trees = list(tree_paths(problem, Deadline(30), 1))
    honest = omtree.engines.rules.start.search_trees

    def stopped(*args: Any, **kwargs: Any) -> Any:
        return dataclasses.replace(honest(*args, **kwargs), interrupted=True, status="stopped", bound=0.0)

    monkeypatch.setattr(omtree.engines.rules.start, "search_trees", stopped)
    solution = omtree.engines.rules.solve(problem)
    assert solution.status == "interrupted"
    assert solution.iterations == 0
    assert solution.value <= check(problem, trees[-1]) + 1e-9


def test_of_equal_starts_the_smaller_one_is_kept() -> None:
    """On tic-tac-toe three leaves do what the greedy tree needs four for: the rules have no more than three."""
    problem = make_problem(datasets.tic_tac_toe().table(), 1.0 - np.eye(2), 2, 4, 9.58)
    solution = omtree.engines.rules.solve(problem)
    smallest = min(
        len(paths) for paths in tree_paths(problem, Deadline(30), 1) if check(problem, paths) <= solution.value
    )
    assert len(solution.paths) <= smallest
