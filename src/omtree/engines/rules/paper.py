"""The paper's method: rounds of a restricted master and K-shortest paths, then the program over what they found."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.rules.lp_columns import FEW, LpColumns
from omtree.engines.rules.pool import Duals
from omtree.engines.rules.run import Indices, Run
from omtree.engines.rules.smoothing import Smoothing
from omtree.engines.rules.start import first_models
from omtree.engines.rules.target_losses import targets
from omtree.problem.problem import Path

#: Relative accuracy of the first LP and of the last, and by how much the next is sharper once nothing is missing.
FIRST_TOLERANCE = 1e-2
LAST_TOLERANCE = 1e-5
SHARPER = 0.03
#: Rounds are few here: so many times as many columns enter the LP in each, and stay, as in the exact search.
COLUMNS_TIMES = 3
#: Shares of the time for the rounds, and for the LP over what they found where they took longer.
ROUNDS_SHARE, LAST_LP_SHARE = 0.5, 0.2
#: Least seconds for rules around the best model, and most of the time for them.
FIRST_AROUND, AROUND_SHARE = 1.0, 0.4
#: Seconds of the first try at the program; each further one takes twice as long.
FIRST_SECONDS = 0.5
#: Why there was nothing to do.
NOTHING_TO_GAIN = "no model can be better than the start"


class PaperRun(Run):
    """One call of the paper's method.

    Rules that are generated stay in the pool, and all of them are in the final program. Only those that matter are in
    the LP: a column enters when its reduced cost is negative, as one that pricing finds.

    Unless the exact pricer has the last word, nothing is proven about rules that were not generated.
    """

    def _work(self, start: Sequence[Path]) -> None:
        with self._phase("start"):
            for paths in first_models(self.pool, start, self.options, self.deadline):
                self._offer_paths(paths)
        self._report("start")
        if self._is_met(self.floor):
            self.ended, self.lp_value = NOTHING_TO_GAIN, self.floor
            return
        self.lp_columns = LpColumns(len(self.pool), limited=self.options.drop_columns, times=COLUMNS_TIMES)
        self.ended = "the time was up before the last round"
        duals = self._solve_lp(self._part_of_time(ROUNDS_SHARE), pricing=True)
        if self.lp_value is None:
            duals = self._solve_lp(self._part_of_time(LAST_LP_SHARE), pricing=False) or duals
        over_all_rules, generated = self.lp_value is not None and self.exact_pricing, len(self.pool)
        known = [prices for prices in (self.best_duals, duals) if prices is not None]
        duals = max(known, key=lambda prices: self._over_pool(prices)[1], default=None)
        if self.options.improve:
            self._look_around(duals)
        with self._phase("mip"):
            solved = self._choose(duals)
        if not over_all_rules and (self.lp_value is None or len(self.pool) > generated):
            self._relax_generated(duals)
        if self.lp_value is not None:
            self.lp_value = min(self.lp_value, self.value)  # it is known up to a tolerance only
        self.ended += f", and the program over the rules was {'' if solved else 'not '}solved to its end"

    # Generation

    def _solve_lp(self, deadline: Deadline, *, pricing: bool) -> Duals | None:
        """Rounds until neither a column nor a row is missing, or until the time is up; the last duals.

        The LP is solved roughly at first. What is missing then matters only if it can change the value by more than
        that: where it cannot, the LP is solved more sharply.
        """
        tolerance = FIRST_TOLERANCE
        smoothing = Smoothing()
        smooth = self.options.stabilise and not self.pricer.by_heuristic
        duals = None
        while not deadline.expired:
            with self._phase("lp"):
                point = self.master.solve(tolerance, deadline, self.lp_columns.numbers())
            duals = point.duals
            at = smoothing.between(duals, self.best_duals if smooth else None)
            accuracy = tolerance * max(1.0, abs(point.value))
            entered, missing = self._enter(at)
            if pricing and entered < FEW:
                pricing = not self._at_limit()
                if pricing:
                    more, missing, improved = self._price_round(at, deadline)
                    entered += more
                    smoothing.adapt(improved)
                    if smooth and self.exact_pricing:
                        gap = (point.value - self.raw_bound) / max(1.0, abs(point.value))
                        tolerance = min(tolerance, max(LAST_TOLERANCE, 0.1 * gap))
            self._report("generate")
            settled = not entered or (missing <= accuracy and (self._said_last() or tolerance > LAST_TOLERANCE))
            if settled and at is not duals:
                smoothing.stop()  # nothing is missing between the duals: now at those of the LP
                continue
            with self._phase("lp"):
                feasible = point.slack <= accuracy
                new_rows = self.master.add_violated_rows(point, everywhere=settled) if settled or feasible else 0
            self._forget(duals, self.options.max_columns)  # only now: the point has a weight for each rule of the pool
            if new_rows or not settled:
                continue
            if not feasible:
                if not self.master.widen_box():
                    break
            elif tolerance > LAST_TOLERANCE:
                tolerance = max(LAST_TOLERANCE, tolerance * SHARPER)
            elif not self.master.tighten():
                if pricing:
                    self.ended = "no further rule was found"
                self.lp_value = max(self.floor, point.value)
                break
        return duals

    def _relax_generated(self, duals: Duals | None) -> None:
        """The LP over all rules that were generated, those included that came in after it was solved.

        Where time is too short for that, its value is what prices prove of it: no more than it is.
        """
        self.lp_value = None
        duals = self._solve_lp(self.deadline, pricing=False) or duals
        if self.lp_value is None and duals is not None:
            self.lp_value = max(self.floor, self._over_pool(duals)[1])

    def _said_last(self) -> bool:
        """Whether the pricer that is to have the last word was the last to be asked."""
        return self.exact_pricing or self.options.pricing == "ksp" or self._at_limit()

    def _at_limit(self) -> bool:
        """Whether no more rules are to be generated; if so, says why."""
        if not self.options.reached(self.iterations, len(self.pool)):
            return False
        self.ended = f"the limit of {self.iterations} rounds was reached"
        return True

    def _price_round(self, duals: Duals, deadline: Deadline) -> tuple[int, float, bool]:
        """Adds the rules that pricing finds; the answer is that of `_enter`, and whether the bound rose."""
        self.iterations += 1
        with self._phase("pricing"):
            _, improved = self._price(duals, deadline)
        return *self._enter(duals), improved

    # The program

    def _look_around(self, duals: Duals | None) -> None:
        """Better models near the best one, from rules that no round has found; as long as the rounds took."""
        if duals is None or not math.isfinite(self.value) or self.problem.conflict is not None:
            return
        with self._phase("improve"):
            seconds = max(FIRST_AROUND, self.seconds["lp"] + self.seconds.get("pricing", 0.0))
            self._improve(self._around(duals, self.pricer), self.deadline.share(AROUND_SHARE).at_most(seconds))

    def _choose(self, duals: Duals | None) -> bool:
        """The best model over the generated rules, by several methods in turn; whether there is surely no better one.

        At given duals a model of some loss can only use rules whose reduced cost is at most the distance to the bound.
        """
        if duals is None or not math.isfinite(self.value):
            return self._mip(np.arange(len(self.pool)), self.deadline).complete
        step = 1.0 if self.integral else self._tolerance()
        around = None
        if self.problem.conflict is None:
            around = self._around(duals, self.pricer if self.options.improve else None)
        cost, bound, lower = self._over_pool(duals)
        seconds = FIRST_SECONDS
        while not self.deadline.expired and not self._is_met(lower):
            target, candidates = self._next_target(lower, cost, bound)
            limit = self.deadline.at_most(seconds)
            answer = self._cover(candidates, cost[candidates], target, limit, bound)
            if answer.complete:
                lower = self.value if len(answer.columns) else target + (1.0 if self.integral else 0.0)
                continue
            if around is not None:
                self._improve(around, self.deadline.at_most(seconds))
            if len(self.pool) > len(cost):  # nothing is known yet of models with these rules
                cost, bound, lower = self._over_pool(duals)
            if self._is_met(lower):
                break
            # The solver gets far with the columns of the LP, but only all of them are a proof.
            keep = cost <= self.value - step - bound + self.zero
            for columns in (keep & self.lp_columns.inside, keep):
                columns[self.best] = True
                answer = self._mip(np.flatnonzero(columns), self.deadline.at_most(2.0 * seconds))
            if answer.complete:
                return True
            seconds *= 2.0
        return self._is_met(lower)

    def _over_pool(self, duals: Duals) -> tuple[FloatArray, float, float]:
        """Reduced costs of all rules, the bound of these prices over them, and what a model of them costs at least."""
        self.lp_columns.grow(len(self.pool))
        cost = self.pool.reduced_costs(duals)
        bound = duals.value(self.problem, self.master.total) + self.problem.max_leaves * min(0.0, float(cost.min()))
        return cost, bound, max(self.bound, math.ceil(bound - 1e-6) if self.integral else bound)

    def _is_met(self, lower: float) -> bool:
        return self.value - lower <= max(self._tolerance(), self.options.gap * abs(self.value))

    def _next_target(self, lower: float, cost: FloatArray, bound: float) -> tuple[float, Indices]:
        """The loss to look for or to rule out next, and the columns that a model of this loss can use."""
        for target, limit in targets(self.value, lower, self._tolerance(), integral=self.integral):
            candidates = np.flatnonzero(cost <= target - bound + self.zero)
            if len(candidates) <= limit:
                break
        return target, candidates
