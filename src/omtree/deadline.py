"""One deadline for a whole fit, handed down into kernel, LP and MIP."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Deadline:
    """The moment by which a fit must have answered.

    Parameters
    ----------
    seconds : float or None
        Time from now; None means there is no limit.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._start = time.monotonic()
        self._seconds = math.inf if seconds is None else float(seconds)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    @property
    def remaining(self) -> float:
        """Seconds left, never negative; ``inf`` without a limit."""
        return max(0.0, self._seconds - self.elapsed)

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
