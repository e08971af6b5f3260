"""The best score of a whole model, such as F1, by a sequence of problems whose losses add up."""

from __future__ import annotations

from dataclasses import replace

from omtree.engines.reductions.additive import SAME, Additive, Answer, BestScore, Solve, confusion_of, with_costs
from omtree.engines.reductions.positives import PositiveSearch
from omtree.objectives import Score
from omtree.objectives.ratio import RatioScore
from omtree.problem.problem import Problem

#: Searches of so many levels take far longer than those of two.
DEEP = 4


def best_score(problem: Problem, score: Score, solve: Solve[Answer]) -> BestScore[Answer]:
    """The model with the highest score.

    Parameters
    ----------
    problem : Problem
        Its loss is replaced.
    score : Score
    solve : callable
        The best model for a problem whose losses add up.
    """
    if isinstance(score, RatioScore):
        return _best_ratio(problem, score, solve)
    return PositiveSearch(problem, score, solve).run()


def _best_ratio(problem: Problem, score: RatioScore, solve: Solve[Answer]) -> BestScore[Answer]:
    """Dinkelbach: a ratio above `value` exists exactly if ``value * denominator - numerator`` can be negative."""
    numerator, denominator = score.parts()
    least_denominator = float(denominator.min(axis=1) @ problem.class_weights().sum(axis=0))
    value, bound, solves = 0.0, 1.0, 0
    best: Additive[Answer] | None = None
    start = _start(problem, score, solve)
    while True:
        at = value if best is not None else start
        additive, shifted = with_costs(problem, at * denominator - numerator)
        found = solve(additive)
        solves += 1
        # No model has numerator - at * denominator above this.
        room = -(found.bound + shifted)
        bound = min(bound, at + max(0.0, room) / least_denominator) if room > 0 else min(bound, max(at, value))
        if not found.paths:
            last = found if best is None else best
            return BestScore(last.answer, value, bound, found.status, solves)
        reached = score.score(confusion_of(problem, found.paths))
        better = best is None or reached > value + SAME
        if better:
            best, value = found, max(value, reached)
        if bound <= value + SAME:
            return BestScore(best.answer, value, value, "optimal", solves)  # type: ignore[union-attr]
        if found.status not in ("optimal", "gap_reached") or (not better and at == value):
            status = found.status if found.status != "optimal" else "stopped"
            return BestScore(best.answer, value, bound, status, solves)  # type: ignore[union-attr]


def _start(problem: Problem, score: RatioScore, solve: Solve[Answer]) -> float:
    """Where to begin: a value that some model reaches spares a round of the deep search, and shallow ones are cheap."""
    numerator, denominator = score.parts()
    if problem.max_depth < DEEP:
        return 0.5
    additive, _ = with_costs(replace(problem, max_depth=2), 0.5 * denominator - numerator)
    return max(0.5, score.score(confusion_of(problem, solve(additive).paths)))
