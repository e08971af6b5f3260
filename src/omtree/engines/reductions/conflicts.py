"""Trees whose predictions only rise, or only fall, along features: branch and bound on what points are predicted.

The best tree is sought without that demand. Where two of its leaves predict the wrong way round, there is a point, all
features but the monotone one given, and a value of that one, so that the tree predicts more than a number somewhere
below the value and no more than it somewhere above. No allowed tree does both: one branch forbids leaves that do the
first, the other leaves that do the second. Every allowed tree is in one of the branches, and the tree found in none.
A point that only the nodes' defaults lead to is imagined as a row first: the search then says where it goes.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from omtree.constraints.monotone import Box, Monotony, boxes_of
from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.reductions.imagined_rows import Point, with_rows
from omtree.model.certificate import Status
from omtree.problem.graph import Condition
from omtree.problem.limits import Predicate
from omtree.problem.problem import Path, Problem

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Attempt(Generic[Answer]):
    """The best tree found for a problem without conflicts; no leaves where there is none.

    `regions` are the codes that lead to each leaf, those that its nodes never saw included.
    """

    answer: Answer
    leaves: Sequence[Path]
    regions: Sequence[Box]
    value: float
    bound: float
    status: Status


@dataclass(frozen=True)
class Agreed(Generic[Answer]):
    """The best tree found without conflicts; None where there is none, or (by the status) none was found."""

    answer: Answer | None
    value: float
    bound: float
    status: Status
    solves: int


@dataclass(frozen=True)
class Forbidden:
    """Leaves that hold for one of some points and predict on the wrong side of a number.

    Attributes
    ----------
    point : tuple of int
        A code for every feature; that of the monotone one does not count.
    feature, direction : int
        The monotone feature.
    codes : frozenset of int
        Its codes.
    number : float
    above : bool
        Whether predictions above the number, along the direction, are forbidden; or all others.
    """

    point: tuple[int, ...]
    feature: int
    direction: int
    codes: frozenset[int]
    number: float
    above: bool

    def wrong(self, prediction: float) -> bool:
        """Whether it is on the wrong side."""
        return ((prediction - self.number) * self.direction > 0) == self.above

    def holds(self, conditions: Sequence[tuple[int, tuple[int, ...]]]) -> bool:
        """Whether a leaf with these conditions holds for one of the points."""
        return all(
            not self.codes.isdisjoint(codes) if feature == self.feature else self.point[feature] in codes
            for feature, codes in conditions
        )


def solve_conflicts(
    problem: Problem,
    solve: Callable[[Problem], Attempt[Answer]],
    deadline: Deadline,
    gap: float = 0.0,
    relabel: Callable[[Attempt[Answer], Sequence[int]], Attempt[Answer]] | None = None,
) -> Agreed[Answer]:
    """The best tree without two leaves in conflict.

    Parameters
    ----------
    problem : Problem
        With a `Monotony` as its conflict.
    solve : callable
        The best tree for a problem without conflicts.
    deadline : Deadline
    gap : float
        Part of the value by which the tree may miss the bound.
    relabel : callable, optional
        The same tree with other labels at its leaves. Given where any leaf may have any label.
    """
    monotony = problem.conflict
    if not isinstance(monotony, Monotony):
        raise TypeError("Trees know no conflicts of rules but those of monotone features.")
    bare = replace(problem, conflict=None)
    # A single leaf has nothing to be in conflict with; whatever happens, it is known.
    single = solve(replace(bare, max_leaves=1))
    best = single if single.leaves else None
    order = itertools.count()
    todo: list[tuple[float, int, tuple[Forbidden, ...]]] = [(-math.inf, next(order), ())]
    imagined: dict[Point, None] = {}
    given_up = math.inf  # least bound of what was not looked at to the end
    status: Status = "optimal"
    solves = 0
    while todo and not _near(best, todo[0][0], gap):
        if deadline.expired:
            status = "time_limit"
            break
        bound, _, forbidden = heapq.heappop(todo)
        found = solve(with_rows(_restricted(bare, monotony, forbidden), list(imagined)))
        solves += 1
        if found.status == "infeasible":
            continue
        bound = max(bound, found.bound)
        pair = next(monotony.pairs(found.leaves, found.regions), None)
        if found.leaves and pair is None and (best is None or found.value < best.value):
            best = found
        if found.status == "optimal" and pair is None:
            continue
        if pair is not None and relabel is not None:
            mended = relabel(found, best_labels(problem, monotony, found.leaves, found.regions))
            if best is None or mended.value < best.value:
                best = mended
        if found.status == "interrupted" or pair is None:
            status, given_up = found.status, min(given_up, bound)
            if found.status == "interrupted":
                break
            continue
        point = _point(problem, found, *pair[:3])
        unseen = point.unseen(found, *pair[:3])
        if unseen:
            assert not imagined.keys() >= set(unseen), "a search passed over rows"
            imagined.update(dict.fromkeys(unseen))
            heapq.heappush(todo, (bound, next(order), forbidden))
            continue
        for more in _branches(problem, monotony, found, point, *pair):
            heapq.heappush(todo, (bound, next(order), (*forbidden, more)))
    left = min([given_up, *(bound for bound, _, _ in todo)])
    if best is None:
        return Agreed(None, math.inf, left, "infeasible" if status == "optimal" else status, solves)
    if _near(best, left, 0.0):
        return Agreed(best.answer, best.value, best.value, "optimal", solves)
    return Agreed(best.answer, best.value, left, "gap_reached" if _near(best, left, gap) else status, solves)


def best_labels(problem: Problem, monotony: Monotony, leaves: Sequence[Path], regions: Sequence[Box]) -> list[int]:
    """The labels of least loss without a conflict, for given leaves and the codes that lead to them.

    A linear programme over "leaf i has at least label k", whose vertices are whole.
    """
    costs = np.array([problem.row_costs()[leaf.covers(problem.table.codes)].sum(axis=0) for leaf in leaves])
    n, n_labels = costs.shape
    steps = np.diff(costs, axis=1)  # what one label more adds
    numbers = np.arange(steps.size).reshape(n, n_labels - 1)
    pairs = [(numbers[low, k], numbers[high, k]) for low, high in monotony.order(regions) for k in range(n_labels - 1)]
    pairs += [(numbers[i, k + 1], numbers[i, k]) for i in range(n) for k in range(n_labels - 2)]
    before = np.zeros((len(pairs), steps.size))
    for row, (less, more) in zip(before, pairs, strict=True):
        row[less], row[more] = 1.0, -1.0
    found = linprog(steps.ravel(), A_ub=before, b_ub=np.zeros(len(pairs)), bounds=(0, 1), method="highs-ds")
    return [int(label) for label in np.round(found.x).reshape(n, n_labels - 1).sum(axis=1)]


def _near(best: Attempt[Answer] | None, bound: float, gap: float) -> bool:
    """Whether nothing above the bound is worth looking for."""
    if best is None:
        return bound == math.inf
    return bound >= best.value - max(gap, 1e-9) * max(abs(best.value), 1e-300) - 1e-12


@dataclass(frozen=True)
class _Point:
    """Where two leaves of a tree predict the wrong way round.

    Attributes
    ----------
    codes : tuple of int
        Of every feature but the monotone one, whose place does not count.
    first, last : int
        Codes of that one, in the leaf of smaller and in that of larger values.
    """

    codes: Point
    first: int
    last: int

    def unseen(self, found: Attempt[Answer], low: int, high: int, feature: int) -> list[Point]:
        """The rows that the leaves have by default alone."""
        rows = []
        for leaf, code in ((low, self.first), (high, self.last)):
            row = (*self.codes[:feature], code, *self.codes[feature + 1 :])
            if any(row[condition.feature] not in condition.codes for condition in found.leaves[leaf].conditions):
                rows.append(row)
        return rows


def _point(problem: Problem, found: Attempt[Answer], low: int, high: int, feature: int) -> _Point:
    """A point of two leaves, where most rows are: there most leaves are told what to predict."""
    features = problem.table.features
    told = [boxes_of([found.leaves[leaf]])[0] for leaf in (low, high)]
    regions = [found.regions[leaf] for leaf in (low, high)]
    codes = []
    for f in range(len(features)):
        every = frozenset(range(features[f].n_codes))
        both = regions[0].get(f, every) & regions[1].get(f, every)
        seen = both & told[0].get(f, every) & told[1].get(f, every)
        codes.append(max(sorted(seen or both) or [0], key=partial(_weight, problem, f)))
    values = frozenset(range(features[feature].n_values))
    first = min(values & regions[0].get(feature, values))
    last = max(values & regions[1].get(feature, values))
    return _Point(tuple(codes), first, last)


def _branches(
    problem: Problem,
    monotony: Monotony,
    found: Attempt[Answer],
    point: _Point,
    low: int,
    high: int,
    feature: int,
    direction: int,
) -> tuple[Forbidden, Forbidden]:
    """What is forbidden in each of the two branches."""
    n_values = problem.table.features[feature].n_values
    middle = (point.first + point.last) // 2
    ends = monotony.prediction(found.leaves[low]), monotony.prediction(found.leaves[high])
    number = 0.5 * (ends[0] + ends[1])
    if (ends[0] - number) * direction <= 0:
        number = ends[1]  # neighbours among floating-point numbers
    return (
        Forbidden(point.codes, feature, direction, frozenset(range(middle + 1)), number, above=True),
        Forbidden(point.codes, feature, direction, frozenset(range(middle, n_values)), number, above=False),
    )


def _weight(problem: Problem, feature: int, code: int) -> float:
    weight: FloatArray = problem.table.weight
    return float(weight[problem.table.codes[feature] == code].sum())


def _restricted(problem: Problem, monotony: Monotony, forbidden: Sequence[Forbidden]) -> Problem:
    """The problem without the forbidden leaves."""
    if not forbidden:
        return problem
    asked: Predicate | None = problem.limits.predicate

    def allowed(conditions: Sequence[tuple[int, tuple[int, ...]]], rows: npt.NDArray[np.uint32], label: int) -> bool:
        held = [part for part in forbidden if part.holds(conditions)]
        if held:
            path = Path(tuple(Condition(feature, tuple(codes)) for feature, codes in conditions), label)
            prediction = monotony.prediction(path)
            if any(part.wrong(prediction) for part in held):
                return False
        return asked is None or asked(conditions, rows, label)

    return replace(problem, limits=replace(problem.limits, predicate=allowed))
