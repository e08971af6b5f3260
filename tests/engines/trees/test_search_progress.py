"""What a long search says of itself while it works, and that the kernel's folders know only those below them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omtree.data.build import make_features, make_number_table, make_table
from omtree.data.columns import read_columns
from omtree.deadline import Deadline
from omtree.engines.dispatch import TreeSolver
from omtree.engines.trees import solve_counts
from omtree.objectives.error import Error
from omtree.objectives.squared import Squared
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import LinearLoss, MomentLoss
from omtree.problem.problem import Problem
from omtree.progress import Event
from omtree.sources.counts import LocalCounts


def hard_table(n_rows: int = 1200) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Numbers that tell next to nothing, so that no search ends within a second."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n_rows, 20)), rng.integers(0, 2, n_rows)


def hard_problem(numbers: bool) -> Problem:
    """Deep trees over that table, with classes or numbers as targets."""
    X, y = hard_table()
    columns = read_columns(X)
    features, _ = make_features(columns, y, 2, n_bins=4)
    if numbers:
        targets = np.random.default_rng(1).normal(size=len(y))
        table = make_number_table(columns, features, Squared().statistics(targets, np.ones(len(y))), np.ones(len(y)))
        return Problem(table, FeatureGraph(features), MomentLoss("squared"), 6, 40, 3.0)
    table = make_table(columns, features, y, 2, np.ones(len(y)))
    return Problem(table, FeatureGraph(features), LinearLoss(1.0 - np.eye(2)), 6, 40, 3.0)


CASES: list[tuple[bool, dict[str, Any]]] = [
    (False, {}),
    (False, {"splits": "binary"}),
    (False, {"general": True}),
    (True, {"splits": "binary"}),
    (True, {}),
]


@pytest.mark.parametrize(("numbers", "options"), CASES)
def test_a_search_says_how_far_it_is(numbers: bool, options: dict[str, Any]) -> None:
    """Reports from inside have the loss of a tree that the answer is no worse than, a bound below it, and a share."""
    events: list[Event] = []
    objective = Squared() if numbers else Error()
    solver = TreeSolver(objective, progress=events.append, **options)
    found = solver(hard_problem(numbers), Deadline(1.2)).solution
    assert found.status == "time_limit"
    assert events
    assert {event.phase for event in events} == {"search"}
    assert all(
        0.0 <= event.share <= 1.0 and event.bound <= event.value for event in events if event.share == event.share
    )
    known = [event.value for event in events if math.isfinite(event.value)]
    assert known == sorted(known, reverse=True)
    assert all(value >= found.bound for value in known)


@pytest.mark.parametrize(("numbers", "options"), CASES)
def test_no_report_promises_more_than_the_search_finds(numbers: bool, options: dict[str, Any]) -> None:
    """The losses that are reported are those of trees: none is below the optimum, and no bound above it."""
    events: list[Event] = []
    solver = TreeSolver(Squared() if numbers else Error(), progress=events.append, **options)
    found = solver(replace(hard_problem(numbers), max_depth=3), Deadline(None)).solution
    assert found.status == "optimal"
    assert all(event.value >= found.value * (1 - 1e-9) for event in events)
    assert all(event.bound <= found.value * (1 + 1e-9) for event in events)


def test_deeper_regression_trees_are_no_worse_where_the_time_ends() -> None:
    """What was proven of shallow trees is not lost when there is no time to build the deep one that was found."""
    shallow, deep = (
        TreeSolver(Squared(), splits="binary")(replace(hard_problem(numbers=True), max_depth=depth), Deadline(limit))
        for depth, limit in ((3, None), (6, 2.0))
    )
    assert deep.solution.value <= shallow.solution.value * (1 + 1e-12)


def test_a_search_of_rows_elsewhere_says_how_far_it_is() -> None:
    """The same where all that is known of the rows are joint counts."""
    problem = hard_problem(numbers=False)
    counts = LocalCounts(problem.table)
    reports: list[tuple[float, float, int, int]] = []
    found = solve_counts(
        counts,
        problem.graph,
        problem.loss,
        max_depth=5,
        max_leaves=20,
        min_support=3.0,
        deadline=Deadline(1.5),
        report=lambda *report: reports.append(report),
    )
    assert reports
    assert all(bound <= best and done <= branches for best, bound, done, branches in reports)
    assert found.value <= reports[-1][0]


def test_what_a_listener_raises_ends_the_fit() -> None:
    """An error in a callable that is told about a fit is not swallowed, and the search does not go on without it."""

    def complain(event: Event) -> None:
        if not math.isnan(event.share):
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        TreeSolver(Error(), progress=complain)(hard_problem(numbers=False), Deadline(60.0))


def test_folders_of_the_kernel_know_only_those_below_them() -> None:
    """Nothing in core, data and loss includes a file of the searches."""
    native = Path(__file__).parents[3] / "native"
    for folder in ("core", "data", "loss"):
        for file in sorted((native / folder).iterdir()):
            for above in ("trees/", "neighbourhood/", "rules/", "bindings/"):
                assert f'#include "{above}' not in file.read_text(), f"{folder}/{file.name} includes {above}"
