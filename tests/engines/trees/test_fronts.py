"""The vectors that trees attain, against all trees with all labellings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_general import LIMITS, random_limits

from helpers import datasets, general_oracle
from omtree.deadline import Deadline
from omtree.engines.trees.fronts import attainable
from omtree.engines.trees.general import solve_general
from omtree.problem.graph import FeatureGraph
from omtree.problem.limits import RuleLimits
from omtree.problem.losses import LinearLoss, MomentLoss
from omtree.problem.problem import Problem


def random_problem(rng: np.random.Generator, limits: str) -> Problem:
    """Few enough trees to list them all."""
    table = datasets.random_table(rng, n_features=int(rng.integers(1, 3)), n_rows=9, max_values=3, n_classes=2)
    n_labels = int(rng.integers(2, 4))
    costs = rng.integers(0, 5, size=(2, n_labels)) / 1.0
    graph = FeatureGraph(table.features, order=rng.permutation(len(table.features)).tolist())
    chosen = random_limits(rng, limits, table, n_labels)
    depth, leaves = int(rng.integers(1, 3)), int(rng.integers(1, 7))
    return Problem(table, graph, LinearLoss(costs), depth, leaves, 1.0, limits=chosen)


def better(vectors: np.ndarray, sense: list[str]) -> set[tuple[float, ...]]:
    """Those that no other one equals or betters, from the definition."""
    kept = set()
    for i, v in enumerate(vectors):
        beaten = False
        for j, u in enumerate(vectors):
            as_good = all(
                abs(a - b) < 1e-7 if s == "equal" else (a <= b + 1e-7 if s == "min" else a >= b - 1e-7)
                for a, b, s in zip(u, v, sense, strict=True)
            )
            strictly = any(abs(a - b) > 1e-7 for a, b in zip(u, v, strict=True))
            beaten = beaten or (as_good and (strictly or j < i))
        if not beaten:
            kept.add(tuple(np.round(v, 6) + 0.0))
    return kept


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("limits", LIMITS)
def test_equals_all_trees(limits: str, splits: str) -> None:
    """The vectors within the budget are those of all trees with all labels, up to worse ones, and trees attain them."""
    for seed in range(8):
        rng = np.random.default_rng([seed, LIMITS.index(limits), splits == "binary"])
        problem = random_problem(rng, limits)
        max_children = int(rng.integers(2, 4)) if rng.random() < 0.3 else None
        n_forms = int(rng.integers(1, 4))
        more = rng.integers(-2, 4, size=(n_forms - 1, *problem.costs.shape)) / 1.0
        forms = np.concatenate([problem.costs[None], more])
        sense = ["min", *rng.choice(["min", "max", "equal"], size=n_forms - 1).tolist()]
        sign = np.array([{"min": 1, "max": -1, "equal": rng.choice([-1, 1])}[s] for s in sense])
        prices = sign * rng.choice([0.0, 0.5, 1.0], size=n_forms)
        prices[0] = 1.0
        demands = []
        every = np.array(sorted(general_oracle.all_vectors(problem, forms, splits, max_children)))
        if n_forms > 1 and rng.random() < 0.5 and len(every):
            coefficient = np.where(np.array(sense) == "min", -1.0, 1.0) * rng.integers(0, 2, size=n_forms)
            demands = [(coefficient, float(np.median(every[:, :-1] @ coefficient)))]
        budget = float(rng.choice([0.0, 1.0, 3.0, np.inf]))
        expected: set[tuple[float, ...]] = set()
        best = np.inf
        if len(every):
            vectors = np.unique(every[:, :-1].round(9), axis=0)
            best = (vectors @ prices).min()
            within = vectors[vectors @ prices <= best + budget + 1e-9]
            for coefficient, at_least in demands:
                within = within[within @ coefficient >= at_least - 1e-9]
            expected = better(within, sense)
        for options in ({}, {"use_bounds": False}, {"use_cache": False}):
            found = attainable(
                problem,
                forms,
                prices,
                budget,
                sense=sense,
                demands=demands,
                splits=splits,  # type: ignore[arg-type]
                max_children=max_children,
                **options,  # type: ignore[arg-type]
            )
            assert found.complete
            assert found.best == pytest.approx(best, abs=1e-8)
            assert {tuple(np.round(vector, 6) + 0.0) for vector in found.vectors} == expected
            assert found.values == pytest.approx(found.vectors @ prices, abs=1e-8)
            for i in range(len(found)):
                tree = found.tree(i)
                assert general_oracle.tree_vector(problem, forms, tree) == pytest.approx(found.vectors[i], abs=1e-8)
                assert len(list(general_oracle.tree_leaves(problem, tree))) == found.leaves[i] <= problem.max_leaves


def attained(problem: Problem, **options: object) -> set[tuple[float, ...]]:
    """Loss and weight of the last label, of all trees near the optimum."""
    ones = np.zeros_like(problem.costs)
    ones[:, -1] = 1.0
    budget = 0.3 * solve_general(problem).value
    found = attainable(problem, np.stack([problem.costs, ones]), np.array([1.0, 0.1]), budget, **options)  # type: ignore[arg-type]
    assert found.complete
    for i in range(len(found)):
        assert general_oracle.tree_vector(problem, np.stack([problem.costs, ones]), found.tree(i)) == pytest.approx(
            found.vectors[i]
        )
    return {tuple(np.round(vector, 6) + 0.0) for vector in found.vectors}


@pytest.mark.parametrize("splits", ["multiway", "binary"])
def test_counts_are_as_good_as_rows(splits: str) -> None:
    """Three levels from tables that add up, with bounds and without, have the vectors that every leaf's rows give."""
    for seed in range(6):
        rng = np.random.default_rng([seed, 5])
        table = datasets.random_table(rng, n_features=3, n_rows=40, max_values=4, n_classes=2)
        costs = rng.integers(0, 5, size=(2, 2 + seed % 2)) / 1.0
        support = float(rng.integers(1, 6))
        problem = Problem(table, FeatureGraph(table.features), LinearLoss(costs), 3, 5, support)
        by_rows = replace(problem, limits=RuleLimits(predicate=lambda conditions, rows, label: True))
        expected = attained(by_rows, splits=splits)
        assert attained(problem, splits=splits) == expected
        assert attained(problem, splits=splits, use_bounds=False) == expected


def test_budget_counts_from_a_bound_that_is_known() -> None:
    """With a bound on the least sum the vectors are those within the budget of the bound."""
    problem = medium_problem()
    forms = np.array([problem.costs, [[0.0, 1.0], [0.0, 1.0]]])
    prices = np.array([1.0, 0.25])
    free = attainable(problem, forms, prices, 5.0)
    known = attainable(problem, forms, prices, 7.0, least=free.best - 2.0)
    assert known.best == free.best - 2.0
    assert known.vectors == pytest.approx(free.vectors)


def medium_problem() -> Problem:
    """Two classes, five features of five values."""
    table = datasets.random_table(np.random.default_rng(3), n_features=5, n_rows=200, max_values=5, n_classes=2)
    return Problem(table, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 3, 6, 2.0)


def test_budget_zero_is_the_optimum() -> None:
    """With no budget the loss alone gives one vector: that of the best tree."""
    problem = medium_problem()
    found = attainable(problem, problem.costs[None], np.ones(1), 0.0)
    assert found.vectors == pytest.approx(np.array([[solve_general(problem).value]]))


def test_limits_on_vectors_and_time_are_told() -> None:
    """Neither a deadline nor a limit on the number of vectors passes for a complete answer."""
    problem = medium_problem()
    positives = np.array([[0.0, 1.0], [0.0, 1.0]])
    forms = np.array([problem.costs, positives])
    few = attainable(problem, forms, np.array([1.0, 0.0]), 6.0, max_vectors=3)
    assert few.overflow
    assert not few.complete
    late = attainable(problem, forms, np.array([1.0, 0.0]), 50.0, deadline=Deadline(0.05))
    assert not late.complete
    assert not late.overflow
    full = attainable(problem, forms, np.array([1.0, 0.0]), 6.0)
    assert full.complete
    assert few.values.min() == pytest.approx(full.values.min())
    assert len(few) < len(full)


def test_what_cannot_be_asked_is_refused() -> None:
    """Wrong losses, signs and shapes are refused in one sentence that names what to change."""
    problem = medium_problem()
    forms = np.array([problem.costs, problem.costs])
    with pytest.raises(ValueError, match="linear losses"):
        attainable(replace(problem, loss=MomentLoss("squared")), forms, np.ones(2), 1.0)
    with pytest.raises(ValueError, match=r"prices\[1\] has the wrong sign"):
        attainable(problem, forms, np.ones(2), 1.0, sense=["min", "max"])
    with pytest.raises(ValueError, match="wrong sign for form 0"):
        attainable(problem, forms, np.ones(2), 1.0, sense=["min", "min"], demands=[(np.ones(2), 1.0)])
    with pytest.raises(ValueError, match="shape"):
        attainable(problem, forms[:, :1], np.ones(2), 1.0)
    with pytest.raises(ValueError, match="budget"):
        attainable(problem, forms, np.ones(2), -1.0)
    with pytest.raises(ValueError, match="at most 16"):
        attainable(problem, np.repeat(forms, 9, axis=0), np.ones(18), 1.0)
