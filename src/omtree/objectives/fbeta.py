"""F-beta of the whole model: recall counts `beta` times as much as precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omtree.data.table import FloatArray
from omtree.objectives.ratio import RatioScore, f_parts
from omtree.sources.target import Target


@dataclass(frozen=True)
class FBeta(RatioScore):
    """F1 with a weight for recall."""

    beta: float = 1.0
    name = "F-beta"

    def check(self, target: Target) -> None:
        """Two classes and a positive beta."""
        super().check(target)
        beta = self.beta
        if isinstance(beta, bool) or not isinstance(beta, (int, float, np.number)) or not 0 < beta < np.inf:
            raise ValueError(f"beta={beta!r} is not possible; use a positive number.")

    def parts(self) -> tuple[FloatArray, FloatArray]:
        """As in the definition of F-beta."""
        return f_parts(self.beta)


objective = FBeta
