"""The best tree for every number of leaves, and the proof that it is the best."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from omtree import _native
from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.trees.joined_tests import most_children
from omtree.engines.trees.solution import TreeSolution, solution_of
from omtree.engines.trees.splits import Splits
from omtree.engines.trees.task import Report, problem_task, tree_task
from omtree.problem.graph import Categories, FeatureGraph
from omtree.problem.losses import Formula, LinearLoss, Loss, adds_up
from omtree.problem.problem import Problem
from omtree.sources.counts import Counts

Counting = Literal["auto", "bits", "histogram", "tables"]


def solve(
    problem: Problem,
    *,
    splits: Splits = "multiway",
    max_children: int | None = None,
    categories: Categories | None = None,
    n_jobs: int = 1,
    cache_mb: float = 512,
    deadline: Deadline | None = None,
    every_size: bool = True,
    use_bounds: bool = True,
    use_cache: bool = True,
    counting: Counting = "auto",
    report: Report | None = None,
) -> TreeSolution:
    """Find the best tree with at most 1, 2, ..., ``problem.max_leaves`` leaves.

    Parameters
    ----------
    problem : Problem
        Constraints over the whole model (``problem.model_limits``) are not for this engine. Its costs may have any
        number of labels: a leaf takes the one that is cheapest for the classes of its samples.
    splits : {"multiway", "binary"}
        Multiway: any number of children. Binary: two. A feature may be split again further down.
    max_children : int, optional
        Most children of a node.
    categories : {"groups", "values", "single"}, optional
        Whether nominal features are split into groups of values or into single values; by default as in the graph.
    n_jobs : int
        Threads; -1 means one per processor. The answer does not depend on it.
    cache_mb : float
        Most memory for what is known about subproblems, in megabytes.
    deadline : Deadline, optional
    every_size : bool
        Whether the best tree of every size is wanted. Where not, smaller ones than the last may be missing (None, with
        infinite loss), and the last one is found faster: first without a limit on leaves.
    use_bounds, use_cache, counting
        Accelerations; the losses do not depend on them.
    report : callable, optional
        Told how far the search is.

    Examples
    --------
    >>> import numpy as np
    >>> from omtree.data.table import Feature, Table
    >>> from omtree.problem.graph import FeatureGraph
    >>> from omtree.problem.losses import LinearLoss
    >>> from omtree.problem.problem import Problem
    >>> size = Feature("size", 0, "ordinal", 3, False, levels=("S", "M", "L"))
    >>> table = Table((size,), np.array([[0, 1, 2]], np.uint8), np.array([[5.0, 0], [1, 4], [6, 0]]), np.arange(3))
    >>> problem = Problem(table, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 1, 3, 1.0)
    >>> solve(problem).losses.tolist()
    [4.0, 4.0, 1.0]
    """
    if not problem.limits.empty:
        raise ValueError("This search takes no limits on rules; use solve_general, or solve_priced.")
    found = _solve(
        problem,
        categories or problem.graph.categories,
        counting,
        splits=splits,
        max_children=max_children,
        n_jobs=n_jobs,
        cache_mb=cache_mb,
        deadline=deadline,
        every_size=every_size,
        use_bounds=use_bounds,
        use_cache=use_cache,
        report=report,
    )
    assert found is not None
    return found


def solve_priced(
    problem: Problem,
    *,
    splits: Splits = "binary",
    n_jobs: int = 1,
    cache_mb: float = 512,
    deadline: Deadline | None = None,
    every_size: bool = True,
    use_bounds: bool = True,
    use_cache: bool = True,
    report: Report | None = None,
) -> TreeSolution | None:
    """The best binary tree where tests have prices.

    Parameters
    ----------
    problem : Problem
        Its costs are by label, its only limits are prices.
    splits, n_jobs, cache_mb, deadline, every_size, use_bounds, use_cache
        As in `solve`.

    Returns
    -------
    TreeSolution or None
        None where the problem is not one for this search: another loss, other limits, splits that are not binary,
        weights that are no whole numbers, too many columns.

    Examples
    --------
    >>> from omtree.data.table import Feature, Table
    >>> from omtree.problem.graph import FeatureGraph
    >>> from omtree.problem.limits import RuleLimits, TestPrices
    >>> from omtree.problem.losses import LinearLoss
    >>> from omtree.problem.problem import Problem
    >>> size = Feature("size", 0, "ordinal", 3, False, levels=("S", "M", "L"))
    >>> table = Table((size,), np.array([[0, 1, 2]], np.uint8), np.array([[5.0, 0], [1, 4], [0, 3]]), np.arange(3))
    >>> prices = RuleLimits(prices=TestPrices((1.0,), (1.0,), (-1,), np.inf, 0.25))
    >>> problem = Problem(
    ...     table, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 1, 2, 1.0, limits=prices
    ... )
    >>> solve_priced(problem).losses.tolist()
    [6.0, 4.25]
    """
    limits = problem.limits
    if limits.prices is None or not replace(limits, prices=None).empty or not isinstance(problem.loss, LinearLoss):
        return None
    return _solve(
        problem,
        problem.graph.categories,
        "auto",
        splits=splits,
        n_jobs=n_jobs,
        cache_mb=cache_mb,
        deadline=deadline,
        every_size=every_size,
        use_bounds=use_bounds,
        use_cache=use_cache,
        report=report,
    )


def _solve(problem: Problem, categories: Categories, counting: Counting, **options: Any) -> TreeSolution | None:
    """Ask the kernel; None where it cannot tell what tests cost."""
    if problem.model_limits:
        raise ValueError("The tree search takes no constraints over the whole model; remove problem.model_limits.")
    started = time.monotonic()
    features = problem.table.features
    columns = [level.position for level in problem.graph.levels]
    prices = problem.limits.prices
    task = problem_task(problem, categories, min_support=problem.min_support, **options)
    answer = _native.search_trees(
        np.ascontiguousarray(problem.table.codes, dtype=np.uint8),
        *sums_and_formula(problem),
        task,
        counting=counting,
        prices=None
        if prices is None
        else (
            [prices.full[column] for column in columns],
            [prices.again[column] for column in columns],
            [prices.group[column] for column in columns],
            prices.limit,
            prices.weight,
        ),
    )
    most = most_children(options["splits"], options.get("max_children"))
    return None if answer is None else solution_of(answer, columns, features, categories, started, most)


def solve_counts(
    counts: Counts,
    graph: FeatureGraph,
    loss: Loss,
    *,
    max_depth: int,
    max_leaves: int,
    min_support: float,
    splits: Splits = "multiway",
    max_children: int | None = None,
    n_jobs: int = 1,
    cache_mb: float = 512,
    table_mb: float = 1024,
    deadline: Deadline | None = None,
    every_size: bool = True,
    report: Report | None = None,
) -> TreeSolution:
    """The same search where the rows are elsewhere, and all that can be had of them are joint counts.

    The trees and losses are those of `solve` for a table of the same rows, where all weights are whole numbers; with
    other weights but for rounding. Of several best binary trees it may be another one.

    Parameters
    ----------
    counts : Counts
        Its features are those of the graph, in the order of ``graph.features``.
    graph : FeatureGraph
    loss : Loss
        One that adds up; the counts are the sums it is made of, after the weight where that is none of them.
    max_depth, max_leaves : int
    min_support : float
    splits, max_children, n_jobs, cache_mb, deadline, every_size
        As in `solve`.
    table_mb : float
        Most memory for joint counts, in megabytes. Where it suffices, trees of depth 3 take one pass over the rows and
        each further level one more.
    """
    started = time.monotonic()
    features = graph.features
    columns = [features.index(level.feature) for level in graph.levels]
    position = np.array(columns, dtype=np.int32)
    task = tree_task(
        features,
        columns,
        graph.categories,
        max_depth=max_depth,
        max_leaves=max_leaves,
        min_support=min_support,
        splits=splits,
        max_children=max_children,
        n_jobs=n_jobs,
        cache_mb=cache_mb,
        deadline=deadline,
        every_size=every_size,
        report=report,
    )
    formula = _formula(loss)
    if len(counts.totals) == formula[1] + 1:
        formula = _after_weight(formula)
    answer = _native.search_tables(
        lambda sets, stopped: counts.tables(position[sets], stopped),
        np.ascontiguousarray(counts.totals, dtype=np.float64),
        formula,
        task,
        table_bytes=int(table_mb * 2**20),
        whole=counts.whole,
    )
    most = most_children(splits, max_children)
    return solution_of(answer, columns, features, graph.categories, started, most)


def sums_and_formula(problem: Problem) -> tuple[FloatArray, Formula]:
    """The sums of every row that decide what a leaf costs, and how they do."""
    table = problem.table
    name, n_sums, n_weights, n_labels, costs = _formula(problem.loss)
    sums = np.ascontiguousarray(table.statistics, dtype=np.float64)
    if table.row_weight is not None and n_weights == n_sums:
        # The statistics are not weights, so that these come before them, at no cost.
        return np.column_stack([table.row_weight, sums]), _after_weight((name, n_sums, n_weights, n_labels, costs))
    return sums, (name, n_sums, n_weights, n_labels, costs)


def _after_weight(formula: Formula) -> Formula:
    """Where statistics are not weights, and these come before them, at no cost."""
    name, n_sums, _, n_labels, costs = formula
    return name, n_sums + 1, 1, n_labels, np.concatenate([np.zeros(n_labels), costs])


def _formula(loss: Loss) -> Formula:
    if not adds_up(loss):
        raise TypeError(f"The tree search takes losses that add up, not a {type(loss).__name__}.")
    if isinstance(loss, LinearLoss) and not (loss.costs >= 0).all():
        raise ValueError("The tree search takes no costs below zero; add a constant to each row of the costs.")
    return loss.native()
