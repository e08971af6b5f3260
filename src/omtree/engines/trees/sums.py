"""The best binary tree for losses that are made of sums: squared and Poisson loss, and costs that differ by row."""

from __future__ import annotations

import time

import numpy as np

from omtree import _native
from omtree.deadline import Deadline
from omtree.engines.trees.solution import TreeSolution, solution_of
from omtree.engines.trees.splits import Splits
from omtree.engines.trees.task import Report, problem_task
from omtree.problem.problem import Problem


def solve_sums(
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
    """Find the best binary tree, from tables of sums over the samples in pairs of columns.

    Parameters
    ----------
    problem : Problem
        Its loss has sums for this search (`Loss.zero_one_sums`), under no limits but the support of a leaf.
    splits : {"multiway", "binary"}
        Multiway trees are binary where no feature has more than two values.
    n_jobs : int
        Threads; -1 means one per processor. The losses do not depend on it.
    cache_mb : float
        Most memory for what is known about subproblems, in megabytes.
    deadline : Deadline, optional
    every_size : bool
        Whether the best tree of every size is wanted. Where not, and the limit on leaves cannot bind, smaller ones than
        the last are missing (None, with infinite loss), and the last one is found faster.
    use_bounds, use_cache : bool
        Accelerations; the losses do not depend on them.
    report : callable, optional
        Told how far the search is.

    Returns
    -------
    TreeSolution or None
        None where the problem is not one for this search: another loss, limits on rules, splits that are not binary,
        too many columns, weights too different for differences of sums, or counts that hardly differ.

    Examples
    --------
    >>> from omtree.data.table import Feature, Table
    >>> from omtree.problem.graph import FeatureGraph
    >>> from omtree.problem.losses import MomentLoss
    >>> size = Feature("size", 0, "ordinal", 3, False, levels=("S", "M", "L"))
    >>> sums = np.array([[1.0, 2.0, 4.0], [1.0, 4.0, 16.0], [1.0, 9.0, 81.0]])
    >>> table = Table((size,), np.array([[0, 1, 2]], np.uint8), sums, np.arange(3))
    >>> problem = Problem(table, FeatureGraph(table.features), MomentLoss("squared"), 1, 2, 1.0)
    >>> solve_sums(problem).losses.round(6).tolist()
    [26.0, 2.0]
    """
    known = None if not problem.limits.empty or problem.model_limits else problem.loss.zero_one_sums(problem.table)
    if known is None:
        return None
    kind, statistics = known
    started = time.monotonic()
    features = problem.table.features
    columns = [level.position for level in problem.graph.levels]
    categories = problem.graph.categories
    task = problem_task(
        problem,
        min_support=problem.min_support,
        splits=splits,
        n_jobs=n_jobs,
        cache_mb=cache_mb,
        deadline=deadline,
        use_bounds=use_bounds,
        use_cache=use_cache,
        every_size=every_size,
        report=report,
    )
    answer = _native.search_sums(
        np.ascontiguousarray(problem.table.codes, dtype=np.uint8),
        np.ascontiguousarray(statistics, dtype=np.float64),
        kind,
        task,
    )
    return None if answer is None else solution_of(answer, columns, features, categories, started, 2)
