"""Scores that are no ratios of sums, such as Matthews' correlation: branching on the weight that is called positive."""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, replace
from typing import Generic

import numpy as np

from omtree.data.table import FloatArray
from omtree.engines.reductions.additive import SAME, Additive, Answer, BestScore, Solve, confusion_of, with_costs
from omtree.engines.reductions.weight_steps import EQUAL, divide, weight_step
from omtree.model.certificate import Status
from omtree.objectives import Score
from omtree.problem.problem import ModelLimit, Problem

#: Into how many parts an interval is cut, and most of them at a time, where its best score is looked for.
PARTS, MOST_PARTS = 16, 20_000
#: Cuts over all models end when the bound falls by less than this.
LEAST_GAIN = 1e-4


@dataclass(frozen=True, eq=False)
class _Span:
    """Models whose weight called positive is between two numbers.

    `cuts` are lines, a row each, above which no true positives of these models are: their height at zero, and slope.
    """

    low: float
    high: float
    cuts: FloatArray


@dataclass(frozen=True)
class _Peak:
    """What no model of a span scores more than, and the true positives and calls at which one could."""

    bound: float
    hits: float
    calls: float


class PositiveSearch(Generic[Answer]):
    """Branch and bound over the weight ``q`` of the rows called positive.

    Given `q`, such a score rises with the true positives. A solve with prices for both kinds of error is a line that
    bounds the true positives at every `q`, for all models or for those with `q` in an interval.

    Parameters
    ----------
    problem : Problem
        Its loss is replaced.
    score : Score
    solve : callable
        The best model for a problem whose losses add up.
    """

    def __init__(self, problem: Problem, score: Score, solve: Solve[Answer]) -> None:
        self.problem = problem
        self.score = score
        self.solve = solve
        weights = problem.class_weights()
        self.negative, self.positive = weights.sum(axis=0).tolist()
        self.total = self.negative + self.positive
        self.step = weight_step(weights)
        self.last: Additive[Answer] | None = None
        self.best: Additive[Answer] | None = None
        self.value = -math.inf
        self.solves = 0
        self.status: Status = "optimal"

    def run(self) -> BestScore[Answer]:
        """Cut where the bound is highest until it meets the best score."""
        everything = _Span(0.0, self.total, np.empty((0, 2)))
        for share in (0.5, 0.25, 0.75):
            cut = self._cut(everything, 2.0 * (1.0 - share), 2.0 * share)
            if cut is None:
                break
            everything = cut[0]
            if self.status != "optimal":
                break
        if self.best is None:
            assert self.last is not None
            return BestScore(self.last.answer, -math.inf, 1.0, self.last.status, self.solves)
        peak = self._peak(everything)
        while self.status == "optimal" and peak.bound > self.value + SAME:
            before = peak.bound
            cut = self._cut(everything, *self._prices(peak))
            assert cut is not None
            everything = cut[0]
            peak = self._peak(everything)
            if peak.bound > before - LEAST_GAIN:
                break
        bound = self._branch(everything, peak)
        return BestScore(self.best.answer, self.value, max(bound, self.value), self.status, self.solves)

    def _branch(self, everything: _Span, peak: _Peak) -> float:
        """Divide the weight called positive; what no model scores more than in the end."""
        order = itertools.count()
        todo = [(-peak.bound, next(order), everything, peak)]
        given_up = -math.inf
        while todo and self.status == "optimal" and -todo[0][0] > self.value + SAME:
            _, _, span, peak = heapq.heappop(todo)
            narrow = span.high <= span.low
            prices = (2.0, 0.0) if narrow else self._prices(peak)
            cut = self._cut(span, *prices, within=True)
            if cut is None:
                continue
            span, called = cut
            peak = self._peak(span)
            if peak.bound <= self.value + SAME:
                continue
            if narrow and self.status == "optimal":
                given_up = max(given_up, peak.bound)
                continue
            ends = span.low, span.high
            at = 0.5 * sum(ends) if called is None else called
            for low, high in [ends] if self.status != "optimal" else divide(ends, at, self.step, EQUAL * self.total):
                part = replace(span, low=low, high=high)
                inside = self._peak(part)
                heapq.heappush(todo, (-inside.bound, next(order), part, inside))
        if given_up > self.value + SAME and self.status == "optimal":
            self.status = "stopped"
        return max([given_up, *(-bound for bound, *_ in todo)])

    def _peak(self, span: _Span) -> _Peak:
        """Where the lines allow the highest score, as closely as it matters."""
        lows, highs = np.array([span.low]), np.array([span.high])
        finest = self.step or EQUAL * self.total
        while True:
            bounds, hits, calls = self._scores(span, lows, highs)
            top = int(bounds.argmax())
            above = bounds > self.value + SAME
            wide = float((highs - lows)[above].max(initial=0.0)) > finest
            if not above.any() or not wide or above.sum() * PARTS > MOST_PARTS:
                return _Peak(float(bounds[top]), float(hits[top]), float(calls[top]))
            edges = lows[above, None] + (highs - lows)[above, None] * np.linspace(0.0, 1.0, PARTS + 1)
            lows, highs = edges[:, :-1].ravel(), edges[:, 1:].ravel()

    def _scores(self, span: _Span, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of intervals: the best score that the lines allow, and its true positives and calls."""
        hits = np.minimum(high, self.positive)
        if len(span.cuts):
            hits = np.minimum(hits, (span.cuts[:, :1] + span.cuts[:, 1:] * high).min(axis=0))
        hits += EQUAL * self.total
        if self.step:
            hits = self.step * np.floor(hits / self.step + 1e-6)
        possible = (hits >= 0) & (hits >= low - self.negative - EQUAL * self.total)
        hits = np.clip(hits, 0.0, self.positive)
        calls = np.maximum(low, hits)
        if self.step:
            calls = self.step * np.ceil(calls / self.step - 1e-6)
            possible &= calls <= high + 1e-6 * self.step
        alarms = np.clip(calls - hits, 0.0, self.negative)
        confusions = np.array([[self.negative - alarms, alarms], [self.positive - hits, hits]])
        return np.where(possible, self.score.scores(confusions), -np.inf), hits, calls

    def _prices(self, peak: _Peak) -> tuple[float, float]:
        """What a false negative and a false positive are worth at the peak: the slopes of the score."""
        step = 1e-4 * self.total
        hits, alarms = peak.hits, min(max(0.0, peak.calls - peak.hits), self.negative)
        tp = np.array([max(0.0, hits - step), min(self.positive, hits + step), hits, hits])
        fp = np.array([alarms, alarms, max(0.0, alarms - step), min(self.negative, alarms + step)])
        scores = self.score.scores(np.array([[self.negative - fp, fp], [self.positive - tp, tp]]))
        miss = max((scores[1] - scores[0]) / (tp[1] - tp[0]), 1e-9 / self.total)
        alarm = max((scores[2] - scores[3]) / (fp[3] - fp[2]), 1e-9 / self.total)
        return 2.0 * miss / (miss + alarm), 2.0 * alarm / (miss + alarm)

    def _cut(
        self, span: _Span, miss: float, alarm: float, *, within: bool = False
    ) -> tuple[_Span, float | None] | None:
        """The span with one line more, and what the model found calls positive; None where there is no model.

        With `within` the models solved over are those of the span, else all of them.
        """
        problem, shifted = with_costs(self.problem, np.array([[0.0, alarm], [miss, 0.0]]))
        if within:
            called = np.array([[0.0, 1.0], [0.0, 1.0]])
            if problem.class_of_stratum is not None:
                called = called[problem.class_of_stratum]
            slack = 0.25 * self.step or EQUAL * self.total
            rows = (
                ModelLimit("called positive", called, span.low - slack),
                ModelLimit("called positive", -called, -span.high - slack),
            )
            problem = replace(problem, model_limits=problem.model_limits + rows)
        found = self.last = self.solve(problem)
        self.solves += 1
        if found.status == "infeasible":
            return None
        at = None
        if found.paths:
            confusion = confusion_of(self.problem, found.paths)
            reached, at = self.score.score(confusion), float(confusion[:, 1].sum())
            if reached > self.value:
                self.best, self.value = found, reached
        if found.status not in ("optimal", "gap_reached"):
            self.status = found.status
        # miss * (P - tp) + alarm * (q - tp) >= bound
        least = found.bound + shifted
        line = np.array([[miss * self.positive - least, alarm]]) / (miss + alarm)
        return replace(span, cuts=np.concatenate([span.cuts, line])), at
