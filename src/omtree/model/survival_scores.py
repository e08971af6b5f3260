"""How well risks and curves of survival fit rows: concordance and the Brier score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray
from omtree.sources.lifetimes import Flags, nelson_aalen


def concordance(times: FloatArray, events: Flags, risk: FloatArray, weight: FloatArray | None = None) -> float:
    """Harrell's index: of the pairs in which one row is known to have the event first, the share that had more risk.

    Equal risks count by half. A row that was last seen at the moment of an event is taken to have lived longer.

    Parameters
    ----------
    times : array of float
    events : array of bool
    risk : array of float
    weight : array of float, optional

    Examples
    --------
    >>> concordance(np.array([1.0, 2.0, 3.0]), np.array([True, True, False]), np.array([3.0, 1.0, 2.0]))
    0.6666666666666666
    """
    weight = np.ones(len(times)) if weight is None else weight
    levels, place = np.unique(risk, return_inverse=True)
    happened = np.flatnonzero(events)
    later = np.zeros((len(happened), len(levels)))
    # Censored rows are seen a little beyond their time.
    moment = np.where(events, times, np.nextafter(times, np.inf))
    for level in range(len(levels)):
        own = place == level
        order = np.argsort(moment[own], kind="stable")
        mass = np.concatenate([[0.0], np.cumsum(weight[own][order])])
        later[:, level] = mass[-1] - mass[np.searchsorted(moment[own][order], times[happened], side="right")]
    below = np.concatenate([np.zeros((len(happened), 1)), np.cumsum(later, axis=1)], axis=1)
    every = np.arange(len(happened))
    own_level = place[happened]
    won = below[every, own_level] + 0.5 * later[every, own_level]
    pairs = float(weight[happened] @ later.sum(axis=1))
    return float(weight[happened] @ won) / pairs if pairs > 0 else float("nan")


class Censoring:
    """The chance of being seen still, by Kaplan and Meier of the rows that were lost from sight."""

    def __init__(self, times: FloatArray, events: Flags) -> None:
        # Events come before losses at the same moment.
        moment = np.where(events, times, np.nextafter(times, np.inf))
        self._at, hazard = nelson_aalen(moment, ~events, None, np.ones(len(times)))
        self._chance = np.concatenate([[1.0], np.cumprod(1.0 - np.minimum(hazard, 1.0))])

    def __call__(self, moments: FloatArray, *, before: bool = False) -> FloatArray:
        """The chance at some moments, or just before them."""
        if not before:
            moments = np.nextafter(moments, np.inf)
        return np.asarray(self._chance[np.searchsorted(self._at, moments, side="left" if before else "right")])


def brier_scores(
    censoring: Censoring, times: FloatArray, events: Flags, survival: FloatArray, moments: FloatArray
) -> FloatArray:
    """Mean squared distance of predicted survival from what was seen, at some moments (Graf and others, 1999).

    Rows that were lost from sight before count through those like them that were not.

    Parameters
    ----------
    censoring : Censoring
    times : array of float
    events : array of bool
    survival : array of float, shape (n_rows, n_moments)
    moments : array of float
    """
    own = censoring(times, before=True)
    own = np.where(own > 0, own, np.inf)
    at = censoring(moments)
    at = np.where(at > 0, at, np.inf)
    dead = (times[:, None] <= moments[None, :]) & events[:, None]
    alive = times[:, None] > moments[None, :]
    lost = dead * survival**2 / own[:, None] + alive * (1.0 - survival) ** 2 / at[None, :]
    return np.asarray(lost.mean(axis=0))


def integrated_brier(
    censoring: Censoring, times: FloatArray, events: Flags, curves: Sequence[Any], owner: npt.NDArray[np.intp]
) -> float:
    """The mean of the Brier score over the time in which most events happen; 0.25 is a coin.

    Parameters
    ----------
    censoring : Censoring
    times : array of float
    events : array of bool
    curves : sequence of SurvivalCurve
    owner : array of int
        The curve of each row.
    """
    seen = times[events]
    if len(seen) < 2:
        return float("nan")
    moments = np.unique(np.quantile(seen, np.linspace(0.05, 0.95, 100)))
    if len(moments) < 2:
        return float("nan")
    survival = np.array([curve.at(moments) for curve in curves])[owner]
    scores = brier_scores(censoring, times, events, survival, moments)
    # The area under straight lines; numpy names it by its version.
    return float(np.diff(moments) @ (scores[1:] + scores[:-1]) / 2 / (moments[-1] - moments[0]))
