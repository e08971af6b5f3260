"""DL8.5: optimal binary trees by search over itemsets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.coding import ZeroOne, has_numbers
from benchmarks.rivals.base import Fitted, Limits, fitted, package_version, stopwatch


class Dl85:
    """`pydl8.5` over 0/1 columns; it has nothing to choose."""

    name = "dl85"

    def version(self) -> str:
        """Version of the package."""
        return package_version("pydl8.5")

    def grid(self, X: pd.DataFrame, depth: int) -> list[dict[str, Any]]:
        """One setting."""
        return [{}]

    def fit(self, X: pd.DataFrame, y: np.ndarray, depth: int, limits: Limits, **options: Any) -> Fitted:
        """One exact search."""
        from pydl85 import DL85Classifier

        with stopwatch() as seconds:
            code = ZeroOne(X, 5 if has_numbers(X) else 8)
            classes, labels = np.unique(y, return_inverse=True)
            model = DL85Classifier(
                max_depth=depth, min_sup=limits.least_rows(len(y)), time_limit=max(1, int(limits.seconds))
            )
            model.fit(code(X), labels)
            spent = seconds()
        return fitted(
            lambda new: classes[np.asarray(model.predict(code(new)), dtype=int)],
            X,
            y,
            proven=not getattr(model, "timeout_", spent >= limits.seconds),
            seconds=spent,
        )
