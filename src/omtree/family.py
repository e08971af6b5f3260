"""The best trees of every size, from one search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from omtree.problem import Node, Problem
from omtree.tree import Tree


class TreeFamily:
    """The best tree for every number of leaves, each built when it is first asked for.

    Parameters
    ----------
    roots : sequence of Node
        The best tree with at most 1, 2, ... leaves.
    problem : Problem
        Kept while trees are still to be built; not pickled, since it holds the training rows.
    classes : sequence
    proven : bool
        Whether the loss of every size is proven, not that of the largest tree alone.
    """

    def __init__(self, roots: Sequence[Node], problem: Problem, classes: Sequence[Any], *, proven: bool = True) -> None:
        self.proven = proven
        self._roots: Sequence[Node | Tree] = roots
        self._problem: Problem | None = problem
        self._classes = tuple(classes)
        self._trees: dict[int, Tree] = {}

    @classmethod
    def from_trees(cls, trees: Sequence[Tree], *, proven: bool = True) -> Self:
        """A family whose trees, of at most 1, 2, ... leaves, are all built."""
        family = cls.__new__(cls)
        family.proven = proven
        family._roots = trees
        family._problem = None
        family._classes = ()
        family._trees = dict(enumerate(trees, start=1))
        return family

    def __len__(self) -> int:
        return len(self._roots)

    def tree(self, leaves: int) -> Tree:
        """The best tree with at most this many leaves."""
        tree = self._trees.get(leaves)
        if tree is None:
            root = self._roots[leaves - 1]
            same = next((m for m in self._trees if self._roots[m - 1] is root), None)
            assert self._problem is not None
            assert isinstance(root, Node)
            tree = self._trees[same] if same else Tree.from_node(root, self._problem, self._classes)
            self._trees[leaves] = tree
        return tree

    def __getstate__(self) -> dict[str, Any]:
        if self._problem is not None:
            for leaves in range(1, len(self) + 1):
                self.tree(leaves)
        return {**self.__dict__, "_problem": None}
