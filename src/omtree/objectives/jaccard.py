"""Jaccard index of the whole model: true positives among the rows that are or are called positive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omtree.data.table import FloatArray
from omtree.objectives.ratio import RatioScore


@dataclass(frozen=True)
class Jaccard(RatioScore):
    """The overlap of the positive rows and those called positive."""

    name = "Jaccard index"

    def parts(self) -> tuple[FloatArray, FloatArray]:
        """True positives over true positives and all errors."""
        return np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])


objective = Jaccard
