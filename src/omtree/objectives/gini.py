"""Gini impurity: the weight of a rule times the chance that two of its rows, drawn at random, differ in class."""

from __future__ import annotations

import numpy as np

from omtree.data.table import FloatArray, Table
from omtree.objectives.objective import IntArray, Objective, RuleStatistics
from omtree.problem.losses import ImpurityLoss, Loss
from omtree.sources.target import Target


class Gini(Objective):
    """Also the squared error of the class shares of the rules as predicted probabilities (Brier score)."""

    unit = "Gini impurity"
    tasks = ("classification",)
    refines = True

    def loss(self, rule: RuleStatistics) -> float:
        """Weight times one minus the sum of the squared shares."""
        share = rule.class_weights / rule.weight
        return float(rule.weight * (1.0 - share @ share))

    def charges(self, labels: IntArray, class_weights: FloatArray) -> FloatArray:
        """The Brier score of the shares as probabilities."""
        share = class_weights / class_weights.sum(axis=1, keepdims=True)
        return np.asarray(1.0 - 2.0 * share + (share**2).sum(axis=1, keepdims=True))

    def kernel(self, table: Table, target: Target, weight: FloatArray) -> Loss:
        """From the weights of the classes."""
        return ImpurityLoss("gini", len(target.classes))

    def of_counts(self, totals: FloatArray) -> Loss:
        """The same."""
        return ImpurityLoss("gini", len(totals))


objective = Gini
