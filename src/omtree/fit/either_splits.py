"""Multiway trees, and binary ones where the search for the former does not end."""

from __future__ import annotations

from dataclasses import dataclass, replace

from omtree.deadline import Deadline
from omtree.engines.answers import TreeAnswer
from omtree.engines.dispatch import TreeSolver
from omtree.problem.problem import Problem

#: Share of the time for binary trees: there are far fewer of them, so that their search ends where the other does not.
_BINARY_SHARE = 0.4
#: Up to two levels trees of either kind are found about as fast.
_LEAST_DEPTH = 3


@dataclass(frozen=True, eq=False)
class EitherSplits:
    """The best multiway tree, or where the time does not suffice to prove it, the best binary one if that is better.

    Attributes
    ----------
    multiway : TreeSolver
        Of trees without a limit on children.
    """

    multiway: TreeSolver

    def __call__(self, problem: Problem, deadline: Deadline) -> TreeAnswer:
        """Solve; the bound is one for multiway trees, which binary ones are among."""
        share = 1.0 if problem.max_depth < _LEAST_DEPTH else 1.0 - _BINARY_SHARE
        wide = self.multiway(problem, deadline.share(share))
        if (
            wide.solution.status not in ("time_limit", "stopped")
            or deadline.expired
            or problem.max_depth < _LEAST_DEPTH
        ):
            return wide
        two = replace(self.multiway, splits="binary", progress=None)(problem, deadline)
        seconds = {
            name: wide.solution.seconds.get(name, 0.0) + two.solution.seconds.get(name, 0.0)
            for name in {**wide.solution.seconds, **two.solution.seconds}
        }
        status = "interrupted" if two.solution.status == "interrupted" else wide.solution.status
        better = two if two.solution.value < wide.solution.value else wide
        bound = min(wide.solution.bound, better.solution.value)
        solution = replace(better.solution, status=status, bound=bound, seconds=seconds, all_cuts=False)
        return replace(better, solution=solution)
