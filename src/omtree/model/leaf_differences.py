"""How far the leaves of a survival tree are from each other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from omtree.model.intervals import share_limits
from omtree.model.survival_curve import SurvivalCurve


@dataclass(frozen=True)
class LeafDifference:
    """Of two leaves of a survival tree.

    Attributes
    ----------
    first, second : int
        Their positions in ``rules_``; the second has the larger risk.
    ratio : float
        How many times as often as in the first the event happens in the second; infinite where the first has seen none,
        not a number where neither has.
    low, high : float
        An interval for it.
    """

    first: int
    second: int
    ratio: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out that both have the same risk."""
        return self.low > 1.0


def leaf_differences(curves: Sequence[SurvivalCurve], level: float = 0.95) -> list[LeafDifference]:
    """Every pair of leaves, those of the largest ratio first, with intervals that hold for all pairs at once.

    Given how many events two leaves have together, those of the second are a binomial number if hazards are in
    proportion; its exact interval, by Clopper and Pearson, gives that of the ratio. The level is shared among the pairs
    by Bonferroni. Weights count as rows, and nothing makes up for leaves having been searched for: on the training rows
    they are further apart than on new ones.

    Parameters
    ----------
    curves : sequence of SurvivalCurve
    level : float

    Examples
    --------
    >>> few, many = SurvivalCurve(10, 20.0, (), (), ()), SurvivalCurve(40, 30.0, (), (), ())
    >>> (pair,) = leaf_differences([many, few])
    >>> pair.first, pair.second, round(pair.ratio, 2), round(pair.low, 2), round(pair.high, 2), pair.is_clear
    (1, 0, 2.67, 1.31, 5.98, True)
    """
    pairs = list(itertools.combinations(sorted(range(len(curves)), key=lambda place: curves[place].risk), 2))
    miss = (1.0 - level) / max(1, len(pairs))
    found = [_difference(curves, first, second, miss) for first, second in pairs]
    return sorted(found, key=lambda pair: -math.inf if math.isnan(pair.ratio) else pair.ratio, reverse=True)


def _difference(curves: Sequence[SurvivalCurve], first: int, second: int, miss: float) -> LeafDifference:
    a, b = curves[first], curves[second]
    if a.exposure <= 0 or b.exposure <= 0 or a.events + b.events <= 0:
        return LeafDifference(first, second, math.nan, 0.0, math.inf)
    total = a.events + b.events
    seen = b.events / total

    def ratio(share: float) -> float:
        return share / (1.0 - share) * a.exposure / b.exposure if share < 1.0 else math.inf

    low, high = share_limits(seen, total, miss / 2)
    return LeafDifference(first, second, ratio(seen), ratio(low), ratio(high))
