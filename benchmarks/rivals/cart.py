"""The greedy tree of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from benchmarks.coding import Numbers
from benchmarks.rivals.base import Fitted, Limits, fitted, package_version, stopwatch


class Cart:
    """CART, with the Gini index; validation chooses the cost of a leaf."""

    name = "cart"

    def version(self) -> str:
        """Version of scikit-learn."""
        return package_version("scikit-learn")

    def grid(self, X: pd.DataFrame, depth: int) -> list[dict[str, Any]]:
        """Costs of complexity, for pruning."""
        return [{"ccp_alpha": alpha} for alpha in (0.0, 0.001, 0.003, 0.01, 0.03)]

    def fit(self, X: pd.DataFrame, y: np.ndarray, depth: int, limits: Limits, **options: Any) -> Fitted:
        """A greedy fit; nothing is proven."""
        with stopwatch() as seconds:
            code = Numbers(X)
            model = DecisionTreeClassifier(
                max_depth=depth, min_samples_leaf=limits.least_rows(len(y)), random_state=0, **options
            ).fit(code(X), y)
            spent = seconds()
        leaves = int(model.get_n_leaves())
        return fitted(lambda new: model.predict(code(new)), X, y, proven=False, seconds=spent, leaves=leaves)
