"""Curves of survival: how many of the rows of a leaf have not had the event by a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from omtree.data.table import FloatArray
from omtree.model.intervals import Z95
from omtree.sources.lifetimes import Lifetimes, at_risk, nelson_aalen


@dataclass(frozen=True)
class SurvivalCurve:
    """What Kaplan and Meier make of some rows.

    Attributes
    ----------
    events : float
        Weight of the rows in which the event was seen.
    exposure : float
        The events that the hazard of all rows would expect among these.
    times : tuple of float
        The moments of events.
    at_risk : tuple of float
        Weight of the rows that are seen just before each of them.
    hazard : tuple of float
        The share of those that have the event then.
    """

    events: float
    exposure: float
    times: tuple[float, ...]
    at_risk: tuple[float, ...]
    hazard: tuple[float, ...]

    @classmethod
    def of(cls, lifetimes: Lifetimes, weight: FloatArray) -> SurvivalCurve:
        """Of some samples.

        >>> times, events = np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, True])
        >>> lifetimes = Lifetimes.of(times, events, None, np.ones(4))
        >>> curve = SurvivalCurve.of(lifetimes, np.ones(4))
        >>> curve.survival.tolist(), curve.median
        ([0.75, 0.375, 0.0], 3.0)
        """
        times, hazard = nelson_aalen(lifetimes.times, lifetimes.events, lifetimes.entry, weight)
        risk = at_risk(times, lifetimes.times, lifetimes.entry, weight)
        return cls(
            float(weight @ lifetimes.events),
            float(weight @ lifetimes.exposure),
            tuple(times.tolist()),
            tuple(risk.tolist()),
            tuple(np.minimum(hazard, 1.0).tolist()),
        )

    @cached_property
    def survival(self) -> FloatArray:
        """The share that has not had the event, after each of the moments."""
        return np.asarray(np.cumprod(1.0 - np.array(self.hazard, dtype=np.float64)), dtype=np.float64)

    @cached_property
    def cumulative_hazard(self) -> FloatArray:
        """The sum of the hazards up to each of the moments."""
        return np.cumsum(np.array(self.hazard))

    @cached_property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of 95 % intervals for the survival, by Greenwood, on the scale of log(-log)."""
        survival, hazard, risk = self.survival, np.array(self.hazard), np.array(self.at_risk)
        left = risk * (1.0 - hazard)
        variance = np.cumsum(np.divide(hazard, left, out=np.full(len(hazard), np.inf), where=left > 0))
        inside = (survival > 0) & (survival < 1)
        logarithm = np.log(np.where(inside, survival, 0.5))
        half = Z95 * np.sqrt(np.where(inside, variance, 0.0)) / np.abs(logarithm)
        with np.errstate(over="ignore"):  # the interval of very few events reaches down to zero
            low = np.where(inside, survival ** np.exp(half), survival)
        high = np.where(inside, survival ** np.exp(-half), survival)
        return low, high

    @property
    def median(self) -> float:
        """The time by which half of the rows have had the event; infinite where fewer had it."""
        return self._crossed(self.survival)

    @property
    def median_interval(self) -> tuple[float, float]:
        """The times at which the ends of the interval cross one half."""
        low, high = self.interval
        return self._crossed(low), self._crossed(high)

    @property
    def risk(self) -> float:
        """Events in parts of those that the hazard of all expects."""
        return self.events / self.exposure if self.exposure > 0 else 0.0

    @property
    def risk_interval(self) -> tuple[float, float]:
        """A 95 % interval for it, from the number of events."""
        if self.events <= 0:
            return 0.0, math.inf if self.exposure <= 0 else -math.log(0.05) / self.exposure
        half = Z95 / math.sqrt(self.events)
        return self.risk * math.exp(-half), self.risk * math.exp(half)

    def at(self, moments: FloatArray) -> FloatArray:
        """The survival at any moments."""
        return _steps(np.array(self.times), np.concatenate([[1.0], self.survival]), moments)

    def hazard_at(self, moments: FloatArray) -> FloatArray:
        """The cumulative hazard at any moments."""
        return _steps(np.array(self.times), np.concatenate([[0.0], self.cumulative_hazard]), moments)

    def _crossed(self, survival: FloatArray) -> float:
        below = np.flatnonzero(survival <= 0.5 + 1e-12)
        return self.times[int(below[0])] if len(below) else math.inf


def _steps(times: FloatArray, levels: FloatArray, moments: FloatArray) -> FloatArray:
    return np.asarray(levels[np.searchsorted(times, moments, side="right")])


class StepFunction:
    """A function that is constant between some moments, such as a curve of survival.

    Attributes
    ----------
    x : array of float
        The moments.
    y : array of float
        The value from each of them on.
    before : float
        The value before the first.
    """

    def __init__(self, x: FloatArray, y: FloatArray, before: float) -> None:
        self.x, self.y, self.before = x, y, before

    def __call__(self, moments: FloatArray | float) -> FloatArray | float:
        """The values at some moments."""
        found = _steps(self.x, np.concatenate([[self.before], self.y]), np.asarray(moments, dtype=np.float64))
        return float(found) if np.ndim(moments) == 0 else found

    def __repr__(self) -> str:
        return f"<StepFunction of {len(self.x)} steps>"
