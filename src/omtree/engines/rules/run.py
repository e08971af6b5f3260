"""One call of the engine for rules: what is known so far, and the steps that every method is made of."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.rules.answer import status_of, why_infeasible
from omtree.engines.rules.cover import search_cover
from omtree.engines.rules.improve import Neighbourhoods
from omtree.engines.rules.lp_columns import LpColumns
from omtree.engines.rules.master import Master
from omtree.engines.rules.mip import MipAnswer, solve_mip
from omtree.engines.rules.options import Options
from omtree.engines.rules.pool import ColumnPool, Duals
from omtree.engines.rules.pricing import RulePricer, general_pricer, native_pricer
from omtree.engines.rules.rule_counts import IntArray
from omtree.problem.judge import make_judge
from omtree.problem.loss_scale import extent_of
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Path, Problem, Solution
from omtree.progress import Event, Progress

Indices = np.ndarray[tuple[int], np.dtype[np.int64]]

#: Reduced cost, relative to the total loss, that counts as zero; relative difference of value and bound that is none.
ZERO = 1e-9
LAST_TOLERANCE = 1e-6
#: Each round of the heuristic counts, and on few rows it finds little: where rounds are its own, rows come in faster.
HEURISTIC_PACE = 3


class Run(ABC):
    """One call of the engine: the best model and the best bound so far."""

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
        pace = options.row_pace * (HEURISTIC_PACE if self.pricer.by_heuristic else 1)
        self.master = Master(problem, self.pool, extent.row_price, pace, options.seed)
        self.lp_columns = LpColumns(0, limited=options.drop_columns)
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
        self.seconds: dict[str, float] = {}
        self._random = np.random.default_rng(options.seed)

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

    @abstractmethod
    def _work(self, start: Sequence[Path]) -> None:
        """All phases."""

    # Steps

    def _offer_paths(self, paths: Sequence[Path]) -> None:
        """Adds the rules among them that fit the problem; all together they may be a model."""
        self._offer(self.pool.add_paths([path for path in paths if self.pool.fits(path)]))

    def _price(self, duals: Duals, deadline: Deadline) -> tuple[int, bool]:
        """Adds the rules that pricing finds: how many are new, and whether the bound rose."""
        priced = self.pricer.price(duals, self.zero, deadline)
        new_columns = self.pool.add(priced.conditions, priced.label)
        if new_columns == 0 and not priced.proven and self.options.pricing != "ksp":
            # The heuristic knows nothing new; that proves nothing.
            priced = self.pricer.price_exactly(duals, self.zero, deadline)
            new_columns = self.pool.add(priced.conditions, priced.label)
        self.exact_pricing = priced.proven
        return new_columns, priced.proven and self._raise_bound(duals, priced.least)

    def _enter(self, duals: Duals) -> tuple[int, float]:
        """Lets waiting columns into the LP; how many, and by how much all that wait could lower its value at most."""
        with self._phase("lp"):
            cost = self.pool.reduced_costs(duals)
        count, least = self.lp_columns.enter(cost, self.zero, len(self.master.rows), self.best)
        return count, -self.problem.max_leaves * least

    def _forget(self, duals: Duals, most: int | None) -> None:
        """Drops the dearest rules of a pool of more than `most`; none that is in the LP or in the best model."""
        if most is None or len(self.pool) <= most:
            return
        kept = self.lp_columns.worth_keeping(self.pool.reduced_costs(duals), most, self.best)
        self.best = (np.cumsum(kept)[self.best] - 1).astype(np.int32)
        self.lp_columns.forget(kept)
        self.pool.keep(kept)

    def _around(self, duals: Duals, pricer: RulePricer | None, *, walk: bool = False) -> Neighbourhoods:
        """Neighbourhoods of models; over all rules where there is a pricer and all rows are looked at.

        Those that are walked through are other ones each time.
        """
        step = 1.0 if self.integral else self._tolerance()
        seed = int(self._random.integers(1 << 31)) if walk else self.options.seed
        return Neighbourhoods(self.pool, duals, step, seed, pricer, walk=walk)

    def _improve(self, around: Neighbourhoods, deadline: Deadline) -> None:
        """Better models near the best one, until none is found."""
        while not deadline.expired and not self._done():
            before = self.value
            self._offer(around.improve(self.best, deadline))
            self._report("improve")
            if self.value >= before:
                return

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

    # Bookkeeping

    def _part_of_time(self, share: float) -> Deadline:
        """A share of the time left; of unlimited time, a share of an hour."""
        return self.deadline.at_most(3600.0).share(share)

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
