"""Scores that are no ratios of sums: branching on the weight that is called positive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import omtree
from estimators.test_every_objective import CLASSES, best_of_all
from helpers import datasets
from helpers.tiny_frames import Tiny, code, random_grouped
from omtree.engines.reductions.additive import Additive
from omtree.engines.reductions.positives import PositiveSearch
from omtree.engines.reductions.weight_steps import divide, weight_step
from omtree.objectives import find_objective
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Path, Problem

SCORES = ["mcc", "fowlkes_mallows"]
LIMITS = {"max_depth": 2, "max_leaves": 4}


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("kind", ["huge", "odd"])
def test_any_weights(name: str, kind: str) -> None:
    """Weights of billions, and weights that are multiples of nothing, are proven in no more than some solves."""
    for seed in range(3):
        rng = np.random.default_rng([seed, 11])
        data = random_grouped(rng)
        weight = rng.integers(1, 10, len(data.y)) * 5e9 if kind == "huge" else rng.uniform(1, 2, len(data.y))
        data = Tiny(data.X, data.y, weight, data.group)
        model = omtree.OptimalTreeClassifier(objective=name, binning="exact", min_samples_leaf=1, **LIMITS)
        model.fit(data.X, data.y, sample_weight=weight)
        best = best_of_all(data, code(data.X), CLASSES[name], "tree", LIMITS)
        assert model.certificate_.status == "optimal"
        assert 1 - model.certificate_.value == pytest.approx(best.value, abs=1e-9)
        assert model.certificate_.iterations < 200


def some_problem() -> Problem:
    """Two classes, with a bit of everything."""
    table = datasets.random_table(np.random.default_rng(3), n_features=3, n_rows=20, max_values=3, n_classes=2)
    return Problem(table, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 2, 4, 1.0)


@pytest.mark.parametrize("status", ["interrupted", "time_limit"])
@pytest.mark.parametrize("last", [1, 2, 4])
def test_what_ends_a_solve_ends_the_search(status: Any, last: int) -> None:
    """After the solve that was stopped there is no other, and the best model so far comes with a bound above it."""
    problem, calls = some_problem(), []

    def solve(additive: Problem) -> Additive[None]:
        calls.append(additive)
        label = len(calls) % 2
        done = len(calls) >= last
        return Additive(None, [Path((), label)], 0.0, status if done else "optimal")

    found = PositiveSearch(problem, find_objective("mcc"), solve).run()  # type: ignore[arg-type]
    assert (found.status, len(calls)) == (status, last)
    assert found.score == 0.0
    assert found.bound == pytest.approx(1.0)


def test_intervals_lose_no_weight() -> None:
    """The parts of an interval have every multiple of the step in them once, and shrink to single weights."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        step = float(rng.choice([0.25, 1.0, 3.0]))
        low, high = np.sort(rng.integers(0, 40, 2)) * step
        todo, points = [(float(low), float(high))], []
        while todo:
            interval = todo.pop()
            parts = divide(interval, float(rng.uniform(low, high)), step, 1e-9)
            todo += parts
            if not parts:
                points.append(interval)
        assert sorted(points) == [(at, at) for at in np.arange(low, high + step / 2, step).tolist()]


def test_steps() -> None:
    """A step is found in whatever unit, and is no invention."""
    rng = np.random.default_rng(1)
    for unit in (1e-150, 0.1, 1.0, 1e9):
        assert weight_step(unit * rng.integers(2, 50, 30)) == pytest.approx(unit)
    assert weight_step(rng.uniform(1, 2, 30)) == 0.0
