"""The steps in which weights add up, and intervals of them."""

from __future__ import annotations

import math

import numpy as np

from omtree.data.table import FloatArray

#: Weights that differ by less than this part of the whole are equal.
EQUAL = 1e-11
#: Parts of the least weight that are tried, and most steps in all the weight.
MOST_PARTS, MOST_STEPS = 64, 2**40


def weight_step(weights: FloatArray) -> float:
    """The number that all weights are multiples of, rounding aside; 0 where none was found.

    Examples
    --------
    >>> weight_step(np.array([[3.0, 7.0], [0.0, 5.0]])), weight_step(np.array([0.5, 0.75]))
    (1.0, 0.25)
    >>> weight_step(np.array([1.0, 2.0**0.5]))
    0.0
    """
    different = np.unique(weights[weights > 0])
    total = float(weights.sum())
    if len(different) == 0:
        return 0.0
    for parts in range(1, MOST_PARTS + 1):
        step = float(different[0]) / parts
        steps = different / step
        # Rounding of all weights together must be far below a step.
        if total / step < MOST_STEPS and np.abs(steps - np.round(steps)).max() * weights.size < 1e-3:
            return step
    return 1.0 if total < MOST_STEPS and (different == np.round(different)).all() else 0.0


def divide(interval: tuple[float, float], at: float, step: float, equal: float) -> list[tuple[float, float]]:
    """The parts of an interval below, at and above a weight; a part with nearly all of it is halved.

    Parameters
    ----------
    interval : (low, high)
    at : float
    step : float
        What all weights are multiples of; 0 where there is no such number.
    equal : float
        Weights that differ by less are the same.

    Returns
    -------
    list of (low, high)
        Empty where the interval is a single weight.

    Examples
    --------
    >>> divide((0.0, 8.0), 3.0, 1.0, 1e-9)
    [(0.0, 2.0), (3.0, 3.0), (4.0, 8.0)]
    >>> divide((3.0, 3.0), 3.0, 1.0, 1e-9)
    []
    """
    low, high = interval
    if high - low <= equal:
        return []
    at = min(max(step * round(at / step) if step else at, low), high)
    parts = []
    for start, end in ((low, at - (step or equal)), (at, at), (at + (step or equal), high)):
        if start > end:
            continue
        if end - start > 0.9 * (high - low) and end - start > 4 * (step or equal):
            middle = 0.5 * (start + end)
            if step:
                middle = step * math.floor(middle / step)
            parts += [(start, middle), (middle + step, end)]
        else:
            parts.append((start, end))
    return parts
