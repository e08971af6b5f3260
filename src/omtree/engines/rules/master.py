"""The restricted master: an LP over the rules generated so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.rules.interior import BoxedLP, solve_interior
from omtree.engines.rules.pool import ColumnPool, Duals, Numbers
from omtree.engines.rules.rule_counts import IntArray
from omtree.problem.problem import Problem

#: Coverage rows the master starts with, and most rows added in one round.
FIRST_ROWS = 150
MORE_ROWS = 40
#: Rows that a column makes room for.
ROWS_A_COLUMN = 0.5
#: A row whose coverage is off by more than this is violated: first, and when the end is near.
VIOLATION = 0.02
LAST_VIOLATION = 1e-4
#: Violated rows are looked for among so many, and among all when the end is near; weights below this are left out.
LOOK_AT = 20_000
LEAST_WEIGHT = 1e-6
#: An LP that still needs artificial columns at this many times the price of a row has no solution without them.
WIDEST = 1e9


@dataclass(frozen=True, eq=False)
class MasterPoint:
    """A solution of the restricted master.

    `slack` is what the artificial columns pay: while it is positive, the box around the duals is active.
    """

    duals: Duals
    weights: FloatArray
    value: float
    slack: float


class Master:
    """Coverage rows (all, or those generated so far), the leaf limit and the constraints over the whole model.

    Every coverage row has artificial columns on both sides; their price is a box around the row's dual, which is
    widened as long as an artificial column is in use. While coverage rows are missing, one row demands that the covered
    weight adds up to the total: it is implied by the missing ones, so what is solved is a relaxation and bounds hold.

    Parameters
    ----------
    problem : Problem
    pool : ColumnPool
    row_price : array
        What covering each merged row is worth at most, roughly.
    row_pace : int
        How many times the usual number of coverage rows there are at first and come in later; 0 means all at once.
    seed : int
    """

    def __init__(self, problem: Problem, pool: ColumnPool, row_price: FloatArray, row_pace: int, seed: int) -> None:
        self._problem = problem
        self._pool = pool
        self._weight = problem.table.weight
        self.total = float(self._weight.sum())
        self._random = np.random.default_rng(seed)
        self._n_rows = n_rows = problem.table.n_rows
        self._pace = row_pace
        first = row_pace * FIRST_ROWS
        if 0 < 2 * first < n_rows:
            chosen = self._random.choice(n_rows, first, replace=False, p=self._weight / self.total)
            self.rows = np.sort(chosen).astype(np.int32)
        else:
            self.rows = np.arange(n_rows, dtype=np.int32)
        self._price = np.maximum(row_price, 1e-3 * max(1e-12, float(row_price.mean())))
        self._box = 2.0
        self._violation = VIOLATION

    @property
    def complete(self) -> bool:
        """Whether every merged row has its coverage row."""
        return len(self.rows) == self._n_rows

    def solve(self, tolerance: float, deadline: Deadline, columns: Numbers | None = None) -> MasterPoint:
        """Solves the LP over these columns (by default all) to a relative gap, or as far as the deadline allows."""
        problem, pool, rows = self._problem, self._pool, self.rows
        columns = np.arange(len(pool)) if columns is None else columns
        n_global = len(problem.model_limits)
        n_cover = len(rows)
        cover = pool.cover(columns, rows)
        share = pool.support[None, columns] / self.total
        dense = np.concatenate([share, np.ones((1, len(columns))), pool.extra[columns].T])
        limits = np.array([row.at_least for row in problem.model_limits])
        everything = self._box * float(self._price.sum())
        dear = np.full(n_global, everything / max(1.0, float(np.abs(pool.extra).max(initial=0.0))))
        rhs = np.concatenate([np.ones(n_cover), [1.0, problem.max_leaves], limits])
        free = 1e-9 * everything  # a box of width zero has no interior
        total_price = free if self.complete else everything
        over = np.concatenate([self._box * self._price[rows], [total_price, free], dear])
        under = np.concatenate([self._box * self._price[rows], [total_price, everything], np.full(n_global, free)])
        point = solve_interior(BoxedLP(pool.loss[columns], cover, dense, rhs, over, under), tolerance, deadline)
        duals = self._duals(point.dual)
        slack = float(self._price[rows] @ (point.up[:n_cover] + point.down[:n_cover]))
        slack += float(dear @ point.up[n_cover + 2 :]) / self._box
        weights = np.zeros(len(pool))
        weights[columns] = point.x
        return MasterPoint(duals, weights, point.value, slack)

    def _duals(self, dual: FloatArray) -> Duals:
        n_cover = len(self.rows)
        # Interior values may stand outside by a hair on the side where the row is an inequality.
        leaf, rows = min(0.0, float(dual[n_cover + 1])), np.maximum(0.0, dual[n_cover + 2 :])
        return Duals(self.rows, dual[:n_cover], float(dual[n_cover]) / self.total, leaf, rows)

    def widen_box(self) -> bool:
        """Makes the artificial columns dearer; false when they are as dear as arithmetic allows."""
        self._box *= 4.0
        return self._box <= WIDEST

    def tighten(self) -> bool:
        """Looks for violated rows more closely from now on; false when it did so already."""
        if self.complete or self._violation == LAST_VIOLATION:
            return False
        self._violation = LAST_VIOLATION
        return True

    def add_violated_rows(self, point: MasterPoint, *, everywhere: bool) -> int:
        """Adds rows that the solution covers too little or too often; says how many.

        Unless `everywhere`, they are looked for in a part of a large table, and only while there are many columns for
        each row: more rows than that make the LP large and say little.
        """
        most = self._pace * max(2 * FIRST_ROWS, ROWS_A_COLUMN * len(self._pool))
        if self.complete or (not everywhere and len(self.rows) > most):
            return 0
        rows = self._missing_rows() if everywhere or self._n_rows <= 2 * LOOK_AT else self._some_rows()
        weights = np.where(point.weights > LEAST_WEIGHT, point.weights, 0.0)
        coverage = self._pool.coverage(weights, rows)
        violated = np.abs(coverage - 1.0) > self._violation
        rows, coverage = rows[violated], coverage[violated]
        # Rows in the same columns are covered equally often, and one of them speaks for all: the kinds that weigh most
        # count first.
        kinds, first, kind_of = np.unique(coverage.round(9), return_index=True, return_inverse=True)
        weight = np.bincount(kind_of, weights=self._weight[rows], minlength=len(kinds))
        worst = np.argsort(-np.abs(kinds - 1.0) * weight, kind="stable")[: self._pace * MORE_ROWS]
        self.rows = np.sort(np.concatenate([self.rows, rows[first[worst]]]))
        return len(worst)

    def _missing_rows(self) -> IntArray:
        """All rows that the LP does not have yet."""
        missing = np.ones(self._n_rows, dtype=bool)
        missing[self.rows] = False
        return np.flatnonzero(missing).astype(np.int32)

    def _some_rows(self) -> IntArray:
        """Some of them; takes no longer where there are more."""
        drawn = np.unique(self._random.integers(self._n_rows, size=LOOK_AT, dtype=np.int32))
        return np.setdiff1d(drawn, self.rows, assume_unique=True)
