"""The best tree of any depth and size, where every leaf has a price."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from omtree import _native
from omtree.data.table import Feature
from omtree.deadline import Deadline
from omtree.engines.trees.search import sums_and_formula
from omtree.engines.trees.solution import TreeSolution, solution_of
from omtree.engines.trees.splits import Splits
from omtree.engines.trees.task import tree_task
from omtree.problem.graph import Condition
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Node, Problem


def solve_any_depth(
    problem: Problem,
    *,
    splits: Splits = "multiway",
    max_children: int | None = None,
    cache_mb: float = 512,
    deadline: Deadline | None = None,
    use_bounds: bool = True,
    use_cache: bool = True,
) -> TreeSolution | None:
    """The tree of least loss and price of its leaves, whatever its depth and size.

    A multiway tree is as good as the binary one that splits its features again and again, since both have the same
    leaves: what is found is a binary tree, of which tests of one feature below each other are made one.

    Parameters
    ----------
    problem : Problem
        Its costs are by label and its `leaf_price` above zero.
    splits, max_children, cache_mb, deadline, use_bounds, use_cache
        As in `solve`.

    Returns
    -------
    TreeSolution or None
        One tree; its loss and the bound include the price of its leaves. None where the problem is not one for this
        search: another loss, limits on rules, weights that are no whole numbers, nominal features that are split into
        single values, too many columns.

    Examples
    --------
    >>> from omtree.data.table import Feature, Table
    >>> from omtree.problem.graph import FeatureGraph
    >>> size = Feature("size", 0, "ordinal", 3, False, levels=("S", "M", "L"))
    >>> table = Table((size,), np.array([[0, 1, 2]], np.uint8), np.array([[5.0, 0], [1, 4], [6, 0]]), np.arange(3))
    >>> problem = Problem(table, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 3, 3, 1.0, leaf_price=0.5)
    >>> found = solve_any_depth(problem)
    >>> found.value, len(found.tree.branches)
    (2.5, 3)
    """
    if not isinstance(problem.loss, LinearLoss) or not problem.plain or not problem.graph.levels:
        return None
    started = time.monotonic()
    features = problem.table.features
    columns = [features.index(level.feature) for level in problem.graph.levels]
    categories = problem.graph.categories
    most = problem.table.n_rows
    task = tree_task(
        features,
        columns,
        categories,
        # No tree has more of either; the kernel's numbers end somewhere.
        max_depth=max(1, most),
        max_leaves=max(2, most),
        min_support=problem.min_support,
        splits="binary",
        cache_mb=cache_mb,
        deadline=deadline,
        use_bounds=use_bounds,
        use_cache=use_cache,
        every_size=False,
    )
    answer = _native.search_trees(
        np.ascontiguousarray(problem.table.codes, dtype=np.uint8),
        *sums_and_formula(problem),
        task,
        counting="auto",
        prices=None,
        leaf_price=problem.leaf_price,
    )
    if answer is None:
        return None
    found = solution_of(answer, columns, features, categories, started)
    if splits == "binary" or found.tree is None:
        return found
    return replace(found, trees=[_joined(found.tree, features, max_children)])


def _joined(node: Node, features: Sequence[Feature], max_children: int | None) -> Node:
    """The tree with tests of the same feature right below each other made one, as far as its children allow."""
    branches = [(condition, _joined(child, features, max_children)) for condition, child in node.branches]
    place = 0
    while place < len(branches):
        condition, child = branches[place]
        again = bool(child.branches) and child.branches[0][0].feature == condition.feature
        if again and (max_children is None or len(branches) + len(child.branches) - 1 <= max_children):
            branches[place : place + 1] = [
                (_within(inner, condition, features[condition.feature]), below) for inner, below in child.branches
            ]
        else:
            place += 1
    return replace(node, branches=tuple(branches))


def _within(inner: Condition, outer: Condition, feature: Feature) -> Condition:
    """Both conditions on a feature as one."""
    codes = tuple(code for code in inner.codes if code in outer.codes)
    return Condition(inner.feature, codes, feature.describe(codes))
