"""The best tree for every number of leaves under any loss of a rule and any limits on rules."""

from __future__ import annotations

import time

import numpy as np

from omtree import _native
from omtree.deadline import Deadline
from omtree.engines.trees.joined_tests import most_children
from omtree.engines.trees.solution import TreeSolution, solution_of
from omtree.engines.trees.splits import Splits
from omtree.engines.trees.task import Report, problem_task
from omtree.problem.judge import make_judge
from omtree.problem.problem import Problem


def solve_general(
    problem: Problem,
    *,
    splits: Splits = "multiway",
    max_children: int | None = None,
    n_jobs: int = 1,
    cache_mb: float = 512,
    deadline: Deadline | None = None,
    use_bounds: bool = True,
    use_cache: bool = True,
    report: Report | None = None,
) -> TreeSolution:
    """Find the best tree with at most 1, 2, ..., ``problem.max_leaves`` leaves, each of which is an allowed rule.

    The trees are those of `omtree.engines.trees.search`; a split must also be one that the limits allow below the
    features above it. A predicate is shown the conditions that the returned trees have.

    Parameters
    ----------
    problem : Problem
        Constraints over the whole model (``problem.model_limits``) are not for this engine.
    splits : {"multiway", "binary"}
        Multiway: any number of children. Binary: two. A feature may be split again further down.
    max_children : int, optional
        Most children of a node.
    n_jobs : int
        Threads; -1 means one per processor. The losses do not depend on it.
    cache_mb : float
        Most memory for what is known about subproblems, in megabytes.
    deadline : Deadline, optional
    use_bounds, use_cache : bool
        Accelerations; the losses do not depend on them.
    report : callable, optional
        Told how far the search is.

    Returns
    -------
    TreeSolution
        Without any allowed tree its status is ``"infeasible"``. When the time is up before one is known, the status is
        ``"time_limit"`` and there is no tree.

    Examples
    --------
    >>> import numpy as np
    >>> from omtree.data.table import Feature, Table
    >>> from omtree.problem.graph import FeatureGraph
    >>> from omtree.problem.losses import ImpurityLoss
    >>> from omtree.problem.problem import Problem
    >>> size = Feature("size", 0, "ordinal", 3, False, levels=("S", "M", "L"))
    >>> table = Table((size,), np.array([[0, 1, 2]], np.uint8), np.array([[5.0, 0], [1, 4], [6, 0]]), np.arange(3))
    >>> problem = Problem(table, FeatureGraph(table.features), ImpurityLoss("gini", 2), 1, 3, 1.0)
    >>> solve_general(problem).losses.round(6).tolist()
    [6.0, 4.8, 1.6]
    """
    if problem.model_limits:
        raise ValueError("The tree search takes no constraints over the whole model; remove problem.model_limits.")
    started = time.monotonic()
    features, categories = problem.table.features, problem.graph.categories
    columns = [level.position for level in problem.graph.levels]
    task = problem_task(
        problem,
        splits=splits,
        max_children=max_children,
        n_jobs=n_jobs,
        cache_mb=cache_mb,
        deadline=deadline,
        use_bounds=use_bounds,
        use_cache=use_cache,
        forced=problem.limits.forced,
        report=report,
    )
    codes = np.ascontiguousarray(problem.table.codes, dtype=np.uint8)
    answer = _native.search_general(codes, make_judge(problem), task)
    # What is given has its own levels.
    most = 2 if problem.limits.forced else most_children(splits, max_children)
    return solution_of(answer, columns, features, categories, started, most, leaf_decides=False)
