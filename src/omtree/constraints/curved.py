"""Metrics of the whole model that no limit makes linear: Matthews' correlation and the Fowlkes-Mallows index.

Both are functions of two sums: the *hits* ``h``, weight rightly given the class, and the *calls* ``q``, all weight
given it. With ``P`` the weight that has the class, ``T`` all weight and ``N = T - P``, a least value ``m`` says
``h >= g(q)`` and a largest value ``h <= g(q)``, where

- Fowlkes-Mallows: ``g(q) = m sqrt(P q)``;
- Matthews: ``g(q) = (P q + m sqrt(P N q (T - q))) / T``, because ``TP TN - FP FN = T h - P q``.

The curve is concave where ``m`` is positive and convex where it is negative. What lies above a concave curve lies above
its chord over any interval of ``q``; what lies below it lies below each of its tangents: those are the linear rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from omtree.constraints.audit import TOLERANCE, Answers, Sense
from omtree.constraints.confidence import Trial, normal_trial, worth
from omtree.constraints.constraint import Setting
from omtree.constraints.demands import CurvedLimit
from omtree.constraints.sample import ClassMetric, confusion, masks
from omtree.constraints.samples import Strata
from omtree.problem.problem import ModelLimit


@dataclass(frozen=True, repr=False)
class _CurvedMetric(ClassMetric, abstract=True):
    """A metric whose limits are curves over hits and calls."""

    def metric(self, h: float, q: float, positive: float, total: float) -> float:
        """The metric behind hits and calls; 0 where its denominator is."""
        raise NotImplementedError

    def curve(self, q: float, limit: float, positive: float, total: float) -> tuple[float, float]:
        """The hits at which the metric is at its limit, and the slope of that curve, infinite where it is vertical."""
        raise NotImplementedError

    def reachable(self, limit: float, positive: float, total: float) -> tuple[float, float]:
        """The calls at which some hits (not negative, at most calls and `positive`) reach a limit other than 0."""
        raise NotImplementedError

    def value(self, answers: Answers) -> float:
        tp, fp, fn, tn = confusion(answers, self.class_)
        total = tp + fp + fn + tn
        return self.metric(tp, tp + fp, tp + fn, total) if total > 0 else math.nan

    def trials(self, answers: Answers) -> Iterable[Trial]:
        rows = worth(answers.weight)
        for sense, limit in self.limits:
            usual = math.sqrt(1.0 - limit * limit) / math.sqrt(rows) if rows > 0 else math.inf
            yield normal_trial(sense, limit, self.value(answers), rows, self._error(answers, rows), usual)

    def _error(self, answers: Answers, rows: float) -> float:
        """Standard error of the metric, by the delta method over the four shares of rows."""
        cells = np.array(confusion(answers, self.class_))
        shares = cells / cells.sum() if cells.sum() > 0 else cells

        def metric(tp: float, fp: float, fn: float, tn: float) -> float:
            return self.metric(tp, tp + fp, tp + fn, tp + fp + fn + tn)

        steps = 1e-6 * np.eye(4)
        slopes = np.array([(metric(*(shares + step)) - metric(*np.maximum(shares - step, 0.0))) for step in steps])
        slopes /= np.minimum(shares, 1e-6) + 1e-6
        variance = float(shares @ slopes**2 - (shares @ slopes) ** 2)
        return math.sqrt(max(0.0, variance) / rows) if rows > 0 else math.inf

    def on_model(self, strata: Strata, setting: Setting) -> Iterable[CurvedLimit]:
        has, given = masks(strata, setting, self.position(setting))
        positive, total = float(has[:, 0] @ strata.totals), float(strata.totals.sum())
        hits, called = has * given, (1.0 + 0.0 * has) * given
        for sense, limit in self.limits:
            name = self.name_of(sense)
            sign = 1.0 if sense == "at least" else -1.0

            def holds(h: float, q: float, sign: float = sign, limit: float = limit) -> bool:
                return sign * (self.metric(h, q, positive, total) - limit) >= -TOLERANCE

            def within(
                low: float,
                high: float,
                sense: Sense = sense,
                limit: float = limit,
                name: str = name,
                sign: float = sign,
            ) -> tuple[ModelLimit, ...]:
                low, high, lines = self._lines(sense, limit, positive, total, low, high)
                rows = [ModelLimit(name, sign * (hits - slope * called), sign * constant) for slope, constant in lines]
                if low > 0:
                    rows.append(ModelLimit(f"{name}: calls", called, low))
                if high < total:
                    rows.append(ModelLimit(f"{name}: calls", -called, -high))
                return tuple(rows)

            yield CurvedLimit(name, self, hits, called, holds, within, total)

    def _lines(
        self, sense: Sense, limit: float, positive: float, total: float, low: float, high: float
    ) -> tuple[float, float, list[tuple[float, float]]]:
        """The possible calls between `low` and `high`, and lines that all allowed points are on one side of."""
        if (sense == "at least") == (limit > 0) and limit != 0:
            least, largest = self.reachable(limit, positive, total)
            low, high = max(low, least), min(high, largest)
            if high < low:
                return low, high, []
            start, end = (self.curve(q, limit, positive, total)[0] for q in (low, high))
            slope = (end - start) / (high - low) if high - low > TOLERANCE * total else 0.0
            # Over a single point the better of the two ends is still implied.
            constant = (min if sense == "at least" else max)(start - slope * low, end - slope * high)
            return low, high, [(slope, constant)]
        low, high = max(low, 0.0), min(high, total)
        return low, high, list(self._tangents(limit, positive, total, low, high))

    def _tangents(
        self, limit: float, positive: float, total: float, low: float, high: float
    ) -> Iterator[tuple[float, float]]:
        for part in (0.25, 0.5, 0.75) if high - low > TOLERANCE * total else (0.5,):
            q = low + part * (high - low)
            at, slope = self.curve(q, limit, positive, total)
            # The curve is vertical only where hits are known without any limit: with no calls, or none left.
            if math.isfinite(slope):
                yield slope, at - slope * q


@dataclass(frozen=True, repr=False)
class MCC(_CurvedMetric):
    """Matthews' correlation of having a class and being given it, from -1 to 1.

    It is 0 where the model always, or never, predicts the class.

    Parameters
    ----------
    class_ : object, optional
        A class of ``y``; by default the second of two.
    at_least, at_most : float, optional
    confidence : float, optional
        With which a limit has to hold for new rows; see `docs/constraints.md`.

    Examples
    --------
    >>> MCC("yes", at_least=0.4)
    MCC('yes', at_least=0.4)
    """

    low: ClassVar[float] = -1.0

    def metric(self, h: float, q: float, positive: float, total: float) -> float:
        # In shares of the weight: the product of four weights may be no number any more.
        share, called = positive / total, q / total
        square = share * (1.0 - share) * called * (1.0 - called)
        return (h / total - share * called) / math.sqrt(square) if square > 0 else 0.0

    def curve(self, q: float, limit: float, positive: float, total: float) -> tuple[float, float]:
        spread = math.sqrt(positive * (total - positive))
        root = math.sqrt(max(0.0, q * (total - q)))
        if root <= 0 and limit != 0:
            return positive * q / total, math.inf
        slope = positive + (limit * spread * (total - 2 * q) / (2 * root) if limit != 0 else 0.0)
        return (positive * q + limit * spread * root) / total, slope / total

    def reachable(self, limit: float, positive: float, total: float) -> tuple[float, float]:
        # A negative limit is a positive one of the others.
        own, others = (positive, total - positive) if limit > 0 else (total - positive, positive)
        square = limit * limit
        if own <= 0 or others <= 0:
            return total, 0.0  # no calls do
        return square * own * total / (others + square * own), own * total / (own + square * others)


@dataclass(frozen=True, repr=False)
class FowlkesMallows(_CurvedMetric):
    """The geometric mean of precision and recall of a class.

    It is 0 where the model never predicts the class.

    Parameters
    ----------
    class_ : object, optional
        A class of ``y``; by default the second of two.
    at_least, at_most : float, optional
    confidence : float, optional
        With which a limit has to hold for new rows; see `docs/constraints.md`.

    Examples
    --------
    >>> FowlkesMallows("yes", at_least=0.6)
    FowlkesMallows('yes', at_least=0.6)
    """

    def metric(self, h: float, q: float, positive: float, total: float) -> float:
        return h / (math.sqrt(q) * math.sqrt(positive)) if q > 0 and positive > 0 else 0.0

    def curve(self, q: float, limit: float, positive: float, total: float) -> tuple[float, float]:
        root = math.sqrt(max(0.0, q * positive))
        if root <= 0 and limit != 0:
            return 0.0, math.inf
        return limit * root, (limit * positive / (2 * root) if limit != 0 else 0.0)

    def reachable(self, limit: float, positive: float, total: float) -> tuple[float, float]:
        if positive <= 0:
            return total, 0.0  # no calls do
        return limit * limit * positive, min(total, positive / (limit * limit))
