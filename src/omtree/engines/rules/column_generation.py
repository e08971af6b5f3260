"""Column generation over paths: generate, solve the master MIP, prove."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.rules.answer import status_of, why_infeasible
from omtree.engines.rules.cover import search_cover
from omtree.engines.rules.master import Master
from omtree.engines.rules.mip import MipAnswer, solve_mip
from omtree.engines.rules.options import Options
from omtree.engines.rules.pool import ColumnPool, Duals
from omtree.engines.rules.pricing import PricedRules, RulePricer, general_pricer, native_pricer
from omtree.engines.rules.rule_counts import IntArray
from omtree.engines.rules.start import first_models
from omtree.engines.rules.target_losses import PROOF_LIMIT, targets
from omtree.problem.judge import make_judge
from omtree.problem.loss_scale import extent_of
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Path, Problem, Solution
from omtree.progress import Event, Progress

logger = logging.getLogger(__name__)

Indices = np.ndarray[tuple[int], np.dtype[np.int64]]

#: Relative accuracy of the first and the last LP; reduced cost, relative to the total loss, that counts as zero.
FIRST_TOLERANCE = 1e-2
LAST_TOLERANCE = 1e-6
ZERO = 1e-9
#: Columns above which the dearest are dropped; a little more each time.
FIRST_POOL = 1500
#: Most of the way from the LP's duals to the best ones known.
MOST_SMOOTHING = 0.8
#: How often a step to new duals is halved when the bound does not rise.
SHORTER_STEPS = 3
#: Share of the time for generation where the MIP may have to find the model.
WITHOUT_PROOF = 0.6
#: Shares of what is left of the time for the tries at one stage of the proof: the cover search ends at once or not
#: soon; where rules of reduced cost zero abound, the MIP solver does better.
FIRST_TRY, SECOND_TRY, LAST_TRY = 0.03, 0.2, 0.5


class Run:
    """One call of the engine: the best model and the best bound so far, and the phases that improve them."""

    def __init__(
        self,
        problem: Problem,
        options: Options,
        deadline: Deadline,
        progress: Progress | None,
    ) -> None:
        self.plain = problem.plain and problem.conflict is None
        judge = None if self.plain else make_judge(problem)
        # Tolerances, here and in the MIP solver, are meant for losses in the order of 1.
        extent = extent_of(problem, judge)
        self.unit, self.integral = extent.unit, extent.integral
        self.floor, self.worst = extent.floor, extent.worst
        self.zero = ZERO * max(1.0, float(extent.row_price.sum()))
        if self.plain:
            problem = replace(problem, loss=LinearLoss(problem.costs / self.unit))
        self.problem = problem
        self.options = options
        self.deadline = deadline
        self.progress = progress
        self.native = native_pricer(problem, options.n_jobs)
        general = None if judge is None else general_pricer(problem, self.native, judge, self.unit)
        self.pool = ColumnPool(problem, self.native, general)
        self.pricer = RulePricer(problem, self.pool, self.native, options, general)
        self.master = Master(problem, self.pool, extent.row_price, options.row_pace, options.seed)
        self.bound = self.raw_bound = self.floor
        self.value = math.inf
        self.best: IntArray = np.empty(0, dtype=np.int32)
        self.best_paths: tuple[Path, ...] = ()
        self.best_duals: Duals | None = None
        self.lp_value: float | None = None
        self.exact_pricing = False
        self.interrupted = False
        self.ended = ""
        self.iterations = 0
        self.pool_limit = FIRST_POOL
        self.seconds: dict[str, float] = {}

    def run(self, start: Sequence[Path]) -> Solution:
        """All phases; Ctrl-C ends them, and what is known by then is the answer."""
        try:
            if self.problem.table.weight.sum() < self.problem.min_support * (1.0 - 1e-9):
                self.bound = math.inf  # not even a rule for all rows has enough support
            else:
                self._work(start)
        except KeyboardInterrupt:
            self.interrupted = True
        return self._solution()

    def _work(self, start: Sequence[Path]) -> None:
        with self._phase("start"):
            for paths in first_models(self.pool, start, self.options, self.deadline):
                self._offer_paths(paths)
        if self.plain and self.options.tables and self.options.pricing != "ksp" and not self._done():
            with self._phase("tables"):
                self.pool.counts.make_tables(self.deadline)
        self._generate()
        if self.options.proof:
            with self._phase("proof"):
                self._prove()
        if not self._done() and not self.deadline.expired:
            with self._phase("mip"):
                self._mip(self._within_gap(), self.deadline)

    # Phases

    def _offer_paths(self, paths: Sequence[Path]) -> None:
        """Adds the rules among them that fit the problem; all together they may be a model."""
        self._offer(self.pool.add_paths([path for path in paths if self.pool.fits(path)]))

    def _generate(self) -> None:
        """Adds rules (and rows) until the LP is solved, or nothing better can come of it."""
        options = self.options
        tolerance = FIRST_TOLERANCE
        share = 0.0
        # Where no proof is to come, or no good start, the model is found by the MIP, which needs its part of the time.
        alone = not options.proof or (not self.plain and math.isfinite(self.deadline.remaining))
        deadline = self._part_of_time(WITHOUT_PROOF) if alone else self.deadline
        while not deadline.expired and not options.reached(self.iterations, len(self.pool)):
            self.iterations += 1
            with self._phase("lp"):
                point = self.master.solve(tolerance, deadline)
                new_rows = self.master.add_violated_rows(point, everywhere=False)
            duals = point.duals
            if self.best_duals is not None:
                duals = duals.mix(self.best_duals, share)
            with self._phase("pricing"):
                new_columns, improved = self._price(duals)
                if options.stabilise and not improved:
                    new_columns += self._price_nearer(duals)
            self._report("generate")
            if self._done():
                return
            gap = (point.value - self.raw_bound) / max(1.0, abs(point.value))
            settled = new_columns == 0 or (self.exact_pricing and gap < LAST_TOLERANCE)
            if options.drop_columns and not settled:  # what is settled is looked at once more, with these columns
                self._drop_columns(duals)
            if settled and not new_rows:
                with self._phase("lp"):
                    new_rows = self.master.add_violated_rows(point, everywhere=True)
            if settled and point.slack > 1e-5 * max(1.0, abs(point.value)):
                if not self.master.widen_box():
                    return
            elif new_rows or not settled:
                tolerance = min(tolerance, max(LAST_TOLERANCE, 0.1 * gap))
                if options.stabilise:
                    share = min(MOST_SMOOTHING, share + 0.1) if improved else max(0.0, share - 0.3)
            elif share > 0.0 or (tolerance > LAST_TOLERANCE and gap >= LAST_TOLERANCE):
                share = 0.0  # nothing is left to find at these duals: look again at sharper ones
                tolerance = max(LAST_TOLERANCE, tolerance * 0.01)
            elif not self.master.tighten():
                self.lp_value = max(self.floor, self.raw_bound if self.exact_pricing else point.value)
                return

    def _price_nearer(self, duals: Duals) -> int:
        """Prices between these duals and the best ones known, until the bound rises; says how many rules are new.

        The bound is concave in the duals, so that a step which is too long is shortened. Only a scan of tables costs so
        much less than an LP that this pays.
        """
        new_columns = 0
        for _ in range(SHORTER_STEPS):
            if self.pool.counts.tables is None or self.best_duals is None or self._done():
                break
            duals = duals.mix(self.best_duals, 0.5)
            more, improved = self._price(duals)
            new_columns += more
            if improved:
                break
        return new_columns

    def _price(self, duals: Duals) -> tuple[int, bool]:
        """Adds the rules that pricing finds: how many are new, and whether the bound rose."""
        priced = self.pricer.price(duals, self.zero, self.deadline)
        new_columns = self.pool.add(priced.conditions, priced.label)
        if new_columns == 0 and not priced.proven and self.options.pricing != "ksp":
            # The heuristic knows nothing new; that proves nothing.
            priced = self.pricer.price_exactly(duals, self.zero, self.deadline)
            new_columns = self.pool.add(priced.conditions, priced.label)
        self.exact_pricing = priced.proven
        return new_columns, priced.proven and self._raise_bound(duals, priced.least)

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
        answer = self._cover(candidates, reduced_cost, target, self._part_of_time(FIRST_TRY), self.raw_bound)
        if not answer.complete and not self._done():
            answer = self._mip(candidates, self._part_of_time(SECOND_TRY), cutoff=target)
        if not answer.complete and not self._done():
            answer = self._cover(candidates, reduced_cost, target, self._part_of_time(LAST_TRY), self.raw_bound)
        return answer

    # Steps

    def _within_gap(self) -> Indices:
        """Columns that a better model could use, and those of the best one."""
        if self.best_duals is None:
            return np.arange(len(self.pool))
        keep = self.pool.reduced_costs(self.best_duals) <= self._within(self.value)
        keep[self.best] = True
        return np.flatnonzero(keep)

    def _mip(
        self, candidates: Indices, deadline: Deadline, cutoff: float = math.inf, gap: float | None = None
    ) -> MipAnswer:
        if gap is None:
            gap = self.options.gap if math.isinf(cutoff) else 0.0
        self.pool.model_rows.include(self.master.rows)
        answer = solve_mip(
            self.pool,
            candidates,
            self.best if math.isinf(cutoff) else np.empty(0, dtype=np.int32),
            cutoff=cutoff,
            integral=self.integral,
            gap=gap,
            deadline=deadline,
            seed=self.options.seed,
        )
        self._offer(answer.columns)
        self._report("mip")
        return answer

    def _cover(
        self, candidates: Indices, reduced_cost: FloatArray, target: float, deadline: Deadline, bound: float
    ) -> MipAnswer:
        self.pool.model_rows.include(self.master.rows)
        answer = search_cover(
            self.pool,
            candidates,
            reduced_cost,
            bound=bound - self.zero,
            cutoff=target,
            integral=self.integral,
            deadline=deadline,
        )
        self._offer(answer.columns)
        return answer

    def _offer(self, columns: IntArray) -> None:
        """Takes these columns as the best model if they are one and are better, or as good with fewer rules."""
        if len(columns) and self.pool.is_model(columns):
            value = float(self.pool.loss[columns].sum())
            fewer = value <= self.value and len(columns) < len(self.best)
            if fewer or value < self.value - self.zero:
                self.value, self.best = value, np.asarray(columns)
                self.best_paths = tuple(self.pool.path(j) for j in columns)

    def _raise_bound(self, duals: Duals, least: float) -> bool:
        """The Lagrangian bound of these duals; whether it is the best so far."""
        raw = duals.value(self.problem, self.master.total) + self.problem.max_leaves * min(0.0, least)
        if math.isnan(raw) or (self.best_duals is not None and raw <= self.raw_bound):
            return False
        self.best_duals, self.raw_bound = duals, raw
        rounded = math.ceil(raw - 1e-6) if self.integral and math.isfinite(raw) else raw
        self.bound = math.inf if raw > self.worst else max(self.bound, min(self.value, rounded))
        return True

    def _drop_columns(self, duals: Duals) -> None:
        """Drops columns that no better model can use, and the dearest ones of a pool that has grown too large."""
        if len(self.pool) <= self.pool_limit:
            return
        cost, kept = self.pool.reduced_costs(duals), self.pool_limit // 2
        keep = cost <= max(self.zero, np.partition(cost, kept)[kept])
        self.pool_limit += self.pool_limit // 10  # or the same columns might come and go for ever
        keep[self.best] = True
        self.best = np.cumsum(keep)[self.best].astype(np.int32) - 1
        self.pool.keep(keep)

    # Bookkeeping

    def _part_of_time(self, share: float) -> Deadline:
        """A share of the time left; of unlimited time, a share of an hour."""
        return Deadline(share * min(self.deadline.remaining, 3600.0))

    def _tolerance(self) -> float:
        """Difference of value and bound that is taken for none."""
        return max(self.zero, LAST_TOLERANCE * max(1.0 if self.integral else 0.0, abs(self.value)))

    def _done(self) -> bool:
        if not math.isfinite(self.value):
            return self.bound == math.inf
        return self.value - self.bound <= 0.1 * self._tolerance() or self._gap() <= self.options.gap

    def _gap(self) -> float:
        if not math.isfinite(self.value):
            return math.inf
        return max(0.0, self.value - self.bound) / max(abs(self.value), 1e-12) if self.value > self.bound else 0.0

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - began

    def _report(self, phase: str) -> None:
        value, bound = self.value * self.unit, self.bound * self.unit
        event = Event(phase, self.deadline.elapsed, value, bound, len(self.pool), len(self.master.rows))
        if self.progress is not None:
            self.progress(event)

    def _solution(self) -> Solution:
        proven = math.isfinite(self.value) and self.value - self.bound <= self._tolerance()
        status = status_of(
            self.value,
            self.bound,
            proven=proven,
            interrupted=self.interrupted,
            within_gap=self._gap() <= self.options.gap,
            expired=self.deadline.expired,
        )
        return Solution(
            paths=self.best_paths,
            status=status,
            value=self.value * self.unit,
            bound=(self.value if proven else self.bound) * self.unit,
            lp_value=None if self.lp_value is None else self.lp_value * self.unit,
            exact_pricing=self.exact_pricing,
            columns=len(self.pool),
            rows=len(self.master.rows),
            iterations=self.iterations,
            seconds=dict(self.seconds),
            ended=self.ended,
            reason=why_infeasible(self.problem) if status == "infeasible" else "",
        )
