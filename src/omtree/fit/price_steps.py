"""Which size is the best for which price of a leaf, and the prices at which that changes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class PriceSteps:
    """The best size for every price: as the price falls, larger and larger ones.

    Attributes
    ----------
    sizes : tuple of int
        Those that are the best for some price, from the smallest on.
    prices : tuple of float
        Below each of them the next size is the best, as shares of the most that a model may cost.
    """

    sizes: tuple[int, ...]
    prices: tuple[float, ...]

    @classmethod
    def of(cls, losses: Sequence[float], whole: float, least: float) -> PriceSteps:
        """The steps of the best losses with at most 1, 2, ... leaves, down to the least price.

        Parameters
        ----------
        losses : sequence of float
            Never increasing; infinite where there is no model.
        whole : float
            What prices are shares of.
        least : float

        Examples
        --------
        >>> PriceSteps.of([50.0, 40.0, 20.0, 15.0], 100.0, 0.0)
        PriceSteps(sizes=(1, 3, 4), prices=(0.15, 0.05))
        """
        hull: list[int] = []
        for size in range(1, len(losses) + 1):
            if not math.isfinite(losses[size - 1]):
                continue
            while len(hull) > 1 and _saved(losses, hull[-2], hull[-1]) <= _saved(losses, hull[-2], size):
                hull.pop()
            hull.append(size)
        shares = [_saved(losses, *pair) / whole if whole > 0 else 0.0 for pair in pairwise(hull)]
        kept = sum(share > least for share in shares)
        return cls(tuple(hull[: kept + 1]), tuple(shares[:kept]))

    def size(self, price: float) -> int:
        """The best size for a price; of equally good ones the smallest."""
        return self.sizes[sum(step > price for step in self.prices)]


def _saved(losses: Sequence[float], few: int, many: int) -> float:
    """What each leaf more saves, from one size to another."""
    return (losses[few - 1] - losses[many - 1]) / (many - few)


def prices_between(every: Iterable[PriceSteps], least: float) -> tuple[float, ...]:
    """A price for each interval in which no size changes anywhere, from the highest on.

    The last one is the least price; the others are in the middle of their interval, by ratio.

    Examples
    --------
    >>> prices_between([PriceSteps((1, 3), (0.16,)), PriceSteps((1, 2), (0.04,))], 0.01)
    (0.4, 0.08, 0.01)
    """
    ends = sorted({price for steps in every for price in steps.prices}, reverse=True)
    # No leaf saves more than everything.
    highest = [1.0, *ends]
    return (*(math.sqrt(above * below) for above, below in pairwise(highest)), least)
