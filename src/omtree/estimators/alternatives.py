"""The set of good trees: the best one, and all those that are nearly as good, as fitted models."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from omtree.data.table import Feature, FloatArray
from omtree.data.wording import number
from omtree.estimators.good_trees import SAME, GoodTrees
from omtree.estimators.tree_set import TreeSet
from omtree.fit.workbench import Workbench
from omtree.model.code_shares import code_shares
from omtree.model.tree import Tree
from omtree.objectives import Score
from omtree.problem.problem import Node

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase


@dataclass(frozen=True)
class TreeCount:
    """How many different trees there are within a margin.

    Attributes
    ----------
    trees : int
    exact : bool
        False where there are at least so many: time or room did not suffice to find all.

    Examples
    --------
    >>> print(TreeCount(1200, True)), print(TreeCount(2000000, False))
    1,200 trees
    at least 2,000,000 trees
    (None, None)
    """

    trees: int
    exact: bool

    def __int__(self) -> int:
        return self.trees

    def __str__(self) -> str:
        return f"{'' if self.exact else 'at least '}{self.trees:,} tree{'' if self.trees == 1 else 's'}"


class Alternatives(TreeSet):
    """The best different trees of a fit as fitted models, in the order of their loss; found when they are asked for.

    Two trees are different where their leaves have other training rows. What `OptimalTreeClassifier.alternatives`
    gives; `len` and indices look for all of them, a loop for as many as it takes.

    Attributes
    ----------
    losses : array of float
        Of all of them.
    ranks : array of int
        Places by loss, from 1; trees of equal loss share one.
    complete : bool
        Whether all that was asked for is there.
    reached : float
        Every tree with a lower loss is there.
    """

    def __init__(self, model: OptimalTreeBase, bench: Workbench, n: int | None, margin: float, **options: Any) -> None:
        self._model = model
        self._bench = bench
        self._n = n
        self._good = GoodTrees(model, bench, n, margin, **options)
        self._built: dict[int, OptimalTreeBase] = {}

    @property
    def losses(self) -> FloatArray:
        """The loss of each, in order."""
        self._good.know(None)
        return np.array([listed.loss for listed in self._good.order])

    @property
    def ranks(self) -> list[int]:
        """Places by loss, from 1; trees of equal loss share one."""
        ranks: list[int] = []
        losses = self.losses.tolist()
        for place, loss in enumerate(losses):
            tied = place > 0 and loss - losses[place - 1] <= SAME * max(1.0, abs(loss))
            ranks.append(ranks[-1] if tied else place + 1)
        return ranks

    @property
    def complete(self) -> bool:
        """Whether all that was asked for is there."""
        self._good.know(None)
        return self._good.complete

    @property
    def reached(self) -> float:
        """Every tree with a lower loss is there."""
        self._good.know(None)
        return self._good.reached

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns that they may test."""
        return tuple(self._bench.problem.table.features)

    def __len__(self) -> int:
        self._good.know(None)
        return len(self._good.order)

    def __iter__(self) -> Iterator[OptimalTreeBase]:
        place = 0
        while True:
            self._good.know(place + 1)
            if place >= len(self._good.order):
                return
            yield self._model_at(place)
            place += 1

    @overload
    def __getitem__(self, place: int) -> OptimalTreeBase: ...
    @overload
    def __getitem__(self, place: slice) -> list[OptimalTreeBase]: ...
    def __getitem__(self, place: int | slice) -> OptimalTreeBase | list[OptimalTreeBase]:
        self._good.know(None)
        if isinstance(place, slice):
            return [self._model_at(i) for i in range(*place.indices(len(self._good.order)))]
        return self._model_at(range(len(self._good.order))[place])

    def root(self, place: int) -> Node:
        """The tree at a place as the search knows it, without the cost of a model."""
        self._good.know(place + 1)
        return self._good.order[place].root()

    def _model_at(self, place: int) -> OptimalTreeBase:
        if place not in self._built:
            listed = self._good.order[place]
            self._built[place] = with_tree(self._model, self._bench, listed.root(), listed.loss)
        return self._built[place]

    def __str__(self) -> str:
        count = f"{len(self):,} tree{'' if len(self) == 1 else 's'}"
        if not len(self):
            return "No tree is known to be within the limits: the time was over before all of the best could be."
        certificate = self._model.certificate_
        first, last = number(self.losses[0]), number(self.losses[-1])
        span = f"{first} to {last} {certificate.unit}"
        if first == last:
            span = f"{first} {certificate.unit_of(self.losses[0])}"
        if self._good.every:
            return f"{count} of {span}; it is proven that there are no others within the limits."
        return f"{count} of {span}; it is proven that no other has less than {number(self.reached)}."

    def __repr__(self) -> str:
        return f"<Alternatives: {self}>"

    def gallery(self, X: Any = None, group: Any = None) -> str:
        """The trees as small pictures in a piece of HTML that needs nothing else; they can be sorted.

        Parameters
        ----------
        X, group : array or data frame, and array, optional
            With rows and the group of each, the trees can be sorted by how much they differ between groups; without,
            by what a constraint of the fit on groups measures.
        """
        from omtree.report.gallery import gallery

        return gallery(self, None if group is None else self.gaps(X, group).tolist())

    def _repr_html_(self) -> str:
        return self.gallery()

    def count_all(self) -> TreeCount:
        """How many trees there are, without looking at them."""
        found = self._good.search(self._n, shapes=False)
        return TreeCount(len(found), found.finished and not found.overflow)


def with_tree(model: OptimalTreeBase, bench: Workbench, root: Node, value: float) -> OptimalTreeBase:
    """A copy of a model with another tree of the same problem."""
    tree = Tree.from_node(root, bench.reader)
    certificate = model.certificate_
    other = copy.copy(model)
    for name in ("expectation_", "_family", "_expected_by_size", "cv_results_", "leaf_price_", "_prices", "_wishes"):
        other.__dict__.pop(name, None)
    other.tree_, other.rules_, other.graph_, other._bench = tree, tree.rules, bench.problem.graph, bench
    tested = {node.feature for node in tree.nodes if node.feature is not None}
    other._code_shares = code_shares(bench.problem.table, sorted(tested))
    proven = certificate.status == "optimal"
    best = value <= certificate.bound + SAME * max(1.0, abs(value))
    claimed = replace(
        certificate,
        status="optimal" if best and proven else "alternative",
        value=certificate.bound if best and proven else value,
        leaves=tree.n_leaves,
        depth=tree.depth,
    )
    other.certificate_ = bench.certified(tree, claimed)
    return other


def alternatives_of(
    model: OptimalTreeBase, bench: Workbench, n: int | None, within: float | None, **options: Any
) -> Alternatives:
    """The alternatives of a model within a margin in the terms of people."""
    problem = bench.problem
    if isinstance(bench.objective, Score):
        raise ValueError("alternatives needs a loss that adds up over leaves; a score of the whole model does not.")
    if not problem.limited:
        raise ValueError("alternatives needs a limit on the depth or the leaves; fit with max_depth or max_leaves.")
    if n is not None and (not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1):
        raise ValueError(f"n={n!r} is not possible; use a whole number of at least 1, or None for all within.")
    if within is not None and not (isinstance(within, (int, float, np.number)) and within >= 0):
        raise ValueError(f"within={within!r} is not possible; use a number of at least 0, or None for no margin.")
    if n is None and within is None:
        raise ValueError("n and within are both None, which asks for all trees there are; give one of them a number.")
    bench = bench.posed()
    return Alternatives(model, bench, n, math.inf if within is None else margin_of(bench, within), **options)


def margin_of(bench: Workbench, within: float) -> float:
    """What a margin is in units of the loss: per row for classes, in parts of the loss of one answer for numbers."""
    if not bench.training.target.is_number:
        return float(within) * bench.training.total
    reader = bench.reader
    everything = np.zeros(bench.problem.table.n_rows, dtype=np.intp)
    return float(within) * reader.facts(everything, [0])[0].loss
