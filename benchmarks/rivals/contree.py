"""ConTree: optimal binary trees over numbers, with every threshold there is."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.coding import Numbers
from benchmarks.rivals.base import Fitted, Limits, fitted, package_version, stopwatch


class Contree:
    """`pycontree`; it has no least support, and validation chooses the price of a split."""

    name = "contree"

    def version(self) -> str:
        """Version of the package."""
        return package_version("pycontree")

    def grid(self, X: pd.DataFrame, depth: int) -> list[dict[str, Any]]:
        """Prices of a split, as shares of the rows."""
        return [{"complexity_cost": price} for price in (0.0, 0.003, 0.01)]

    def fit(self, X: pd.DataFrame, y: np.ndarray, depth: int, limits: Limits, **options: Any) -> Fitted:
        """One exact search, which warns at its limit."""
        from pycontree import ConTree

        with stopwatch() as seconds, warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            code = Numbers(X)
            classes, labels = np.unique(y, return_inverse=True)
            model = ConTree(max_depth=depth, time_limit=limits.seconds, **options)
            model.fit(code(X), labels)
            spent = seconds()
        late = any("time limit" in str(warning.message) for warning in heard)
        return fitted(
            lambda new: classes[np.asarray(model.predict(code(new)), dtype=int)], X, y, proven=not late, seconds=spent
        )
