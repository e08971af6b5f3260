"""From a problem to an engine and back: which engine solves what, and how its answer is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from omtree import columns, search
from omtree.data.binning import Binning
from omtree.deadline import Deadline
from omtree.errors import InfeasibleError
from omtree.problem import Node, Path, Problem, Solution
from omtree.progress import Progress

_CUTS: Mapping[Binning, str] = {
    "quantile": "numbers cut into at most {} quantile bins",
    "supervised": "numbers cut into at most {} bins where the label changes",
    "exact": "numbers cut between any two values",
}


@dataclass(frozen=True)
class TreeAnswer:
    """What the tree search found: a solution in the common terms, and the best tree of every size."""

    solution: Solution
    roots: Sequence[Node]
    losses: Sequence[float]


def solve_rules(
    problem: Problem,
    *,
    preset: Literal["paper"] | None,
    gap: float,
    n_jobs: int,
    seed: int,
    deadline: Deadline,
    progress: Progress | None,
) -> Solution:
    """The best set of disjoint rules.

    Raises
    ------
    InfeasibleError
        When there is none.
    """
    if not problem.graph.levels and not problem.rows:
        return _single_rule(problem)
    options = columns.Options.paper() if preset == "paper" else columns.Options()
    options = replace(options, gap=gap, n_jobs=n_jobs, seed=seed)
    solution: Solution = columns.solve(problem, options, deadline, progress=progress)
    if not solution.paths:
        if solution.status == "infeasible":
            raise InfeasibleError(solution.reason or "No model meets the limits and constraints; relax some of them.")
        raise ValueError("time_limit ended before any model met the constraints; raise it, or relax the constraints.")
    return solution


def solve_tree(
    problem: Problem,
    *,
    splits: Literal["multiway", "binary"],
    max_children: int | None,
    n_jobs: int,
    cache_mb: float,
    deadline: Deadline,
) -> TreeAnswer:
    """The best multiway tree of every size.

    Raises
    ------
    ValueError
        When the problem has constraints over the whole model, which couple the leaves of a tree.
    """
    if problem.rows:
        raise ValueError("constraints over the whole model need structure='rules'; set it, or remove the constraints.")
    if not problem.graph.levels:
        single = _single_rule(problem)
        return TreeAnswer(single, [Node(single.paths[0].label)], [single.value])
    found = search.solve(
        problem, splits=splits, max_children=max_children, n_jobs=n_jobs, cache_mb=cache_mb, deadline=deadline
    )
    roots = [tree for tree in found.trees if tree is not None]
    if len(roots) < len(found.trees):
        raise InfeasibleError(f"No leaf can have a weight of {problem.min_support:g}; lower min_samples_leaf.")
    solution = Solution((), found.status, found.value, found.bound, seconds={"search": found.seconds})
    return TreeAnswer(solution, roots, found.losses.tolist())


def search_space(
    problem: Problem,
    structure: Literal["rules", "tree"],
    splits: Literal["multiway", "binary"],
    binning: Binning,
    n_bins: int,
) -> str:
    """The models an engine chooses from, in a sentence."""
    features = problem.table.features
    if structure == "tree":
        kind = f"all {splits} trees of depth {problem.max_depth} and {problem.max_leaves:,} leaves or less"
    else:
        kind = (
            f"all sets of at most {problem.max_leaves:,} disjoint rules "
            f"of at most {problem.max_depth} {'condition' if problem.max_depth == 1 else 'conditions'}"
        )
    text = f"{kind} over {problem.graph.n_conditions:,} conditions on {len(features)} features"
    if any(feature.kind == "numeric" for feature in features):
        text += f" ({_CUTS[binning].format(n_bins)})"
    return text


def _single_rule(problem: Problem) -> Solution:
    """The one model there is when no feature varies: always the cheapest class."""
    costs = problem.table.counts.sum(axis=0) @ problem.costs
    label = int(np.argmin(costs))
    value = float(costs[label])
    return Solution((Path((), label),), "optimal", value, value)
