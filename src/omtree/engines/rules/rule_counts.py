"""What the rows of a rule add up to: from joint tables where they can be had, otherwise from the rows themselves."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.problem.problem import Problem

IntArray = npt.NDArray[np.int32]
HashArray = npt.NDArray[np.uint64]

#: Most bytes for the tables and for the scan of one of them, and most rules that a scan may have to look at.
TABLE_BYTES = 1 << 29
SCAN_BYTES = 1 << 26
MOST_RULES = 1e10


class RuleCounts:
    """Sums over the rows of rules.

    Tables, once counted, answer for every rule in a time that does not depend on the number of rows.

    Parameters
    ----------
    problem : Problem
    pricer : Pricer
        The kernel's pricer.

    Attributes
    ----------
    tables : RuleTables or None
        Joint tables of all groups of as many features as a rule may test.
    """

    def __init__(self, problem: Problem, pricer: _native.Pricer) -> None:
        self._problem = problem
        self._pricer = pricer
        table = problem.table
        n_strata = table.statistics.shape[1]
        if table.row_weight is None:
            self._slots = np.ascontiguousarray(table.statistics)
            self.weight_of_slot = np.ones(n_strata)
        else:
            self._slots = np.column_stack([table.statistics, table.row_weight])
            self.weight_of_slot = np.append(np.zeros(n_strata), 1.0)
        self.tables: _native.RuleTables | None = None

    def make_tables(self, deadline: Deadline) -> None:
        """Counts the tables, if they are of a reasonable size and the time is long enough."""
        if deadline.expired or not self._of_reasonable_size():
            return
        seconds = min(deadline.remaining, 1e9)
        depth = self._problem.max_depth
        tables = _native.RuleTables(self._pricer, self._slots, self.weight_of_slot, depth, seconds)
        self.tables = tables if tables.complete else None

    def _of_reasonable_size(self) -> bool:
        problem = self._problem
        depth = min(problem.max_depth, len(problem.graph.levels))
        if depth > _native.MAX_TABLED_LENGTH:
            return False
        n_codes = [problem.table.features[level.position].n_codes for level in problem.graph]
        n_conditions = [len(level.code_sets) for level in problem.graph]
        n_slots, n_labels = len(self.weight_of_slot), problem.loss.n_labels
        largest = math.prod(sorted(n_codes)[-depth:])
        return (
            8 * (n_slots + 1) * _in_groups(n_codes, depth) <= TABLE_BYTES
            and 8 * (n_labels + 4) * (largest + max(n_conditions, default=1) * largest) <= SCAN_BYTES
            and n_labels * _in_groups(n_conditions, depth) <= MOST_RULES
        )

    def totals(self, conditions: IntArray) -> tuple[FloatArray, FloatArray, HashArray]:
        """Statistics (n_rules, n_strata), weight and a hash of the rows of each rule."""
        if self.tables is not None:
            sums, hashes = self.tables.totals(conditions)
        else:
            sums, hashes = self._pricer.totals(conditions, self._slots)
        sums = sums.reshape(len(conditions), len(self.weight_of_slot))
        return sums[:, : self._problem.table.statistics.shape[1]], sums @ self.weight_of_slot, hashes


def _in_groups(sizes: Iterable[int], most: int) -> float:
    """Sum, over all groups of at most `most` of the sizes, of their products."""
    sums = [1.0] + [0.0] * most
    for size in sizes:
        for n in range(most, 0, -1):
            sums[n] += sums[n - 1] * size
    return sum(sums)
