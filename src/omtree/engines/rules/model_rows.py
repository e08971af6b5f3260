"""The rows on which models over a pool are looked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from omtree.engines.rules.rule_counts import IntArray
from omtree.problem.problem import Problem

if TYPE_CHECKING:
    from omtree.engines.rules.pool import ColumnPool

#: Up to so many rows are all looked at; of more, so many to begin with.
ALL_ROWS = 5_000
FIRST_ROWS = 2_000
#: Most rows added for each way in which a choice of rules goes wrong.
MORE_ROWS = 20


class ModelRows:
    """All rows where they are few. Otherwise some: what covers them once need not be a model, but no model is missed.

    A choice of rules that covers other rows not at all or twice teaches these rows, and is not met again.

    Attributes
    ----------
    rows : array of int
        In order.
    """

    def __init__(self, problem: Problem) -> None:
        n_rows = problem.table.n_rows
        self._n_rows = n_rows
        self._random = np.random.default_rng(0)
        if n_rows <= ALL_ROWS:
            self.rows: IntArray = np.arange(n_rows, dtype=np.int32)
        else:
            share = problem.table.weight / problem.table.weight.sum()
            self.rows = np.sort(self._random.choice(n_rows, FIRST_ROWS, replace=False, p=share)).astype(np.int32)

    @property
    def complete(self) -> bool:
        """Whether all rows are looked at."""
        return len(self.rows) == self._n_rows

    def include(self, rows: IntArray) -> None:
        """Looks at these rows, too."""
        self.rows = np.union1d(self.rows, rows)

    def learn(self, pool: ColumnPool, columns: IntArray) -> bool:
        """Adds some of the rows that these columns do not cover exactly once; false when there are none."""
        if self.complete or len(columns) == 0:
            return False
        cover = pool.cover(columns)
        times = np.asarray(cover.sum(axis=0)).ravel()
        # Which of the columns cover a row, as one number.
        case = cover.T @ self._random.random(len(columns))
        wrong = np.flatnonzero(times != 1)
        for one in np.unique(case[wrong]):
            rows = wrong[case[wrong] == one]
            self.include(self._random.choice(rows, min(MORE_ROWS, len(rows)), replace=False).astype(np.int32))
        return len(wrong) > 0
