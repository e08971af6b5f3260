"""Powers of two that bring numbers near one: no digit is lost by them."""

from __future__ import annotations

import math

#: Within these numbers is near enough to one: whole weights and costs stay whole there, which engines make use of.
NEAR_ONE = 2.0**-4, 2.0**20


def near_one(size: float) -> float:
    """The power of two that makes this near one; 1 where it is.

    >>> near_one(3.0), near_one(3e-6) == 2.0**-19
    (1.0, True)
    """
    if size == 0.0 or NEAR_ONE[0] <= size <= NEAR_ONE[1]:
        return 1.0
    return 2.0 ** math.floor(math.log2(size))


def power_below(size: float) -> float:
    """The largest power of two that is not above this; 1 for what is not positive.

    >>> power_below(3.0), power_below(0.0)
    (2.0, 1.0)
    """
    return 2.0 ** math.floor(math.log2(size)) if size > 0.0 else 1.0
