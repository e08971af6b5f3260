"""The best different trees in order of their loss, under constraints over the whole model.

What couples leaves sees their labels, so that a tree is listed with every label that its leaves may have. The prices of
the constraints that a fit comes to go into the costs of the leaves: a tree that meets the constraints costs no more at
these prices than without them, so that all trees up to a loss are among those up to the same loss at the prices, which
are few. Of each set of leaves the best labels count.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.reductions.judged_trees import ROUNDING, JudgedTrees
from omtree.engines.reductions.tree_master import Search, TreeMaster
from omtree.engines.trees.nearby import Labelled, Nearby, TreeList, labelled_trees
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Node, Problem

#: Most constraints that the kernel looks at; the others are looked at afterwards.
MOST_DEMANDS = 16
#: Most labelled trees, or parts of them, that are kept in one list.
ROOM = 500_000
#: Losses that differ by less than this part of them are equal.
SAME = 1e-9


def coupled_trees(
    problem: Problem,
    known: float,
    search: Search,
    *,
    n: int | None = None,
    bound: float = -math.inf,
    cap: float = math.inf,
    trivial: bool = False,
    room: int = ROOM,
    deadline: Deadline | None = None,
    **options: Any,
) -> TreeList:
    """Find the best trees of a problem that meet its constraints over the whole model, each of another set of leaves.

    Parameters
    ----------
    problem : Problem
    known : float
        The loss of some tree that meets them; trees are looked for from there on.
    search : callable
        The best trees at given costs, as for `TreeMaster`.
    n : int, optional
        How many at most; by default all up to `cap`.
    bound : float
        Less than this no such tree costs.
    cap : float
        Most that a tree may cost.
    trivial : bool
        Whether to list trees with a split into leaves without which the tree meets the constraints for no more loss.
    room : int
        Most labelled trees, or parts of them, that are kept in one list.
    deadline : Deadline, optional
    **options
        As in `omtree.engines.trees.nearby.nearby`: splits, max_children, cache_mb, use_bounds, use_cache.
    """
    deadline = deadline or Deadline()
    listing = _Listing(problem, search, trivial, room, deadline, options)
    most = min(cap, listing.worst)
    margin = max(abs(listing.alone - known) / 128, listing.step, 1e-6 * max(1.0, abs(known)))
    none: list[Node] = []
    best = TreeList(
        np.zeros(0),
        np.zeros(0, np.int32),
        np.zeros(0, np.uint64),
        bound,
        finished=False,
        overflow=False,
        interrupted=False,
        tree=none.__getitem__,
    )
    while True:
        level = min(most, known + margin)
        found = listing.up_to(level, n)
        if found is None or deadline.expired:
            stopped = listing.last
            return replace(
                best,
                finished=stopped.finished and not deadline.expired,
                overflow=stopped.overflow,
                interrupted=stopped.interrupted,
            )
        best = found
        if (n is not None and len(best) >= n) or level >= most:
            return best
        margin *= 2


class _Listing:
    """The trees of a problem up to some loss."""

    def __init__(
        self, problem: Problem, search: Search, trivial: bool, room: int, deadline: Deadline, options: dict[str, Any]
    ) -> None:
        self._trivial, self._room, self._deadline, self._options = trivial, room, deadline, options
        self._judged = JudgedTrees(problem)
        self._bare = replace(problem, model_limits=(), curved=(), sums=(), conflict=None)
        self._labelled = Labelled(by_conditions=problem.conditions_matter)
        # The loss of a tree is what it costs at the prices, and these for what it adds to the constraints.
        self._prices, self._free, self._least_paid, self._most_paid = np.zeros(0), 0.0, 0.0, 0.0
        self.worst, self.step = math.inf, 0.0
        if isinstance(problem.loss, LinearLoss):
            # Rows that follow from curved limits say nothing new, but have a price.
            curved = tuple(row for limit in problem.curved for row in limit.rows)
            priced = replace(self._bare, model_limits=(*problem.model_limits, *curved))
            master = TreeMaster(priced, search)
            self.worst, self.step = master.worst, master.step
            if priced.model_limits:
                self._price(priced, master.scale, master.run(deadline).prices)
        everything = np.flatnonzero(problem.table.weight > 0).astype(np.uint32)
        #: What a single leaf costs: what splits save is in the order of it.
        self.alone = min((leaf.loss for leaf in self._judged.leaves.of({}, everything)), default=0.0)
        self.last: Nearby
        self._found_trivial: dict[int, bool] = {}

    def _price(self, problem: Problem, scale: FloatArray, prices: FloatArray) -> None:
        """Put prices of the constraints into the costs, and tell the kernel what may be missed."""
        asked = np.argsort(-prices, kind="stable")[:MOST_DEMANDS]
        gives = np.stack([problem.model_limits[k].coefficient for k in asked])
        least = np.array([problem.model_limits[k].at_least for k in asked]) - ROUNDING * scale[asked]
        prices = prices[asked]
        costs = problem.costs - np.tensordot(prices, gives, axes=1)
        free = costs.min(axis=1)
        self._bare = replace(self._bare, loss=LinearLoss(np.ascontiguousarray(costs - free[:, None])))
        totals = problem.table.statistics.sum(axis=0)
        best = gives.max(axis=2)
        most = best @ totals
        self._labelled = replace(self._labelled, missed=best[:, :, None] - gives, slack=most - least)
        self._prices, self._free = prices, float(totals @ free)
        self._least_paid, self._most_paid = float(prices @ least), float(prices @ most)

    def up_to(self, level: float, n: int | None) -> TreeList | None:
        """The best trees up to this loss; None where not all could be listed."""
        level += SAME * max(1.0, abs(level))
        self.last, marks, missed = labelled_trees(
            self._bare,
            level - self._free - self._least_paid,
            self._labelled,
            trivial=self._trivial,
            room=self._room,
            deadline=self._deadline,
            **self._options,
        )
        if self.last.overflow or not self.last.finished:
            return None
        about = self.last.losses + self._free + self._most_paid - missed @ self._prices
        order = np.argsort(about, kind="stable")
        chosen: dict[int, float] = {}
        # Of a set of leaves the first labels that meet the constraints are the best.
        best: dict[int, float] = {}
        for i in order[about[order] <= level].tolist():
            mark = int(marks[i])
            if about[i] > best.get(mark, math.inf):
                continue
            if self._deadline.expired:
                return None
            root = self.last.tree(i)
            loss = self._judged.loss(root)
            if loss == math.inf:
                continue
            best.setdefault(mark, loss + SAME * max(1.0, abs(loss)))
            if self._trivial or not self._is_trivial(int(self.last.marks[i]), root, loss):
                best[mark] = -math.inf
                chosen[i] = loss
                if len(chosen) == n:
                    break
        # Up to rounding they are in order.
        kept = np.array(sorted(chosen, key=lambda i: chosen[i]), dtype=np.intp)
        losses = np.array([chosen[i] for i in kept.tolist()])
        reached = float(losses[-1]) if chosen and len(chosen) == n else level
        listed, places = self.last, kept.tolist()
        return TreeList(
            losses,
            listed.leaves[kept],
            marks[kept],
            reached,
            finished=True,
            overflow=False,
            interrupted=False,
            tree=lambda i: listed.tree(places[i]),
        )

    def _is_trivial(self, mark: int, root: Node, loss: float) -> bool:
        if mark not in self._found_trivial:
            self._found_trivial[mark] = self._judged.is_trivial(root, loss + SAME * max(1.0, abs(loss)))
        return self._found_trivial[mark]
