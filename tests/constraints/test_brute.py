"""The enumeration of constrained models itself, against the other oracle and against what has to hold."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.constrained_brute import best
from helpers.constraint_cases import tiny_case
from helpers.oracle import best_rules, best_trees
from omtree.constraints import Constraint, Exclude, MinConfidence, Monotone, Order, Recall, Requires, Root, UseAtMost


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("min_support", [1.0, 4.0])
def test_without_constraints(seed: int, min_support: float) -> None:
    """Without constraints the best model is the one that the other oracle finds."""
    case = tiny_case(seed)
    table, costs = case.table, 1.0 - np.eye(2)
    rules = best_rules(table.codes, table.statistics, case.features, costs, 2, 3, min_support)
    assert rules is not None
    assert best(case, [], "rules", 2, 3, min_support) == pytest.approx(rules.value)
    trees = best_trees(table.codes, table.statistics, case.features, costs, 2, 4, min_support)
    assert best(case, [], "tree", 2, 4, min_support) == pytest.approx(trees[-1])


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "constraint",
    [
        Root("x2"),
        Requires("x0", first="x2"),
        Order(["x2", "x1", "x0"], strict=True),
        UseAtMost({"x0", "x1", "x2"}, 1),
        Exclude("x1"),
        Monotone("x2", 1),
        MinConfidence(0.7),
        Recall("yes", at_least=0.9),
    ],
    ids=repr,
)
def test_constraints_cost_something_or_nothing(constraint: Constraint, seed: int) -> None:
    """A constraint never makes the best model better."""
    case = tiny_case(seed)
    free = best(case, [], "tree", 2, 3, 1.0)
    bound = best(case, [constraint], "tree", 2, 3, 1.0)
    assert free is not None
    assert bound is None or bound >= free - 1e-9
