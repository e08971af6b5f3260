"""The best different trees in order of their loss, and all of them within a margin."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.trees.splits import Splits, unpack
from omtree.engines.trees.task import problem_task
from omtree.problem.forced_parts import with_given_parts
from omtree.problem.judge import make_judge
from omtree.problem.problem import Node, Problem

#: Most trees, or parts of them, that are kept in one list.
ROOM = 2_000_000


@dataclass(frozen=True, eq=False)
class TreeList:
    """Trees in the order of their losses.

    Attributes
    ----------
    losses : array of float
    leaves : array of int
    marks : array of int
        By which a tree is known again.
    reached : float
        Every tree with a lower loss is among them.
    finished : bool
        Whether the time sufficed; if not, they are what was complete by then.
    overflow : bool
        Whether there was no room for all.
    interrupted : bool
    tree : callable
        The `i`-th tree.
    """

    losses: FloatArray
    leaves: npt.NDArray[np.int32]
    marks: npt.NDArray[np.uint64]
    reached: float
    finished: bool
    overflow: bool
    interrupted: bool
    tree: Callable[[int], Node] = field(repr=False)

    def __len__(self) -> int:
        return len(self.losses)


@dataclass(frozen=True, eq=False)
class Nearby(TreeList):
    """What the kernel lists.

    Attributes
    ----------
    exhausted : bool
        Whether there are no other trees.
    """

    exhausted: bool


def nearby(
    problem: Problem,
    known: float,
    *,
    n: int | None = None,
    bound: float = -math.inf,
    cap: float = math.inf,
    trivial: bool = False,
    shapes: bool = True,
    splits: Splits = "multiway",
    max_children: int | None = None,
    cache_mb: float = 512,
    room: int = ROOM,
    deadline: Deadline | None = None,
    use_bounds: bool = True,
    use_cache: bool = True,
) -> Nearby:
    """Find the best trees of a problem, each of another set of leaves.

    Two trees whose leaves have the same rows are one, whatever they test; of those the cheapest is returned. Every leaf
    has the label that costs least among those it may have.

    Parameters
    ----------
    problem : Problem
        Constraints over the whole model are not for this engine.
    known : float
        The loss of some tree; trees are looked for from there on.
    n : int, optional
        How many at most; by default all up to `cap`.
    bound : float
        Less than this no tree costs.
    cap : float
        Most that a tree may cost.
    trivial : bool
        Whether to list trees with a split into leaves that gains nothing: without it they are other trees of the list.
    shapes : bool
        Whether the trees are wanted, and not their losses alone.
    splits, max_children, cache_mb, deadline, use_bounds, use_cache
        As in `omtree.engines.trees.general.solve_general`.
    room : int
        Most trees, or parts of them, that are kept in one list.

    Examples
    --------
    >>> from omtree.data.table import Feature, Table
    >>> from omtree.problem.graph import FeatureGraph
    >>> from omtree.problem.losses import LinearLoss
    >>> size = Feature("size", 0, "ordinal", 3, False, levels=("S", "M", "L"))
    >>> table = Table((size,), np.array([[0, 1, 2]], np.uint8), np.array([[5.0, 0], [2, 3], [0, 4]]), np.arange(3))
    >>> problem = Problem(table, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 1, 3, 1.0)
    >>> found = nearby(problem, 2.0)
    >>> found.losses.tolist(), found.exhausted
    ([2.0, 2.0, 3.0, 7.0], True)
    """
    if problem.model_limits or problem.curved or problem.sums or problem.conflict is not None:
        raise ValueError("Trees in the order of their losses know no constraints over the whole model; remove them.")
    if not problem.graph.levels:
        raise ValueError("No column varies, so that there is one tree only.")
    found = _asked(
        problem,
        Labelled(),
        n=n,
        known=known,
        bound=bound,
        cap=cap,
        trivial=trivial,
        shapes=shapes,
        room=room,
        splits=splits,
        max_children=max_children,
        cache_mb=cache_mb,
        deadline=deadline,
        use_bounds=use_bounds,
        use_cache=use_cache,
    )
    return found[0]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Whether, and which, trees with every label of their leaves are listed.

    Attributes
    ----------
    wanted : bool
    by_conditions : bool
        Whether the same rows by other conditions are another leaf.
    missed : array of float, shape (n_demands, n_strata, n_labels)
        By how much a unit of a stratum in a leaf of a label misses what it could give to a demand.
    slack : array of float, shape (n_demands,)
        How much may be missed in all.
    """

    wanted: bool = False
    by_conditions: bool = False
    missed: FloatArray = field(default_factory=lambda: np.zeros((0, 0, 0)))
    slack: FloatArray = field(default_factory=lambda: np.zeros(0))


def labelled_trees(
    problem: Problem, cap: float, labelled: Labelled, *, trivial: bool = False, room: int = ROOM, **options: Any
) -> tuple[Nearby, npt.NDArray[np.uint64], FloatArray]:
    """All trees that cost at most so much and meet the demands, each with every label that its leaves may have.

    A split into leaves is left out where one leaf in its place does as well in the loss and for all demands, unless
    trivial ones are wanted. Trees of equal leaves and labels are one, but for which leaves are children of one node.

    Returns
    -------
    Nearby
    array of int
        Marks by which sets of leaves are known again, whatever the labels.
    array of float, shape (n_trees, n_demands)
        How much each tree misses.
    """
    return _asked(
        problem,
        replace(labelled, wanted=True),
        n=None,
        known=cap,
        bound=-math.inf,
        cap=cap,
        trivial=trivial,
        shapes=True,
        room=room,
        **options,
    )


def _asked(
    problem: Problem,
    labelled: Labelled,
    *,
    n: int | None,
    known: float,
    bound: float,
    cap: float,
    trivial: bool,
    shapes: bool,
    room: int,
    **options: Any,
) -> tuple[Nearby, npt.NDArray[np.uint64], FloatArray]:
    answer = _native.nearby_trees(
        np.ascontiguousarray(problem.table.codes, dtype=np.uint8),
        make_judge(_with_marks(problem)),
        problem_task(problem, forced=problem.limits.forced, **options),
        most_trees=sys.maxsize * 2 + 1 if n is None else n,
        known=float(known),
        bound=float(bound),
        cap=float(cap),
        trivial=trivial,
        shapes=shapes,
        room=room,
        leaf_price=problem.leaf_price,
        labelled=labelled.wanted,
        by_conditions=labelled.by_conditions,
        n_strata=labelled.missed.shape[1],
        missed=labelled.missed.ravel().tolist(),
        slack=labelled.slack.tolist(),
    )
    losses, leaves, marks, packed, reached, finished, overflow, exhausted, interrupted, row_marks, missed = answer
    tree = partial(_unpacked, packed, problem)
    found = Nearby(losses, leaves, marks, reached, finished, overflow, interrupted, tree, exhausted)
    return found, row_marks, missed.reshape(len(losses), len(labelled.slack)) if labelled.wanted else missed


def _unpacked(packed: _native.PackedTrees, problem: Problem, i: int) -> Node:
    columns = [level.position for level in problem.graph.levels]
    tree = unpack(packed[i], columns, problem.table.features, problem.graph.categories)
    assert tree is not None
    return with_given_parts(tree, problem)


def _with_marks(problem: Problem) -> Problem:
    """The problem with two more measures: numbers drawn for every row, whose sums tell sets of rows apart.

    They have so few digits that their sums have no rounding, and are below one: limits are judged to the precision of
    the largest measure.
    """
    n_rows = problem.table.n_rows
    bits = 52 - max(1, n_rows).bit_length()
    marks = np.random.default_rng(0).integers(0, 2**bits, size=(n_rows, 2)) / 2.0**bits
    limits, measures = problem.limits, problem.limits.measures
    if measures is None:
        return replace(problem, limits=replace(limits, measures=marks))
    linear = tuple(
        replace(each, coefficient=np.vstack([each.coefficient, np.zeros((2, each.coefficient.shape[1]))]))
        for each in limits.linear
    )
    return replace(problem, limits=replace(limits, measures=np.hstack([measures, marks]), linear=linear))
