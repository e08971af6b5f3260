"""From samples and features to the problem that an engine solves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from omtree.constraints import Constraint
from omtree.data.table import Feature, FloatArray
from omtree.graph import Categories, FeatureGraph
from omtree.losses import LinearLoss
from omtree.problem import Problem
from omtree.training import Training


@dataclass(frozen=True, eq=False)
class Pose:
    """What stays the same while the thresholds of the features change.

    Attributes
    ----------
    costs : array of float, shape (n_classes, n_classes)
    max_depth, max_leaves : int
    min_support : float
        Least weight of a rule when the samples weigh `total`; a part of them needs its share of it.
    total : float
    categories : {"groups", "values"}
    order : sequence of int or None
        Positions of the features in the order of the graph's levels.
    constraints : sequence of Constraint
    """

    costs: FloatArray
    max_depth: int
    max_leaves: int
    min_support: float
    total: float
    categories: Categories
    order: Sequence[int] | None
    constraints: Sequence[Constraint] = ()

    def __call__(self, training: Training, features: tuple[Feature, ...]) -> Problem:
        """The problem for these samples, coded by these features."""
        table = training.table(features)
        return Problem(
            table,
            FeatureGraph(features, self.categories, self.order),
            LinearLoss(self.costs),
            self.max_depth,
            self.max_leaves,
            # The share comes first: for all samples it is exactly one.
            self.min_support * (training.total / self.total),
            tuple(row for constraint in self.constraints for row in constraint.rows(table)),
        )
