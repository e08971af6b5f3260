"""From a problem to an engine and back: which engine solves what, and how its answer is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np

from omtree import columns, search
from omtree.certificate import Status
from omtree.deadline import Deadline
from omtree.errors import InfeasibleError
from omtree.family import TreeFamily
from omtree.problem import Node, Path, Problem, Solution
from omtree.progress import Progress
from omtree.rules import RuleSet
from omtree.tree import Tree


@dataclass(frozen=True)
class TreeAnswer:
    """What the tree search found: a solution in the common terms, and the best tree of every size.

    `proven` says whether the loss of every size is: at a limit, that of the largest alone can be.
    """

    solution: Solution
    roots: Sequence[Node]
    losses: Sequence[float]
    proven: bool = True

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
        The best tree of every size, with `losses`; None when the model was not searched for as a tree.
    losses : sequence of float
    """

    problem: Problem
    found: Solution
    rules: RuleSet
    tree: Tree | None
    rounds: int = 1
    family: TreeFamily | None = None
    losses: Sequence[float] = ()

    @classmethod
    def of_tree(cls, problem: Problem, answer: TreeAnswer, classes: Sequence[Any], rounds: int) -> Outcome:
        """The best tree of an answer."""
        family = TreeFamily(answer.roots, problem, classes, proven=answer.proven)
        tree = family.tree(len(family))
        return cls(problem, answer.solution, tree.rules, tree, rounds, family, answer.losses)

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
    """The best tree of every size.

    Raises
    ------
    InfeasibleError
        When there is none.
    """
    if not problem.graph.levels:
        single = _single_rule(problem)
        return TreeAnswer(single, [Node(single.paths[0].label)], [single.value])
    found = search.solve(
        problem, splits=splits, max_children=max_children, n_jobs=n_jobs, cache_mb=cache_mb, deadline=deadline
    )
    if not np.isfinite(found.losses).all():
        raise InfeasibleError(f"No leaf can have a weight of {problem.min_support:g}; lower min_samples_leaf.")
    status: Status = "interrupted" if found.interrupted else found.status
    if status == "time_limit" and found.value - found.bound <= gap * found.value:
        status = "optimal" if found.value <= found.bound else "gap_reached"
    solution = Solution((), status, found.value, found.bound, seconds={"search": found.seconds})
    return TreeAnswer(
        solution, cast(Sequence[Node], found.trees), found.losses.tolist(), proven=found.status == "optimal"
    )


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
    costs = problem.table.statistics.sum(axis=0) @ problem.costs
    label = int(np.argmin(costs))
    value = float(costs[label])
    return Solution((Path((), label),), "optimal", value, value)
