"""What rows that a model was not fitted to say about its constraints: how far chance can move each number.

Shares (recall, precision, specificity, rate of false positives, accuracy, share of an answer) have the exact limits of
Clopper and Pearson (1934). F1 has them too: it grows with ``TP / (TP + FP + FN)``, a share of the rows that have the
class or are given it. A difference of two shares has the limits of Newcombe (1998, "square and add") over those of
Clopper and Pearson. Matthews' correlation, the Fowlkes-Mallows index and mean costs have normal limits. Where rows have
weights, as many rows are counted as the weights are worth: ``sum(w)**2 / sum(w**2)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from omtree.constraints.constraint import Constraint, is_number
from omtree.data.table import FloatArray
from omtree.model.intervals import share_limits

if TYPE_CHECKING:
    from omtree.constraints.audit import Answers, Sense

CLOPPER_PEARSON, NEWCOMBE, NORMAL = "Clopper-Pearson", "Newcombe", "normal"


@dataclass(frozen=True)
class Trial:
    """A limit on a number of the whole model, tried on some rows.

    Attributes
    ----------
    part : str
        Which part of the constraint, in words; empty where it has one.
    sense : {"at least", "at most"}
    limit : float
    value : float
        The number on these rows; NaN where there is nothing to measure.
    rows : float
        How many rows it is from.
    method : str
        How chance is reckoned with.
    bound : callable
        With a risk: the worst that the number can be.
    margin : callable
        With a risk: by how much a number from so many rows has to be better than the limit for its bound to keep it;
        infinite where no number does.
    """

    part: str
    sense: Sense
    limit: float
    value: float
    rows: float
    method: str
    bound: Callable[[float], float]
    margin: Callable[[float], float]

    def holds(self, risk: float) -> bool:
        """Whether the limit is kept but for this risk."""
        bound = self.bound(risk)
        return bound >= self.limit if self.sense == "at least" else bound <= self.limit


def worth(weight: FloatArray) -> float:
    """How many rows of equal weight these are worth."""
    square = float((weight**2).sum())
    return float(weight.sum()) ** 2 / square if square > 0 else 0.0


def share_trial(
    sense: Sense,
    limit: float,
    hits: npt.NDArray[np.bool_],
    among: npt.NDArray[np.bool_],
    weight: FloatArray,
    *,
    scale: Callable[[float], float] = float,
    unscale: Callable[[float], float] = float,
) -> Trial:
    """A share of some rows, or a number that grows with it as `scale` says; `unscale` is its inverse."""
    rows = worth(weight[among])
    total = float(weight[among].sum())
    share = float(weight[among & hits].sum()) / total if total > 0 else math.nan
    least = sense == "at least"

    def bound_of(seen: float, risk: float) -> float:
        low, high = share_limits(seen, rows, risk)
        return low if least else high

    def margin(risk: float) -> float:
        best, worst = (1.0, unscale(limit)) if least else (0.0, unscale(limit))
        if (bound_of(best, risk) < worst) if least else (bound_of(best, risk) > worst):
            return math.inf
        # The bound moves with the share: bisection between the limit and the best there is.
        for _ in range(50):
            middle = (best + worst) / 2
            keeps = bound_of(middle, risk) >= unscale(limit) if least else bound_of(middle, risk) <= unscale(limit)
            best, worst = (middle, worst) if keeps else (best, middle)
        return abs(scale(best) - limit)

    def bound(risk: float) -> float:
        return scale(bound_of(share, risk) if total > 0 else 0.0 if least else 1.0)

    return Trial("", sense, limit, scale(share), rows, CLOPPER_PEARSON, bound, margin)


def difference_trial(part: str, limit: float, high: tuple[float, float], low: tuple[float, float]) -> Trial:
    """The share of one group above that of another is at most the limit; each is a share and its rows."""

    def above(first: float, second: float, risk: float) -> float:
        up = share_limits(first, high[1], risk)[1] - first
        down = second - share_limits(second, low[1], risk)[0]
        return first - second + math.hypot(up, down)

    def bound(risk: float) -> float:
        return min(1.0, above(high[0], low[0], risk)) if high[1] > 0 and low[1] > 0 else 1.0

    def margin(risk: float) -> float:
        if above(0.0, 0.0, risk) > limit and above(1.0, 1.0, risk) > limit:
            return math.inf
        rate = (high[0] * high[1] + low[0] * low[1]) / (high[1] + low[1])
        return above(rate, rate, risk)

    value = high[0] - low[0] if high[1] > 0 and low[1] > 0 else math.nan
    return Trial(part, "at most", limit, value, min(high[1], low[1]), NEWCOMBE, bound, margin)


def normal_trial(sense: Sense, limit: float, value: float, rows: float, error: float, usual: float) -> Trial:
    """A number with a standard error; `usual` is that of a model near the limit."""
    sign = -1.0 if sense == "at least" else 1.0

    def bound(risk: float) -> float:
        # Fewer rows than these say nothing about a standard error.
        return sign * math.inf if rows < 10 or math.isnan(value) else value + sign * float(-ndtri(risk)) * error

    def margin(risk: float) -> float:
        return math.inf if rows < 10 else float(-ndtri(risk)) * usual

    return Trial("", sense, limit, value, rows, NORMAL, bound, margin)


@dataclass(frozen=True, repr=False)
class Confident(Constraint, abstract=True):
    """A constraint on the whole model that can be asked for with a confidence."""

    confidence: float | None = field(default=None, kw_only=True)

    def check_confidence(self) -> None:
        """Complain about a confidence that is none."""
        given = self.confidence
        if given is not None and not (is_number(given) and 0.5 <= given < 1):
            raise ValueError(
                f"{self.title}: confidence={given!r} is not possible; use None or a number from 0.5 to below 1."
            )

    def trials(self, answers: Answers) -> Iterable[Trial]:
        """Each of its limits, tried on the rows of these answers."""
        raise NotImplementedError

    def tightened(self, margins: Iterable[tuple[Sense, float]]) -> Self:
        """The same without confidence, and with limits that are stricter by so much."""
        raise NotImplementedError

    def plain(self) -> Self:
        """The same without confidence."""
        return replace(self, confidence=None)
