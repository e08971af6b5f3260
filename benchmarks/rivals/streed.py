"""STreeD: optimal binary trees over 0/1 columns by dynamic programming."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.coding import ZeroOne, has_numbers
from benchmarks.rivals.base import Fitted, Limits, fitted, package_version, stopwatch


class Streed:
    """`pystreed` for plain accuracy; validation chooses the number of inner nodes, and thresholds for numbers."""

    name = "streed"

    def version(self) -> str:
        """Version of the package."""
        return package_version("pystreed")

    def grid(self, X: pd.DataFrame, depth: int) -> list[dict[str, Any]]:
        """Nodes of the tree, from full to a single split; numbers in 8 bins, or more where the tree is shallow."""
        if has_numbers(X):
            return [{"n_bins": 10}, {"n_bins": 5}]
        full = 2**depth - 1
        sizes = sorted({full, *(n for n in (1, 2, 3, 4, 5, 7, 10, 15, 22) if n < full)}, reverse=True)
        return [{"max_num_nodes": n} for n in sizes]

    def fit(self, X: pd.DataFrame, y: np.ndarray, depth: int, limits: Limits, **options: Any) -> Fitted:
        """One exact search."""
        from pystreed import STreeDClassifier

        with stopwatch() as seconds:
            code = ZeroOne(X, options.get("n_bins", 10))
            classes, labels = np.unique(y, return_inverse=True)
            nodes = options.get("max_num_nodes", 2**depth - 1)
            model = STreeDClassifier(
                optimization_task="accuracy",
                # A tree of so few nodes can't be deeper, and the package refuses the two together.
                max_depth=min(depth, nodes),
                max_num_nodes=nodes,
                min_leaf_node_size=limits.least_rows(len(y)),
                time_limit=limits.seconds,
            )
            model.fit(code(X), labels)
            spent = seconds()
        # It does not say whether it finished, other than by its time.
        proven = spent < limits.seconds
        return fitted(lambda new: classes[model.predict(code(new))], X, y, proven=proven, seconds=spent)
