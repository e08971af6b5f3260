"""Pricers: which rules would improve the master?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omtree import _native
from omtree.columns.floors import row_floors
from omtree.columns.options import Options
from omtree.columns.pool import ColumnPool, Duals, IntArray
from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.problem import Problem

#: An exact round that looks at more rules than this is expensive: the heuristic goes first.
EXPENSIVE = 300_000


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
    """Both pricers behind one call.

    ``price`` uses the heuristic while the graph is large and the heuristic finds rules, and the exact pricer otherwise;
    ``enumerate`` lists every rule below a reduced cost.
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
        self._heuristic_first = options.pricing == "ksp"

    def price(self, duals: Duals, tolerance: float, deadline: Deadline) -> PricedRules:
        """Rules with a reduced cost below ``-tolerance``."""
        options = self._options
        if self._heuristic_first:
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
        if self._general is not None:
            conditions, label, cost, least, complete, overflow, looked_at = self._general.price(
                self._pool.credits_for(duals),
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
                self._pool.values_for(duals),
                None,
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
        if not k_best and self._options.pricing == "auto":
            self._heuristic_first = looked_at > EXPENSIVE
        width = max(1, problem.max_depth)
        return PricedRules(conditions.reshape(-1, width), label, cost, least, complete, overflow)
