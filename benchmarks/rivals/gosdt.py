"""GOSDT: optimal sparse binary trees, with a price on every leaf."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.coding import ZeroOne, has_numbers
from benchmarks.rivals.base import Absent, Fitted, Limits, fitted, package_version, stopwatch


class Gosdt:
    """`gosdt` over 0/1 columns; validation chooses the price of a leaf."""

    name = "gosdt"

    def version(self) -> str:
        """Version of the package."""
        return package_version("gosdt")

    def grid(self, X: pd.DataFrame, depth: int) -> list[dict[str, Any]]:
        """Prices of a leaf, as shares of the rows."""
        return [{"regularization": price} for price in (0.01, 0.003, 0.03)]

    def fit(self, X: pd.DataFrame, y: np.ndarray, depth: int, limits: Limits, **options: Any) -> Fitted:
        """One exact search; at its limit the package has no model to give, and says so."""
        from gosdt import GOSDTClassifier

        with stopwatch() as seconds:
            code = ZeroOne(X, 5 if has_numbers(X) else 8)
            classes, labels = np.unique(y, return_inverse=True)
            model = GOSDTClassifier(
                regularization=options.get("regularization", 0.01),
                allow_small_reg=True,
                depth_budget=depth,  # a tree of the root alone has depth 0
                time_limit=max(1, int(limits.seconds)),
            )
            try:
                model.fit(code(X).astype(bool), labels)
            except TimeoutError as error:
                raise Absent(f"no model at the time limit: {error}") from error
            spent = seconds()
        return fitted(
            lambda new: classes[np.asarray(model.predict(code(new).astype(bool)), dtype=int)],
            X,
            y,
            proven=spent < limits.seconds,
            seconds=spent,
        )
