"""From a problem to an engine and back: which engine solves what, and how its answer is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np

from omtree import columns, search
from omtree.certificate import Status
from omtree.deadline import Deadline
from omtree.errors import InfeasibleError
from omtree.family import SizedTrees, TreeFamily
from omtree.problem import Node, Path, Problem, Solution
from omtree.progress import Progress
from omtree.rules import RuleSet
from omtree.tree import Tree


@dataclass(frozen=True)
class TreeAnswer:
    """What the tree search found: a solution in the common terms, the best tree, and how to get those of all sizes."""

    solution: Solution
    root: Node
    n_sizes: int
    sizes: Callable[[], SizedTrees]

    def after(self, elapsed: float) -> TreeAnswer:
        """The answer with its times completed: what is not in it of the time so far went into the data."""
        seconds = self.solution.seconds
        data = max(0.0, elapsed - sum(seconds.values()))
        return replace(self, solution=replace(self.solution, seconds={"data": data, **seconds}))


@dataclass(frozen=True, eq=False)
class Outcome:
    """A model, the problem it solves and what its engine knows about it.

    Attributes
    ----------
    problem : Problem
    found : Solution
    rules : RuleSet
    tree : Tree or None
    rounds : int
        How often the thresholds were chosen; 1 when they were fixed.
    family : TreeFamily or None
        The best tree of every size; None when the model was not searched for as a tree.
    """

    problem: Problem
    found: Solution
    rules: RuleSet
    tree: Tree | None
    rounds: int = 1
    family: TreeFamily | None = None

    @classmethod
    def of_tree(cls, problem: Problem, answer: TreeAnswer, classes: Sequence[Any], rounds: int) -> Outcome:
        """The best tree of an answer."""
        family = TreeFamily(answer.root, answer.n_sizes, answer.sizes, problem, classes)
        return cls(problem, answer.solution, family.largest.rules, family.largest, rounds, family)

    @classmethod
    def of_rules(cls, problem: Problem, found: Solution, classes: Sequence[Any], rounds: int) -> Outcome:
        """The rules of a solution."""
        rules = RuleSet.from_paths(found.paths, problem, classes).by_support()
        return cls(problem, found, rules, Tree.from_rules(rules), rounds)


def solve_rules(
    problem: Problem,
    *,
    preset: Literal["paper"] | None,
    gap: float,
    n_jobs: int,
    seed: int,
    deadline: Deadline,
    progress: Progress | None,
    start: Sequence[Path] = (),
) -> Solution:
    """The best set of disjoint rules, no worse than those it starts from.

    Raises
    ------
    InfeasibleError
        When there is none.
    """
    if not problem.graph.levels and not problem.rows:
        return _single_rule(problem)
    options = columns.Options.paper() if preset == "paper" else columns.Options()
    options = replace(options, gap=gap, n_jobs=n_jobs, seed=seed)
    solution: Solution = columns.solve(problem, options, deadline, start=start, progress=progress)
    if not solution.paths:
        if solution.status == "infeasible":
            raise InfeasibleError(solution.reason or "No model meets the limits and constraints; relax some of them.")
        if solution.status == "interrupted":
            raise KeyboardInterrupt
        raise ValueError("time_limit ended before any model met the constraints; raise it, or relax the constraints.")
    return solution


def solve_tree(
    problem: Problem,
    deadline: Deadline,
    *,
    splits: Literal["multiway", "binary"],
    max_children: int | None,
    gap: float,
    n_jobs: int,
    cache_mb: float,
) -> TreeAnswer:
    """The best tree, and those of all sizes for whoever asks.

    Raises
    ------
    InfeasibleError
        When there is none.
    """
    if not problem.graph.levels:
        single = _single_rule(problem)
        root = Node(single.paths[0].label)
        return TreeAnswer(single, root, 1, lambda: SizedTrees([root], [single.value], proven=True))
    run = partial(search.solve, problem, splits=splits, max_children=max_children, n_jobs=n_jobs, cache_mb=cache_mb)
    found = run(deadline=deadline, every_size=False)
    if found.tree is None:
        raise InfeasibleError(f"No leaf can have a weight of {problem.min_support:g}; lower min_samples_leaf.")
    status: Status = "interrupted" if found.interrupted else found.status
    if status == "time_limit" and found.value - found.bound <= gap * found.value:
        status = "optimal" if found.value <= found.bound else "gap_reached"
    solution = Solution((), status, found.value, found.bound, seconds={"search": found.seconds})
    if np.isfinite(found.losses).all():
        all_sizes = _sized(found)
        return TreeAnswer(solution, found.tree, problem.max_leaves, lambda: all_sizes)
    return TreeAnswer(
        solution, found.tree, problem.max_leaves, partial(_search_sizes, run, found.tree, found.value, deadline)
    )


def _sized(found: search.TreeSolution) -> SizedTrees:
    return SizedTrees(cast(Sequence[Node], found.trees), found.losses.tolist(), found.status == "optimal")


def _search_sizes(run: Callable[..., search.TreeSolution], root: Node, value: float, deadline: Deadline) -> SizedTrees:
    """The best trees of all sizes, by a search that has the time of the fit once more.

    Parameters
    ----------
    run : callable
        The search, with all that the fit gave it.
    root : Node
        The tree of the fit; it is the one of every size that has none with a lower loss.
    value : float
        Its loss.
    deadline : Deadline
        That of the fit.
    """
    found = run(deadline=deadline.again(), every_size=True)
    if found.interrupted:
        raise KeyboardInterrupt
    sized = _sized(found)
    roots, losses = list(sized.roots), list(sized.losses)
    for size in range(_n_leaves(root), len(roots) + 1):
        if value <= losses[size - 1]:
            roots[size - 1], losses[size - 1] = root, value
    return SizedTrees(roots, losses, sized.proven)


def _n_leaves(node: Node) -> int:
    return sum(_n_leaves(child) for _, child in node.branches) or 1


def search_space(
    problem: Problem, structure: Literal["rules", "tree"], splits: Literal["multiway", "binary"], cuts: str
) -> str:
    """The models an engine chooses from, in a sentence.

    Parameters
    ----------
    problem : Problem
    structure : {"rules", "tree"}
    splits : {"multiway", "binary"}
    cuts : str
        Where numbers are cut, in words.
    """
    features = problem.table.features
    if structure == "tree":
        kind = f"all {splits} trees of depth at most {problem.max_depth} and {_leaf_limit(problem.max_leaves)}"
    else:
        kind = (
            f"all sets of at most {problem.max_leaves:,} disjoint rules "
            f"of at most {problem.max_depth} {'condition' if problem.max_depth == 1 else 'conditions'}"
        )
    text = f"{kind} over {problem.graph.n_conditions:,} conditions on {len(features)} features"
    if any(feature.kind == "numeric" for feature in features):
        text += f" (numbers cut {cuts})"
    return text


def smaller_space(space: str, leaves: int) -> str:
    """The sentence of `search_space` on trees, for another limit on their leaves.

    >>> smaller_space("all binary trees of depth at most 3 and at most 8 leaves over 9 conditions", 1)
    'all binary trees of depth at most 3 and at most 1 leaf over 9 conditions'
    """
    return re.sub(r"at most [\d,]+ lea(f|ves)\b", _leaf_limit(leaves), space, count=1)


def _leaf_limit(leaves: int) -> str:
    return f"at most {leaves:,} {'leaf' if leaves == 1 else 'leaves'}"


def _single_rule(problem: Problem) -> Solution:
    """The one model there is when no feature varies: always the cheapest class."""
    costs = problem.table.counts.sum(axis=0) @ problem.costs
    label = int(np.argmin(costs))
    value = float(costs[label])
    return Solution((Path((), label),), "optimal", value, value)
