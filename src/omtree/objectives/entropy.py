"""Entropy: the weight of a rule times the entropy of its classes, in nats."""

from __future__ import annotations

import numpy as np

from omtree.data.table import FloatArray, Table
from omtree.objectives.objective import IntArray, Objective, RuleStatistics
from omtree.problem.losses import ImpurityLoss, Loss
from omtree.sources.target import Target


class Entropy(Objective):
    """Also the log loss of the class shares of the rules as predicted probabilities."""

    unit = "entropy"
    tasks = ("classification",)
    refines = True

    def loss(self, rule: RuleStatistics) -> float:
        """Minus the sum of weight times log share."""
        present = rule.class_weights[rule.class_weights > 0]
        return float(-present @ np.log(present / rule.weight))

    def charges(self, labels: IntArray, class_weights: FloatArray) -> FloatArray:
        """The log loss of the shares as probabilities, with two rows added so that none is certain."""
        more = class_weights + 2.0 / class_weights.shape[1]
        return np.asarray(-np.log(more / more.sum(axis=1, keepdims=True)))

    def kernel(self, table: Table, target: Target, weight: FloatArray) -> Loss:
        """From the weights of the classes."""
        return ImpurityLoss("entropy", len(target.classes))

    def of_counts(self, totals: FloatArray) -> Loss:
        """The same."""
        return ImpurityLoss("entropy", len(totals))


objective = Entropy
