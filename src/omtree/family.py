"""The best trees of every size, from one search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omtree.problem import Node
from omtree.reading import Reader
from omtree.tree import Tree


class TreeFamily:
    """The best tree for every number of leaves, each built when it is first asked for.

    Parameters
    ----------
    roots : sequence of Node
        The best tree with at most 1, 2, ... leaves.
    reader : Reader
        Kept while trees are still to be built; not pickled, since it holds the training rows.
    proven : bool
        Whether the loss of every size is proven, not that of the largest tree alone.
    """

    def __init__(self, roots: Sequence[Node], reader: Reader, *, proven: bool = True) -> None:
        self.proven = proven
        self._roots = roots
        self._reader: Reader | None = reader
        self._trees: dict[int, Tree] = {}

    def __len__(self) -> int:
        return len(self._roots)

    def tree(self, leaves: int) -> Tree:
        """The best tree with at most this many leaves."""
        tree = self._trees.get(leaves)
        if tree is None:
            root = self._roots[leaves - 1]
            same = next((m for m in self._trees if self._roots[m - 1] is root), None)
            assert self._reader is not None
            tree = self._trees[same] if same else Tree.from_node(root, self._reader)
            self._trees[leaves] = tree
        return tree

    def __getstate__(self) -> dict[str, Any]:
        if self._reader is not None:
            for leaves in range(1, len(self) + 1):
                self.tree(leaves)
        return {**self.__dict__, "_reader": None}


class BuiltFamily(TreeFamily):
    """A family whose trees are all built, as those of a saved model are.

    Parameters
    ----------
    trees : sequence of Tree
        The best tree with at most 1, 2, ... leaves.
    proven : bool
    """

    def __init__(self, trees: Sequence[Tree], *, proven: bool = True) -> None:
        self.proven = proven
        self._built = tuple(trees)

    def __len__(self) -> int:
        return len(self._built)

    def tree(self, leaves: int) -> Tree:
        """The best tree with at most this many leaves."""
        return self._built[leaves - 1]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__
