"""Tiny problems for the tests of column generation, and the oracle's answers to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import datasets, oracle
from helpers.facts import global_value, recompute
from omtree.data.table import Table
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import ModelLimit, Problem, Solution

#: The shape on which the linear relaxation is most often below the optimum.
HARD = {"n_features": 3, "max_values": 3, "missing": 0.0, "n_rows": 14, "n_classes": 3}


@dataclass(frozen=True, eq=False)
class Tiny:
    """A problem with what the oracle needs to know of it besides."""

    problem: Problem
    categories: str = "groups"

    def oracle_arguments(self) -> tuple[Any, ...]:
        """Arguments of the oracle's functions."""
        p = self.problem
        rows = [(p.table.statistics @ row.coefficient, row.at_least) for row in p.model_limits]
        table = (p.table.codes, p.table.statistics, p.table.features, p.costs)
        return (*table, p.max_depth, p.max_leaves, p.min_support, self.categories, rows)

    def best(self) -> float | None:
        """The optimum; None when infeasible."""
        answer = oracle.best_rules(*self.oracle_arguments())
        return None if answer is None else answer.value

    def lp(self) -> float | None:
        """Value of the linear relaxation over all rules; None when infeasible."""
        return oracle.lp_rules(*self.oracle_arguments())


def tiny(seed: int, depth: int | None = None, leaves: int | None = None, **shape: object) -> Tiny:
    """A random problem with any kind of features, weights, costs and limits."""
    rng = np.random.default_rng(seed)
    table = datasets.random_table(rng, **shape)  # type: ignore[arg-type]
    n_classes = table.statistics.shape[1]
    costs = 1.0 - np.eye(n_classes)
    if rng.random() < 0.2:
        costs = costs * rng.integers(1, 4, size=(n_classes, 1))
    elif rng.random() < 0.2:
        costs = costs * rng.integers(1, 9, size=(n_classes, n_classes)) / 4
    categories = str(rng.choice(["groups", "values"]))
    depth = int(rng.integers(1, 4)) if depth is None else depth
    leaves = int(rng.integers(1, 8)) if leaves is None else leaves
    support = float(rng.choice([0.25, 1.0, 2.0, 3.5]))
    return Tiny(make_problem(table, costs, depth, leaves, support, categories, rng), categories)


def hard(seed: int) -> Tiny:
    """A random problem whose relaxation is often below its optimum."""
    rng = np.random.default_rng(seed)
    table = datasets.random_table(rng, **HARD)  # type: ignore[arg-type]
    return Tiny(make_problem(table, 1.0 - np.eye(3), 3, 6, 0.25, "groups", rng))


def make_problem(
    table: Table,
    costs: np.ndarray,
    depth: int,
    leaves: int,
    support: float,
    categories: str = "groups",
    rng: np.random.Generator | None = None,
    rows: tuple[ModelLimit, ...] = (),
) -> Problem:
    """A problem over a table; with `rng` the levels of its graph are in random order."""
    order = None if rng is None else rng.permutation(len(table.features)).tolist()
    return Problem(
        table, FeatureGraph(table.features, categories, order), LinearLoss(costs), depth, leaves, support, rows
    )


def with_rows(seed: int, n_rows: int = 1) -> Tiny:
    """A random problem with constraints over the whole model, met by some models, by all or by none."""
    case = tiny(seed, n_rows=9, n_features=2)
    rng = np.random.default_rng(seed + 10_000)
    p = case.problem
    rows = []
    for number in range(n_rows):
        if rng.random() < 0.5:
            # At least so much weight of one class is predicted correctly.
            label = int(rng.integers(p.table.statistics.shape[1]))
            coefficient = np.zeros_like(p.costs)
            coefficient[label, label] = 1.0
            at_least = float(rng.choice([0.3, 0.7, 1.0])) * p.table.statistics[:, label].sum()
        else:
            coefficient = rng.integers(-3, 4, size=p.costs.shape).astype(float)
            at_least = float(rng.integers(-5, 2 * len(p.table.statistics)))
        rows.append(ModelLimit(f"row {number}", coefficient, at_least))
    graph_order = [level.position for level in p.graph]
    graph = FeatureGraph(p.table.features, case.categories, graph_order)
    problem = Problem(p.table, graph, p.loss, p.max_depth, p.max_leaves, p.min_support, tuple(rows))
    return Tiny(problem, case.categories)


def check_model(problem: Problem, solution: Solution) -> None:
    """Everything the solution claims of its rules, recomputed from samples."""
    codes, labels, weights = datasets.samples(problem.table)
    facts = recompute(codes, labels, weights, solution.paths, problem.costs)
    scale = max(1.0, float(weights.sum()))
    assert facts.is_partition
    assert abs(facts.loss - solution.value) <= 1e-9 * scale
    assert facts.supports.min() >= problem.min_support * (1 - 1e-9) - 1e-12
    assert facts.supports.min() > 0
    assert facts.depth <= problem.max_depth
    assert 1 <= facts.n_rules <= problem.max_leaves
    assert solution.bound <= solution.value
    for row in problem.model_limits:
        assert (
            global_value(problem.table.codes, problem.table.statistics @ row.coefficient, solution.paths)
            >= row.at_least - 1e-6
        )
