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
from omtree.engines.trees.fronts import MAX_NUMBERS, Fronts, Sense
from omtree.problem.loss_scale import extent_of
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import ModelLimit, Node, Problem, leaves_of

#: Relative distance of master and bound at which the prices are good enough.
CONVERGED = 2e-3
MAX_ROUNDS = 200
#: Part of what the first deeper tree gains that is expected of the others too.
GAINED = 0.8
#: The first distance from the bound within which all trees are looked at, as a part of the bound.
FIRST_BUDGET = 0.008
#: The same as a part of what the worst tree costs: a bound of nothing has no parts.
LEAST_BUDGET = 1e-6


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

    `bound` is infinite when not even mixtures of trees meet the constraints.
    """

    best: Point | None
    bound: float
    prices: FloatArray
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
    shallow_first : bool
        Whether to start from the prices of shallower trees; the answer does not depend on it.
    """

    def __init__(self, problem: Problem, search: Search, shallow_first: bool = True) -> None:
        self.problem = problem
        self._shallow_first = shallow_first
        self._search = search
        self.limits = np.array([row.at_least for row in problem.model_limits])
        weight = problem.table.statistics.sum(axis=0)
        # Constraints in the order of 1, or the tolerances of the solver mean nothing.
        spans = [float(weight @ np.abs(row.coefficient).max(axis=1)) for row in problem.model_limits]
        self.scale = np.array([span or 1.0 for span in spans])
        self._totals = weight
        # No tree costs less.
        self._floor = float(weight @ problem.costs.min(axis=1))
        extent = extent_of(problem)
        #: No tree costs more.
        self.worst = extent.worst * extent.unit
        #: What a better tree is better by, at least; 0 where nothing is known.
        self.step = extent.unit if extent.integral else 0.0
        self._points: list[Point] = []
        self._n_shallow = 0  # points that a shallower search found
        self._known: set[tuple[float, ...]] = set()
        self.best: Point | None = None

    def run(self, deadline: Deadline) -> Relaxed:
        """Generate trees until the prices are right or the time is over."""
        prices = np.zeros(len(self.problem.model_limits))
        shallow = -math.inf
        # Shallower trees are found in no time, and their prices are nearly right.
        for depth in range(2, self.problem.max_depth) if self._shallow_first else ():
            if self._generate(depth, prices, shallow, deadline).interrupted:
                return Relaxed(self.best, self._floor, np.zeros_like(prices), True, 0)
            self._n_shallow = len(self._points)
            shallow, prices = self._master() if self._points else (shallow, prices)
        return self._generate(self.problem.max_depth, prices, shallow, deadline)

    def _generate(self, depth: int, prices: FloatArray, shallow: float, deadline: Deadline) -> Relaxed:
        """Trees of a depth, from given prices on; `shallow` is what mixtures of shallower trees reach there."""
        best_prices, bound = np.zeros_like(prices), self._floor
        interrupted = guessed = False
        rounds = 0
        while rounds < MAX_ROUNDS and not deadline.expired:
            rounds += 1
            found = self._search(replace(self._priced(prices), max_depth=depth), deadline)
            interrupted = found.interrupted
            new = [self._add(root) for root in found.roots]
            here = found.bound - self._shift(prices) + float(prices @ self.limits)
            if here > bound:
                best_prices, bound = prices, here
            if interrupted or not found.finished:
                break
            if bound > self.worst:
                return Relaxed(self.best, math.inf, best_prices, interrupted, rounds)
            if self.best is not None and self.best.loss <= bound + CONVERGED * max(1.0, abs(bound)):
                break
            value, next_prices = self._master()
            if value - bound <= CONVERGED * max(1.0, abs(value)) or not (any(new) or guessed):
                break
            # Other trees gain by the depth as well: without that the next prices would be far off.
            guessed = rounds == 1 and here < shallow
            prices = self._master(GAINED * (shallow - here))[1] if guessed else next_prices
        return Relaxed(self.best, bound, best_prices, interrupted, rounds)

    def _priced(self, prices: FloatArray) -> Problem:
        costs = self._costs(prices)
        return replace(self.problem, loss=LinearLoss(costs - costs.min(axis=1, keepdims=True)), model_limits=())

    def _costs(self, prices: FloatArray) -> FloatArray:
        costs = self.problem.costs.copy()
        for row, price in zip(self.problem.model_limits, prices, strict=True):
            costs -= price * row.coefficient
        return np.ascontiguousarray(costs)

    def _shift(self, prices: FloatArray) -> float:
        """What the search's costs are above the priced ones, over all rows."""
        return float(-(self._totals @ self._costs(prices).min(axis=1)))

    def point(self, root: Node) -> Point:
        """What a tree adds up to."""
        problem = self.problem
        loss, sums = 0.0, np.zeros(len(problem.model_limits))
        priced = problem.limits.prices is not None
        for leaf in leaves_of(root):
            weights = problem.table.statistics[leaf.covers(problem.table.codes)].sum(axis=0)
            loss += problem.path_loss(leaf) if priced else float(weights @ problem.costs[:, leaf.label])
            sums += [weights @ row.coefficient[:, leaf.label] for row in problem.model_limits]
        return Point(root, loss, sums)

    def feasible(self, sums: FloatArray) -> bool:
        """Whether these sums meet the constraints, up to rounding."""
        return bool((sums >= self.limits - 1e-9 * self.scale).all())

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

    def _master(self, gained: float = 0.0) -> tuple[float, FloatArray]:
        """The best mixture of the known trees, and its prices; missing a constraint costs more than any tree.

        `gained` is taken from the loss of shallower trees, for prices that a deeper search may start from.
        """
        n, m = len(self._points), len(self.limits)
        losses = np.array([point.loss for point in self._points])
        losses[: self._n_shallow] -= gained
        sums = np.array([point.sums for point in self._points]) / self.scale
        # Losses in the order of 1 as well.
        answer = linprog(
            np.concatenate([losses / self.worst, np.full(m, 1e3)]),
            A_ub=np.hstack([-sums.T, -np.eye(m)]),
            b_ub=-self.limits / self.scale,
            A_eq=np.concatenate([np.ones(n), np.zeros(m)])[None],
            b_eq=[1.0],
            method="highs",
        )
        if answer.status != 0:
            raise RuntimeError(f"The master over trees was not solved: {answer.message}")
        prices = np.maximum(0.0, -answer.ineqlin.marginals) * (self.worst / self.scale)
        return float(answer.fun) * self.worst, prices


@dataclass(frozen=True, eq=False)
class Closed:
    """The best tree that meets the constraints, and the bound after listing what trees near it add up to."""

    best: Point | None
    bound: float
    complete: bool
    interrupted: bool = False


def close_gap(master: TreeMaster, relaxed: Relaxed, deadline: Deadline, attain: Callable[..., Fronts]) -> Closed:
    """List the sums of all trees between the bound and the best tree known, and take the best that is allowed.

    Parameters
    ----------
    master : TreeMaster
    relaxed : Relaxed
        Its prices are those at which trees are compared.
    deadline : Deadline
    attain : callable
        `omtree.engines.trees.fronts.attainable`, with the options of the search.
    """
    if relaxed.interrupted:
        return Closed(relaxed.best, relaxed.bound, False, True)
    problem = master.problem
    forms, signs = _forms(problem.model_limits)
    prices = np.concatenate([[1.0], -(relaxed.prices @ signs)])
    sense: list[Sense] = ["min"]
    sense += ["max" if (part >= 0).all() else "min" if (part <= 0).all() else "equal" for part in signs.T]
    if len(sense) > MAX_NUMBERS:
        return Closed(relaxed.best, relaxed.bound, False)
    # Demands only save work here: what comes back is looked at again.
    demands = [
        (np.concatenate([[0.0], sign]), row.at_least - 1e-9 * scale)
        for row, sign, scale in zip(problem.model_limits, signs, master.scale, strict=True)
    ][: MAX_NUMBERS - len(sense)]
    best = relaxed.best
    worst, step = master.worst, master.step
    tolerance = 1e-9 * max(1.0, worst)
    bound = relaxed.bound
    budget = max(FIRST_BUDGET * abs(bound), 2.0 * step, LEAST_BUDGET * worst, tolerance)
    bare = replace(problem, model_limits=())
    least = relaxed.bound - float(relaxed.prices @ master.limits)
    while True:
        # A better tree is within this distance of the bound.
        most = (worst if best is None else best.loss - step) - relaxed.bound + tolerance
        if best is not None and bound >= best.loss - step + (tolerance if step else -tolerance):
            return Closed(best, best.loss, True)
        if bound > worst + tolerance:
            return Closed(None, math.inf, True)
        budget = min(budget, most)
        found = attain(
            bare,
            np.stack([problem.costs, *forms]),
            prices,
            budget,
            least=least,
            sense=sense,
            demands=demands,
            deadline=deadline,
        )
        for i in np.argsort(found.vectors[:, 0], kind="stable"):
            if best is not None and found.vectors[i, 0] > best.loss + tolerance:
                break
            point = master.point(found.tree(int(i)))
            if master.feasible(point.sums) and (best is None or point.loss < best.loss):
                best = point
        if not found.complete:
            return Closed(best, bound, False, found.interrupted)
        # Every allowed tree of a loss up to here has been seen.
        bound = max(bound, relaxed.bound + budget)
        if budget >= most:
            return Closed(best, math.inf if best is None else best.loss, True)
        budget *= 2.0


def _forms(rows: Sequence[ModelLimit]) -> tuple[list[FloatArray], FloatArray]:
    """Sums that all rows are combinations of, and what each row counts of each."""
    forms: list[FloatArray] = []
    for row in rows:
        flat = np.stack([*forms, row.coefficient]).reshape(len(forms) + 1, -1)
        scale = np.abs(flat).max(axis=1, keepdims=True)
        if np.linalg.matrix_rank(flat / np.where(scale > 0, scale, 1.0), tol=1e-9) > len(forms):
            forms.append(row.coefficient)
    if not forms:
        return forms, np.zeros((len(rows), 0))
    basis = np.stack(forms).reshape(len(forms), -1).T
    signs = np.linalg.lstsq(basis, np.stack([row.coefficient.ravel() for row in rows], axis=1), rcond=None)[0].T
    return forms, np.where(np.abs(signs) < 1e-9 * np.abs(signs).max(axis=1, keepdims=True), 0.0, signs)
