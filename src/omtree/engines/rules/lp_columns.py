"""Which rules of a pool are in the LP: a round of pricing finds many more than it needs at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray

Mask = npt.NDArray[np.bool_]

#: Most columns that enter the LP in one round, and how many it keeps at least: so many, or a multiple of its rows. With
#: fewer columns than rows it would only come back to what it has seen.
BATCH = 300
FEWEST_COLUMNS = 1000
COLUMNS_A_ROW = 2.0
#: Fewer rules than this are not worth an LP of their own: pricing is asked for more.
FEW = 50


class LpColumns:
    """The columns of the LP among those of a pool; the others wait until their reduced cost is negative.

    Parameters
    ----------
    n_columns : int
        Of the pool; all of them are in the LP at first.
    limited : bool
        Whether columns leave the LP where there are many, and come in a few at a time.
    times : int, default=1
        How many times as many come in and stay: where rounds are few, each of them should bring much.
    """

    def __init__(self, n_columns: int, *, limited: bool, times: int = 1) -> None:
        self.inside: Mask = np.ones(n_columns, dtype=bool)
        self._limited = limited
        self._times = times
        self._most = FEWEST_COLUMNS

    def numbers(self) -> npt.NDArray[np.int64]:
        """Their numbers in the pool."""
        return np.flatnonzero(self.inside)

    def grow(self, n_columns: int) -> None:
        """The pool has so many columns now; the new ones wait."""
        self.inside = np.append(self.inside, np.zeros(n_columns - len(self.inside), dtype=bool))

    def enter(self, cost: FloatArray, tolerance: float, n_rows: int, best: npt.NDArray[np.int32]) -> tuple[int, float]:
        """Lets columns of negative reduced cost into the LP, cheapest first, and the dearest out where it is large.

        Parameters
        ----------
        cost : array of float
            Reduced costs of all columns of the pool, which may have grown since.
        tolerance : float
            Reduced cost that counts as zero.
        n_rows : int
            Of the LP.
        best : array of int
            Columns of the best model, which stay.

        Returns
        -------
        count : int
            How many came in.
        least : float
            The least reduced cost among those that waited; zero if none was negative.
        """
        self.grow(len(cost))
        waiting = np.flatnonzero(~self.inside & (cost < -tolerance))
        if not len(waiting):
            return 0, 0.0
        least = float(cost[waiting].min())
        if self._limited:
            waiting = waiting[np.argsort(cost[waiting], kind="stable")[: self._times * BATCH]]
            most = max(self._most, int(self._times * COLUMNS_A_ROW * n_rows))
            if self.inside.sum() > most:
                dearest = np.partition(cost[self.inside], most // 2)[most // 2]
                self.inside &= cost <= max(tolerance, dearest)
                self.inside[best] = True
                self._most += self._most // 10  # or the same columns might come and go for ever
        self.inside[waiting] = True
        return len(waiting), least

    def worth_keeping(self, cost: FloatArray, most: int, best: npt.NDArray[np.int32]) -> Mask:
        """The columns of the LP, those of the best model and cheap others: half of `most`, or more if need be."""
        self.grow(len(cost))
        cost = cost.copy()
        cost[self.inside] = -np.inf
        cost[best] = -np.inf
        kept = np.zeros(len(cost), dtype=bool)
        kept[np.argsort(cost, kind="stable")[: max(most // 2, int(np.isinf(cost).sum()))]] = True
        return kept

    def forget(self, kept: Mask) -> None:
        """The pool has dropped all others."""
        self.inside = self.inside[kept]
