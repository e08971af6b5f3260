"""The best trees of every size, from one fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from omtree.model.rule_facts import Reader
from omtree.model.tree import Tree
from omtree.problem.problem import Node


@dataclass(frozen=True, eq=False)
class SizedTrees:
    """The best trees with at most 1, 2, ... leaves.

    Attributes
    ----------
    roots : sequence of Node or None
    losses : sequence of float
        Never increasing; infinite where there is no tree.
    proven : bool
        Whether the loss of every size is proven, not that of the largest tree alone.
    bounds : sequence of float or None
        Where not every size is proven: what no tree of each undercuts, if that is known.
    """

    roots: Sequence[Node | None]
    losses: Sequence[float]
    proven: bool
    bounds: Sequence[float] | None = None

    def changed(self, change: Callable[[Node], Node]) -> SizedTrees:
        """The same with every tree changed."""
        return replace(self, roots=[None if root is None else change(root) for root in self.roots])

    def times(self, unit: float) -> SizedTrees:
        """The same with losses in other units, of which one is so many of those."""
        bounds = None if self.bounds is None else [bound * unit for bound in self.bounds]
        return replace(self, losses=[loss * unit for loss in self.losses], bounds=bounds)


class TreeFamily:
    """The best tree for every number of leaves; what the fit did not need is searched for when it is first asked for.

    Parameters
    ----------
    root : Node
        The tree of the fit: the best one of the largest size, or that for a price of a leaf.
    n_sizes : int
        The largest size.
    search : callable
        Finds the trees of all sizes.
    reader : Reader
        Kept while trees are still to be built; not pickled, since it holds the training rows.
    """

    def __init__(self, root: Node, n_sizes: int, search: Callable[[], SizedTrees], reader: Reader) -> None:
        self.fitted = Tree.from_node(root, reader)
        self._n_sizes = n_sizes
        self._search: Callable[[], SizedTrees] | None = search
        self._reader: Reader | None = reader
        self._known: SizedTrees | None = None
        self._built = [(root, self.fitted)]
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

    @property
    def bounds(self) -> Sequence[float] | None:
        """Where not every one is proven: what no tree of each size undercuts, if that is known."""
        return self._sizes.bounds

    def bound(self, leaves: int, otherwise: float) -> float:
        """What no tree with at most so many leaves undercuts, where more is known than `otherwise`."""
        if self.proven:
            return self.losses[leaves - 1]
        return otherwise if self.bounds is None else max(otherwise, self.bounds[leaves - 1])

    def tree(self, leaves: int) -> Tree:
        """The best tree with at most this many leaves."""
        if leaves not in self._trees:
            # Where constraints allow no tree that small, the smallest that they allow stands for it.
            root = next(root for root in self._sizes.roots[leaves - 1 :] if root is not None)
            tree = next((tree for node, tree in self._built if node is root), None)
            if tree is None:
                assert self._reader is not None
                tree = Tree.from_node(root, self._reader)
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
        known = SizedTrees((), self.losses, self.proven, self.bounds)
        return {**self.__dict__, "_known": known, "_built": [], "_search": None, "_reader": None}


class BuiltFamily(TreeFamily):
    """A family whose trees are all built, as those of a saved model are.

    Parameters
    ----------
    trees : sequence of Tree
        The best tree with at most 1, 2, ... leaves.
    losses : sequence of float
    proven : bool
    bounds : sequence of float or None
    """

    def __init__(
        self,
        trees: Sequence[Tree],
        losses: Sequence[float],
        *,
        proven: bool = True,
        bounds: Sequence[float] | None = None,
    ) -> None:
        self._n_sizes = len(trees)
        self._search, self._reader, self._built = None, None, []
        self._known = SizedTrees((), losses, proven, bounds)
        self._trees = dict(enumerate(trees, start=1))
