"""What the kernel is told about the trees to look for, whatever their rows and their loss."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

from omtree import _native
from omtree.data.table import Feature
from omtree.deadline import Deadline
from omtree.engines.trees.splits import Splits, family_of, order_of
from omtree.problem.graph import Categories
from omtree.problem.limits import ForcedNode
from omtree.problem.problem import Problem

#: Told now and then the best loss, a bound, and how many of how many branches of the root are done.
Report = Callable[[float, float, int, int], None]


def tree_task(
    features: Sequence[Feature],
    columns: Sequence[int],
    categories: Categories,
    *,
    max_depth: int,
    max_leaves: int,
    min_support: float = 0.0,
    splits: Splits = "multiway",
    max_children: int | None = None,
    n_jobs: int = 1,
    cache_mb: float = 512,
    deadline: Deadline | None = None,
    use_bounds: bool = True,
    use_cache: bool = True,
    every_size: bool = True,
    forced: Sequence[ForcedNode] = (),
    report: Report | None = None,
) -> _native.TreeTask:
    """The task of a search over the features at these positions.

    Parameters
    ----------
    features : sequence of Feature
        All of the table.
    columns : sequence of int
    categories : {"groups", "values", "single"}
    max_depth, max_leaves : int
    min_support : float
    splits : {"multiway", "binary"}
    max_children : int, optional
    n_jobs : int
        Threads; -1 means one per processor.
    cache_mb : float
        Most memory for what is known about subproblems, in megabytes.
    deadline : Deadline, optional
    use_bounds, use_cache : bool
    every_size : bool
        Whether the best tree of every size is wanted.
    forced : sequence of ForcedNode
        A part of the tree that is given, to searches that can keep to it.
    report : callable, optional
        What it raises ends the search.
    """
    if splits not in ("multiway", "binary"):
        raise ValueError(f'splits must be "multiway" or "binary", not {splits!r}.')
    if max_children is not None and max_children < 2:
        raise ValueError(f"max_children must be at least 2, not {max_children}.")
    used = [features[column] for column in columns]
    families = [family_of(feature, categories) for feature in used]
    return _native.TreeTask(
        columns=columns,
        n_codes=[feature.n_codes for feature in used],
        families=families,
        has_missing=[feature.has_missing and feature.n_codes > 2 for feature in used],
        orders=[order_of(f, categories) if family == "run" else [] for f, family in zip(used, families, strict=True)],
        forced=[_by_place(node, columns) for node in forced],
        max_depth=max_depth,
        max_leaves=max_leaves,
        min_support=float(min_support),
        max_children=2 if splits == "binary" else max_children or 0,
        n_threads=n_jobs if n_jobs > 0 else os.cpu_count() or 1,
        cache_bytes=int(cache_mb * 2**20),
        seconds=deadline.remaining if deadline is not None else math.inf,
        use_bounds=use_bounds,
        use_cache=use_cache,
        every_size=every_size,
        progress=report,
    )


def problem_task(problem: Problem, categories: Categories | None = None, **options: Any) -> _native.TreeTask:
    """The task of a search over the features of a problem's graph, in its depth and leaves.

    Parameters
    ----------
    problem : Problem
    categories : {"groups", "values", "single"}, optional
        By default as in the graph.
    **options
        As in `tree_task`.
    """
    return tree_task(
        problem.table.features,
        [level.position for level in problem.graph.levels],
        categories or problem.graph.categories,
        max_depth=problem.max_depth,
        max_leaves=problem.max_leaves,
        **options,
    )


def _by_place(node: ForcedNode, columns: Sequence[int]) -> tuple[Any, ...]:
    """A given node with its features by their places among the columns."""
    return (
        columns.index(node.feature) if node.feature in columns else -1,
        [list(part) for part in node.parts],
        node.free_code,
        list(node.children),
        node.leaf,
        [column in node.closed for column in columns],
        list(node.labels),
    )
