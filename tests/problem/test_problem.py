"""What engines may take for granted about a problem."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from helpers import datasets
from omtree.deadline import Deadline
from omtree.engines.dispatch import TreeSolver
from omtree.engines.rules.floors import row_floors
from omtree.objectives.error import Error
from omtree.problem.graph import FeatureGraph
from omtree.problem.judge import make_judge
from omtree.problem.losses import LinearLoss, MomentLoss
from omtree.problem.problem import Problem, leaves_of


def test_support_is_weight_where_statistics_are_none() -> None:
    """Where what is added up is not the weight, such as rewards, a leaf's support is still its weight."""
    table = datasets.random_table(np.random.default_rng(0), n_features=3, n_rows=30, max_values=4, n_classes=2)
    weight = table.weight
    rewards = replace(table, statistics=table.statistics * 1000.0, row_weight=weight)
    problem = Problem(rewards, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 2, 4, 0.3 * weight.sum())
    assert not problem.plain
    root = TreeSolver(Error())(problem, Deadline(None)).root
    assert root is not None
    supports = [float(weight[leaf.covers(table.codes)].sum()) for leaf in leaves_of(root)]
    assert min(supports) >= 0.3 * weight.sum() - 1e-9


def test_a_loss_of_moments_that_has_no_floors_gets_none() -> None:
    """A new kind of loss does not get the bounds of another one."""
    table = datasets.random_table(np.random.default_rng(0), n_features=2, n_rows=10, max_values=3, n_classes=3)
    table = replace(table, statistics=table.statistics + 1.0)
    problem = Problem(table, FeatureGraph(table.features), MomentLoss("squared"), 2, 4, 1.0)
    judge = make_judge(problem)
    assert (row_floors(problem, judge) >= 0).all()
    with pytest.raises(KeyError, match="gamma"):
        row_floors(replace(problem, loss=MomentLoss("gamma")), judge)  # type: ignore[arg-type]
