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
    least = -1.0

    def score(self, confusion: FloatArray) -> float:
        """From -1 to 1."""
        return float(self.scores(confusion[:, :, None])[0])

    def scores(self, confusions: FloatArray) -> FloatArray:
        """From -1 to 1 each."""
        # Shares of the weight: the product of four weights may be no number any more.
        (tn, fp), (fn, tp) = confusions / confusions.sum(axis=(0, 1))
        below = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        return np.asarray(np.where(below > 0, (tp * tn - fp * fn) / np.where(below > 0, below, 1.0), 0.0))


objective = MCC
