"""Costs by row: every answer has its own price for every row, whatever the class of the row."""

from __future__ import annotations

import numpy as np

from omtree.data.table import FloatArray, Table
from omtree.objectives.objective import Objective, RuleStatistics
from omtree.problem.losses import LinearLoss, Loss
from omtree.sources.target import Target


class RowCosts(Objective):
    """The sum over the rows of what the answer of their rule costs them.

    It has no name among the objectives: it comes with the costs that are given to ``fit``.
    """

    unit = "cost"
    tasks = ()
    refines = True

    def loss(self, rule: RuleStatistics) -> float:
        """The cheapest answer."""
        return float(rule.charges.min())

    def predict(self, rule: RuleStatistics) -> int:
        """The position of the cheapest answer."""
        return int(rule.charges.argmin())

    def kernel(self, table: Table, target: Target, weight: FloatArray) -> Loss:
        """The statistics of the table are the costs of the answers."""
        return LinearLoss(np.eye(len(target.classes)))


class Regret(RowCosts):
    """The sum over the rows of what their rule's action brings less than the best action for the row."""

    unit = "regret"


class JointErrors(RowCosts):
    """The sum over the rows of how many of several targets the answer of their rule is wrong about."""

    unit = "count of errors"


objective = RowCosts
