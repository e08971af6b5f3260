"""The log-rank score: leaves whose events are as far as can be from those that the hazard of all expects."""

from __future__ import annotations

import numpy as np

from omtree.data.table import FloatArray, Table
from omtree.objectives.hazard import Hazard
from omtree.objectives.objective import RuleStatistics
from omtree.problem.losses import HazardLoss, Loss
from omtree.sources.lifetimes import Lifetimes
from omtree.sources.target import Target


class LogRank(Hazard):
    """What is left of the log-rank score that every row would have by itself.

    The score of a model is the sum over its rules of ``(D - E) ** 2 / E``, with ``D`` events and ``E`` events to expect
    at the hazard of all: the log-rank statistic of so many groups, in the form that adds up over them (it is never
    above the one with variances). The loss is the score of every row on its own, which is the same for all models, less
    that; so the least loss has the largest score.
    """

    unit = "log-rank loss"

    def loss(self, rule: RuleStatistics) -> float:
        """What is left of the scores of its rows."""
        assert rule.lifetimes is not None
        risk = self.predict(rule)
        return float(rule.weights @ _distances(rule.lifetimes, np.full(len(rule.lifetimes), risk)))

    def row_losses(self, target: Target, predicted: FloatArray) -> FloatArray:
        """Squared distances of the events in parts of those expected."""
        assert target.lifetimes is not None
        return _distances(target.lifetimes, predicted)

    def sums(self, target: Target, weights: FloatArray) -> FloatArray:
        """Weight, exposure, events above it, and the scores of the rows."""
        lifetimes = target.lifetimes
        assert lifetimes is not None
        own = _distances(lifetimes, np.ones(len(lifetimes)))
        return weights[:, None] * np.column_stack([np.ones(len(weights)), lifetimes.exposure, lifetimes.above, own])

    def kernel(self, table: Table, target: Target, weight: FloatArray) -> Loss:
        """From the four sums."""
        return HazardLoss("logrank")


def _distances(lifetimes: Lifetimes, risk: FloatArray) -> FloatArray:
    """By sample: ``exposure * (event / exposure - risk) ** 2``; nothing where no event was to be expected."""
    exposure = lifetimes.exposure
    there = exposure > 0
    away = lifetimes.events / np.where(there, exposure, 1.0) - risk
    return np.asarray(np.where(there, exposure * away**2, 0.0))


objective = LogRank
