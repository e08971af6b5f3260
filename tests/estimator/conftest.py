"""A stand-in for the engine of the rules where it is not there, so that the estimator can be tested on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import omtree.columns
from omtree.graph import Condition
from omtree.problem import Node, Path, Problem, Solution
from omtree.progress import Event


@dataclass(frozen=True)
class GreedyOptions:
    """The options the estimator sets."""

    gap: float = 0.0
    n_jobs: int = 1
    seed: int = 0

    @classmethod
    def paper(cls) -> GreedyOptions:
        return cls()


def greedy_tree(problem: Problem, max_leaves: int) -> Node:
    """Scikit-learn's tree on the codes."""
    table = problem.table
    row, label = np.nonzero(table.counts)
    weight = table.counts[row, label]
    totals = table.counts.sum(axis=0)
    scale = problem.costs.max(axis=1)
    if max_leaves == 1:
        return Node(int(np.argmin(totals @ problem.costs)))
    model = DecisionTreeClassifier(
        max_depth=problem.max_depth, max_leaf_nodes=max_leaves, random_state=0, min_samples_leaf=1
    )
    model.fit(table.codes.T[row], label, sample_weight=weight * scale[label])
    tree = model.tree_

    def grow(node: int, inside: np.ndarray, allowed: dict[int, set[int]]) -> Node:
        best = int(np.argmin(table.counts[inside].sum(axis=0) @ problem.costs))
        feature, threshold = int(tree.feature[node]), tree.threshold[node]
        if feature < 0:
            return Node(best)
        codes = allowed.get(feature, set(range(table.features[feature].n_codes)))
        low = {code for code in codes if code <= threshold}
        left = inside & (table.codes[feature] <= threshold)
        right = inside & ~left
        if min(table.weight[left].sum(), table.weight[right].sum()) < problem.min_support:
            return Node(best)
        return Node(
            best,
            (
                (
                    Condition(feature, tuple(sorted(low))),
                    grow(tree.children_left[node], left, {**allowed, feature: low}),
                ),
                (
                    Condition(feature, tuple(sorted(codes - low))),
                    grow(tree.children_right[node], right, {**allowed, feature: codes - low}),
                ),
            ),
        )

    return grow(0, np.ones(table.n_rows, dtype=bool), {})


def paths_of(node: Node, above: dict[int, Condition]) -> list[Path]:
    """The leaves of a tree; the last condition on a feature is the narrowest."""
    if not node.branches:
        return [Path(tuple(above.values()), node.label)]
    return [path for c, child in node.branches for path in paths_of(child, {**above, c.feature: c})]


def loss(problem: Problem, paths: list[Path]) -> float:
    """What the paths cost."""
    costs = problem.row_costs()
    return float(sum(costs[path.covers(problem.table.codes), path.label].sum() for path in paths))


def greedy_rules(problem: Problem, options: Any, deadline: Any, start: Any = (), progress: Any = None) -> Solution:
    """Stands in for `omtree.columns.solve`."""
    paths = paths_of(greedy_tree(problem, problem.max_leaves), {})
    value = loss(problem, paths)
    if progress is not None:
        progress(Event("greedy", deadline.elapsed, value, 0.0, len(paths), problem.table.n_rows))
    return Solution(tuple(paths), "optimal" if value == 0 else "stopped", value, 0.0, seconds={"greedy": 0.0})


@pytest.fixture(autouse=True)
def _engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the real engine where it is."""
    if not hasattr(omtree.columns, "solve"):
        monkeypatch.setattr(omtree.columns, "solve", greedy_rules, raising=False)
        monkeypatch.setattr(omtree.columns, "Options", GreedyOptions, raising=False)
