"""One deadline for a whole fit, handed down into kernel, LP and MIP."""

from __future__ import annotations

import functools
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from omtree import _native

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


def heeds_interrupts(work: Callable[_Given, _Answer]) -> Callable[_Given, _Answer]:
    """Work of which every `Deadline` knows of Ctrl-C, also where the exception that it raises is lost.

    Python drops an exception that is raised in a destructor or in a callback of the garbage collector, and with it the
    interrupt: a fit without a limit would go on for good.
    """

    @functools.wraps(work)
    def heeding(*args: _Given.args, **kwargs: _Given.kwargs) -> _Answer:
        before = signal.getsignal(signal.SIGINT)
        # Only the main thread has a say in signals; who ignores them, or lets them end the process, goes on so.
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            return work(*args, **kwargs)

        def counting(number: int, frame: Any) -> Any:
            try:
                return before(number, frame)
            except BaseException:
                _native.count_interrupt()
                raise

        signal.signal(signal.SIGINT, counting)
        try:
            return work(*args, **kwargs)
        finally:
            if signal.getsignal(signal.SIGINT) is counting:
                signal.signal(signal.SIGINT, before)

    return heeding


class Deadline:
    """The moment by which a fit must have answered.

    Parameters
    ----------
    seconds : float or None
        Time from now; None means there is no limit.
    within : Deadline, optional
        That of the fit this is a part of: Ctrl-C ends both.
    """

    def __init__(self, seconds: float | None = None, *, within: Deadline | None = None) -> None:
        self._start = time.monotonic()
        self._seconds = math.inf if seconds is None else float(seconds)
        self._interrupts: int = _native.interrupts() if within is None else within._interrupts

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    @property
    def remaining(self) -> float:
        """Seconds left, never negative; ``inf`` without a limit, none after Ctrl-C."""
        return 0.0 if self.interrupted else max(0.0, self._seconds - self.elapsed)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C came while the kernel worked, or anywhere else in work that heeds it.

        The kernel then answers with what it has. That nothing long begins afterwards is seen to here, so that it does
        not depend on what every caller makes of such an answer.
        """
        return bool(_native.interrupts() != self._interrupts)

    def share(self, share: float) -> Deadline:
        """A part of the time left."""
        left = self.remaining
        return Deadline(None if math.isinf(left) else share * left, within=self)

    def at_most(self, seconds: float) -> Deadline:
        """The time left, or so many seconds if those are fewer."""
        return Deadline(min(seconds, self.remaining), within=self)

    @contextmanager
    def outside(self) -> Iterator[None]:
        """What happens in the block does not count: the limit moves on by the time it takes."""
        before = self.elapsed
        try:
            yield
        finally:
            self._seconds += self.elapsed - before

    def again(self) -> Deadline:
        """The same time once more, from now on."""
        return Deadline(self._seconds)

    @property
    def expired(self) -> bool:
        """Whether the time is up."""
        return self.remaining <= 0.0
