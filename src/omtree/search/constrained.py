"""Trees under constraints over the whole model: column generation over whole trees, then all trees within the gap.

A tree is a point: its loss, and what it adds up to in every constraint. The master problem is the best mixture of known
trees that meets the constraints on average; its prices for the constraints go into the costs of the leaves, and the
search finds the tree that is best at these prices. The value at any prices is a bound. What remains between the bound
and the best tree that meets the constraints is closed by listing what trees within that distance add up to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog

from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.losses import LinearLoss
from omtree.problem import Node, Problem

#: Relative distance of master and bound at which the prices are good enough.
CONVERGED = 1e-7
MAX_ROUNDS = 200


@dataclass(frozen=True, eq=False)
class Priced:
    """Trees that a search found at some prices, best last, and what no tree costs less than there."""

    roots: Sequence[Node]
    bound: float
    finished: bool
    interrupted: bool = False


#: The best trees for a problem without constraints over the model.
Search = Callable[[Problem, Deadline], Priced]


@dataclass(frozen=True, eq=False)
class Point:
    """A tree, its loss, and the sums of the constraints over it."""

    root: Node
    loss: float
    sums: FloatArray


@dataclass(frozen=True, eq=False)
class Relaxed:
    """What column generation knows: the best tree that meets the constraints, a bound, and the prices behind it.

    `bound` is infinite when not even mixtures of trees meet the constraints; `nearest` is then the least amount by
    which they miss them in sum.
    """

    best: Point | None
    bound: float
    prices: FloatArray
    points: Sequence[Point]
    converged: bool
    interrupted: bool
    rounds: int


class TreeMaster:
    """Column generation over whole trees.

    Parameters
    ----------
    problem : Problem
        With a `LinearLoss` and constraints over the model.
    search : callable
        The best trees at given costs.
    """

    def __init__(self, problem: Problem, search: Search) -> None:
        self.problem = problem
        self._search = search
        self._limits = np.array([row.at_least for row in problem.rows])
        weight = problem.table.statistics.sum(axis=0)
        # Constraints in the order of 1, or the tolerances of the solver mean nothing.
        spans = [float(weight @ np.abs(row.coefficient).max(axis=1)) for row in problem.rows]
        self._scale = np.array([span or 1.0 for span in spans])
        self._totals = weight
        self._points: list[Point] = []
        self._known: set[tuple[float, ...]] = set()
        self.best: Point | None = None

    def run(self, deadline: Deadline) -> Relaxed:
        """Generate trees until the prices are right or the time is over."""
        problem = self.problem
        worst = float(self._totals @ problem.costs.max(axis=1))
        prices = np.zeros(len(problem.rows))
        best_prices, bound = prices, -math.inf
        converged = interrupted = False
        rounds = 0
        while rounds < MAX_ROUNDS and not deadline.expired:
            rounds += 1
            found = self._search(self._priced(prices), deadline)
            interrupted = found.interrupted
            new = [self._add(root) for root in found.roots]
            here = found.bound - self._shift(prices) + float(prices @ self._limits)
            if here > bound:
                best_prices, bound = prices, here
            if interrupted or not found.finished:
                break
            if bound > worst * (1 + 1e-9) + 1e-9:
                # No tree costs more than the worst, so there is none.
                return Relaxed(self.best, math.inf, best_prices, self._points, True, interrupted, rounds)
            if self.best is not None and self.best.loss <= bound + CONVERGED * max(1.0, abs(bound)):
                converged = True
                break
            value, prices = self._master(worst)
            close = value - bound <= CONVERGED * max(1.0, abs(value))
            if close or not any(new):
                converged = True
                break
        return Relaxed(self.best, bound, best_prices, self._points, converged, interrupted, rounds)

    def _priced(self, prices: FloatArray) -> Problem:
        costs = self._costs(prices)
        return replace(self.problem, loss=LinearLoss(costs - costs.min(axis=1, keepdims=True)), rows=())

    def _costs(self, prices: FloatArray) -> FloatArray:
        costs = self.problem.costs.copy()
        for row, price in zip(self.problem.rows, prices, strict=True):
            costs -= price * row.coefficient
        return np.ascontiguousarray(costs)

    def _shift(self, prices: FloatArray) -> float:
        """What the search's costs are above the priced ones, over all rows."""
        return float(-(self._totals @ self._costs(prices).min(axis=1)))

    def point(self, root: Node) -> Point:
        """What a tree adds up to."""
        table = self.problem.table
        loss, sums = 0.0, np.zeros(len(self.problem.rows))
        todo = [(root, np.arange(table.n_rows))]
        while todo:
            node, rows = todo.pop()
            if not node.branches:
                strata = table.statistics[rows].sum(axis=0)
                loss += float(strata @ self.problem.costs[:, node.label])
                sums += [strata @ row.coefficient[:, node.label] for row in self.problem.rows]
                continue
            for condition, child in node.branches:
                inside = np.isin(table.codes[condition.feature, rows], condition.codes)
                todo.append((child, rows[inside]))
        return Point(root, loss, sums)

    def feasible(self, sums: FloatArray) -> bool:
        """Whether these sums meet the constraints, up to rounding."""
        return bool((sums >= self._limits - 1e-9 * self._scale).all())

    def _add(self, root: Node) -> bool:
        point = self.point(root)
        key = (point.loss, *point.sums.tolist())
        if key in self._known:
            return False
        self._known.add(key)
        self._points.append(point)
        if self.feasible(point.sums) and (self.best is None or point.loss < self.best.loss):
            self.best = point
        return True

    def _master(self, worst: float) -> tuple[float, FloatArray]:
        """The best mixture of the known trees, and its prices; missing a constraint costs more than any tree."""
        n, m = len(self._points), len(self._limits)
        losses = np.array([point.loss for point in self._points])
        sums = np.array([point.sums for point in self._points]) / self._scale
        penalty = 1e3 * max(worst, 1e-9)
        answer = linprog(
            np.concatenate([losses, np.full(m, penalty)]),
            A_ub=np.hstack([-sums.T, -np.eye(m)]),
            b_ub=-self._limits / self._scale,
            A_eq=np.concatenate([np.ones(n), np.zeros(m)])[None],
            b_eq=[1.0],
            method="highs",
        )
        if answer.status != 0:
            raise RuntimeError(f"The master over trees was not solved: {answer.message}")
        return float(answer.fun), np.maximum(0.0, -answer.ineqlin.marginals) / self._scale
