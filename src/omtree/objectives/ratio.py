"""Scores that are a ratio of two sums over the rows, and so can be maximised by a few additive solves."""

from __future__ import annotations

import numpy as np

from omtree.data.table import FloatArray
from omtree.objectives.objective import Score


class RatioScore(Score):
    """``numerator / denominator``, both linear in the confusion matrix; the denominator is positive for every model."""

    def parts(self) -> tuple[FloatArray, FloatArray]:
        """Coefficients of the numerator and of the denominator, by ``[true, predicted]``."""
        raise NotImplementedError

    def score(self, confusion: FloatArray) -> float:
        """The ratio."""
        numerator, denominator = self.parts()
        below = float((denominator * confusion).sum())
        return float((numerator * confusion).sum()) / below if below > 0 else 0.0


def f_parts(beta: float) -> tuple[FloatArray, FloatArray]:
    """F-beta: ``(1 + b) TP / ((1 + b) TP + b FN + FP)`` with ``b = beta ** 2``."""
    b = beta * beta
    return np.array([[0.0, 0.0], [0.0, 1.0 + b]]), np.array([[0.0, 1.0], [b, 1.0 + b]])
