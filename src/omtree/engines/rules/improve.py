"""Better models by neighbourhoods: some rules are taken away, and what they covered is covered anew at less loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from omtree import _native
from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.rules.pool import ColumnPool, Duals
from omtree.engines.rules.pricing import Mask, RulePricer
from omtree.engines.rules.rule_counts import IntArray

#: Rules taken away at a time: first, and most when nothing better is found.
FIRST_RULES = 3
MOST_RULES = 14
#: A neighbourhood of more columns than this is too large to be searched to its end.
MOST_COLUMNS = 1500
#: Most rules that pricing lists for one; the cheapest.
MOST_PRICED = 3000
#: Neighbourhoods without an improvement after which one more rule is taken away, and most seconds for one.
PATIENCE = 30
SECONDS = 0.25
#: Reduced costs are known up to this share of the loss.
ROUNDING = 1e-7


@dataclass(frozen=True, eq=False)
class _Rules:
    """Rules that may come in: their conditions, labels, losses, reduced costs and what they add to constraints."""

    conditions: IntArray
    label: IntArray
    loss: FloatArray
    cost: FloatArray
    extra: FloatArray

    def __len__(self) -> int:
        return len(self.loss)

    def only(self, kept: Mask) -> _Rules:
        """Some of them, given by a flag for each."""
        return _Rules(
            self.conditions[kept],
            self.label[kept],
            self.loss[kept],
            self.cost[kept],
            np.ascontiguousarray(self.extra[kept]),
        )


class Neighbourhoods:
    """Searches around a model, over all rules or over the columns of a pool.

    A column *touches* the rules with which it has rows in common. It can only come in where all of them go out, and
    only while its reduced cost is covered by those of the rules that go out: both leave few columns.

    Parameters
    ----------
    pool : ColumnPool
        Rules of better models come into it.
    duals : Duals
        Prices by which columns are told apart; any will do.
    step : float
        By how much a further model must be better.
    seed : int
    pricer : RulePricer, optional
        Lists the rules that can come in, in the pool or not; without it, only those of the pool do.
    walk : bool, default=False
        Whether to go on from models of the same loss, too: a model with nothing better near it may have others of its
        loss that do. That takes long, and finds nothing where a model is the best one.
    """

    def __init__(
        self,
        pool: ColumnPool,
        duals: Duals,
        step: float,
        seed: int,
        pricer: RulePricer | None = None,
        *,
        walk: bool = False,
    ) -> None:
        self._pool = pool
        self._duals = duals
        self._step = step
        self._walk = walk
        self._random = np.random.default_rng(seed)
        self._rows = pool.model_rows.rows
        # Which rows a rule may not cover is known where all of them are looked at.
        self._pricer = pricer if pool.model_rows.complete else None
        self._size = FIRST_RULES
        self._failures = 0
        self._look_at_pool()

    def _look_at_pool(self) -> None:
        self._cover: sparse.csr_matrix = self._pool.cover(rows=self._rows)
        self._cost = self._pool.reduced_costs(self._duals)

    def improve(self, model: IntArray, deadline: Deadline) -> IntArray:
        """The first better model that is met, or the same one when the time is up or nothing more is to be tried."""
        pool = self._pool
        best, value = model, float(pool.loss[model].sum())
        around = self._look_around(model)
        tried: set[bytes] = set()
        repeats = 0
        largest = max(FIRST_RULES, min(MOST_RULES, len(model)))
        while not deadline.expired and self._size <= largest and repeats < 4 * PATIENCE:
            removed = around.grow(min(self._size, len(model)), self._random)
            key = np.packbits(removed).tobytes()
            if key in tried:
                repeats += 1
            else:
                tried.add(key)
                repeats = 0
                sideways = self._walk and self._failures % 2 == 1
                found = self._search(model, around, removed, deadline, sideways=sideways)
                if found is not None and pool.is_model(found):
                    if float(pool.loss[found].sum()) <= value - 0.5 * self._step:
                        self._failures = 0
                        return found
                    model, around = found, self._look_around(found)
                    tried.clear()
                elif found is not None:
                    pool.model_rows.learn(pool, found)
            self._failures += 1
            if self._failures >= PATIENCE:
                self._failures, self._size = 0, self._size + 1
        return best

    def _look_around(self, model: IntArray) -> _Around:
        if len(self._cost) != len(self._pool):
            self._look_at_pool()
        return _Around(self._cover, self._cost, model)

    def _search(
        self, model: IntArray, around: _Around, removed: Mask, deadline: Deadline, *, sideways: bool
    ) -> IntArray | None:
        """The best model that keeps every other rule; None when none is better.

        With `sideways` it may be as good, but one of the rules that go out does not come back.
        """
        pool, problem = self._pool, self._pool.problem
        kept, gone = model[~removed], model[removed]
        most = problem.max_leaves - len(kept)
        cutoff = float(pool.loss[gone].sum()) - (0.0 if sideways else self._step)
        missing = np.asarray(problem.at_least - pool.extra[kept].sum(axis=0))
        # What the prices pay for the rows of the rules that go out.
        paid = pool.loss[gone] - self._cost[gone] - self._duals.leaf - pool.extra[gone] @ self._duals.rows
        bound = float(paid.sum() + most * self._duals.leaf + missing @ self._duals.rows)
        bound -= ROUNDING * (1.0 + abs(cutoff))
        rules = self._rules_inside(around, removed, cutoff - bound, deadline)
        if len(rules) == 0:
            return None
        least = min(0.0, float(rules.cost.min()))
        if least < 0.0:  # the prices are not those of a solved LP: a rule is made dearer by so much
            bound += most * least
            rules = self._rules_inside(around, removed, cutoff - bound + least, deadline)
        rows = np.flatnonzero(removed[around.rule_of_row])
        inside = pool.cover_of(rules.conditions, self._rows[rows])
        if sideways:
            barred = around.rule_of_row[rows] == self._random.choice(np.flatnonzero(removed))
            n_barred = np.asarray(inside @ barred.astype(float)).ravel()
            other = (n_barred != barred.sum()) | (np.diff(inside.indptr) != barred.sum())
            rules, inside = rules.only(other), inside[other]
            if len(rules) == 0:
                return None
        # Rows in the same columns demand the same thing.
        _, first = np.unique((inside.T @ self._random.random(len(rules))).round(12), return_index=True)
        inside = inside[:, np.sort(first)].tocsr()
        inside.sort_indices()
        found, _, _, _ = _native.exact_cover(
            inside.shape[1],
            inside.indptr,
            inside.indices,
            rules.loss,
            np.maximum(0.0, rules.cost - least),
            rules.extra,
            missing,
            bound,
            cutoff,
            self._step,
            most,
            min(deadline.remaining, SECONDS),
            None,
        )
        if len(found) == 0:
            return None
        return np.concatenate([kept, pool.columns_of(rules.conditions[found], rules.label[found])]).astype(np.int32)

    def _rules_inside(self, around: _Around, removed: Mask, budget: float, deadline: Deadline) -> _Rules:
        """Rules for the rows of those that go out, and for no others, within the budget."""
        pool = self._pool
        if self._pricer is None:
            columns = around.inside(removed, budget)
            columns = columns[: len(columns) if len(columns) <= MOST_COLUMNS else 0]
            return _Rules(
                pool.conditions[columns],
                pool.label[columns],
                pool.loss[columns],
                self._cost[columns],
                np.ascontiguousarray(pool.extra[columns]),
            )
        limit = deadline.at_most(SECONDS)
        found = self._pricer.inside(self._duals, removed[around.rule_of_row], budget, MOST_PRICED, limit)
        loss, extra = pool.worth(found.conditions, found.label)
        return _Rules(found.conditions, found.label, loss, found.cost, extra)


class _Around:
    """Which columns touch which rules of a model."""

    def __init__(self, cover: sparse.csr_matrix, cost: FloatArray, model: IntArray) -> None:
        self._cost = cost
        self._model_cost = np.maximum(0.0, cost[model])
        own = cover[model]
        self.rule_of_row = np.empty(cover.shape[1], dtype=np.int64)
        self.rule_of_row[own.indices] = np.repeat(np.arange(len(model)), np.diff(own.indptr))
        rules = sparse.csr_matrix(
            (np.ones(len(self.rule_of_row)), self.rule_of_row, np.arange(len(self.rule_of_row) + 1)),
            shape=(len(self.rule_of_row), len(model)),
        )
        self._touched: Mask = (cover @ rules).toarray() > 0
        n_touched = self._touched.sum(axis=1)
        self._seeds = np.flatnonzero((n_touched > 1) & (cost <= self._model_cost.sum()))
        self._seeds = self._seeds[np.argsort(cost[self._seeds], kind="stable")]

    def grow(self, size: int, random: np.random.Generator) -> Mask:
        """Rules to take away: those that a cheap column touches, and others that make room for many more columns."""
        removed = np.zeros(self._touched.shape[1], dtype=bool)
        if len(self._seeds):
            seed = self._seeds[int(len(self._seeds) * random.random() ** 3)]
            removed |= self._touched[seed]
        while removed.sum() < size:
            outside = self._touched[:, ~removed]
            one_away = outside.sum(axis=1) == 1
            gain = outside[one_away].sum(axis=0) + 1.0
            others = np.flatnonzero(~removed)
            removed[random.choice(others, p=gain / gain.sum())] = True
        return removed

    def inside(self, removed: Mask, budget: float) -> npt.NDArray[np.int64]:
        """Columns that touch only these rules and cost no more than the budget."""
        return np.flatnonzero(~self._touched[:, ~removed].any(axis=1) & (self._cost <= budget))
