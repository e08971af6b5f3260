"""Interpretable AI's commercial optimal trees: only where its package and a licence are present."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.coding import Numbers
from benchmarks.rivals.base import Absent, Fitted, Limits, fitted, package_version, stopwatch


class Iai:
    """`interpretableai.iai.OptimalTreeClassifier`: written from its documentation, never run for want of a licence."""

    name = "iai"

    def version(self) -> str:
        """Version of the package."""
        found = package_version("interpretableai")
        try:
            from interpretableai import iai  # noqa: F401
        except Exception as error:  # whatever a missing engine or licence raises
            raise Absent(f"interpretableai is installed but does not start: {error}") from error
        return found

    def grid(self, X: pd.DataFrame, depth: int) -> list[dict[str, Any]]:
        """Prices of a split."""
        return [{"cp": price} for price in (0.0, 0.001, 0.01)]

    def fit(self, X: pd.DataFrame, y: np.ndarray, depth: int, limits: Limits, **options: Any) -> Fitted:
        """Its local search; nothing is proven."""
        from interpretableai import iai

        with stopwatch() as seconds:
            code = Numbers(X)
            model = iai.OptimalTreeClassifier(
                max_depth=depth, minbucket=limits.least_rows(len(y)), random_seed=1, **options
            )
            model.fit(code(X), y)
            spent = seconds()
        return fitted(lambda new: np.asarray(model.predict(code(new))), X, y, proven=False, seconds=spent)
