"""What the engine for rules tells while it works: values fall, bounds rise, and better models come early."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from helpers import datasets
from helpers.rule_cases import hard, make_problem, tiny, with_rows
from omtree.deadline import Deadline
from omtree.engines.rules import Options, column_generation, solve
from omtree.problem.problem import Problem
from omtree.progress import Event


def told(problem: Problem, options: Options) -> list[Event]:
    """All that is told during a run."""
    events: list[Event] = []
    solve(problem, options, Deadline(60), progress=events.append)
    return events


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("options", [Options(), Options(warm_start=False), Options.paper()])
def test_values_fall_and_bounds_rise(seed: int, options: Options) -> None:
    """No value is above an earlier one, no bound below one, and no bound above a value or the optimum."""
    case = (tiny, hard, with_rows)[seed % 3](seed)
    events = told(case.problem, options)
    best = case.best()
    if best is None:
        return
    assert events
    for before, after in itertools.pairwise(events):
        assert after.value <= before.value
        assert after.bound >= before.bound
    assert all(event.bound <= min(best, event.value) + 1e-6 for event in events)


def test_better_than_the_tree_before_the_lp_is_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    """On tic-tac-toe the best tree of depth three is improved on while rules are still being generated."""
    monkeypatch.setattr(column_generation, "EARLY_SHARE", 100.0)
    problem = make_problem(datasets.tic_tac_toe().table(), 1.0 - np.eye(2), 3, 8, 9.58)
    values: list[float] = []

    def stop_when_better(event: Event) -> None:
        values.append(event.value)
        if event.phase == "generate" and event.value < values[0]:
            raise KeyboardInterrupt

    solution = solve(problem, Options(), Deadline(60), progress=stop_when_better)
    assert solution.status == "interrupted"
    assert solution.lp_value is None
    assert solution.value < values[0]
