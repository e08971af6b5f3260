"""What several searches know together: the better of two trees, and what no tree does better than."""

from __future__ import annotations

from dataclasses import replace

from omtree.fit.quick_trees import QuickTree
from omtree.fit.threshold_rounds import ROUNDING, Refined
from omtree.problem.problem import Solution


def better_of(first: QuickTree, found: QuickTree) -> QuickTree:
    """The better of two trees with what is known of both; the other one is left as one with other first tests."""
    floor = max(first.floor, found.floor)
    if found.value < first.value:
        return replace(found, floor=floor, others=(first.root, *first.others))
    return replace(first, floor=floor, interrupted=found.interrupted)


def above_floor(refined: Refined, floor: float | None, before: float) -> Refined:
    """The answer with what no tree does better than, wherever numbers are cut, and the seconds that came before it.

    A floor of zero that is reached is one as well; None means that nothing is known.
    """
    found = with_floor(refined.answer.solution, floor)
    seconds = {**found.seconds, "thresholds": found.seconds.get("thresholds", 0.0) + before}
    return replace(refined, answer=replace(refined.answer, solution=replace(found, seconds=seconds)))


def with_floor(found: Solution, floor: float | None) -> Solution:
    """A solution with what no tree does better than, wherever numbers are cut; None where that is not known."""
    # Both are sums of squares in other orders.
    found = replace(found, bound=min(found.bound, found.value))
    if floor is not None and not found.all_cuts:
        found = replace(found, floor=min(floor, found.value), bound=min(found.value, max(found.bound, floor)))
    if floor is not None and found.value <= floor * (1.0 + ROUNDING) and found.status != "interrupted":
        found = replace(found, status="optimal", floor=found.value, bound=found.value)
    return found
