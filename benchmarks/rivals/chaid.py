"""CHAID: the classical greedy multiway tree, which merges values by tests of independence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.coding import is_number
from benchmarks.rivals.base import Fitted, Limits, fitted, package_version, stopwatch

#: CHAID knows no numbers: they are cut into as many quantile bins.
BINS = 8


class Codes:
    """Every column as small whole numbers: bins, positions or values."""

    def __init__(self, X: pd.DataFrame) -> None:
        inside = np.arange(1, BINS) / BINS
        self._cuts = {name: np.unique(np.quantile(X[name], inside)) for name in X if is_number(X[name])}

    def __call__(self, X: pd.DataFrame) -> np.ndarray:
        """The codes of these rows."""
        return np.column_stack(
            [
                np.searchsorted(self._cuts[name], X[name], side="left") if name in self._cuts else X[name].cat.codes
                for name in X
            ]
        ).astype(int)


class Chaid:
    """The package `CHAID`; validation chooses the level of its tests. It has no limit on the number of leaves."""

    name = "chaid"

    def version(self) -> str:
        """Version of the package."""
        return package_version("CHAID")

    def grid(self, X: pd.DataFrame, depth: int) -> list[dict[str, Any]]:
        """Levels at which values are merged."""
        return [{"alpha_merge": level} for level in (0.2, 0.05, 0.01)]

    def fit(self, X: pd.DataFrame, y: np.ndarray, depth: int, limits: Limits, **options: Any) -> Fitted:
        """A greedy fit; nothing is proven."""
        from CHAID import Tree

        with stopwatch() as seconds:
            code = Codes(X)
            classes, labels = np.unique(y, return_inverse=True)
            plain = [not is_number(X[name]) and not X[name].cat.ordered for name in X]
            least = limits.least_rows(len(y))
            tree = Tree.from_numpy(
                code(X),
                labels,
                max_depth=depth,
                min_parent_node_size=2 * least,
                min_child_node_size=least,
                variable_types=["nominal" if nominal else "ordinal" for nominal in plain],
                **options,
            )
            nodes = tree.tree_store
            spent = seconds()
        model = _Walk(nodes, labels)
        leaves = sum(node.is_terminal for node in nodes)
        return fitted(
            lambda new: classes[model.predict(code(new))], X, y, proven=False, seconds=spent, leaves=int(leaves)
        )


class _Walk:
    """Answers for new rows, which the package has none for; a value that a node never saw gets the node's own class."""

    def __init__(self, nodes: list[Any], labels: np.ndarray) -> None:
        self.label = {node.node_id: int(np.bincount(labels[node.indices]).argmax()) for node in nodes}
        self.column = {node.node_id: node.split.column_id for node in nodes if not node.is_terminal}
        self.child: dict[int, dict[int, int]] = {}
        for node in nodes:
            if node.parent is not None:
                self.child.setdefault(node.parent, {}).update({int(value): node.node_id for value in node.choices})

    def predict(self, codes: np.ndarray) -> np.ndarray:
        """The class number of every row."""
        answers = np.empty(len(codes), dtype=int)
        for i, row in enumerate(codes):
            node = 0
            while node in self.column and (below := self.child[node].get(int(row[self.column[node]]))) is not None:
                node = below
            answers[i] = self.label[node]
        return answers
