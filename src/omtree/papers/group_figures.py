"""Figures on new rows for every group of them, with intervals, and the largest differences between groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.wording import text_of
from omtree.model.intervals import Z95, wilson
from omtree.sources.lifetimes import Lifetimes, read_lifetimes

#: Groups beyond these, the largest ones, are counted together.
MOST_GROUPS = 12
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Rate:
    """A share of some rows, with Wilson's interval; NaN where there are no such rows."""

    value: float
    low: float
    high: float
    rows: int

    @classmethod
    def of(cls, hits: Mask, among: Mask) -> Rate:
        """The share of the rows `among` that are hits."""
        rows = int(among.sum())
        if not rows:
            return cls(math.nan, 0.0, 1.0, 0)
        value = float(hits[among].mean())
        return cls(value, *wilson(value, rows), rows)


@dataclass(frozen=True)
class GroupFigures:
    """How a model does on one group of rows.

    Attributes
    ----------
    name : str
    rows : int
    accuracy : Rate
        Share of right answers.
    selected : Rate or None
        Two classes: share that is given the positive class.
    recall, false_alarms : Rate or None
        Two classes: share of the positive, and of the other rows, that is given the positive class.
    """

    name: str
    rows: int
    accuracy: Rate
    selected: Rate | None = None
    recall: Rate | None = None
    false_alarms: Rate | None = None


@dataclass(frozen=True)
class GroupEvents:
    """A survival tree on the rows of one group.

    Attributes
    ----------
    name : str
    rows, events : int
    expected : float
        Events to expect at the risks that the model says.
    """

    name: str
    rows: int
    events: int
    expected: float

    @property
    def ratio(self) -> float:
        """Events in parts of those expected: above 1, more happened than the model says."""
        return self.events / self.expected if self.expected > 0 else math.nan


@dataclass(frozen=True)
class GroupErrors:
    """How far off numbers are in one group: root mean square and mean of the errors, and how far chance moves it."""

    name: str
    rows: int
    rmse: float
    bias: float
    margin: float


def groups_of(cells: Sequence[Any]) -> list[tuple[str, Mask]]:
    """The groups of rows, the largest first; the smallest of many are counted together.

    >>> [(name, int(rows.sum())) for name, rows in groups_of(["b", "a", None, "b"])]
    [('b', 2), ('a', 1), ('missing', 1)]
    """
    names = np.array(["missing" if cell is None or cell != cell else text_of(cell) for cell in cells], dtype=object)
    found, counts = np.unique(names.astype(str), return_counts=True)
    order = sorted(range(len(found)), key=lambda place: (-int(counts[place]), str(found[place])))
    groups = [(str(found[place]), np.asarray(names == found[place])) for place in order]
    if len(groups) > MOST_GROUPS:
        rest = np.logical_or.reduce([rows for _, rows in groups[MOST_GROUPS - 1 :]])
        groups = [*groups[: MOST_GROUPS - 1], (f"{len(order) - MOST_GROUPS + 1} others", rest)]
    return groups


def class_figures(
    groups: Sequence[tuple[str, Mask]], said: npt.NDArray[Any], actual: npt.NDArray[Any], positive: Any = None
) -> list[GroupFigures]:
    """Figures of a model of classes; with a positive class also how often it is given.

    Parameters
    ----------
    groups : sequence of (name, rows)
    said, actual : arrays
        Answers and true classes.
    positive : optional
    """
    right = np.asarray(said == actual, dtype=bool)
    found = []
    for name, rows in groups:
        accuracy = Rate.of(right, rows)
        if positive is None:
            found.append(GroupFigures(name, int(rows.sum()), accuracy))
            continue
        given, has = np.asarray(said == positive, dtype=bool), np.asarray(actual == positive, dtype=bool)
        rates = Rate.of(given, rows), Rate.of(given, rows & has), Rate.of(given, rows & ~has)
        found.append(GroupFigures(name, int(rows.sum()), accuracy, *rates))
    return found


def number_figures(
    groups: Sequence[tuple[str, Mask]], said: npt.NDArray[Any], actual: npt.NDArray[Any]
) -> list[GroupErrors]:
    """Figures of a model of numbers."""
    off = np.asarray(said, float) - np.asarray(actual, float)
    found = []
    for name, rows in groups:
        own = off[rows]
        margin = Z95 * float(own.std()) / math.sqrt(len(own))
        found.append(GroupErrors(name, len(own), float(np.sqrt((own**2).mean())), float(own.mean()), margin))
    return found


def event_figures(
    groups: Sequence[tuple[str, Mask]], risk: npt.NDArray[Any], actual: npt.NDArray[Any]
) -> list[GroupEvents]:
    """Figures of a survival tree: the events expected are those of its risks over the hazard of all these rows."""
    times, events, _ = read_lifetimes(actual, None, None, None)
    lifetimes = Lifetimes.of(times, events, None, np.ones(len(times)))
    expected = np.asarray(risk, float) * lifetimes.exposure
    # Risks are in parts of the hazard of the training rows; here all rows together have as many as were seen.
    expected *= events.sum() / max(float(expected.sum()), 1e-300)
    return [
        GroupEvents(name, int(rows.sum()), int(events[rows].sum()), float(expected[rows].sum()))
        for name, rows in groups
    ]


def largest_difference(rates: Sequence[Rate | None]) -> float:
    """Between the groups that have the figure; NaN where fewer than two do."""
    known = [rate.value for rate in rates if rate is not None and rate.rows]
    return max(known) - min(known) if len(known) > 1 else math.nan
