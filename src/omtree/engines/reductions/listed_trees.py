"""Trees under sums over leaves of any number of each: fronts of what subtrees can add up to, put together upwards.

A sum asks a Python function about each leaf, so nothing is known of it before. For every node that a tree can have, all
subtrees are compared by their loss, their leaves and what they add to each sum; one that is no better than another in
any of them is dropped. Exact, and for small problems.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.reductions.labelled_leaves import Codes, LabelledLeaves, Rows, Tested
from omtree.engines.trees.splits import Splits, family_of, order_of, widen
from omtree.problem.graph import Condition
from omtree.problem.problem import Node, Problem
from omtree.problem.rule_sums import ROUNDING, too_many_rules

#: Most nodes that trees can have, by what leads to them and the depth left, and most subtrees kept for them all.
MOST_NODES = 30_000
MOST_SUBTREES = 1_000_000
#: Most sums of two subtrees that are compared at once.
MOST_PAIRS = 4_000_000


@dataclass(frozen=True, eq=False)
class SummedTree:
    """The best tree that keeps the limits; None where there is none, or none was found in time."""

    root: Node | None
    value: float
    complete: bool


def solve_summed(
    problem: Problem, *, splits: Splits = "multiway", max_children: int | None = None, deadline: Deadline | None = None
) -> SummedTree:
    """Find the best tree of a problem with `sums`, and with `rows` where there are any.

    The trees are those of `omtree.engines.trees.solve_general`.

    Raises
    ------
    ValueError
        When there are too many trees for this.
    """
    fronts = _Fronts(problem, 2 if splits == "binary" else max_children, deadline or Deadline())
    try:
        front = fronts.at({}, np.flatnonzero(problem.table.weight > 0).astype(np.uint32), problem.max_depth)
    except _OutOfTime:
        return SummedTree(None, math.inf, complete=False)
    limits = problem.at_least
    met = (-front.vectors[:, 2:] >= limits - ROUNDING * np.maximum(1.0, np.abs(limits))).all(axis=1)
    if not met.any():
        return SummedTree(None, math.inf, complete=True)
    best = int(np.flatnonzero(met)[front.vectors[met, 0].argmin()])
    return SummedTree(fronts.tree(front, best), float(front.vectors[best, 0]), complete=True)


class _OutOfTime(Exception):
    pass


@dataclass(frozen=True, eq=False)
class _Front:
    """Subtrees none of which is better than another.

    Attributes
    ----------
    vectors : array, shape (n, 2 + n_sums)
        Loss, leaves, and what is added to the sums with the sign changed: less is better in all.
    plans : list
        Label of a leaf; or a feature and, for each child, its codes, front and place in it.
    """

    vectors: FloatArray
    plans: list[Any]


class _Fronts:
    def __init__(self, problem: Problem, max_children: int | None, deadline: Deadline) -> None:
        self.problem = problem
        self.max_children = max_children
        self.deadline = deadline
        self._labelled = LabelledLeaves(problem)
        self._nodes: dict[Any, _Front] = {}
        self._leaves: dict[Any, _Front] = {}
        self._kept = 0
        self._width = 2 + len(problem.model_limits) + len(problem.sums)

    def at(self, tested: Tested, rows: Rows, depth: int) -> _Front:
        """All subtrees worth having below these tests."""
        key = (self._labelled.key(tested), depth)
        if key not in self._nodes:
            if self.deadline.expired:
                raise _OutOfTime
            if len(self._nodes) >= MOST_NODES or self._kept > MOST_SUBTREES:
                raise too_many_rules(self.problem)
            found = [self._leaf(tested, rows)]
            # Every split above has another leaf beside this node.
            room = self.problem.max_leaves - (self.problem.max_depth - depth)
            if depth > 0 and room > 1:
                shape = self.problem.limits.shape
                levels = [level for level in self.problem.graph if shape.may_follow(tested, level.position)]
                found += [front for level in levels for front in self._split(level, tested, rows, depth)]
            self._nodes[key] = best = _best([front for front in found if len(front.plans)], self._width)
            self._kept += len(best.plans)
        return self._nodes[key]

    def _leaf(self, tested: Tested, rows: Rows) -> _Front:
        key = self._labelled.key(tested)
        if key not in self._leaves:
            found = self._labelled.of(tested, rows)
            vectors = [[leaf.loss, 1.0, *(-number for number in leaf.sums)] for leaf in found]
            numbers = np.array(vectors).reshape(len(found), self._width)
            self._leaves[key] = _Front(numbers, [leaf.label for leaf in found])
        return self._leaves[key]

    def _split(self, level: Any, tested: Tested, rows: Rows, depth: int) -> Iterator[_Front]:
        """What splits of one feature give."""
        position, feature, categories = level.position, level.feature, level.categories
        here = self.problem.table.codes[position, rows]
        present = sorted({int(code) for code in here})
        if len(present) < 2:
            return
        domain = tested.get(position, tuple(range(feature.n_codes)))
        room = self.problem.max_leaves - (self.problem.max_depth - depth)

        def child(codes: Codes) -> _Front:
            inside = rows[np.isin(here, codes)]
            return self.at({**tested, position: codes}, inside, depth - 1)

        start = _Front(np.zeros((1, self._width)), [()])
        family = family_of(feature, categories)
        order = [code for code in (order_of(feature, categories) or range(feature.n_codes)) if code in present]
        missing = feature.n_values if feature.ordered and feature.has_missing and feature.n_codes > 2 else None
        line = [code for code in order if code != missing]
        if missing not in present:
            missing = None
        # States are the codes placed so far, with the number of children; each step adds a child.
        states: dict[tuple[frozenset[int], int], _Front] = {(frozenset(), 0): start}
        for size in range(len(present)):
            for state in [state for state in states if len(state[0]) == size]:
                done, children = state
                if self.max_children is not None and children >= self.max_children:
                    continue
                for part in _next_parts(family, line, missing, done):
                    if len(part) == len(present):
                        continue
                    wide = _wide(feature, categories, domain, line, missing, part)
                    counted = children + 1 if self.max_children is not None else 0
                    after = (done | set(part), counted)
                    longer = self._joined(states[state], child(wide), wide, room - (len(after[0]) < len(present)))
                    if len(longer.plans):
                        states[after] = _best([*([states[after]] if after in states else []), longer], self._width)
        ends = [front for (done, _), front in states.items() if len(done) == len(present)]
        if family in ("run", "single"):
            for code in present:
                alone, rest = (code,), tuple(other for other in domain if other != code)
                first = self._joined(start, child(alone), alone, room - 1)
                if len(first.plans):
                    ends.append(self._joined(first, child(rest), rest, room))
        for end in ends:
            yield _Front(end.vectors, [(position, plan) for plan in end.plans])

    def _joined(self, front: _Front, below: _Front, codes: Codes, room: int) -> _Front:
        """A subtree of the child beside each choice for the children before."""
        n, m = len(front.plans), len(below.plans)
        if n * m > MOST_PAIRS:
            raise too_many_rules(self.problem)
        if self.deadline.expired:
            raise _OutOfTime
        vectors = (front.vectors[:, None, :] + below.vectors[None, :, :]).reshape(n * m, self._width)
        fit = np.flatnonzero(vectors[:, 1] <= room)
        kept = fit[_undominated(vectors[fit])]
        return _Front(vectors[kept], [(*front.plans[i // m], (codes, below, int(i % m))) for i in kept])

    def tree(self, front: _Front, place: int) -> Node:
        """The subtree at one place of a front."""
        plan = front.plans[place]
        if not isinstance(plan, tuple):
            return Node(plan)
        position, children = plan
        feature = self.problem.table.features[position]
        branches = tuple(
            (Condition(position, codes, feature.describe(codes)), self.tree(below, i)) for codes, below, i in children
        )
        # Under sums a node has no label of its own as a leaf; nothing reads this one.
        return Node(branches[0][1].label, branches)


def _next_parts(family: str, line: Sequence[int], missing: int | None, done: frozenset[int]) -> Iterator[Codes]:
    """The codes that the next child can have, so that every way to share out the codes is met once."""
    left = [code for code in line if code not in done]
    if family == "single":
        return
    if family == "value":
        yield from [(code,) for code in left[:1]]
    elif family == "subset":
        for chosen in range(1 << max(0, len(left) - 1)):
            yield (left[0], *(code for i, code in enumerate(left[1:]) if chosen >> i & 1))
    else:
        if missing is not None and not done:
            yield (missing,)
        for end in range(1, len(left) + 1):
            yield tuple(left[:end])
            if missing is not None and missing not in done:
                yield (*left[:end], missing)


def _wide(feature: Any, categories: Any, domain: Codes, line: Sequence[int], missing: int | None, part: Codes) -> Codes:
    """The part with the codes that no row of the node has, as in the trees of the kernel."""
    if family_of(feature, categories) not in ("interval", "run"):
        return tuple(sorted(part))
    inside = [code for code in line if code in part]
    if not inside:
        return part
    first, last = line.index(inside[0]), line.index(inside[-1])
    parts = [tuple(line[:first]), part, tuple(line[last + 1 :])]
    if missing is not None and missing not in part:
        parts.append((missing,))
    parts = [other for other in parts if other]
    return widen(feature, categories, domain, parts, False)[parts.index(part)]


def _best(fronts: Sequence[_Front], width: int) -> _Front:
    """The best of several fronts together."""
    if not fronts:
        return _Front(np.empty((0, width)), [])
    vectors = np.concatenate([front.vectors for front in fronts])
    plans = [plan for front in fronts for plan in front.plans]
    kept = _undominated(vectors)
    return _Front(vectors[kept], [plans[i] for i in kept])


def _undominated(vectors: FloatArray) -> npt.NDArray[np.intp]:
    """Places of vectors that no other one is at most as large as everywhere; of equal ones the first."""
    if len(vectors) < 2:
        return np.arange(len(vectors))
    rounding = 1e-12 * np.maximum(1.0, np.abs(vectors).max(axis=0))
    left = np.lexsort(vectors.T[::-1])
    kept = []
    while len(left):
        first = left[0]
        kept.append(first)
        left = left[1:]
        left = left[(vectors[left] < vectors[first] - rounding).any(axis=1)]
    return np.array(kept, dtype=np.intp)
