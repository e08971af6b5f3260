"""Hazards in proportion to that of all: the exponential model over the baseline of Nelson and Aalen."""

from __future__ import annotations

import numpy as np

from omtree.data.table import FloatArray, Table
from omtree.objectives.objective import Objective, RuleStatistics
from omtree.problem.losses import HazardLoss, Loss
from omtree.sources.target import Target

#: What a hazard of zero counts as for rows that it was not fitted to, in parts of the hazard of all.
_LEAST_RISK = 0.01


class Hazard(Objective):
    """Half the deviance of LeBlanc and Crowley (1992): every rule predicts its events in parts of those expected.

    A rule with ``D`` events, where the cumulative hazards of all up to the times of its rows add up to ``E``, predicts
    ``D / E``, and costs ``sum of log(1 / hazard) over its events - D log(D / E)``.
    """

    unit = "deviance"
    tasks = ("survival",)
    refines = True

    def check(self, target: Target) -> None:
        """There are events; targets that are not in memory yet are checked once they are."""
        if target.lifetimes is not None and len(target) == 0:
            return
        if target.lifetimes is None or not target.lifetimes.events.any():
            raise ValueError("event is false in every row; a survival tree needs rows in which it was seen.")

    def loss(self, rule: RuleStatistics) -> float:
        """Half the deviance."""
        assert rule.lifetimes is not None
        risk = self.predict(rule)
        logarithm = np.log(risk) if risk > 0 else 0.0
        events, exposure = rule.lifetimes.events, rule.lifetimes.exposure
        return float(rule.weights @ (rule.lifetimes.own_loss - events * logarithm + (risk - 1.0) * exposure))

    def predict(self, rule: RuleStatistics) -> float:
        """Events in parts of those that the hazard of all expects."""
        assert rule.lifetimes is not None
        exposure = float(rule.weights @ rule.lifetimes.exposure)
        return float(rule.weights @ rule.lifetimes.events) / exposure if exposure > 0 else 0.0

    def row_losses(self, target: Target, predicted: FloatArray) -> FloatArray:
        """Half the deviance; a rule that has seen no event is taken to expect a few."""
        lifetimes = target.lifetimes
        assert lifetimes is not None
        risk = np.maximum(predicted, _LEAST_RISK)
        return np.asarray(lifetimes.own_loss - lifetimes.events * np.log(risk) + (risk - 1.0) * lifetimes.exposure)

    def sums(self, target: Target, weights: FloatArray) -> FloatArray:
        """Weight, exposure, events above it, and the losses at the hazard of all."""
        lifetimes = target.lifetimes
        assert lifetimes is not None
        parts = (np.ones(len(weights)), lifetimes.exposure, lifetimes.above, lifetimes.own_loss)
        return weights[:, None] * np.column_stack(parts)

    def kernel(self, table: Table, target: Target, weight: FloatArray) -> Loss:
        """From the four sums."""
        return HazardLoss()


objective = Hazard
