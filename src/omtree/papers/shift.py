"""Shift: how differently rows are spread now, by the population stability index, and how much of it may be chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from omtree.data.table import FloatArray

#: An index from here on is worth a look, and from there on an alarm; the usual rule of thumb.
NOTICE, ALARM = 0.1, 0.25
#: A share of zero would make the index infinite: it counts as that of half a row.
_HALF = 0.5
#: How often chance alone may exceed what is called chance.
_RARELY = 0.01


@dataclass(frozen=True)
class Shift:
    """How some rows are spread over bins, before and now.

    Attributes
    ----------
    name : str
        The column, or what else is spread.
    bins : tuple of str
    before, now : tuple of float
        Shares of the rows.
    index : float
        The population stability index, the sum of ``(now - before) * log(now / before)``.
    chance : float
        What the index exceeds in one of a hundred cases although nothing has changed; it is large where rows are few.
    """

    name: str
    bins: tuple[str, ...]
    before: tuple[float, ...]
    now: tuple[float, ...]
    index: float
    chance: float

    @property
    def alarming(self) -> bool:
        """Whether it is an alarm: large, and more than chance."""
        return self.index >= ALARM and self.index > self.chance

    @property
    def words(self) -> str:
        """How large it is."""
        if self.index <= self.chance:
            return "may be chance"
        return "ALARM" if self.index >= ALARM else "look at it" if self.index >= NOTICE else "small"

    @property
    def most_changed(self) -> int:
        """The bin whose share changed most."""
        return max(range(len(self.bins)), key=lambda place: abs(self.now[place] - self.before[place]))


def shift_of(name: str, bins: Sequence[str], before: FloatArray, now: FloatArray) -> Shift | None:
    """The shift between two counts of rows; None where one of them has no rows, or there is but one bin.

    Parameters
    ----------
    name : str
    bins : sequence of str
    before, now : array of float
        Rows in each bin.

    Examples
    --------
    >>> found = shift_of("age", ["young", "old"], np.array([50.0, 50.0]), np.array([800.0, 200.0]))
    >>> round(found.index, 3), found.alarming
    (0.416, True)
    """
    kept = np.flatnonzero((before > 0) | (now > 0)).tolist()
    n_before, n_now = float(before.sum()), float(now.sum())
    if not n_before or not n_now or not len(kept):
        return None
    old, new = before[kept] / n_before, now[kept] / n_now
    floor_old, floor_new = np.maximum(old, _HALF / n_before), np.maximum(new, _HALF / n_now)
    index = float(((floor_new - floor_old) * np.log(floor_new / floor_old)).sum())
    chance = 0.0
    if len(kept) > 1:
        # For small changes the index is the chi-square statistic of the two samples, scaled by their sizes.
        chance = float(chi2.isf(_RARELY, len(kept) - 1)) * (1 / n_before + 1 / n_now)
    names = tuple(bins[place] for place in kept)
    return Shift(name, names, tuple(old.tolist()), tuple(new.tolist()), 0.0 if math.isnan(index) else index, chance)
