"""Misclassification: every row that gets a wrong class costs its weight, or what a cost matrix says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from omtree.data.table import FloatArray
from omtree.objectives.objective import LabelCosts, RuleStatistics
from omtree.sources.target import Target


@dataclass(frozen=True, eq=False)
class Error(LabelCosts):
    """The weight of the misclassified rows, each times the cost of its mistake.

    Attributes
    ----------
    costs : array-like of shape (n_classes, n_classes) or None
        What a row of one class (row of the matrix) costs when another is predicted (column); None: one for each error.
    """

    costs: Any = None

    @property
    def unit(self) -> str:  # type: ignore[override]
        """Errors, unless they have a price."""
        return "errors" if self.costs is None else "cost"

    @property
    def counted(self) -> bool:  # type: ignore[override]
        """Errors are counted, costs are not."""
        return self.costs is None

    def check(self, target: Target) -> None:
        """The matrix has a row and a column for every class."""
        if self.costs is None:
            return
        n_classes = len(target.classes)
        try:
            matrix = np.asarray(self.costs, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError("costs has entries that are not numbers; give one number per pair of classes.") from None
        if matrix.shape != (n_classes, n_classes):
            raise ValueError(
                f"costs has shape {matrix.shape}; give a row and a column for each of the {n_classes} classes."
            )
        if not np.isfinite(matrix).all() or matrix.min() < 0:
            raise ValueError("costs has negative or infinite entries; a mistake may cost zero or more.")

    def matrix(self, totals: FloatArray) -> FloatArray:
        """The matrix, or one for every wrong class."""
        if self.costs is None:
            return 1.0 - np.eye(len(totals))
        return np.asarray(self.costs, dtype=np.float64)

    def loss(self, rule: RuleStatistics) -> float:
        """The cheapest prediction."""
        return float((rule.class_weights @ self.matrix(rule.class_weights)).min())


objective = Error
