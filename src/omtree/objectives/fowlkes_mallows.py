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
        (_, fp), (fn, tp) = confusion.tolist()
        below = np.sqrt((tp + fp) * (tp + fn))
        return float(tp / below) if below > 0 else 0.0


objective = FowlkesMallows
