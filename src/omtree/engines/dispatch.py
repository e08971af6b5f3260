"""The best tree for a problem: which search solves what, and how its answer is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, cast

import numpy as np

from omtree.deadline import Deadline
from omtree.engines import trees
from omtree.engines.answers import TreeAnswer, no_model
from omtree.engines.reductions.additive import Additive, scored
from omtree.engines.reductions.conflicts import Attempt, solve_conflicts
from omtree.engines.reductions.curved_limits import solve_curved
from omtree.engines.reductions.leaf_prices import best_for_price
from omtree.engines.reductions.listed_trees import solve_summed
from omtree.engines.reductions.scores import best_score
from omtree.engines.reductions.tree_master import Priced, TreeMaster, close_gap
from omtree.engines.standard_units import in_units
from omtree.engines.trees.fronts import attainable
from omtree.engines.trees.pruning import with_prunings
from omtree.engines.trees.task import Report
from omtree.model.certificate import Status
from omtree.model.sizes import SizedTrees
from omtree.objectives import Objective, Score
from omtree.problem.problem import Node, Problem, Solution, leaves_of, with_labels
from omtree.problem.rule_sums import merged, sums_of, within_limits
from omtree.problem.tree_regions import regions_of, with_defaults
from omtree.progress import Event, Progress


def _no_tree(status: Status, bound: float = math.inf) -> TreeAnswer:
    """The answer when no tree is known to meet the constraints; the status says whether there is none."""
    return TreeAnswer(Solution((), status, math.inf, bound), None)


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
    table_mb : float
        Most memory for joint counts of rows that are counted where they are.
    general : bool
        Whether to leave out the faster searches for simple problems: they pass over rows that weigh next to nothing.
    every_size : bool
        Whether the best trees of all sizes are wanted at once: that takes little longer, and a second search for them
        is not needed.
    progress : callable or None
        Told how far a search is.
    """

    objective: Objective
    splits: Literal["multiway", "binary"] = "multiway"
    max_children: int | None = None
    gap: float = 0.0
    n_jobs: int = 1
    cache_mb: float = 1024
    table_mb: float = 1024
    general: bool = False
    every_size: bool = False
    progress: Progress | None = None

    def __call__(self, problem: Problem, deadline: Deadline) -> TreeAnswer:
        """Solve.

        Raises
        ------
        InfeasibleError
            When there is no model.
        """
        standard = in_units(problem)
        solver = replace(self, progress=self._in_units(problem, standard.loss))
        if isinstance(self.objective, Score):
            answer = solver._score(self.objective, standard.problem, deadline)
        else:
            answer = solver._add_up(standard.problem, deadline).times(standard.loss)
        if answer.root is None:
            raise no_model(answer.solution)
        return answer.as_given(problem)

    def _in_units(self, problem: Problem, unit: float) -> Progress | None:
        """Progress in the units of the problem; of one that is solved as others, how much of each of these is done."""
        progress = self.progress
        if progress is None:
            return None
        if isinstance(self.objective, Score) or problem.coupled:
            return lambda event: progress(replace(event, value=math.inf, bound=-math.inf))
        return lambda event: progress(replace(event, value=event.value * unit, bound=event.bound * unit))

    def _report(self, deadline: Deadline) -> Report | None:
        """What a search in the kernel reports to."""
        progress = self.progress
        if progress is None:
            return None

        def report(value: float, bound: float, done: int, branches: int) -> None:
            share = done / branches if branches else math.nan
            progress(Event("search", deadline.elapsed, value, bound, share=share))

        return report

    def _add_up(self, problem: Problem, deadline: Deadline) -> TreeAnswer:
        if problem.curved:
            branched = solve_curved(problem, lambda additive: _additive(self._add_up(additive, deadline)))
            if branched.answer is None:
                return _no_tree(branched.status, branched.bound)
            solution = replace(
                branched.answer.solution, status=branched.status, value=branched.value, bound=branched.bound
            )
            return TreeAnswer(solution, branched.answer.root)
        if problem.conflict is not None:
            return self._without_conflicts(problem, deadline)
        if problem.sums:
            return self._summed(problem, deadline)
        if problem.model_limits:
            return self._constrained(problem, deadline)
        if problem.leaf_price > 0.0:
            find = partial(
                trees.solve_any_depth, splits=self.splits, max_children=self.max_children, cache_mb=self.cache_mb
            )
            return best_for_price(problem, deadline, find, partial(self._search, every_size=True), self._solution)
        found = self._search(problem, deadline, every_size=self.every_size and problem.counts is None)
        if found.tree is None and found.status != "infeasible":
            return _no_tree("interrupted" if found.interrupted else "time_limit", found.bound)
        if found.tree is None:
            reason = "No leaf can have the weight that min_samples_leaf asks for; lower it."
            if not problem.limits.empty:
                reason = "No tree meets the constraints on its rules; relax some of them."
            return TreeAnswer(Solution((), "infeasible", math.inf, math.inf, reason=reason), None)
        solution = self._solution(found, found.value, found.bound)
        if problem.counts is not None:
            return TreeAnswer(solution, found.tree)
        # A single leaf pays for no test: without other limits it is missing only where it was not asked for.
        if not replace(problem.limits, prices=None).empty or np.isfinite(found.losses).all():
            all_sizes = with_prunings(problem, _sized(found))
            return TreeAnswer(solution, found.tree, problem.max_leaves, lambda: all_sizes)
        run = partial(replace(self, progress=None)._search, problem, every_size=True)
        return TreeAnswer(
            solution,
            found.tree,
            problem.max_leaves,
            partial(_search_sizes, problem, run, found.tree, found.value, deadline),
        )

    def _solution(self, found: trees.TreeSolution, value: float, bound: float) -> Solution:
        """What a search came to, in the common terms."""
        status: Status = "interrupted" if found.interrupted else found.status
        if status == "time_limit" and value - bound <= self.gap * value:
            status = "optimal" if value <= bound else "gap_reached"
        return Solution((), status, value, bound, seconds={"search": found.seconds})

    def sizes_on_grid(self, problem: Problem, root: Node, value: float, deadline: Deadline) -> SizedTrees:
        """The best trees of all sizes over the thresholds of a problem, where its best tree is from all cuts.

        Smaller trees might be better with other cuts, so that nothing is proven of them.
        """
        run = partial(replace(self, progress=None)._search, problem, every_size=True)
        return replace(_search_sizes(problem, run, root, value, deadline), proven=False)

    def _search(self, problem: Problem, deadline: Deadline, *, every_size: bool) -> trees.TreeSolution:
        if problem.counts is not None:
            return trees.solve_counts(
                problem.counts,
                problem.graph,
                problem.loss,
                max_depth=problem.max_depth,
                max_leaves=problem.max_leaves,
                min_support=problem.min_support,
                splits=self.splits,
                max_children=self.max_children,
                n_jobs=self.n_jobs,
                cache_mb=self.cache_mb,
                table_mb=self.table_mb,
                deadline=deadline,
                every_size=False,
                report=self._report(deadline),
            )
        if self.general:
            return self._general(problem, deadline)
        if not problem.plain or not problem.graph.levels:
            for special in (trees.solve_sums, trees.solve_priced):
                found = special(
                    problem,
                    splits=self.splits,
                    n_jobs=self.n_jobs,
                    cache_mb=self.cache_mb,
                    deadline=deadline,
                    every_size=every_size,
                    report=self._report(deadline),
                )
                if found is not None:
                    return found
        if not problem.additive or not problem.graph.levels:
            return self._general(problem, deadline)
        return trees.solve(
            problem,
            splits=self.splits,
            max_children=self.max_children,
            n_jobs=self.n_jobs,
            cache_mb=self.cache_mb,
            deadline=deadline,
            every_size=every_size,
            report=self._report(deadline),
        )

    def _general(self, problem: Problem, deadline: Deadline) -> trees.TreeSolution:
        return trees.solve_general(
            problem,
            splits=self.splits,
            max_children=self.max_children,
            n_jobs=self.n_jobs,
            cache_mb=self.cache_mb,
            deadline=deadline,
            report=self._report(deadline),
        )

    def _constrained(self, problem: Problem, deadline: Deadline) -> TreeAnswer:
        started = deadline.elapsed
        master = TreeMaster(problem, self.priced)
        relaxed = master.run(deadline)
        if relaxed.bound == math.inf:
            return _no_tree("infeasible")
        closed = close_gap(
            master,
            relaxed,
            deadline,
            partial(attainable, splits=self.splits, max_children=self.max_children, cache_mb=self.cache_mb),
        )
        seconds = {"search": deadline.elapsed - started}
        status: Status = "optimal" if closed.complete else "time_limit" if deadline.expired else "stopped"
        if closed.interrupted or relaxed.interrupted:
            status = "interrupted"
        if closed.best is None:
            return _no_tree("infeasible" if closed.complete else status, closed.bound)
        value, bound = closed.best.loss, min(closed.bound, closed.best.loss)
        if status not in ("optimal", "interrupted") and value - bound <= self.gap * value:
            status = "gap_reached"
        solution = Solution((), status, value, bound, iterations=relaxed.rounds, seconds=seconds)
        return TreeAnswer(solution, closed.best.root)

    def priced(self, problem: Problem, deadline: Deadline) -> Priced:
        """The best trees at some prices of constraints; with costs of many kinds the general search is the faster."""
        found = self._general(problem, deadline)
        roots = list({id(root): root for root in found.trees if root is not None}.values())
        return Priced(roots, found.bound, found.status == "optimal", found.interrupted)

    def _without_conflicts(self, problem: Problem, deadline: Deadline) -> TreeAnswer:
        n_codes = tuple(feature.n_codes for feature in problem.table.features)

        def solve(free: Problem) -> Attempt[TreeAnswer]:
            imagined = free.table.n_rows > problem.table.n_rows
            found = replace(self, general=self.general or imagined)._add_up(free, deadline)
            solution = found.solution
            if found.root is None:
                return Attempt(found, [], [], solution.value, solution.bound, solution.status)
            root = with_defaults(found.root, problem.table)
            leaves, regions = [merged(path) for path in leaves_of(root)], regions_of(root, n_codes)
            return Attempt(replace(found, root=root), leaves, regions, solution.value, solution.bound, solution.status)

        def relabelled(found: Attempt[TreeAnswer], labels: Sequence[int]) -> Attempt[TreeAnswer]:
            assert found.answer.root is not None
            root = with_labels(found.answer.root, iter(labels))
            leaves = leaves_of(root)
            value = sum(map(problem.path_loss, leaves))
            return replace(found, answer=TreeAnswer(found.answer.solution, root), leaves=leaves, value=value)

        started = deadline.elapsed
        free_labels = problem.plain and not problem.model_limits and not problem.sums
        agreed = solve_conflicts(problem, solve, deadline, self.gap, relabelled if free_labels else None)
        if agreed.answer is None:
            return _no_tree(agreed.status, agreed.bound)
        seconds = {"search": deadline.elapsed - started}
        solution = Solution((), agreed.status, agreed.value, agreed.bound, iterations=agreed.solves, seconds=seconds)
        return TreeAnswer(solution, agreed.answer.root)

    def _summed(self, problem: Problem, deadline: Deadline) -> TreeAnswer:
        if problem.limits.forced:
            raise ValueError("Force does not go with sums over the rules of a model; remove one of them.")
        free = self._add_up(replace(problem, sums=()), deadline)
        if free.root is None:
            return free
        if within_limits(problem, sums_of(problem, leaves_of(free.root))):
            return TreeAnswer(free.solution, free.root)
        started = deadline.elapsed
        stopped: Status = "interrupted" if free.solution.status == "interrupted" else "time_limit"
        # After Ctrl-C nothing long is begun.
        limit = Deadline(0.0) if stopped == "interrupted" else deadline
        found = solve_summed(problem, splits=self.splits, max_children=self.max_children, deadline=limit)
        seconds = {**free.solution.seconds, "sums": deadline.elapsed - started}
        if found.root is not None:
            return TreeAnswer(Solution((), "optimal", found.value, found.value, seconds=seconds), found.root)
        if found.complete:
            return _no_tree("infeasible")
        # The trees of one leaf are soon looked at, and may be all that is known.
        stump = solve_summed(replace(problem, max_leaves=1))
        if stump.root is None:
            return _no_tree(stopped, free.solution.bound)
        bound = min(free.solution.bound, stump.value)
        return TreeAnswer(Solution((), stopped, stump.value, bound, seconds=seconds), stump.root)

    def _score(self, score: Score, problem: Problem, deadline: Deadline) -> TreeAnswer:
        found = best_score(problem, score, lambda additive: _additive(self._add_up(additive, deadline)))
        return TreeAnswer(scored(found, found.answer.solution), found.answer.root)


def _sized(found: trees.TreeSolution) -> SizedTrees:
    return SizedTrees(cast(Sequence[Node], found.trees), found.losses.tolist(), found.status == "optimal")


def _search_sizes(
    problem: Problem, run: Callable[..., trees.TreeSolution], root: Node, value: float, deadline: Deadline
) -> SizedTrees:
    """The best trees of all sizes, by a search that has the time of the fit once more.

    Parameters
    ----------
    problem : Problem
    run : callable
        The search, with all that the fit gave it.
    root : Node
        The tree of the fit; it is the one of every size that has none with a lower loss.
    value : float
        Its loss.
    deadline : Deadline
        That of the fit.
    """
    found = run(deadline=deadline.again())
    if found.interrupted:
        raise KeyboardInterrupt
    sized = _sized(found)
    roots, losses = list(sized.roots), list(sized.losses)
    for size in range(_n_leaves(root), len(roots) + 1):
        if value <= losses[size - 1]:
            roots[size - 1], losses[size - 1] = root, value
    return with_prunings(problem, SizedTrees(roots, losses, sized.proven))


def _n_leaves(node: Node) -> int:
    return sum(_n_leaves(child) for _, child in node.branches) or 1


def _additive(found: TreeAnswer) -> Additive[TreeAnswer]:
    paths = [] if found.root is None else leaves_of(found.root)
    return Additive(found, paths, found.solution.bound, found.solution.status)
