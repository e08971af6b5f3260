"""Fowlkes-Mallows index of the whole model: the geometric mean of precision and recall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omtree.data.table import FloatArray
from omtree.objectives.objective import Score


@dataclass(frozen=True)
class FowlkesMallows(Score):
    """The geometric mean of precision and recall of the second class; 0 where it is never predicted."""

    name = "Fowlkes-Mallows index"

    def score(self, confusion: FloatArray) -> float:
        """From 0 to 1."""
        return float(self.scores(confusion[:, :, None])[0])

    def scores(self, confusions: FloatArray) -> FloatArray:
        """From 0 to 1 each."""
        (_, fp), (fn, tp) = confusions / confusions.sum(axis=(0, 1))
        below = np.sqrt((tp + fp) * (tp + fn))
        return np.asarray(np.where(below > 0, tp / np.where(below > 0, below, 1.0), 0.0))


objective = FowlkesMallows
