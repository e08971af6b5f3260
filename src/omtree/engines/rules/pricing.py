"""Pricers: which rules would improve the master?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.rules.floors import row_floors
from omtree.engines.rules.options import Options
from omtree.engines.rules.pool import ColumnPool, Duals
from omtree.engines.rules.rule_counts import IntArray
from omtree.problem.problem import Problem

#: An exact round that looks at more rules than this is expensive: the heuristic goes first.
EXPENSIVE = 300_000
#: With the paper's method the heuristic is the pricer of the first round, and of all others while it finds rules where
#: there are more pairs of a rule and a row than this: an exact round would take longer than it is worth.
MOST_PAIRS = 1e9
#: What a row that a rule may not cover adds to its cost, as a multiple of all prices: enough to rule it out, and little
#: enough for sums to stay accurate.
FORBIDDEN = 10.0

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PricedRules:
    """What a pricer found: rules of negative reduced cost, cheapest first.

    When `proven`, no rule at all has a reduced cost below `least`.
    """

    conditions: IntArray
    label: IntArray
    cost: FloatArray
    least: float
    proven: bool
    overflow: bool = False


def native_pricer(problem: Problem, n_threads: int) -> _native.Pricer:
    """The kernel's pricer for a problem."""
    packed = problem.graph.pack()
    table = problem.table
    n_codes = np.array([feature.n_codes for feature in table.features], dtype=np.int32)
    return _native.Pricer(
        table.codes,
        table.weight,
        problem.loss.n_labels,
        packed.feature,
        packed.start,
        packed.masks,
        n_codes,
        n_threads,
    )


def general_pricer(
    problem: Problem, pricer: _native.Pricer, judge: _native.RuleJudge, unit: float
) -> _native.GeneralPricer:
    """The kernel's pricer for a problem of any loss and any limits."""
    return _native.GeneralPricer(pricer, judge, row_floors(problem, judge), unit, problem.conditions_matter)


class RulePricer:
    """All pricers behind one call.

    Where there are tables, ``price`` scans them. Otherwise it uses the heuristic while the graph is large and the
    heuristic finds rules, and the exact pricer if not. ``enumerate`` lists every rule below a reduced cost.
    """

    def __init__(
        self,
        problem: Problem,
        pool: ColumnPool,
        pricer: _native.Pricer,
        options: Options,
        general: _native.GeneralPricer | None = None,
    ) -> None:
        self._problem = problem
        self._pool = pool
        self._pricer = pricer
        self._general = general
        self._options = options
        self._heuristic_first = options.pricing == "ksp" or options.method == "paper"
        pairs = problem.graph.n_paths(problem.max_depth) * problem.table.n_rows
        small = options.pricing != "ksp" and general is None and pairs <= MOST_PAIRS
        #: Whether rounds are the heuristic's as long as it finds rules.
        self.by_heuristic = options.method == "paper" and not small

    def price(self, duals: Duals, tolerance: float, deadline: Deadline) -> PricedRules:
        """Rules with a reduced cost below ``-tolerance``."""
        options = self._options
        if self._heuristic_first and self._pool.counts.tables is None:
            self._heuristic_first = options.method == "exact" or self.by_heuristic
            found = self._call(duals, -tolerance, options.k_best, deadline, k_best=options.k_best)
            if options.pricing == "ksp" or len(found.cost):
                return found
        return self.price_exactly(duals, tolerance, deadline)

    def price_exactly(self, duals: Duals, tolerance: float, deadline: Deadline) -> PricedRules:
        """The same, by the exact pricer."""
        return self._call(duals, -tolerance, self._options.batch, deadline)

    def enumerate(self, duals: Duals, below: float, limit: int, deadline: Deadline) -> PricedRules:
        """Every rule with a reduced cost below `below`; more than `limit` of them is an overflow."""
        return self._call(duals, below, limit, deadline, stop_when_full=True)

    def inside(self, duals: Duals, rows: Mask, below: float, limit: int, deadline: Deadline) -> PricedRules:
        """The cheapest rules below a reduced cost that cover none but these rows, given by a flag for each."""
        price = duals.cover(self._problem.table.weight)
        forbidden = FORBIDDEN * (1.0 + float(np.abs(price).sum()))
        confined = Duals.of_each_row(np.where(rows, price, -forbidden), duals.leaf, duals.rows)
        return self._call(confined, below, limit, deadline)

    def _call(
        self,
        duals: Duals,
        threshold: float,
        limit: int,
        deadline: Deadline,
        *,
        stop_when_full: bool = False,
        k_best: int = 0,
    ) -> PricedRules:
        problem = self._problem
        seconds = min(deadline.remaining, 1e9)
        width = max(1, problem.max_depth)
        if self._pool.counts.tables is not None:
            conditions, label, cost, least, complete, overflow, looked_at = self._pool.counts.tables.price(
                worth_for(problem, duals, self._pool.counts.weight_of_slot),
                duals.at,
                duals.own,
                -duals.leaf,
                problem.min_support,
                threshold,
                limit,
                stop_when_full,
                problem.free_labels,
                seconds,
                width,
            )
        elif self._general is not None:
            conditions, label, cost, least, complete, overflow, looked_at = self._general.price(
                credits_for(problem, duals),
                -duals.leaf,
                problem.max_depth,
                threshold,
                limit,
                stop_when_full,
                problem.free_labels,
                seconds,
                k_best,
            )
        else:
            conditions, label, cost, least, complete, overflow, looked_at = self._pricer.price(
                values_for(problem, duals),
                -duals.leaf,
                problem.max_depth,
                problem.min_support,
                threshold,
                limit,
                stop_when_full,
                problem.free_labels,
                seconds,
                k_best,
            )
        if not k_best and self._options.pricing == "auto" and self._options.method == "exact":
            self._heuristic_first = looked_at > EXPENSIVE
        return PricedRules(conditions.reshape(-1, width), label, cost, least, complete, overflow)


def values_for(problem: Problem, duals: Duals) -> FloatArray:
    """What each merged row adds to a rule's reduced cost under each label."""
    return np.ascontiguousarray(problem.row_costs() - _paid(problem, duals))


def credits_for(problem: Problem, duals: Duals) -> FloatArray:
    """What the duals pay for each merged row; by label where labels are free."""
    return np.ascontiguousarray(_paid(problem, duals)[:, : None if problem.free_labels else 1])


def worth_for(problem: Problem, duals: Duals, weight_of_slot: FloatArray) -> FloatArray:
    """What a unit of each slot of the tables adds to a rule's reduced cost under each label, own prices apart."""
    worth = np.zeros((len(weight_of_slot), problem.loss.n_labels))
    worth[: len(problem.costs)] = problem.costs
    for row, price in zip(problem.model_limits, duals.rows, strict=True):
        worth[: len(problem.costs)] -= price * row.coefficient
    return worth - duals.even * weight_of_slot[:, None]


def _paid(problem: Problem, duals: Duals) -> FloatArray:
    """What the duals pay for each merged row under each label."""
    paid = np.repeat(duals.cover(problem.table.weight)[:, None], problem.loss.n_labels, axis=1)
    for row, price in zip(problem.model_limits, duals.rows, strict=True):
        paid += price * (problem.table.statistics @ row.coefficient)
    return paid
