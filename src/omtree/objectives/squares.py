"""Squared error of several targets at once: every rule predicts the means of all of them."""

from __future__ import annotations

import numpy as np

from omtree.data.table import FloatArray, Table
from omtree.objectives.objective import Objective, RuleStatistics
from omtree.problem.losses import Loss, SquaresLoss
from omtree.sources.target import Target


class Squares(Objective):
    """The sum of squared distances from the means of the rules, over all targets, times the weights of these.

    It has no name among the objectives: it comes with a target of several columns.
    """

    unit = "squared error"
    tasks = ()
    refines = True

    def loss(self, rule: RuleStatistics) -> float:
        """Squared distances from the means."""
        assert rule.outputs is not None
        assert rule.output_weights is not None
        away = rule.outputs - np.array(self.predict(rule))
        return float(rule.weights @ (away**2 @ rule.output_weights))

    def predict(self, rule: RuleStatistics) -> tuple[float, ...]:
        """The mean of each target; from the first row on, or digits would be lost far from zero."""
        assert rule.outputs is not None
        first = rule.outputs[0]
        means = first + np.average(rule.outputs - first, axis=0, weights=rule.weights)
        return tuple(means.tolist())

    def row_losses(self, target: Target, predicted: FloatArray) -> FloatArray:
        """Squared distances."""
        assert target.outputs is not None
        assert target.output_weights is not None
        return np.asarray((target.outputs - predicted) ** 2 @ target.output_weights)

    def sums(self, target: Target, weights: FloatArray) -> FloatArray:
        """Weight, the targets from their means, and all their squares."""
        assert target.outputs is not None
        assert target.output_weights is not None
        first = target.outputs[0]
        from_first = target.outputs - first
        centred = (from_first - np.average(from_first, axis=0, weights=weights)) * np.sqrt(target.output_weights)
        squares = (centred**2).sum(axis=1)
        return np.asarray(weights[:, None] * np.column_stack([np.ones(len(weights)), centred, squares]))

    def kernel(self, table: Table, target: Target, weight: FloatArray) -> Loss:
        """From the sums."""
        assert target.outputs is not None
        return SquaresLoss(target.outputs.shape[1])


objective = Squares
