"""From samples and features to the problem that an engine solves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from omtree.constraints import Constraint
from omtree.data.table import Feature, FloatArray, Table
from omtree.graph import Categories, FeatureGraph
from omtree.losses import RowLoss, RowNumbers
from omtree.objectives import Objective, RuleStatistics
from omtree.problem import Problem
from omtree.targets import Target, samples_by_row
from omtree.training import Training


@dataclass(frozen=True, eq=False)
class Pose:
    """What stays the same while the thresholds of the features change.

    Attributes
    ----------
    objective : Objective
    max_depth, max_leaves : int
    min_support : float
        Least weight of a rule when the samples weigh `total`; a part of them needs its share of it.
    total : float
    categories : {"groups", "values"}
    order : sequence of int or None
        Positions of the features in the order of the graph's levels.
    constraints : sequence of Constraint
    """

    objective: Objective
    max_depth: int
    max_leaves: int
    min_support: float
    total: float
    categories: Categories
    order: Sequence[int] | None
    constraints: Sequence[Constraint] = ()

    def __call__(self, training: Training, features: tuple[Feature, ...]) -> Problem:
        """The problem for these samples, coded by these features."""
        target, weight = training.target, training.weight
        if target.is_number:
            table = training.number_table(features, self.objective.statistics(target.values, weight))
        else:
            table = training.table(features)
        return Problem(
            table,
            FeatureGraph(features, self.categories, self.order),
            self.objective.kernel(table, target, weight) or own_loss(self.objective, table, target, weight),
            self.max_depth,
            self.max_leaves,
            # The share comes first: for all samples it is exactly one.
            self.min_support * (training.total / self.total),
            tuple(row for constraint in self.constraints for row in constraint.rows(table)),
        )


def own_loss(objective: Objective, table: Table, target: Target, weight: FloatArray) -> RowLoss:
    """The loss of an objective that is known in Python alone."""
    classes = target.classes.tolist()
    samples = samples_by_row(table, target, weight) if target.is_number else None

    def loss(rows: RowNumbers, allowed: Sequence[bool] | None) -> tuple[float, int]:
        if samples is None:
            rule = RuleStatistics(table.statistics[rows].sum(axis=0), classes)
            label = int(objective.predict(rule))
            if allowed is not None and not allowed[label]:
                return math.inf, label
            return float(objective.loss(rule)), label
        start, targets, weights = samples
        of_rule = np.concatenate([np.arange(start[row], start[row + 1]) for row in rows])
        return float(objective.loss(RuleStatistics(targets=targets[of_rule], weights=weights[of_rule]))), 0

    return RowLoss(loss, max(1, len(classes)), objective.refines)
