"""Matthews' correlation coefficient of the whole model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omtree.data.table import FloatArray
from omtree.objectives.objective import Score


@dataclass(frozen=True)
class MCC(Score):
    """The correlation of the true and the predicted class; 0 where only one class is predicted."""

    name = "MCC"

    def score(self, confusion: FloatArray) -> float:
        """From -1 to 1."""
        (tn, fp), (fn, tp) = confusion.tolist()
        below = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        return float((tp * tn - fp * fn) / below) if below > 0 else 0.0


objective = MCC
