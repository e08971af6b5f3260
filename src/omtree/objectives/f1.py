"""F1 of the whole model: the harmonic mean of precision and recall of the second class."""

from __future__ import annotations

from dataclasses import dataclass

from omtree.data.table import FloatArray
from omtree.objectives.ratio import RatioScore, f_parts


@dataclass(frozen=True)
class F1(RatioScore):
    """Not a sum of F1 per rule: the F1 that the model has."""

    name = "F1"

    def parts(self) -> tuple[FloatArray, FloatArray]:
        """Twice the true positives over twice the true positives and all errors."""
        return f_parts(1.0)


objective = F1
