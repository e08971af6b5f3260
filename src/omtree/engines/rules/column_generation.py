"""Column generation over paths: generate, solve the master MIP, prove."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

import numpy as np

from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.rules.branching import Branching
from omtree.engines.rules.lp_columns import FEW, LpColumns
from omtree.engines.rules.master import MasterPoint
from omtree.engines.rules.mip import MipAnswer
from omtree.engines.rules.pool import Duals, Numbers
from omtree.engines.rules.pricing import PricedRules
from omtree.engines.rules.run import LAST_TOLERANCE, Indices, Run
from omtree.engines.rules.smoothing import Smoothing
from omtree.engines.rules.start import first_models
from omtree.engines.rules.target_losses import PROOF_LIMIT, targets
from omtree.problem.problem import Path

logger = logging.getLogger(__name__)

#: Relative accuracy of the first LP.
FIRST_TOLERANCE = 1e-2
#: Most rules that are kept while rules are generated: beyond it the dearest are forgotten.
MOST_POOL = 20_000
#: How often a step to new duals is halved when the bound does not rise.
SHORTER_STEPS = 3
#: Share of the time for generation where the MIP may have to find the model.
WITHOUT_PROOF = 0.6
#: The same where a proof is to come: without the LP's optimum it gets nowhere, but better models are still to be found.
BEFORE_PROOF = 0.8
#: Shares of the time for looking around the best model once the LP is solved, and where it never was, so that nothing
#: will be proven; seconds it may take in any case.
AROUND, INSTEAD_OF_PROOF = 0.15, 0.9
LEAST_AROUND = 1.0
#: Most rules to be looked at where the table is large, and the shares of the gap within which they may be, tried one
#: after the other.
MOST_AROUND = 8000
GAP_SHARES = (0.5, 0.25, 0.12, 0.06, 0.03)
#: Rounds after which there is a look around the best model although the LP is far from solved, for a share of the time
#: spent so far.
EARLY_ROUNDS = (8, 16, 32, 64, 128)
EARLY_SHARE = 0.2
#: Where whole losses are told apart, the LP is solved well enough once its bound is that of its optimum, but for this
#: share of its value.
WELL_ENOUGH = 2e-3
#: Seconds of the first try at one stage of the proof; each further one takes twice as long.
FIRST_TRY = 1.0
#: Where the relaxation says nothing, better models are looked for so many times longer than a proof.
WALK_TIMES = 10.0


class ExactRun(Run):
    """Generates rules until the LP is solved, looks around the best model, and closes the gap by listing rules."""

    def _work(self, start: Sequence[Path]) -> None:
        with self._phase("start"):
            for paths in first_models(self.pool, start, self.options, self.deadline):
                self._offer_paths(paths)
        if self.plain and self.options.tables and self.options.pricing != "ksp" and not self._done():
            with self._phase("tables"):
                self.pool.counts.make_tables(self.deadline)
        self.lp_columns = LpColumns(len(self.pool), limited=self.options.drop_columns)
        self.nearly_solved = False
        self._generate()
        if self.lp_value is None and not self.nearly_solved:
            self._look_around(self._part_of_time(INSTEAD_OF_PROOF))
        else:  # a proof may be near: no longer than what was done so far
            share = AROUND * min(self.deadline.remaining, 3600.0)
            self._look_around(self.deadline.at_most(min(share, max(LEAST_AROUND, self.deadline.elapsed))))
        if self.options.proof:
            with self._phase("proof"):
                self._prove()
        if not self._done() and not self.deadline.expired:
            with self._phase("mip"):
                self._mip(self._within_gap(), self.deadline)

    # Phases

    def _generate(self) -> None:
        """Adds rules (and rows) until the LP is solved, or nothing better can come of it."""
        options = self.options
        tolerance = FIRST_TOLERANCE
        smoothing = Smoothing()
        # Where no proof is to come, or no good start, the model is found by the MIP, which needs its part of the time.
        alone = not options.proof or (not self.plain and math.isfinite(self.deadline.remaining))
        deadline = self._part_of_time(WITHOUT_PROOF if alone else BEFORE_PROOF)
        while not deadline.expired and not options.reached(self.iterations, len(self.pool)):
            self.iterations += 1
            with self._phase("lp"):
                point = self.master.solve(tolerance, deadline, self.lp_columns.numbers())
                new_rows = self.master.add_violated_rows(point, everywhere=False)
            duals = smoothing.between(point.duals, self.best_duals)
            entered, _ = self._enter(duals)
            priced, improved = entered < FEW, False
            if priced:
                with self._phase("pricing"):
                    _, improved = self._price(duals, self.deadline)
                    if options.stabilise and not improved:
                        self._price_nearer(duals)
                entered += self._enter(duals)[0]
            self._report("generate")
            if self._done():
                return
            if self.iterations in EARLY_ROUNDS and self.pool.model_rows.complete:
                seconds = EARLY_SHARE * self.deadline.elapsed - self.seconds.get("improve", 0.0)
                self._look_around(self.deadline.at_most(max(0.0, seconds)))
            gap = (point.value - self.raw_bound) / max(1.0, abs(point.value))
            if self._well_enough(point):
                self.nearly_solved = not self.master.add_violated_rows(point, everywhere=True)
                if self.nearly_solved:
                    return
            settled = entered == 0 or (self.exact_pricing and gap < LAST_TOLERANCE)
            if options.drop_columns and not settled:  # what is settled is looked at once more, with these columns
                self._forget(duals, MOST_POOL)
            if settled and not new_rows:
                with self._phase("lp"):
                    new_rows = self.master.add_violated_rows(point, everywhere=True)
            if settled and point.slack > 1e-5 * max(1.0, abs(point.value)):
                if not self.master.widen_box():
                    return
            elif new_rows or not settled:
                tolerance = min(tolerance, max(LAST_TOLERANCE, 0.1 * gap))
                if options.stabilise and priced:
                    smoothing.adapt(improved)
            elif smoothing.share > 0.0 or (tolerance > LAST_TOLERANCE and gap >= LAST_TOLERANCE):
                smoothing.stop()  # nothing is left to find at these duals: look again at sharper ones
                tolerance = max(LAST_TOLERANCE, tolerance * 0.01)
            elif not self.master.tighten():
                self.lp_value = max(self.floor, self.raw_bound if self.exact_pricing else point.value)
                return

    def _well_enough(self, point: MasterPoint) -> bool:
        """Whether the bound would not rise any more, unless by further rows."""
        near = point.value - self.raw_bound <= WELL_ENOUGH * max(1.0, abs(point.value))
        feasible = point.slack <= 1e-5 * max(1.0, abs(point.value))
        return self.integral and near and feasible and math.ceil(point.value - 1e-6) <= self.bound

    def _price_nearer(self, duals: Duals) -> None:
        """Prices between these duals and the best ones known, until the bound rises.

        The bound is concave in the duals, so that a step which is too long is shortened. Only a scan of tables costs so
        much less than an LP that this pays.
        """
        for _ in range(SHORTER_STEPS):
            if self.pool.counts.tables is None or self.best_duals is None or self._done():
                break
            duals = duals.mix(self.best_duals, 0.5)
            if self._price(duals, self.deadline)[1]:
                break

    def _look_around(self, deadline: Deadline) -> None:
        """Better models near the best one."""
        known = self.best_duals is not None and math.isfinite(self.value)
        if not self.options.improve or not known or self._done() or self.problem.conflict is not None:
            return
        with self._phase("improve"):
            assert self.best_duals is not None
            if not self.pool.model_rows.complete:
                self._list_cheapest(self.best_duals, deadline)
            self._improve(self._around(self.best_duals, self.pricer), deadline)

    def _list_cheapest(self, duals: Duals, deadline: Deadline) -> None:
        """Adds the rules of least reduced cost, as many as can be looked at."""
        for share in GAP_SHARES:
            below = self._within(self.raw_bound + share * (self.value - self.raw_bound))
            found = self.pricer.enumerate(duals, below, MOST_AROUND, deadline)
            if not found.overflow or deadline.expired:
                break
        self.pool.add(found.conditions, found.label)

    def _prove(self) -> None:
        """Raises the bound in stages until it meets the best model.

        A model of loss `target` or less uses only rules whose reduced cost is at most `target` minus the LP bound.
        These are listed in full, so that a search over them finds such a model or shows that there is none.
        """
        while not self._done() and not self.deadline.expired and self.best_duals is not None:
            target, found = self._list_rules(self.best_duals)
            logger.info("proof: %d rules for a loss of at most %g", len(found.cost), target)
            if found.overflow or not found.proven:
                return
            self.pool.add(found.conditions, found.label)
            cost = self.pool.reduced_costs(self.best_duals)
            candidates = np.flatnonzero(cost <= self._within(target))
            answer = self._refute(candidates, cost[candidates], target)
            if not answer.complete:
                return
            if len(answer.columns):
                self.bound = self.value
            else:
                above = target + 1.0 if self.integral else target
                self.bound = min(self.value, above if above < self.worst else math.inf)
            self._report("proof")

    def _list_rules(self, duals: Duals) -> tuple[float, PricedRules]:
        """The loss to look for or to rule out next, and all rules that a model of this loss can use."""
        if not math.isfinite(self.value):
            return self.worst, self.pricer.enumerate(duals, self._within(self.worst), PROOF_LIMIT, self.deadline)
        for target, limit in targets(self.value, self.bound, self._tolerance(), integral=self.integral):
            found = self.pricer.enumerate(duals, self._within(target), limit, self.deadline)
            if not found.overflow:
                break
        return target, found

    def _within(self, target: float) -> float:
        """Most that a rule's reduced cost may be in a model of this loss."""
        return target - self.raw_bound + self.zero

    def _refute(self, candidates: Indices, reduced_cost: FloatArray, target: float) -> MipAnswer:
        """A model of loss `target` or less over these columns, or the proof that there is none."""
        if math.isinf(target):
            return self._mip(candidates, self.deadline, gap=0.0)
        duals = self.best_duals if self.options.improve and self.problem.conflict is None else None
        around = None if duals is None else self._around(duals, self.pricer)
        # LPs are solved too roughly to tell real losses apart.
        branching = self.options.branching and self.integral and self.problem.conflict is None
        seconds = FIRST_TRY
        while True:
            # The cover search ends at once or not soon; where rules of reduced cost zero abound, the solver is better.
            answer = self._cover(candidates, reduced_cost, target, self.deadline.at_most(seconds), self.raw_bound)
            if not answer.complete and around is not None:
                with self._phase("improve"):
                    # A model that meets a bound of nothing is found soon, or there is none; then the time is better
                    # spent on other models.
                    patience = seconds
                    if duals is not None and seconds > FIRST_TRY and self.bound <= self.floor:
                        around = self._around(duals, self.pricer, walk=True)
                        patience *= WALK_TIMES
                    self._improve(around, self.deadline.at_most(patience))
            if not answer.complete and not self._done() and branching:
                answer = self._branch(candidates, target, self.deadline.at_most(seconds))
            if not answer.complete and not self._done():
                answer = self._mip(candidates, self.deadline.at_most(seconds), cutoff=target)
            if answer.complete or self._done() or self.deadline.expired:
                return answer
            seconds *= 2.0

    def _branch(self, candidates: Indices, target: float, deadline: Deadline) -> MipAnswer:
        """The same by branching, where what is to be ruled out is known of pairs of rows."""

        def cover(columns: Numbers, reduced_cost: FloatArray, loss: float, bound: float, limit: Deadline) -> MipAnswer:
            return self._cover(np.asarray(columns, dtype=np.int64), reduced_cost, loss, limit, bound)

        answer = Branching(self.pool, self.master, candidates, target, cover).run(deadline)
        self._offer(answer.columns)
        self._report("branch")
        return answer

    # Steps

    def _within_gap(self) -> Indices:
        """Columns that a better model could use, and those of the best one."""
        if self.best_duals is None:
            return np.arange(len(self.pool))
        keep = self.pool.reduced_costs(self.best_duals) <= self._within(self.value)
        keep[self.best] = True
        return np.flatnonzero(keep)
