"""Good trees of any depth, fast: greedy ones, of which any subtree is sought anew as long as that makes them better.

The kernel knows binary tests only: a feature along one order of its codes, cut somewhere. Where trees are multiway,
nested tests of one feature are one node, and take one level.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data.table import CodeArray, Feature
from omtree.deadline import Deadline
from omtree.engines.trees.splits import Splits, family_of, order_of
from omtree.problem.graph import Categories, Condition
from omtree.problem.judge import make_judge
from omtree.problem.losses import adds_up
from omtree.problem.problem import Node, Problem

#: Random changes without a gain after which a search ends.
PATIENCE = 60
#: The same where only time ends it.
ENDLESS = 2**31 - 1
#: Single values of a nominal feature with more codes than this are no tests of their own.
_MAX_SINGLES = 24

_FlatTree = list[tuple[int, int, int, int]]
_Branches = Sequence[tuple[Condition, Node]]


@dataclass(frozen=True)
class Improved:
    """A tree that neighbourhoods led to.

    Attributes
    ----------
    root : Node
    value : float
        Its loss; infinite where limits on rules forbid it.
    ended : bool
        Whether no change helped any more; otherwise work or time ended the search.
    interrupted : bool
    others : tuple of Node
        Trees with other first tests, the better ones first.
    """

    root: Node
    value: float
    ended: bool
    interrupted: bool
    others: tuple[Node, ...] = ()


def applies(problem: Problem) -> bool:
    """Whether the loss is one that neighbourhoods know, of rows that are in memory."""
    in_memory = problem.counts is None and problem.table.n_rows > 0
    return adds_up(problem.loss) and in_memory and len(problem.graph.levels) > 0


def improve(
    problem: Problem,
    *,
    splits: Splits = "multiway",
    max_children: int | None = None,
    starts: Sequence[Node] = (),
    once: bool = False,
    work: float = math.inf,
    variety: int = 0,
    patience: int = PATIENCE,
    leaf_price: float = 0.0,
    seed: int = 0,
    deadline: Deadline | None = None,
) -> Improved:
    """Find a good tree; more work or time never gives a worse one.

    Parameters
    ----------
    problem : Problem
        Limits on rules and constraints over the whole model are not looked at while trees change.
    splits : {"multiway", "binary"}
    max_children : int, optional
        Most children of a node; where there is a limit, all nodes have two.
    starts : sequence of Node
        Trees over the same table; the answer is no worse than any of them that is within the limits.
    once : bool
        Whether a feature may not be tested again below a node of another one.
    work : float
        Most steps of the kernel, some hundred millions a second.
    variety : int
        How many first tests are looked at before that; the best tree of each feature among them is kept.
    patience : int
        Random changes without a gain after which to stop.
    leaf_price : float
        What a leaf adds to the loss.
    seed : int
    deadline : Deadline, optional

    Examples
    --------
    >>> from omtree.data.table import Feature, Table
    >>> from omtree.problem.graph import FeatureGraph
    >>> from omtree.problem.losses import LinearLoss
    >>> size = Feature("size", 0, "ordinal", 3, False, levels=("S", "M", "L"))
    >>> table = Table((size,), np.array([[0, 1, 2]], np.uint8), np.array([[5.0, 0], [1, 4], [6, 0]]), np.arange(3))
    >>> improve(Problem(table, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 1, 3, 1.0)).value
    1.0
    """
    views = _Views.of(problem, splits, max_children)
    flat = [views.flat(start) for start in starts]
    if not views.nested:
        # Where nested tests stay nodes of their own, a node of several children may take more of them than are allowed.
        flat = [tree for tree in flat if _depth(tree) <= problem.max_depth]
    loss = problem.loss
    assert adds_up(loss)
    worth, sums, weighs = loss.gains(problem.table.statistics, problem.table.weight)
    rank_of = np.array(views.rank, dtype=np.uint8).reshape(len(views.rank), 256)
    trees, ended, interrupted = _native.improve_trees(
        np.ascontiguousarray(problem.table.codes, dtype=np.uint8),
        sums,
        np.ascontiguousarray(problem.table.weight, dtype=np.float64),
        features=views.feature,
        n_ranks=(rank_of.max(axis=1).astype(int) + 1).tolist(),
        nests=views.nests,
        rank_of=rank_of,
        worth=worth,
        weighs=weighs,
        max_depth=problem.max_depth,
        max_leaves=problem.max_leaves,
        min_support=float(problem.min_support),
        leaf_price=leaf_price,
        free_nesting=views.nested,
        once=once,
        work=work,
        variety=variety,
        patience=patience,
        seed=seed,
        seconds=math.inf if deadline is None else deadline.remaining,
        starts=flat,
    )
    root, value = weighed(problem, views.tree(trees[0]))
    return Improved(root, value, ended, interrupted, tuple(map(views.tree, trees[1:])))


def _depth(tree: _FlatTree, place: int = 0) -> int:
    """The tests on the longest path of a tree of binary tests."""
    view, _, low, high = tree[place]
    return 0 if view < 0 else 1 + max(_depth(tree, low), _depth(tree, high))


def weighed(problem: Problem, root: Node) -> tuple[Node, float]:
    """The tree with the best labels for its rows, and its loss: infinite where a leaf is no allowed rule."""
    judge, codes = make_judge(problem), problem.table.codes
    limited = not problem.limits.empty

    def label(node: Node, rows: npt.NDArray[np.uint32], above: dict[int, set[int]]) -> tuple[Node, float]:
        if not node.branches:
            loss, best = judge.judge(rows, [(feature, sorted(inside)) for feature, inside in above.items()])
            return Node(best), loss
        total, branches = 0.0, []
        for condition, child in node.branches:
            inside = np.zeros(256, dtype=bool)
            inside[list(condition.codes)] = True
            below = above
            if limited:
                both = above.get(condition.feature, set(condition.codes)).intersection(condition.codes)
                below = {**above, condition.feature: both}
            labelled, loss = label(child, rows[inside[codes[condition.feature, rows]]], below)
            branches.append((condition, labelled))
            total += loss
        return Node(node.label, tuple(branches)), total

    return label(root, np.arange(problem.table.n_rows, dtype=np.uint32), {})


@dataclass(frozen=True, eq=False)
class _Views:
    """The orders of codes along which features are cut.

    Attributes
    ----------
    features : tuple of Feature
        Of the table.
    feature : list of int
        Position of the feature of each view.
    rank : list of array of uint8, shape (256,)
        Place of each code.
    nests : list of bool
        Whether parts of parts along the view are conditions of one node.
    nested : bool
        Whether they are made one node.
    """

    features: tuple[Feature, ...]
    feature: list[int]
    rank: list[CodeArray]
    nests: list[bool]
    nested: bool

    @classmethod
    def of(cls, problem: Problem, splits: Splits, max_children: int | None) -> _Views:
        views = cls(problem.table.features, [], [], [], splits == "multiway" and max_children is None)
        for level in problem.graph.levels:
            for rank, nests in _ranks(level.feature, problem.graph.categories, splits):
                views.feature.append(level.position)
                views.rank.append(rank)
                views.nests.append(nests)
        return views

    def tree(self, nodes: Sequence[tuple[int, int, int, int, int]]) -> Node:
        """The tree of the kernel's nodes; its conditions have no words yet."""
        every = [frozenset(range(feature.n_codes)) for feature in self.features]

        def node(place: int, domains: dict[int, frozenset[int]]) -> Node:
            view, _, _, _, label = nodes[place]
            if view < 0:
                return Node(label)
            column = self.feature[view]
            return Node(
                label,
                tuple(
                    (Condition(column, tuple(sorted(codes))), node(child, {**domains, column: codes}))
                    for codes, child in parts(place, column, domains.get(column, every[column]))
                ),
            )

        def parts(place: int, column: int, domain: frozenset[int]) -> Iterator[tuple[frozenset[int], int]]:
            """The conditions of a node, those of nested tests included, and where they lead to."""
            view, cut, low, high, _ = nodes[place]
            below = domain.intersection(np.flatnonzero(self.rank[view] <= cut).tolist())
            for codes, child in ((below, low), (domain - below, high)):
                inner = nodes[child][0]
                nested = self.nested and inner >= 0 and self.nests[view] and self.nests[inner]
                if nested and self.feature[inner] == column:
                    yield from parts(child, column, codes)
                else:
                    yield codes, child

        return node(0, {})

    def flat(self, root: Node) -> _FlatTree:
        """A tree as binary tests; a node that no tests of the views lead to is a leaf."""
        nodes: _FlatTree = []

        def add(node: Node) -> int:
            return split(node.branches) if node.branches else leaf()

        def leaf() -> int:
            nodes.append((-1, 0, -1, -1))
            return len(nodes) - 1

        def split(branches: _Branches) -> int:
            """Tests that lead to these branches of one node."""
            if len(branches) == 1:
                return add(branches[0][1])
            place = leaf()
            test = self._test(branches)
            if test is not None:
                view, cut, low, high = test
                nodes[place] = (view, cut, split(low), split(high))
            return place

        add(root)
        return nodes

    def _test(self, branches: _Branches) -> tuple[int, int, _Branches, _Branches] | None:
        """A test that keeps each of these branches whole, with about as many of them on either side."""
        tests: list[tuple[int, int, int, list[int]]] = []
        for view in (v for v, feature in enumerate(self.feature) if feature == branches[0][0].feature):
            ranks = [self.rank[view][list(condition.codes)] for condition, _ in branches]
            order = sorted(range(len(branches)), key=lambda i: int(ranks[i].min()))
            for size in range(1, len(order)):
                cut = max(int(ranks[i].max()) for i in order[:size])
                if cut < int(ranks[order[size]].min()):
                    tests.append((abs(2 * size - len(order)), view, cut, order))
        if not tests:
            return None
        _, view, cut, order = min(tests, key=lambda test: test[0])
        low = [branches[i] for i in order if int(self.rank[view][branches[i][0].codes[0]]) <= cut]
        return view, cut, low, [branches[i] for i in order if int(self.rank[view][branches[i][0].codes[0]]) > cut]


def _ranks(feature: Feature, categories: Categories, splits: Splits) -> list[tuple[CodeArray, bool]]:
    """The ways to look at a feature: the rank of each code, and whether parts of parts are conditions of one node."""
    n_codes, family = feature.n_codes, family_of(feature, categories)
    order = order_of(feature, categories) or range(n_codes)
    if family == "interval":
        if not feature.has_missing or n_codes == 2:
            return [(_rank(range(n_codes)), True)]
        values, missing = range(feature.n_values), feature.n_values
        return [(_rank([missing, *values]), True), (_rank([*values, missing]), True)]
    if family == "subset":
        return [(half, True) for half in _halves(n_codes)]
    if family == "run":
        singles = range(n_codes) if splits == "binary" and n_codes <= _MAX_SINGLES else ()
        return [(_rank(order), True), *((_apart((code,)), False) for code in singles)]
    if family == "single":
        return [(_apart((code,)), False) for code in range(n_codes)]
    # Single values only: a split has a branch for each, which no tests of two branches lead to.
    return []


def _rank(order: Sequence[int]) -> CodeArray:
    """Codes in an order; those that are no codes come last."""
    rank = np.full(256, len(order) - 1, dtype=np.uint8)
    rank[list(order)] = np.arange(len(order))
    return rank


@lru_cache
def _halves(n_codes: int) -> tuple[CodeArray, ...]:
    """Every way to part so many codes in two."""
    sizes = range(1, n_codes)
    subsets = (subset for size in sizes for subset in itertools.combinations(range(n_codes), size) if 0 in subset)
    return tuple(_apart(subset) for subset in subsets)


def _apart(codes: Sequence[int]) -> CodeArray:
    """Some codes before all others."""
    rank = np.ones(256, dtype=np.uint8)
    rank[list(codes)] = 0
    return rank
