"""Balanced error: every class counts the same, however many rows it has."""

from __future__ import annotations

import numpy as np

from omtree.data.table import FloatArray
from omtree.objectives.objective import LabelCosts


class BalancedError(LabelCosts):
    """One minus the mean recall of the classes."""

    unit = "balanced error"

    def matrix(self, totals: FloatArray) -> FloatArray:
        """A wrong class costs the inverse of what the class weighs, shared among the classes."""
        present = totals > 0
        share = np.where(present, 1.0 / (np.where(present, totals, 1.0) * present.sum()), 0.0)
        return np.asarray((1.0 - np.eye(len(totals))) * share[:, None])


objective = BalancedError
