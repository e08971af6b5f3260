"""Multiway trees and binary ones together: the former have more children, the latter may test a feature again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from omtree.deadline import Deadline
from omtree.engines.answers import TreeAnswer
from omtree.engines.dispatch import TreeSolver
from omtree.model.sizes import SizedTrees
from omtree.problem.problem import Problem

#: Up to this depth a feature that is tested again can be tested once, with more children.
_DEPTH_ONCE = 2
#: Share of the time for binary trees: there are far fewer of them, so that their search ends where the other does not.
_BINARY_SHARE = 0.4


@dataclass(frozen=True, eq=False)
class EitherSplits:
    """The better of the best multiway tree and the best binary one over the same codes.

    The search for multiway trees tests no feature twice on a path, which binary trees may do, so that neither holds the
    other.

    Attributes
    ----------
    multiway : TreeSolver
        Of trees without a limit on children.
    """

    multiway: TreeSolver

    def __call__(self, problem: Problem, deadline: Deadline) -> TreeAnswer:
        """Solve; the bound is one for multiway trees that test no feature twice on a path."""
        if problem.max_depth <= _DEPTH_ONCE:
            return self.multiway(problem, deadline)
        two = replace(self.multiway, splits="binary", progress=None)(problem, deadline.share(_BINARY_SHARE))
        wide = self.multiway(problem, deadline)
        seconds = {
            name: wide.solution.seconds.get(name, 0.0) + two.solution.seconds.get(name, 0.0)
            for name in {**wide.solution.seconds, **two.solution.seconds}
        }
        sizes = None if wide.sizes is None or two.sizes is None else _smaller(wide.sizes, two.sizes)
        better = two if two.solution.value < wide.solution.value else wide
        status = "interrupted" if two.solution.status == "interrupted" else wide.solution.status
        value = better.solution.value
        solution = replace(
            better.solution, status=status, bound=min(wide.solution.bound, value), seconds=seconds, all_cuts=False
        )
        return replace(better, solution=solution, sizes=sizes)


def _smaller(wide: Callable[[], SizedTrees], two: Callable[[], SizedTrees]) -> Callable[[], SizedTrees]:
    """Of each size the better tree of two families."""

    def sizes() -> SizedTrees:
        one, other = wide(), two()
        pairs = list(zip(one.losses, other.losses, strict=True))
        roots = [
            second if low < high else first
            for first, second, (high, low) in zip(one.roots, other.roots, pairs, strict=True)
        ]
        return SizedTrees(roots, [min(pair) for pair in pairs], one.proven)

    return sizes
