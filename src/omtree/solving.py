"""From a problem to an engine and back: which engine solves what, and how its answer is read."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np

from omtree import columns, search
from omtree.certificate import Status
from omtree.columns.start import leaves_of
from omtree.curved import solve_curved
from omtree.deadline import Deadline
from omtree.errors import InfeasibleError
from omtree.family import TreeFamily
from omtree.objectives import Objective, Score
from omtree.problem import Node, Path, Problem, Solution
from omtree.progress import Progress
from omtree.reading import Reader
from omtree.rules import RuleSet
from omtree.scores import Additive, BestScore, best_score
from omtree.search.constrained import Priced, TreeMaster, close_gap
from omtree.search.fronts import attainable
from omtree.tree import Tree, summary_of

NO_TREE = Solution(
    (),
    "infeasible",
    math.inf,
    math.inf,
    reason="No tree meets the constraints over the whole model; relax some of them.",
)
OUT_OF_TIME = "time_limit ended before any model met the constraints; raise it, or relax the constraints."


@dataclass(frozen=True)
class TreeAnswer:
    """What a search for trees found: a solution in the common terms, and the best tree of every size.

    `proven` says whether the loss of every size is: at a limit, that of the largest alone can be. Without `every_size`
    there is one tree only.
    """

    solution: Solution
    roots: Sequence[Node]
    losses: Sequence[float]
    proven: bool = True
    every_size: bool = True

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
        The best tree of every size, with `losses`; None when these were not searched for.
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
    def of_tree(cls, reader: Reader, answer: TreeAnswer, rounds: int) -> Outcome:
        """The best tree of an answer."""
        if not answer.every_size:
            tree = Tree.from_node(answer.roots[-1], reader)
            return cls(reader.problem, answer.solution, tree.rules, tree, rounds)
        family = TreeFamily(answer.roots, reader, proven=answer.proven)
        tree = family.tree(len(family))
        return cls(reader.problem, answer.solution, tree.rules, tree, rounds, family, answer.losses)

    @classmethod
    def of_rules(cls, reader: Reader, found: Solution, rounds: int) -> Outcome:
        """The rules of a solution."""
        weight = [float(reader.problem.table.weight[p.covers(reader.problem.table.codes)].sum()) for p in found.paths]
        paths = [found.paths[i] for i in sorted(range(len(weight)), key=lambda i: -weight[i])]
        rules = RuleSet.from_paths(paths, reader)
        return cls(reader.problem, found, rules, Tree.from_rules(rules, summary_of(paths, reader)), rounds)


@dataclass(frozen=True, eq=False)
class RulesSolver:
    """The best set of disjoint rules for a problem.

    Attributes
    ----------
    objective : Objective
    options : columns.Options
    progress : callable or None
    """

    objective: Objective
    options: columns.Options
    progress: Progress | None = None

    def __call__(self, problem: Problem, deadline: Deadline, start: Sequence[Path] = ()) -> Solution:
        """Solve, no worse than the rules to start from.

        Raises
        ------
        InfeasibleError
            When there is no model.
        """
        if isinstance(self.objective, Score):
            return self._score(self.objective, problem, deadline, start)
        solution = self._add_up(problem, deadline, start)
        if not solution.paths:
            if solution.status == "infeasible":
                raise InfeasibleError(
                    solution.reason or "No model meets the limits and constraints; relax some of them."
                )
            if solution.status == "interrupted":
                raise KeyboardInterrupt
            raise ValueError(OUT_OF_TIME)
        return solution

    def _add_up(self, problem: Problem, deadline: Deadline, start: Sequence[Path]) -> Solution:
        if problem.curved:

            def solve(additive: Problem) -> Additive[Solution]:
                found = self._add_up(additive, deadline, start)
                return Additive(found, found.paths, found.bound, found.status)

            branched = solve_curved(problem, solve)
            if branched.answer is None:
                return Solution((), branched.status, math.inf, branched.bound)
            return replace(
                branched.answer, status=branched.status, value=branched.value, bound=branched.bound, lp_value=None
            )
        if not problem.graph.levels and problem.plain and not problem.rows:
            return _single_rule(problem)
        return columns.solve(problem, self.options, deadline, start=start, progress=self.progress)

    def _score(self, score: Score, problem: Problem, deadline: Deadline, start: Sequence[Path]) -> Solution:
        known = list(start)

        def solve(additive: Problem) -> Additive[Solution]:
            found = self._add_up(additive, deadline, known)
            known[:] = found.paths or known
            return Additive(found, found.paths, found.bound, found.status)

        found = best_score(problem, score, solve)
        return found.answer if found.status == "infeasible" else _scored(found, found.answer)


@dataclass(frozen=True, eq=False)
class TreeSolver:
    """The best tree for a problem.

    Attributes
    ----------
    objective : Objective
    splits : {"multiway", "binary"}
    max_children : int or None
    gap : float
    n_jobs : int
    cache_mb : float
    """

    objective: Objective
    splits: Literal["multiway", "binary"] = "multiway"
    max_children: int | None = None
    gap: float = 0.0
    n_jobs: int = 1
    cache_mb: float = 1024

    def __call__(self, problem: Problem, deadline: Deadline) -> TreeAnswer:
        """Solve.

        Raises
        ------
        InfeasibleError
            When there is no model.
        """
        if isinstance(self.objective, Score):
            answer = self._score(self.objective, problem, deadline)
        else:
            answer = self._add_up(problem, deadline)
        if answer.solution.status == "infeasible":
            raise InfeasibleError(answer.solution.reason)
        return answer

    def _add_up(self, problem: Problem, deadline: Deadline) -> TreeAnswer:
        if problem.curved:
            branched = solve_curved(problem, lambda additive: _additive(self._add_up(additive, deadline)))
            if branched.answer is None:
                if branched.status != "infeasible":
                    raise ValueError(OUT_OF_TIME)
                return TreeAnswer(NO_TREE, [], [], every_size=False)
            solution = replace(
                branched.answer.solution, status=branched.status, value=branched.value, bound=branched.bound
            )
            return TreeAnswer(solution, branched.answer.roots[-1:], [branched.value], every_size=False)
        if problem.rows:
            return self._constrained(problem, deadline)
        found = self._search(problem, deadline)
        if not np.isfinite(found.losses).any():
            reason = f"No leaf can have a weight of {problem.min_support:g}; lower min_samples_leaf."
            if not problem.limits.empty:
                reason = "No tree meets the constraints on its rules; relax some of them."
            return TreeAnswer(Solution((), "infeasible", math.inf, math.inf, reason=reason), [], [])
        status: Status = "interrupted" if found.interrupted else found.status
        if status == "time_limit" and found.value - found.bound <= self.gap * found.value:
            status = "optimal" if found.value <= found.bound else "gap_reached"
        solution = Solution((), status, found.value, found.bound, seconds={"search": found.seconds})
        return TreeAnswer(
            solution, cast(Sequence[Node], found.trees), found.losses.tolist(), proven=found.status == "optimal"
        )

    def _search(self, problem: Problem, deadline: Deadline) -> search.TreeSolution:
        engine = search.solve if problem.plain and problem.graph.levels else search.solve_general
        return engine(
            problem,
            splits=self.splits,
            max_children=self.max_children,
            n_jobs=self.n_jobs,
            cache_mb=self.cache_mb,
            deadline=deadline,
        )

    def _constrained(self, problem: Problem, deadline: Deadline) -> TreeAnswer:
        def priced(additive: Problem, limit: Deadline) -> Priced:
            found = self._search(additive, limit)
            roots = list({id(root): root for root in found.trees if root is not None}.values())
            return Priced(roots, found.bound, found.status == "optimal", found.interrupted)

        started = deadline.elapsed
        master = TreeMaster(problem, priced)
        relaxed = master.run(deadline)
        if relaxed.bound == math.inf:
            return TreeAnswer(NO_TREE, [], [], every_size=False)
        costs = problem.row_costs()
        closed = close_gap(
            master,
            relaxed,
            deadline,
            partial(attainable, splits=self.splits, max_children=self.max_children, cache_mb=self.cache_mb),
            whole=bool((costs == np.round(costs)).all()),
        )
        seconds = {"search": deadline.elapsed - started}
        if closed.best is None:
            if closed.complete:
                return TreeAnswer(NO_TREE, [], [], every_size=False)
            if closed.interrupted or relaxed.interrupted:
                raise KeyboardInterrupt
            raise ValueError(OUT_OF_TIME)
        value, bound = closed.best.loss, min(closed.bound, closed.best.loss)
        status: Status = "optimal" if closed.complete else "time_limit" if deadline.expired else "stopped"
        if closed.interrupted or relaxed.interrupted:
            status = "interrupted"
        elif status != "optimal" and value - bound <= self.gap * value:
            status = "gap_reached"
        solution = Solution((), status, value, bound, iterations=relaxed.rounds, seconds=seconds)
        return TreeAnswer(solution, [closed.best.root], [value], every_size=False)

    def _score(self, score: Score, problem: Problem, deadline: Deadline) -> TreeAnswer:
        found = best_score(problem, score, lambda additive: _additive(self._add_up(additive, deadline)))
        if found.status == "infeasible":
            return found.answer
        solution = _scored(found, found.answer.solution)
        return TreeAnswer(solution, found.answer.roots[-1:], [solution.value], every_size=False)


def _additive(found: TreeAnswer) -> Additive[TreeAnswer]:
    paths = leaves_of(found.roots[-1]) if found.roots else []
    return Additive(found, paths, found.solution.bound, found.solution.status)


def _scored(found: BestScore[Any], solution: Solution) -> Solution:
    """The solution of the best additive problem, in terms of the score."""
    return replace(
        solution,
        status=found.status,
        value=1.0 - found.score,
        bound=1.0 - found.bound,
        lp_value=None,
        iterations=found.solves,
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
