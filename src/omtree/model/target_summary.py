"""How a target that is a number is spread over the rows of a rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from omtree.data.table import FloatArray, weighted_sum

#: Shares of the weight at or below the quartiles, rounded down.
_QUARTILES = (0.25 * (1 - 1e-12), 0.5 * (1 - 1e-12), 0.75 * (1 - 1e-12))


@dataclass(frozen=True)
class TargetSummary:
    """How the targets of a rule's training rows are spread, where the target is a number.

    Attributes
    ----------
    mean, deviation : float
        Weighted mean, and the root of the mean squared distance from it.
    quantiles : tuple of float
        Smallest target, lower quartile, median, upper quartile and largest target.
    """

    mean: float
    deviation: float
    quantiles: tuple[float, float, float, float, float]

    @classmethod
    def of(cls, targets: FloatArray, weights: FloatArray) -> TargetSummary:
        """Of some samples.

        >>> TargetSummary.of(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
        TargetSummary(mean=2.0, deviation=1.0, quantiles=(1.0, 1.0, 1.0, 3.0, 3.0))
        """
        total = float(weights.sum())
        mean = weighted_sum(weights, targets) / total
        deviation = math.sqrt(weighted_sum(weights, (targets - mean) ** 2) / total)
        last = len(targets) - 1
        if weights.min() == weights.max():
            # Where all weigh the same, five of the targets are wanted, and need no order of all.
            places = [0, *(math.ceil(share * len(targets)) - 1 for share in _QUARTILES), last]
            ordered = np.partition(targets, places)
        else:
            order = np.argsort(targets, kind="stable")
            below = np.cumsum(weights[order])
            quartiles = np.searchsorted(below, np.array(_QUARTILES) * below[-1])
            places = [0, *np.minimum(quartiles, last).tolist(), last]
            ordered = targets[order]
        least, low, middle, high, most = ordered[places].tolist()
        return cls(mean, deviation, (least, low, middle, high, most))


#: Tells the spread of the target over several rules.
Summary = Callable[[Sequence[int]], TargetSummary | None]
