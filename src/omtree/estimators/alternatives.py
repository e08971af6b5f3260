"""The set of good trees: the best one, and all those that are nearly as good."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from omtree.data.table import CodeArray, FloatArray
from omtree.data.wording import number
from omtree.deadline import Deadline
from omtree.engines.standard_units import in_units
from omtree.engines.trees.nearby import Nearby, nearby
from omtree.fit.workbench import Workbench
from omtree.model.code_shares import code_shares
from omtree.model.tree import Tree
from omtree.objectives import Score
from omtree.problem.problem import Node

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase

#: So many are looked for at first, and so many times more whenever these do not suffice.
FIRST, MORE = 64, 8
#: Losses that differ by less than this part of them are equal.
SAME = 1e-9


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


@dataclass(frozen=True)
class ImportanceRange:
    """The losses of the good trees that test a column, and of those that do not; not a number where there are none.

    Attributes
    ----------
    least_with, most_with, least_without, most_without : float
    """

    least_with: float
    most_with: float
    least_without: float
    most_without: float


@dataclass(frozen=True)
class _Listed:
    """A tree of the list."""

    loss: float
    root: Callable[[], Node]


class Alternatives(Sequence["OptimalTreeBase"]):
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
        self._model = model
        self._bench = bench
        self._n = n
        self._standard = in_units(bench.problem)
        self._cap = model.certificate_.value + margin
        self._trivial = trivial
        self._time_limit = time_limit
        self._deadline: Deadline | None = None
        self._found: Nearby | None = None
        # Its conditions mean something over its own thresholds only.
        same = tuple(model.rules_.features) == tuple(bench.problem.table.features)
        self._own = _node_of(model.tree_) if same else None
        self._own_listed = False
        self._asked = 0
        self._all = self._cut_short = False
        self._order: list[_Listed] = []
        self._seen: set[int] = set()
        self._built: dict[int, OptimalTreeBase] = {}
        if model.certificate_.status == "optimal" and self._own is not None:
            # No search is needed for what is known to be the best.
            self._list_own()

    def _list_own(self) -> None:
        own = self._own
        if own is not None:
            self._order.append(_Listed(self._model.certificate_.value, lambda: own))
            self._own_listed = True

    def _search(self, n: int | None, *, shapes: bool = True) -> Nearby:
        if self._deadline is None:
            self._deadline = Deadline(self._time_limit)
        plan, unit = self._bench.plan, self._standard.loss
        return nearby(
            self._standard.problem,
            self._model.certificate_.value / unit,
            n=n,
            bound=self._model.certificate_.bound / unit,
            # What equals the margin but for rounding is within.
            cap=self._cap / unit * (1 + SAME) if math.isfinite(self._cap) else math.inf,
            trivial=self._trivial,
            shapes=shapes,
            splits=plan.splits,
            max_children=plan.max_children,
            cache_mb=plan.cache_mb,
            deadline=self._deadline,
        )

    def _know(self, n: int | None) -> None:
        """Find at least so many, or all that there are."""
        while not self._ended and (n is None or len(self._order) < n):
            asked = FIRST if self._asked == 0 else MORE * self._asked
            if self._n is not None and (n is None or asked > self._n):
                asked = self._n
            everything = self._n is None and n is None
            found = self._search(None if everything else asked)
            if found.interrupted:
                raise KeyboardInterrupt
            self._asked = asked
            if self._found is None or found.finished:
                self._found = found
                self._take(found)
            self._cut_short = not found.finished or found.overflow
            self._all = not self._cut_short and (everything or len(found) < asked)

    def _take(self, found: Nearby) -> None:
        """List what is not there yet."""
        for i, mark in enumerate(found.marks.tolist()):
            if mark in self._seen or (self._n is not None and len(self._order) >= self._n):
                continue
            self._seen.add(mark)
            loss = float(found.losses[i]) * self._standard.loss
            if not (self._own_listed and self._is_own(loss, found, i)):
                self._order.append(_Listed(loss, partial(found.tree, i)))
        if not self._order:
            self._list_own()

    def _is_own(self, loss: float, found: Nearby, i: int) -> bool:
        """Whether a tree is the model's own: one of its loss and its leaves."""
        certificate, codes = self._model.certificate_, self._bench.problem.table.codes
        tied = abs(loss - certificate.value) <= SAME * max(1.0, abs(loss))
        if self._own is None or not tied or found.leaves[i] != certificate.leaves:
            return False
        return _same_leaves(_leaf_of_rows(found.tree(i), codes), _leaf_of_rows(self._own, codes))

    @property
    def _ended(self) -> bool:
        return self._all or self._cut_short or (self._n is not None and len(self._order) >= self._n)

    @property
    def losses(self) -> FloatArray:
        """The loss of each, in order."""
        self._know(None)
        return np.array([listed.loss for listed in self._order])

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
        self._know(None)
        return self._all or (self._n is not None and len(self._order) >= self._n)

    @property
    def reached(self) -> float:
        """Every tree with a lower loss is there."""
        self._know(None)
        known = self._model.certificate_.bound
        return known if self._found is None else max(known, self._found.reached * self._standard.loss)

    def __len__(self) -> int:
        self._know(None)
        return len(self._order)

    def __iter__(self) -> Iterator[OptimalTreeBase]:
        place = 0
        while True:
            self._know(place + 1)
            if place >= len(self._order):
                return
            yield self._model_at(place)
            place += 1

    @overload
    def __getitem__(self, place: int) -> OptimalTreeBase: ...
    @overload
    def __getitem__(self, place: slice) -> list[OptimalTreeBase]: ...
    def __getitem__(self, place: int | slice) -> OptimalTreeBase | list[OptimalTreeBase]:
        self._know(None)
        if isinstance(place, slice):
            return [self._model_at(i) for i in range(*place.indices(len(self._order)))]
        return self._model_at(range(len(self._order))[place])

    def root(self, place: int) -> Node:
        """The tree at a place as the search knows it, without the cost of a model."""
        self._know(place + 1)
        return self._order[place].root()

    def _model_at(self, place: int) -> OptimalTreeBase:
        if place not in self._built:
            listed = self._order[place]
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
        if self._all:
            return f"{count} of {span}; it is proven that there are no others within the limits."
        return f"{count} of {span}; it is proven that no other has less than {number(self.reached)}."

    def __repr__(self) -> str:
        return f"<Alternatives: {self}>"

    # --- what the set tells -------------------------------------------------------------------------------------------

    def _tested(self) -> list[frozenset[str]]:
        """The columns that each tree tests."""
        features = self._bench.problem.table.features
        return [frozenset(features[f].name for f in _features_of(self.root(place))) for place in range(len(self))]

    def roots(self) -> dict[str, float]:
        """The share of the trees that test each column first, the most frequent first."""
        features = self._bench.problem.table.features
        first = [self.root(place).branches for place in range(len(self))]
        counted = Counter(features[branches[0][0].feature].name for branches in first if branches)
        return {name: times / len(self) for name, times in counted.most_common()}

    def importance_range(self) -> dict[str, ImportanceRange]:
        """For each column the least and the most loss of the trees that test it, and of those that do not."""
        tested, losses = self._tested(), self.losses
        found = {}
        for feature in self._bench.problem.table.features:
            uses = np.array([feature.name in names for names in tested], dtype=bool)
            found[feature.name] = ImportanceRange(*_range(losses[uses]), *_range(losses[~uses]))
        return found

    def disagreement(self, X: Any) -> FloatArray:
        """For each row the share of the trees that answer otherwise than most do; of numbers, how they are spread.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)

        Returns
        -------
        array of float, shape (n_samples,)
            For numbers the standard deviation of the answers.
        """
        answers = np.stack([model.predict(X) for model in self])
        if not self._model.rules_.classes:
            return np.asarray(answers.std(axis=0))
        _, places = np.unique(answers, return_inverse=True)
        places = places.reshape(answers.shape)
        most = np.max([(places == place).sum(axis=0) for place in range(places.max() + 1)], axis=0)
        return np.asarray(1.0 - most / len(self))

    def facts(self) -> list[dict[str, Any]]:
        """What there is to compare of each tree: place, rank, loss, leaves, depth, columns, cost of tests."""
        lines = []
        for place, (model, rank) in enumerate(zip(self, self.ranks, strict=True), start=1):
            tree = model.tree_
            assert tree is not None
            features = model.rules_.features
            lines.append(
                {
                    "place": place,
                    "rank": rank,
                    "loss": model.certificate_.value,
                    "leaves": tree.n_leaves,
                    "depth": tree.depth,
                    "columns": sorted({features[n.feature].name for n in tree.nodes if n.feature is not None}),
                    "cost": sum(rule.cost * rule.support for rule in model.rules_) / model.rules_.support,
                }
            )
        return lines

    def gallery(self) -> str:
        """The trees as small pictures in a piece of HTML that needs nothing else; they can be sorted."""
        from omtree.report.gallery import gallery

        return gallery(self)

    def _repr_html_(self) -> str:
        return self.gallery()

    def count_all(self) -> TreeCount:
        """How many trees there are, without looking at them."""
        found = self._search(self._n, shapes=False)
        if found.interrupted:
            raise KeyboardInterrupt
        return TreeCount(len(found), found.finished and not found.overflow)


def with_tree(model: OptimalTreeBase, bench: Workbench, root: Node, value: float) -> OptimalTreeBase:
    """A copy of a model with another tree of the same problem."""
    tree = Tree.from_node(root, bench.reader)
    certificate = model.certificate_
    other = copy.copy(model)
    for name in ("expectation_", "_family", "_expected_by_size", "cv_results_", "_prices", "_wishes"):
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
    if problem.model_limits or problem.curved or problem.sums or problem.conflict is not None:
        raise ValueError(
            "alternatives takes no constraints over the whole model, which couple leaves; fit without them, and "
            "audit the trees that are found."
        )
    if problem.leaf_price > 0:
        raise ValueError("alternatives knows no price of a leaf; fit with max_leaves in place of leaf_price.")
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
            visit(child, rows[np.isin(codes[condition.feature, rows], condition.codes)])

    visit(root, np.arange(codes.shape[1]))
    return leaf


def _same_leaves(a: npt.NDArray[np.intp], b: npt.NDArray[np.intp]) -> bool:
    """Whether two numberings of rows are the same but for the numbers."""
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))


def _features_of(node: Node) -> set[int]:
    found = {condition.feature for condition, _ in node.branches}
    return found.union(*(_features_of(child) for _, child in node.branches))


def _range(losses: FloatArray) -> tuple[float, float]:
    return (float(losses.min()), float(losses.max())) if len(losses) else (math.nan, math.nan)
