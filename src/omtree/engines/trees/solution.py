"""What a search for trees answers: the best tree of every size."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from omtree.data.table import Feature, FloatArray
from omtree.engines.trees.joined_tests import join_tests
from omtree.engines.trees.splits import PackedTree, unpack
from omtree.model.certificate import Status
from omtree.problem.graph import Categories
from omtree.problem.problem import Node

#: Losses and trees by size, a bound, whether the search is complete, whether Ctrl-C came, and how much work it was.
Answer = tuple[list[float], Sequence[PackedTree | None], float, bool, bool, int, int, int]


class TreesBySize(Sequence[Node | None]):
    """The best tree with at most 1, 2, ... leaves, each unpacked when it is first asked for."""

    def __init__(
        self,
        packed: Sequence[PackedTree | None],
        losses: Sequence[float],
        columns: Sequence[int],
        features: Sequence[Feature],
        categories: Categories,
        most_children: float,
    ) -> None:
        self._packed = packed
        self._most_children = most_children
        self._unpack = (columns, features, categories)
        # A larger size without a smaller loss has the tree of the size before.
        self._source = list(range(len(packed)))
        for size in range(1, len(packed)):
            if losses[size] == losses[size - 1]:
                self._source[size] = self._source[size - 1]
        self._known: dict[int, Node | None] = {}

    def __len__(self) -> int:
        return len(self._packed)

    @overload
    def __getitem__(self, size: int) -> Node | None: ...
    @overload
    def __getitem__(self, size: slice) -> list[Node | None]: ...
    def __getitem__(self, size: int | slice) -> Node | list[Node | None] | None:
        if isinstance(size, slice):
            return [self[i] for i in range(*size.indices(len(self)))]
        source = self._source[size]
        if source not in self._known:
            tree = unpack(self._packed[source], *self._unpack)
            joined = None if tree is None else join_tests(tree, self._unpack[1], self._most_children)
            self._known[source] = joined
        return self._known[source]


@dataclass(frozen=True, eq=False)
class TreeSolution:
    """The answer of the search.

    Attributes
    ----------
    trees : sequence of Node or None
        ``trees[m - 1]`` is the best tree with at most ``m`` leaves; None where even a single leaf lacks the support.
    losses : array of float
        Their losses, never increasing; infinite where there is no tree.
    status : {"optimal", "time_limit", "stopped", "infeasible"}
    bound : float
        No tree within the limits has a lower loss.
    interrupted : bool
        Whether the user pressed Ctrl-C; the trees are the best known then.
    seconds : float
    subproblems, cache_hits, cache_entries : int
        How much work the search was.
    """

    trees: Sequence[Node | None]
    losses: FloatArray
    status: Status
    bound: float
    interrupted: bool
    seconds: float
    subproblems: int
    cache_hits: int
    cache_entries: int

    @property
    def tree(self) -> Node | None:
        """The best tree."""
        return self.trees[-1]

    @property
    def value(self) -> float:
        """Loss of the best tree."""
        return float(self.losses[-1])


def solution_of(
    answer: Answer,
    columns: Sequence[int],
    features: Sequence[Feature],
    categories: Categories,
    started: float,
    most_children: float,
    *,
    leaf_decides: bool = True,
) -> TreeSolution:
    """The kernel's answer in our terms.

    Tests of a feature right below each other become one with at most `most_children` children. `leaf_decides`:
    there is no tree exactly where there is no single leaf, which needs no search.
    """
    losses, packed, bound, finished, interrupted, subproblems, hits, entries = answer
    trees = TreesBySize(packed, losses, columns, features, categories, most_children)
    status: Status = "optimal" if finished else "stopped" if interrupted else "time_limit"
    if math.isinf(losses[-1]) and (finished or leaf_decides):
        status = "infeasible"
    seconds = time.monotonic() - started
    # A loss that is added up again in another order may be less by rounding.
    bound = min(bound, losses[-1])
    return TreeSolution(trees, np.array(losses), status, bound, interrupted, seconds, subproblems, hits, entries)
