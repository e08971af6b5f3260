"""Trees under constraints over the model, against the list of all that trees attain."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers import datasets
from omtree import InfeasibleError, OptimalTreeClassifier
from omtree.constraints import FalsePositiveRate
from omtree.deadline import Deadline
from omtree.engines.reductions.tree_master import Closed, Priced, Relaxed, TreeMaster, close_gap
from omtree.engines.trees import solve_general
from omtree.engines.trees.fronts import attainable
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import ModelLimit, Problem

FOREVER = Deadline(None)


def random_problem(rng: np.random.Generator, n_rows: int, costs: np.ndarray, part: float = 1.0) -> Problem:
    """Depth 3, with a floor or a window for what the labels add up to; weights are multiples of `part`."""
    table = datasets.random_table(rng, n_features=3, n_rows=30, max_values=4, n_classes=2)
    table = replace(table, statistics=table.statistics * part)
    n_strata, n_labels = table.statistics.shape[1], 2
    weight = table.statistics.sum(axis=0)
    rows = []
    for number in range(n_rows):
        coefficient = rng.integers(-3, 4, size=(n_strata, n_labels)) / 1.0
        low, high = weight @ coefficient.min(axis=1), weight @ coefficient.max(axis=1)
        middle = low + (high - low) * rng.uniform(0.2, 0.9)
        rows.append(ModelLimit(f"floor {number}", coefficient, middle))
        if rng.random() < 0.5:
            rows.append(ModelLimit(f"ceiling {number}", -coefficient, -middle - 0.1 * (high - low)))
    graph = FeatureGraph(table.features)
    return Problem(table, graph, LinearLoss(costs), 3, 5, part * float(rng.integers(1, 4)), model_limits=tuple(rows))


def solved(problem: Problem, **options: bool) -> tuple[float, Closed]:
    """The bound of the column generation, and the answer."""

    def search(additive: Problem, deadline: Deadline) -> Priced:
        found = solve_general(additive, deadline=deadline)
        return Priced([root for root in found.trees if root is not None], found.bound, found.status == "optimal")

    master = TreeMaster(problem, search, **options)
    relaxed = master.run(FOREVER)
    if relaxed.bound == math.inf:
        return math.inf, Closed(None, math.inf, True)
    return relaxed.bound, close_gap(master, relaxed, FOREVER, partial(attainable))


#: With these, calling everything positive costs nothing, so that the bound often does.
ONE_SIDED = np.array([[0.0, 0.0], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("n_rows", "costs", "part"), [(1, 1 - np.eye(2), 1), (2, 1 - np.eye(2), 1), (1, ONE_SIDED, 0.1)]
)
def test_equals_the_best_of_all_vectors(n_rows: int, costs: np.ndarray, part: float) -> None:
    """The answer is the least loss of all trees that meet the constraints, wherever the column generation starts."""
    feasible = 0
    for seed in range(8):
        problem = random_problem(np.random.default_rng([seed, n_rows]), n_rows, costs, part)
        forms = np.stack([problem.costs, *(row.coefficient for row in problem.model_limits)])
        bare = Problem(problem.table, problem.graph, problem.loss, 3, 5, problem.min_support)
        prices = np.zeros(len(forms))
        prices[0] = 1.0
        every = attainable(bare, forms, prices, math.inf)
        assert every.complete
        limits = np.array([row.at_least for row in problem.model_limits])
        allowed = (every.vectors[:, 1:] >= limits - 1e-9).all(axis=1)
        expected = float(every.vectors[allowed, 0].min()) if allowed.any() else math.inf
        feasible += bool(allowed.any())
        for shallow_first in (True, False):
            bound, closed = solved(problem, shallow_first=shallow_first)
            assert closed.complete
            assert (math.inf if closed.best is None else closed.best.loss) == pytest.approx(expected)
            assert bound <= expected + 1e-6
    assert feasible >= 4


def test_a_bound_of_nothing_is_closed() -> None:
    """Where mixtures of trees cost nothing, fractional weights have no least step, and no tree is allowed, it ends."""
    X = pd.DataFrame({"a": list("uuvv"), "b": list("pqpq")})
    model = OptimalTreeClassifier(
        max_depth=1,
        min_samples_leaf=0.01,
        costs=[[0, 0], [1, 0]],
        constraints=[FalsePositiveRate(1, at_least=0.3, at_most=0.35)],
        time_limit=None,
    )
    for scale in (1e-5, 1.0):
        weight = scale * np.array([1.1, 1.3, 1.7, 0.9])
        with pytest.raises(InfeasibleError, match=r"^No model meets FalsePositiveRate"):
            model.fit(X, [0, 0, 1, 1], sample_weight=weight)


def test_after_ctrl_c_no_trees_are_listed() -> None:
    """Where Ctrl-C came before any allowed tree was known, the gap is not closed either."""
    problem = random_problem(np.random.default_rng(0), 1, 1 - np.eye(2))

    def nothing(*arguments: object, **options: object) -> Any:
        raise AssertionError("no search may begin")

    master = TreeMaster(problem, nothing)
    closed = close_gap(master, Relaxed(None, 0.0, np.zeros(len(problem.model_limits)), True, 1), FOREVER, nothing)
    assert (closed.best, closed.complete, closed.interrupted) == (None, False, True)
