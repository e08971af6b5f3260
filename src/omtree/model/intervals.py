"""Intervals for shares and means: how far chance can move a figure."""

from __future__ import annotations

import math

#: Standard errors on each side of a 95 % interval.
Z95 = 1.959963984540054


def wilson(share: float, rows: float, z: float = Z95) -> tuple[float, float]:
    """Wilson's interval for a share that was seen in so many rows.

    It stays between 0 and 1, and is not empty where all rows or none are right.

    Parameters
    ----------
    share : float
    rows : float
        How many independent rows the share is worth; with weights, their effective number.
    z : float

    Examples
    --------
    >>> [round(end, 3) for end in wilson(1.0, 7)]
    [0.646, 1.0]
    """
    if rows <= 0:
        return 0.0, 1.0
    centre = (share + z * z / (2 * rows)) / (1 + z * z / rows)
    half = z / (1 + z * z / rows) * math.sqrt(share * (1 - share) / rows + z * z / (4 * rows * rows))
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    return (0.0 if share <= 0 else low), (1.0 if share >= 1 else high)


def share_limits(share: float, rows: float, risk: float) -> tuple[float, float]:
    """The lower and the upper limit of a share by Clopper and Pearson, each wrong with at most this risk.

    Examples
    --------
    >>> [round(limit, 3) for limit in share_limits(0.9, 50, 0.05)]
    [0.801, 0.96]
    >>> share_limits(0.0, 0, 0.05)
    (0.0, 1.0)
    """
    from scipy.special import betaincinv  # models that answer rows do not need it

    hits, misses = share * rows, (1.0 - share) * rows
    low = 0.0 if hits <= 0 else float(betaincinv(hits, misses + 1.0, risk))
    high = 1.0 if misses <= 0 else float(betaincinv(hits + 1.0, misses, 1.0 - risk))
    return low, high
