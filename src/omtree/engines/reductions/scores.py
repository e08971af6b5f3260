"""The best score of a whole model, such as F1, by a sequence of problems whose losses add up."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from omtree.data.table import FloatArray
from omtree.model.certificate import Status
from omtree.objectives import Score
from omtree.objectives.ratio import RatioScore
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import GlobalRow, Path, Problem

Answer = TypeVar("Answer")

#: Scores that differ by less are equal.
SAME = 1e-9
#: Cells into which the predicted weight is cut where it is no whole number.
CELLS = 4096


@dataclass(frozen=True)
class Additive(Generic[Answer]):
    """The answer to one problem whose losses add up.

    `paths` are its rules, `bound` is below the loss of every model; both are of no use when the problem is infeasible.
    """

    answer: Answer
    paths: Sequence[Path]
    bound: float
    status: Status


Solve = Callable[[Problem], Additive[Answer]]


@dataclass(frozen=True)
class BestScore(Generic[Answer]):
    """The best model found: its answer, its score, and what no score is above."""

    answer: Answer
    score: float
    bound: float
    status: Status
    solves: int


def confusion_of(problem: Problem, paths: Sequence[Path]) -> FloatArray:
    """Weight of each class under each predicted label, ``[true, predicted]``."""
    weights = problem.class_weights()
    n_classes = weights.shape[1]
    confusion = np.zeros((n_classes, n_classes))
    for path in paths:
        confusion[:, path.label] += weights[path.covers(problem.table.codes)].sum(axis=0)
    return confusion


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
    return _PositiveSearch(problem, score, solve).run()


def _with_costs(problem: Problem, by_class: FloatArray) -> tuple[Problem, float]:
    """The problem with these costs by class and label, made zero or more, and what was taken away in all."""
    shift = by_class.min(axis=1)
    totals = problem.class_weights().sum(axis=0)
    costs = by_class - shift[:, None]
    if problem.class_of_stratum is not None:
        costs = costs[problem.class_of_stratum]
    return replace(problem, loss=LinearLoss(np.ascontiguousarray(costs))), float(shift @ totals)


def _best_ratio(problem: Problem, score: RatioScore, solve: Solve[Answer]) -> BestScore[Answer]:
    """Dinkelbach: a ratio above `value` exists exactly if ``value * denominator - numerator`` can be negative."""
    numerator, denominator = score.parts()
    least_denominator = float(denominator.min(axis=1) @ problem.class_weights().sum(axis=0))
    value, bound, solves = 0.0, 1.0, 0
    best: Additive[Answer] | None = None
    while True:
        at = value if best is not None else 0.5
        additive, shifted = _with_costs(problem, at * denominator - numerator)
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


class _PositiveSearch(Generic[Answer]):
    """Branch and bound over the weight ``q`` of the rows called positive.

    Given `q`, such a score rises with the true positives. A solve with prices for both kinds of error cuts the true
    positives that are possible at each `q`, for all models or for those with `q` in an interval.
    """

    def __init__(self, problem: Problem, score: Score, solve: Solve[Answer]) -> None:
        self.problem = problem
        self.score = score
        self.solve = solve
        weights = problem.class_weights()
        self.negative, self.positive = weights.sum(axis=0).tolist()
        total = self.negative + self.positive
        self.whole = whole = bool((weights == np.round(weights)).all())
        # Where weights are whole numbers a cell is one value of q; otherwise it is an interval.
        edges = np.arange(total + 1) if whole else np.linspace(0.0, total, CELLS + 1)
        self.low = edges if whole else edges[:-1]
        self.high = edges if whole else edges[1:]
        self.most = np.minimum(self.high, self.positive)  # true positives possible at each cell
        self.bounds = self._bounds(slice(None))  # no model whose q is in the cell has a higher score
        self.last: Additive[Answer] | None = None
        self.best: Additive[Answer] | None = None
        self.value = -math.inf
        self.solves = 0
        self.status: Status = "optimal"

    def run(self) -> BestScore[Answer]:
        """Cut where the bound is highest until it meets the best score."""
        for share in (0.5, 0.25, 0.75):
            self._cut(2.0 * (1.0 - share), 2.0 * share, None)
            if self.best is None:
                break
        if self.best is None:
            assert self.last is not None
            return BestScore(self.last.answer, -math.inf, 1.0, self.last.status, self.solves)
        for _ in range(30):
            before = self.bounds.max()
            if before <= self.value + SAME or not self._cut(*self._prices(int(self.bounds.argmax())), None):
                break
            if self.bounds.max() > before - 1e-4:
                break
        intervals = self._open()
        while intervals and self.status == "optimal":
            first, last = intervals.pop()
            here = slice(first, last + 1)
            if self.bounds[here].max() <= self.value + SAME:
                continue
            self._cut(*self._prices(first + int(self.bounds[here].argmax())), (first, last))
            if self.bounds[here].max() > self.value + SAME:
                if first == last:
                    self._cut(1.0, 0.0, (first, last))
                    if self.bounds[first] > self.value + SAME:
                        self.status = "stopped"
                    continue
                middle = (first + last) // 2
                intervals += [(middle + 1, last), (first, middle)]
        bound = self.value if self.status == "optimal" else max(self.value, float(self.bounds.max()))
        return BestScore(self.best.answer, self.value, bound, self.status, self.solves)

    def _score(self, true_positive: FloatArray, called: FloatArray) -> FloatArray:
        scores = [
            self.score.score(np.array([[self.negative - (q - tp), max(0.0, q - tp)], [self.positive - tp, tp]]))
            for tp, q in zip(true_positive.tolist(), called.tolist(), strict=True)
        ]
        return np.array(scores)

    def _bounds(self, cells: slice) -> FloatArray:
        most = self.most[cells]
        called = np.maximum(self.low[cells], most)
        return np.where(most >= 0, self._score(np.maximum(most, 0.0), called), -np.inf)

    def _open(self) -> list[tuple[int, int]]:
        """Runs of cells in which a better model is not ruled out."""
        above = np.concatenate([[False], self.bounds > self.value + SAME, [False]])
        change = np.flatnonzero(above[1:] != above[:-1])
        return [(int(a), int(b) - 1) for a, b in zip(change[::2], change[1::2], strict=True)]

    def _prices(self, cell: int) -> tuple[float, float]:
        """What a false negative and a false positive are worth at the cell's best corner: the slopes of the score."""
        tp, q = float(self.most[cell]), float(max(self.low[cell], self.most[cell]))
        step = max(1e-6, 1e-4 * (self.negative + self.positive))

        def at(tp: float, fp: float) -> float:
            confusion = np.array([[self.negative - fp, fp], [self.positive - tp, tp]])
            return self.score.score(confusion)

        fp = q - tp
        low, high = max(0.0, tp - step), min(self.positive, tp + step)
        miss = (at(high, fp) - at(low, fp)) / (high - low)
        low, high = max(0.0, fp - step), min(self.negative, fp + step)
        alarm = (at(tp, low) - at(tp, high)) / (high - low)
        miss, alarm = max(miss, 1e-9), max(alarm, 1e-9)
        return 2.0 * miss / (miss + alarm), 2.0 * alarm / (miss + alarm)

    def _cut(self, miss: float, alarm: float, cells: tuple[int, int] | None) -> bool:
        """Solve with these prices, over all models or those with q in the cells; whether that went to its end."""
        problem, shifted = _with_costs(self.problem, np.array([[0.0, alarm], [miss, 0.0]]))
        where = slice(None)
        if cells is not None:
            low, high = float(self.low[cells[0]]), float(self.high[cells[1]])
            called = np.array([[0.0, 1.0], [0.0, 1.0]])
            if problem.class_of_stratum is not None:
                called = called[problem.class_of_stratum]
            rows = (GlobalRow("called positive", called, low), GlobalRow("called positive", -called, -high))
            problem = replace(problem, rows=problem.rows + rows)
            where = slice(cells[0], cells[1] + 1)
        found = self.last = self.solve(problem)
        self.solves += 1
        if found.status == "infeasible":
            self.most[where], self.bounds[where] = -1.0, -np.inf
            return True
        if found.paths:
            reached = self.score.score(confusion_of(self.problem, found.paths))
            if reached > self.value:
                self.best, self.value = found, reached
        # miss * (P - tp) + alarm * (q - tp) >= bound
        least = found.bound + shifted
        most = (miss * self.positive + alarm * self.high[where] - least) / (miss + alarm)
        most = np.floor(most + SAME) if self.whole else most + SAME
        self.most[where] = np.minimum(self.most[where], most)
        self.bounds[where] = self._bounds(where)
        if found.status not in ("optimal", "gap_reached"):
            self.status = found.status
            return False
        return True
