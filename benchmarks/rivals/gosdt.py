"""GOSDT: optimal sparse binary trees, with a price on every leaf."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.coding import ZeroOne, has_numbers
from benchmarks.rivals.base import Fitted, Limits, fitted, package_version, stopwatch


class Gosdt:
    """`gosdt` over 0/1 columns; validation chooses the price of a leaf."""

    name = "gosdt"

    def version(self) -> str:
        """Version of the package."""
        return package_version("gosdt")

    def grid(self, X: pd.DataFrame, depth: int) -> list[dict[str, Any]]:
        """Prices of a leaf, as shares of the rows."""
        return [{"regularization": price} for price in (0.003, 0.01, 0.03)]

    def fit(self, X: pd.DataFrame, y: np.ndarray, depth: int, limits: Limits, **options: Any) -> Fitted:
        """One exact search."""
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
                proven = True
            except TimeoutError:
                proven = False  # what it found by then is kept
            spent = seconds()
        found = json.loads(getattr(model.result_, "model", "") or "[]")
        if not found:
            raise RuntimeError("GOSDT had no model at its time limit")
        return fitted(lambda new: classes[_walk(found[0], code(new))], X, y, proven=proven, seconds=spent)


def _walk(node: dict[str, Any], columns: np.ndarray) -> np.ndarray:
    """Class numbers by the tree as the package writes it; its own `predict` fails with scikit-learn 1.8 and later."""
    if "prediction" in node:
        return np.full(len(columns), node["prediction"], dtype=int)
    yes = columns[:, node["feature"]] == 1
    answers = np.empty(len(columns), dtype=int)
    answers[yes], answers[~yes] = _walk(node["true"], columns[yes]), _walk(node["false"], columns[~yes])
    return answers
