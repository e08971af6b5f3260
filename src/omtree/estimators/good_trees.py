"""The trees that are nearly as good as the best one: looked for when they are asked for, each once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from omtree.data.table import CodeArray
from omtree.deadline import Deadline
from omtree.engines.dispatch import TreeSolver
from omtree.engines.reductions.coupled_trees import coupled_trees
from omtree.engines.standard_units import in_units
from omtree.engines.trees.nearby import TreeList, nearby
from omtree.fit.workbench import Workbench
from omtree.model.tree import Tree
from omtree.problem.problem import Node

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase

#: So many are looked for at first, and so many times more whenever these do not suffice.
FIRST, MORE = 64, 8
#: Losses that differ by less than this part of them are equal.
SAME = 1e-9


@dataclass(frozen=True)
class ListedTree:
    """A tree of the list: its loss, and what makes it."""

    loss: float
    root: Callable[[], Node]


class GoodTrees:
    """The best different trees of a fit, in the order of their loss.

    Parameters
    ----------
    model : a fitted model
    bench : Workbench
        What it was fitted with.
    n : int or None
        How many at most.
    margin : float
        How much worse than the model a tree may be.
    trivial : bool
    time_limit : float or None
        Seconds from the first search on.

    Attributes
    ----------
    order : list of ListedTree
        What is known so far.
    every : bool
        Whether there are no others within the margin.
    """

    def __init__(
        self,
        model: OptimalTreeBase,
        bench: Workbench,
        n: int | None,
        margin: float,
        *,
        trivial: bool = False,
        time_limit: float | None = None,
    ) -> None:
        self._certificate = model.certificate_
        self._bench = bench
        self._n = n
        self._standard = in_units(bench.problem)
        self._cap = model.certificate_.value + margin
        self._trivial = trivial
        self._time_limit = time_limit
        self._deadline: Deadline | None = None
        self._found: TreeList | None = None
        # Its conditions mean something over its own thresholds only.
        same = tuple(model.rules_.features) == tuple(bench.problem.table.features)
        self._own = _node_of(model.tree_) if same else None
        self._own_leaves: npt.NDArray[np.intp] | None = None
        self._own_listed = False
        self._asked = 0
        self._cut_short = False
        self._seen: set[int] = set()
        self.every = False
        self.order: list[ListedTree] = []
        if model.certificate_.status == "optimal" and self._own is not None:
            # No search is needed for what is known to be the best.
            self._list_own()

    def know(self, n: int | None) -> None:
        """Find at least so many, or all that there are."""
        while not self._ended and (n is None or len(self.order) < n):
            asked = FIRST if self._asked == 0 else MORE * self._asked
            if self._n is not None and (n is None or asked > self._n):
                asked = self._n
            everything = self._n is None and n is None
            found = self.search(None if everything else asked)
            self._asked = asked
            if self._found is None or found.finished:
                self._found = found
                self._take(found)
            self._cut_short = not found.finished or found.overflow
            self.every = not self._cut_short and (everything or len(found) < asked)

    def search(self, n: int | None, *, shapes: bool = True) -> TreeList:
        """Look for the best so many, without what is known already."""
        if self._deadline is None:
            self._deadline = Deadline(self._time_limit)
        plan, unit, problem = self._bench.plan, self._standard.loss, self._standard.problem
        # What equals the margin but for rounding is within.
        cap = self._cap / unit * (1 + SAME) if math.isfinite(self._cap) else math.inf
        bound, value = self._certificate.bound / unit, self._certificate.value / unit
        asked: dict[str, Any] = {
            "n": n,
            "bound": bound,
            "cap": cap,
            "trivial": self._trivial,
            "splits": plan.splits,
            "max_children": plan.max_children,
            "cache_mb": plan.cache_mb,
            "deadline": self._deadline,
        }
        found: TreeList
        if problem.coupled:
            solver = TreeSolver(self._bench.objective, plan.splits, plan.max_children, cache_mb=plan.cache_mb)
            found = coupled_trees(problem, value, solver.priced, **asked)
        else:
            found = nearby(problem, value, shapes=shapes, **asked)
        if found.interrupted:
            raise KeyboardInterrupt
        return found

    @property
    def complete(self) -> bool:
        """Whether all that was asked for is known."""
        return self.every or (self._n is not None and len(self.order) >= self._n)

    @property
    def reached(self) -> float:
        """Every tree with a lower loss is known."""
        known = self._certificate.bound
        return known if self._found is None else max(known, self._found.reached * self._standard.loss)

    @property
    def _ended(self) -> bool:
        return self.complete or self._cut_short

    def _list_own(self) -> None:
        own = self._own
        if own is not None:
            self.order.append(ListedTree(self._certificate.value, lambda: own))
            self._own_listed = True

    def _take(self, found: TreeList) -> None:
        """List what is not there yet."""
        for i, mark in enumerate(found.marks.tolist()):
            if mark in self._seen or (self._n is not None and len(self.order) >= self._n):
                continue
            self._seen.add(mark)
            loss = float(found.losses[i]) * self._standard.loss
            if not (self._own_listed and self._is_own(loss, found, i)):
                self.order.append(ListedTree(loss, partial(found.tree, i)))
        if not self.order:
            self._list_own()

    def _is_own(self, loss: float, found: TreeList, i: int) -> bool:
        """Whether a tree is the model's own: one of its loss and its leaves."""
        codes = self._bench.problem.table.codes
        tied = abs(loss - self._certificate.value) <= SAME * max(1.0, abs(loss))
        if self._own is None or not tied or found.leaves[i] != self._certificate.leaves:
            return False
        if self._own_leaves is None:
            self._own_leaves = _leaf_of_rows(self._own, codes)
        return _same_leaves(_leaf_of_rows(found.tree(i), codes), self._own_leaves)


def _node_of(tree: Tree | None) -> Node:
    """A tree as an engine knows it."""
    assert tree is not None
    nodes = tree.nodes

    def node(place: int) -> Node:
        here = nodes[place]
        if here.rule is not None:
            return Node(tree.rules[here.rule].label)
        branches = [(nodes[child].condition, node(child)) for child in here.children]
        default = None if here.default is None else here.children.index(here.default)
        return Node(0, tuple((condition, below) for condition, below in branches if condition is not None), default)

    return node(0)


def _leaf_of_rows(root: Node, codes: CodeArray) -> npt.NDArray[np.intp]:
    """The leaf of every merged row, numbered in the order of the leaves."""
    leaf = np.empty(codes.shape[1], dtype=np.intp)
    n_leaves = 0

    def visit(node: Node, rows: npt.NDArray[np.intp]) -> None:
        nonlocal n_leaves
        if not node.branches:
            leaf[rows] = n_leaves
            n_leaves += 1
        for condition, child in node.branches:
            inside = np.zeros(np.iinfo(codes.dtype).max + 1, dtype=np.bool_)
            inside[list(condition.codes)] = True
            visit(child, rows[inside[codes[condition.feature, rows]]])

    visit(root, np.arange(codes.shape[1]))
    return leaf


def _same_leaves(a: npt.NDArray[np.intp], b: npt.NDArray[np.intp]) -> bool:
    """Whether two numberings of rows are the same but for the numbers."""
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))
