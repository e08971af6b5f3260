"""Times to an event, some of which are only known to be longer than what was seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.columns import one_column
from omtree.data.table import FloatArray

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Lifetimes:
    """How long each sample was seen, and whether that ended with the event.

    Attributes
    ----------
    times : array of float
        Until the event, or until the sample was last seen.
    events : array of bool
    entry : array of float or None
        From when on each sample was seen; None: from the beginning.
    exposure : array of float
        The cumulative hazard of all samples, by Nelson and Aalen, over the time that a sample was seen.
    """

    times: FloatArray
    events: Flags
    entry: FloatArray | None
    exposure: FloatArray

    @classmethod
    def of(cls, times: FloatArray, events: Flags, entry: FloatArray | None, weight: FloatArray) -> Lifetimes:
        """With the hazard of all samples."""
        return Baseline.of(times, events, entry, weight).lifetimes(times, events, entry)

    def __len__(self) -> int:
        return len(self.times)

    def take(self, samples: npt.NDArray[np.intp]) -> Lifetimes:
        """Those of some samples, with the hazard of all."""
        entry = None if self.entry is None else self.entry[samples]
        return Lifetimes(self.times[samples], self.events[samples], entry, self.exposure[samples])

    @property
    def above(self) -> FloatArray:
        """The event less the exposure: how much more happened than the hazard of all expects."""
        return self.events - self.exposure

    @property
    def own_loss(self) -> FloatArray:
        """Half the deviance of each sample at the hazard of all."""
        # An event before the hazard begins is one of weight zero.
        logarithm = np.log(np.where(self.events & (self.exposure > 0), self.exposure, 1.0))
        return np.asarray(self.exposure - self.events - logarithm)


@dataclass(frozen=True, eq=False)
class Baseline:
    """The cumulative hazard of all samples, by Nelson and Aalen.

    Attributes
    ----------
    moments : array of float
        Of events, in order.
    steps : array of float
        The cumulative hazard before the first of them, and after each.
    """

    moments: FloatArray
    steps: FloatArray

    @classmethod
    def of(cls, times: FloatArray, events: Flags, entry: FloatArray | None, weight: FloatArray) -> Baseline:
        """Of these samples."""
        moments, hazard = nelson_aalen(times, events, entry, weight)
        return cls(moments, np.concatenate([[0.0], np.cumsum(hazard)]))

    def lifetimes(self, times: FloatArray, events: Flags, entry: FloatArray | None = None) -> Lifetimes:
        """Samples, which may be others or fewer, under this hazard."""
        exposure = self.steps[np.searchsorted(self.moments, times, side="right")]
        if entry is not None:
            exposure = exposure - self.steps[np.searchsorted(self.moments, entry, side="right")]
        return Lifetimes(times, events, entry, exposure)


def at_risk(moments: FloatArray, times: FloatArray, entry: FloatArray | None, weight: FloatArray) -> FloatArray:
    """The weight of the samples that are seen just before each of these moments."""
    order = np.argsort(times, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(weight[order])])
    seen = before[-1] - before[np.searchsorted(times[order], moments, side="left")]
    if entry is not None:
        late = np.argsort(entry, kind="stable")
        came = np.concatenate([[0.0], np.cumsum(weight[late])])
        seen = seen - (came[-1] - came[np.searchsorted(entry[late], moments, side="left")])
    return np.asarray(seen)


def nelson_aalen(
    times: FloatArray, events: Flags, entry: FloatArray | None, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The moments of events, and the hazard at each: the share of those at risk that have it.

    Examples
    --------
    >>> at, hazard = nelson_aalen(np.array([1.0, 2.0, 2.0, 3.0]), np.array([True, True, False, True]), None, np.ones(4))
    >>> at.tolist(), hazard.round(3).tolist()
    ([1.0, 2.0, 3.0], [0.25, 0.333, 1.0])
    """
    happened = events & (weight > 0)
    at, place = np.unique(times[happened], return_inverse=True)
    deaths = np.bincount(place, weights=weight[happened], minlength=len(at))
    return at, np.asarray(deaths / at_risk(at, times, entry, weight))


def read_lifetimes(y: Any, time: Any, event: Any, entry: Any) -> tuple[FloatArray, Flags, FloatArray | None]:
    """Times, events and entries from what was given to a fit: a structured array, or arrays by name."""
    if y is not None:
        if time is not None or event is not None:
            raise ValueError("y is given, and time or event as well; give y, or time and event.")
        time, event = _fields(y)
    if time is None or event is None:
        raise ValueError(
            "A survival tree is fitted to y, a structured array of event and time, or to time= and event=; give both."
        )
    times = _numbers(time, "time")
    if times.min(initial=0.0) < 0:
        raise ValueError("time has negative entries; give the time from the beginning to the event or the last look.")
    events = _flags(event)
    if len(times) != len(events):
        raise ValueError(f"time has {len(times)} entries and event has {len(events)}; give one of each per row.")
    started = None if entry is None else _numbers(entry, "entry")
    if started is not None:
        if len(started) != len(times):
            raise ValueError(f"entry has {len(started)} entries and time has {len(times)}; give one per row.")
        if not (started < times).all():
            raise ValueError("entry is not before time in every row; leave out rows that were never seen.")
    return times, events, started


def _fields(y: Any) -> tuple[Any, Any]:
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names is None or len(names) != 2:
        raise ValueError(
            "y has no fields of event and time; give a structured array of a boolean and a number, as scikit-survival "
            "has it, or give time= and event=."
        )
    flags = [name for name in names if y.dtype[name].kind == "b"]
    if len(flags) != 1:
        raise ValueError(f"y has the fields {names[0]!r} and {names[1]!r}, of which one has to be boolean: the event.")
    other = next(name for name in names if name != flags[0])
    return y[other], y[flags[0]]


def _numbers(values: Any, name: str) -> FloatArray:
    try:
        numbers = np.ascontiguousarray(one_column(values, warn=False), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} has entries that are not numbers; give one number per row.") from None
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} has missing or infinite entries; leave those rows out.")
    return numbers


def _flags(values: Any) -> Flags:
    flags = one_column(values, warn=False)
    if flags.dtype.kind == "b":
        return np.asarray(flags)
    try:
        numbers = flags.astype(np.float64)
    except (TypeError, ValueError):
        numbers = np.full(1, np.nan)
    if not np.isin(numbers, (0.0, 1.0)).all():
        raise ValueError("event has entries that are neither 0 nor 1; give whether the event was seen.")
    return np.asarray(numbers == 1.0)
