"""What is compiled from constraints over the whole model, solved by the engine of rules, against enumeration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from helpers.constrained_brute import best
from helpers.constraint_cases import Case, tiny_case
from omtree.constraints import (
    F1,
    Accuracy,
    ConditionalParity,
    Constraint,
    EqualizedOdds,
    EqualOpportunity,
    FalsePositiveRate,
    Precision,
    Recall,
    StatisticalParity,
    group_columns,
)
from omtree.data.build import make_table
from omtree.engines import rules
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Problem, Solution

MAKERS: list[Callable[[float], Constraint]] = [
    lambda t: Recall("yes", at_least=t),
    lambda t: Precision("yes", at_least=t),
    lambda t: FalsePositiveRate("yes", at_most=1 - t),
    lambda t: F1("yes", at_least=t),
    lambda t: Accuracy(at_least=t),
    lambda t: StatisticalParity("sex", 1 - t),
    lambda t: EqualOpportunity("sex", 1 - t),
    lambda t: EqualizedOdds("dept", 1 - t),
    lambda t: ConditionalParity("sex", 1 - t, given="dept"),
]


def solve(case: Case, *constraints: Constraint) -> Solution:
    """The engine's answer over a table that counts strata."""
    names = group_columns(constraints)
    case = replace(case, groups={name: case.groups[name] for name in names})
    compiled = case.compiled(*constraints)
    strata = compiled.strata
    table = make_table(case.columns, case.features, strata.of_sample, len(strata), case.weight)
    costs = (strata.label[:, None] != np.arange(len(case.classes))[None, :]).astype(float)
    problem = Problem(
        table, FeatureGraph(case.features), LinearLoss(costs), 2, 3, 1.0, model_limits=compiled.model_limits
    )
    return rules.solve(problem)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("seed", range(2))
def test_the_engine_meets_what_was_compiled(make: Callable[[float], Constraint], seed: int) -> None:
    """The optimum under the compiled rows is that of enumeration with the audit; none is found when none exists."""
    case = tiny_case(seed)
    for t in (0.6, 0.9, 1.0):
        constraint = make(t)
        expected = best(case, [constraint], "rules", 2, 3, 1.0)
        found = solve(case, constraint)
        if expected is None:
            assert found.status == "infeasible"
        else:
            assert found.status == "optimal"
            assert found.value == pytest.approx(expected)
