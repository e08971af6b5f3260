"""Branch and bound over listed rules: two rows are covered by one rule, or by two.

All rules that a model of some loss can use are listed, so that none has to be priced out at a node. Its LP starts with
the columns of the node above, and the others wait until their reduced cost is negative. The cover search goes first at
every node: with a better bound it has less to spend, and often ends at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.rules.lp_columns import BATCH, Mask
from omtree.engines.rules.master import Master, MasterPoint
from omtree.engines.rules.mip import MipAnswer
from omtree.engines.rules.pool import ColumnPool, Numbers
from omtree.engines.rules.rule_counts import IntArray

#: Relative accuracy of the LPs of nodes; most rounds of one.
TOLERANCE = 1e-5
MOST_ROUNDS = 30
#: How near to a whole number a share counts as one.
WHOLE = 1e-4
#: Most rows whose pairs are looked at, and seconds of the cover search at a node.
MOST_ROWS = 600
COVER_SECONDS = 0.1

#: The cover search over columns of the pool: their numbers, reduced costs, the loss, the bound and the time.
Cover = Callable[[Numbers, FloatArray, float, float, Deadline], MipAnswer]


@dataclass(frozen=True, eq=False)
class _Node:
    """Which of the candidates are allowed, and which of them were in the LP above."""

    allowed: Mask
    inside: Mask


@dataclass(frozen=True, eq=False)
class _Relaxed:
    """The relaxation of a node: its best bound, the reduced costs behind it, and the last solution of its LP."""

    bound: float
    cost: FloatArray
    point: MasterPoint
    inside: Mask


class Branching:
    """Looks for the best model of at most some loss, or shows that the candidates have none.

    Parameters
    ----------
    pool : ColumnPool
    master : Master
    candidates : array of int
        Columns of the pool: all that a model of this loss can use.
    target : float
        The loss; all losses are whole numbers.
    cover : callable
        The cover search.
    """

    def __init__(self, pool: ColumnPool, master: Master, candidates: Numbers, target: float, cover: Cover) -> None:
        self._pool = pool
        self._master = master
        self._candidates = np.asarray(candidates, dtype=np.int64)
        self._target = target
        self._search_cover = cover
        self._by_rule = pool.cover(candidates, master.rows)
        self._by_row = self._by_rule.tocsc()
        self._leaves = pool.problem.max_leaves
        self._best = np.empty(0, dtype=np.int32)
        self.nodes = 0

    def run(self, deadline: Deadline) -> MipAnswer:
        """The best model; complete where it is known to be, or where there surely is none."""
        everything = np.ones(len(self._candidates), dtype=bool)
        open_nodes = [_Node(everything, np.arange(len(everything)) < BATCH)]
        complete = True
        while open_nodes and complete:
            self.nodes += 1
            node = open_nodes.pop()
            if not node.allowed.any():
                continue
            relaxed = self._relax(node, deadline)
            if self._is_above(relaxed.bound):
                continue
            if deadline.expired:
                complete = False
                break
            if self._closed_by_cover(node, relaxed, deadline) or self._is_above(relaxed.bound):
                continue
            pair = self._split_pair(relaxed.point)
            if pair is None:
                complete = self._closed_by_solution(relaxed)
                continue
            allowed = node.allowed & (relaxed.cost <= self._target - relaxed.bound + 1e-9)
            one, other = (self._covers(row) for row in pair)
            for ruled_out in (one & other, one != other):  # apart, and together, which is looked at first
                open_nodes.append(_Node(allowed & ~ruled_out, relaxed.inside & ~ruled_out))
        loss = float(self._pool.loss[self._best].sum()) if len(self._best) else math.inf
        return MipAnswer(self._best, loss, self._target if complete else -math.inf, complete)

    def _is_above(self, bound: float) -> bool:
        return bound > self._target + 1e-6 * max(1.0, abs(self._target))

    def _offer(self, columns: IntArray) -> None:
        """Takes a model; from now on only better ones count."""
        loss = float(self._pool.loss[columns].sum())
        if loss <= self._target and self._pool.is_model(columns):
            self._best, self._target = columns, loss - 1.0

    def _closed_by_cover(self, node: _Node, relaxed: _Relaxed, deadline: Deadline) -> bool:
        """Whether the cover search leaves nothing to look for below a node."""
        # A model of this loss uses no dearer rule there.
        places = np.flatnonzero(node.allowed & (relaxed.cost <= self._target - relaxed.bound + 1e-9))
        limit = deadline.at_most(COVER_SECONDS)
        found = self._search_cover(self._candidates[places], relaxed.cost[places], self._target, relaxed.bound, limit)
        if len(found.columns):
            self._offer(found.columns)
        return found.complete

    def _closed_by_solution(self, relaxed: _Relaxed) -> bool:
        """Whether the LP's solution, in which no pair of rows is split, is the best model below."""
        columns = self._candidates[relaxed.point.weights[self._candidates] > 0.5].astype(np.int32)
        if not len(columns) or not self._pool.is_model(columns):
            return False
        self._offer(columns)
        return self._is_above(relaxed.bound)

    def _relax(self, node: _Node, deadline: Deadline) -> _Relaxed:
        """Rounds of the LP over the columns that are allowed, until it is solved or its bound is above the target."""
        inside = node.inside & node.allowed
        best, best_cost = -math.inf, np.zeros(len(inside))
        for _ in range(MOST_ROUNDS):
            point = self._master.solve(TOLERANCE, deadline, self._candidates[inside])
            cost = self._reduced_costs(point)
            least = float(cost[node.allowed].min(initial=0.0))
            bound = point.duals.value(self._pool.problem, self._master.total) + self._leaves * least
            if not math.isnan(bound) and bound > best:
                # With the leaves made dearer by `least`, no reduced cost is negative.
                best, best_cost = bound, cost - least
            accuracy = 10.0 * TOLERANCE * max(1.0, abs(point.value))
            if self._is_above(best) or deadline.expired:
                break
            waiting = np.flatnonzero(node.allowed & ~inside & (cost < 0.0))
            if point.value - best > accuracy and len(waiting):
                inside[waiting[np.argsort(cost[waiting], kind="stable")[:BATCH]]] = True
            elif point.slack <= accuracy or not self._master.widen_box():
                break
        return _Relaxed(best, best_cost, point, inside)

    def _reduced_costs(self, point: MasterPoint) -> FloatArray:
        """Of all candidates."""
        pool, duals, columns = self._pool, point.duals, self._candidates
        paid = self._by_rule @ duals.own + duals.even * pool.support[columns]
        return np.asarray(pool.loss[columns] - paid - duals.leaf - pool.extra[columns] @ duals.rows)

    def _covers(self, row: int) -> Mask:
        """Which candidates cover a row of the LP, given by its place."""
        return np.asarray(self._by_row[:, [row]].toarray().ravel() > 0.0)

    def _split_pair(self, point: MasterPoint) -> tuple[int, int] | None:
        """Two rows that the LP's solution covers together by about a half; None where none are split."""
        weights = point.weights[self._candidates]
        used = np.flatnonzero(weights > WHOLE)
        rows = self._by_rule[used]
        share = np.asarray(rows.T @ weights[used]).ravel()
        places = np.flatnonzero(np.abs(share - 1.0) <= 0.1)[:MOST_ROWS]
        dense = rows[:, places].toarray()
        together = (dense.T * weights[used]) @ dense
        split = np.triu(np.minimum(together, 1.0 - together), 1)
        if split.size == 0 or split.max() <= WHOLE:
            return None
        first, second = np.unravel_index(int(split.argmax()), split.shape)
        return int(places[first]), int(places[second])
