"""The best trees of every size, from one fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from omtree.problem import Node, Problem
from omtree.tree import Tree


@dataclass(frozen=True, eq=False)
class SizedTrees:
    """The best trees with at most 1, 2, ... leaves.

    Attributes
    ----------
    roots : sequence of Node
    losses : sequence of float
        Never increasing.
    proven : bool
        Whether the loss of every size is proven, not that of the largest tree alone.
    """

    roots: Sequence[Node]
    losses: Sequence[float]
    proven: bool


class TreeFamily:
    """The best tree for every number of leaves; what the fit did not need is searched for when it is first asked for.

    Parameters
    ----------
    root : Node
        The best tree of the largest size.
    n_sizes : int
        That size.
    search : callable
        Finds the trees of all sizes.
    problem : Problem
        Kept while trees are still to be built; not pickled, since it holds the training rows.
    classes : sequence
    """

    def __init__(
        self, root: Node, n_sizes: int, search: Callable[[], SizedTrees], problem: Problem, classes: Sequence[Any]
    ) -> None:
        self.largest = Tree.from_node(root, problem, classes)
        self._n_sizes = n_sizes
        self._search: Callable[[], SizedTrees] | None = search
        self._problem: Problem | None = problem
        self._classes = tuple(classes)
        self._known: SizedTrees | None = None
        self._built = [(root, self.largest)]
        self._trees: dict[int, Tree] = {}

    def __len__(self) -> int:
        return self._n_sizes

    @property
    def losses(self) -> Sequence[float]:
        """The loss of every tree."""
        return self._sizes.losses

    @property
    def proven(self) -> bool:
        """Whether every one of them is proven."""
        return self._sizes.proven

    def tree(self, leaves: int) -> Tree:
        """The best tree with at most this many leaves."""
        if leaves not in self._trees:
            root = self._sizes.roots[leaves - 1]
            tree = next((tree for node, tree in self._built if node is root), None)
            if tree is None:
                assert self._problem is not None
                tree = Tree.from_node(root, self._problem, self._classes)
                self._built.append((root, tree))
            self._trees[leaves] = tree
        return self._trees[leaves]

    @property
    def _sizes(self) -> SizedTrees:
        if self._known is None:
            assert self._search is not None
            self._known = self._search()
        return self._known

    def __getstate__(self) -> dict[str, Any]:
        for leaves in range(1, len(self) + 1):
            self.tree(leaves)
        known = SizedTrees((), self.losses, self.proven)
        return {**self.__dict__, "_known": known, "_built": [], "_search": None, "_problem": None}
