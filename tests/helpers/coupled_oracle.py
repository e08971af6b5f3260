"""All trees under constraints over the whole model by plain enumeration, for tables of a few columns of few values.

A tree is the set of its leaves as sets of rows. Its loss is that of the best labels with which it meets them.
It is trivial where every way to grow it has a split into leaves without which the tree meets them for no more loss.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

Rows = frozenset[int]
Leaves = frozenset[Rows]
#: Whether predictions, one for every row, are allowed.
Allowed = Callable[[np.ndarray], bool]


def ways(values: tuple[int, ...], binary: bool) -> Iterator[list[tuple[int, ...]]]:
    """Every way to cut ordered values into two or more runs; into two only where trees are binary."""
    for n in range(1, len(values)):
        for cuts in itertools.combinations(range(1, len(values)), n):
            if binary and n > 1:
                return
            yield [values[a:b] for a, b in itertools.pairwise((0, *cuts, len(values)))]


class Oracle:
    """The trees of a table."""

    def __init__(
        self,
        X: pd.DataFrame,
        y: np.ndarray,
        allowed: Allowed,
        *,
        depth: int,
        leaves: int,
        least: int,
        binary: bool,
        leaf_allowed: Callable[[Rows], bool] = lambda rows: True,
    ) -> None:
        self.values = X.to_numpy()
        self.y = y
        self.allowed, self.leaf_allowed = allowed, leaf_allowed
        self.least, self.most, self.binary = least, leaves, binary
        self._losses: dict[Leaves, float] = {}
        whole = frozenset(range(len(y)))
        self.grown = {}
        for tree in self._trees(whole, depth):
            self.grown.setdefault(self._leaves_of(tree), []).append(tree)

    def listed(self, trivial: bool = False) -> dict[Leaves, float]:
        """The loss of every tree that can meet the constraints; without trivial ones by default."""
        found = {}
        for leaves, trees in self.grown.items():
            loss = self.loss(leaves)
            if loss < np.inf and (trivial or any(not self._trivial(tree, loss) for tree in trees)):
                found[leaves] = loss
        return found

    def loss(self, leaves: Leaves) -> float:
        """Errors of the best allowed labels."""
        if leaves not in self._losses:
            best = np.inf
            for labels in itertools.product((0, 1), repeat=len(leaves)):
                predicted = np.empty(len(self.y), dtype=int)
                for rows, label in zip(leaves, labels, strict=True):
                    predicted[list(rows)] = label
                errors = float((predicted != self.y).sum())
                if errors < best and self.allowed(predicted):
                    best = errors
            self._losses[leaves] = best
        return self._losses[leaves]

    def _may_be_leaf(self, rows: Rows) -> bool:
        return len(rows) >= self.least and self.leaf_allowed(rows)

    def _trees(self, rows: Rows, depth: int) -> Iterator[tuple]:
        """Trees as (rows, children)."""
        if self._may_be_leaf(rows):
            yield (rows, ())
        for f in range(self.values.shape[1]) if depth else ():
            present = tuple(sorted({self.values[row, f] for row in rows}))
            for way in ways(present, self.binary):
                parts = [frozenset(row for row in rows if self.values[row, f] in part) for part in way]
                if min(map(len, parts)) >= self.least and len(parts) <= self.most:
                    below = [list(self._trees(part, depth - 1)) for part in parts]
                    for children in itertools.product(*below):
                        if sum(len(self._leaves_of(child)) for child in children) <= self.most:
                            yield (rows, children)

    def _leaves_of(self, tree: tuple) -> Leaves:
        rows, children = tree
        return frozenset([rows]) if not children else frozenset().union(*map(self._leaves_of, children))

    def _trivial(self, tree: tuple, loss: float) -> bool:
        return any(self.loss(self._leaves_of(smaller)) <= loss for smaller in self._smaller(tree))

    def _smaller(self, tree: tuple) -> Iterator[tuple]:
        rows, children = tree
        if children and not any(below for _, below in children):
            if self._may_be_leaf(rows):
                yield (rows, ())
            return
        for i, child in enumerate(children):
            for other in self._smaller(child):
                yield (rows, (*children[:i], other, *children[i + 1 :]))
