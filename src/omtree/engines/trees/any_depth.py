"""The best tree of any depth and size, where every leaf has a price."""

from __future__ import annotations

import time

import numpy as np

from omtree import _native
from omtree.deadline import Deadline
from omtree.engines.trees.joined_tests import most_children
from omtree.engines.trees.search import sums_and_formula
from omtree.engines.trees.solution import TreeSolution, solution_of
from omtree.engines.trees.splits import Splits
from omtree.engines.trees.task import tree_task
from omtree.problem.problem import Problem


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
        Its `leaf_price` is above zero.
    splits, max_children, cache_mb, deadline, use_bounds, use_cache
        As in `solve`.

    Returns
    -------
    TreeSolution or None
        One tree; its loss and the bound include the price of its leaves. None where the problem is not one for this
        search: a loss that does not add up, limits on rules, nominal features that are split into single values, too
        many columns. Errors and costs with whole weights are found far faster than other losses.

    Examples
    --------
    >>> from omtree.data.table import Feature, Table
    >>> from omtree.problem.graph import FeatureGraph
    >>> from omtree.problem.losses import LinearLoss
    >>> size = Feature("size", 0, "ordinal", 3, False, levels=("S", "M", "L"))
    >>> table = Table((size,), np.array([[0, 1, 2]], np.uint8), np.array([[5.0, 0], [1, 4], [6, 0]]), np.arange(3))
    >>> problem = Problem(table, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 3, 3, 1.0, leaf_price=0.5)
    >>> found = solve_any_depth(problem)
    >>> found.value, len(found.tree.branches)
    (2.5, 3)
    """
    if not problem.loss.any_depth or not problem.additive or problem.table.n_rows == 0 or not problem.graph.levels:
        return None
    started = time.monotonic()
    features = problem.table.features
    columns = [features.index(level.feature) for level in problem.graph.levels]
    categories = problem.graph.categories
    n_rows = problem.table.n_rows
    task = tree_task(
        features,
        columns,
        categories,
        # No tree has more of either; the kernel's numbers end somewhere.
        max_depth=max(1, n_rows),
        max_leaves=max(2, n_rows),
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
    most = most_children(splits, max_children)
    return None if answer is None else solution_of(answer, columns, features, categories, started, most)
