"""How a long fit says how far it is."""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

logger = logging.getLogger("omtree")


@dataclass(frozen=True)
class Event:
    """What an engine reports while it works.

    Attributes
    ----------
    phase : str
        One word for what it is doing.
    elapsed : float
        Seconds since the start of the fit.
    value, bound : float
        The best loss known and the bound below it; infinite where there is none yet.
    columns, rows : int
        The size of the linear program, or the rows read so far; 0 where there is nothing to say.
    share : float
        The part of the work of the current depth that a search for trees has done, by branches of the root; NaN
        elsewhere.
    """

    phase: str
    elapsed: float
    value: float = math.inf
    bound: float = -math.inf
    columns: int = 0
    rows: int = 0
    share: float = math.nan


Progress = Callable[[Event], None]

_HEADER = f"{'seconds':>8}  {'phase':<12}{'value':>12}{'bound':>12}{'gap':>8}{'done':>7}{'columns':>9}{'rows':>8}"


class ProgressTable:
    """Prints events as lines of a table: every change of phase, and in between at most one line per `interval`."""

    def __init__(self, interval: float = 0.5) -> None:
        self._interval = interval
        self._phase = ""
        self._next = 0.0
        self._started = False

    def __call__(self, event: Event) -> None:
        now = time.monotonic()
        if event.phase == self._phase and now < self._next:
            return
        if not self._started:
            print(_HEADER, file=sys.stdout)
            self._started = True
        self._phase, self._next = event.phase, now + self._interval
        print(_line(event), file=sys.stdout, flush=True)


_listener: ContextVar[Progress | None] = ContextVar("listener", default=None)


@contextmanager
def listen(progress: Progress) -> Iterator[None]:
    """Tell the callable about every fit inside the block, in place of the printed table and the logger.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from omtree import OptimalTreeClassifier
    >>> phases = []
    >>> with listen(lambda event: phases.append(event.phase)):
    ...     model = OptimalTreeClassifier(max_depth=1).fit(*load_iris(return_X_y=True))
    >>> phases[0].split()[0]
    'search'
    """
    token = _listener.set(progress)
    try:
        yield
    finally:
        _listener.reset(token)


def log_event(event: Event) -> None:
    """Write the event to the package's logger."""
    logger.info("%s", _line(event))


def reporter(verbose: int) -> Progress | None:
    """What an engine should report to: a listener, a printed table, the logger when someone reads it, or nobody."""
    listener = _listener.get()
    if listener is not None:
        return listener
    if verbose:
        return ProgressTable()
    return log_event if logger.isEnabledFor(logging.INFO) else None


def _line(event: Event) -> str:
    value = f"{event.value:.6g}" if math.isfinite(event.value) else ""
    bound = f"{event.bound:.6g}" if math.isfinite(event.bound) else ""
    gap = ""
    if value and bound:
        gap = f"{100 * (event.value - event.bound) / event.value:.1f} %" if event.value > event.bound else "0.0 %"
    done = f"{100 * event.share:.0f} %" if event.share == event.share else ""
    columns, rows = event.columns or "", event.rows or ""
    numbers = f"{value:>12}{bound:>12}{gap:>8}{done:>7}{columns:>9}{rows:>8}"
    return f"{event.elapsed:>8.2f}  {event.phase:<12}{numbers}".rstrip()
