"""Column generation over paths: generate, solve the master MIP, prove."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from omtree.certificate import Status
from omtree.columns.master import Master
from omtree.columns.mip import solve_mip
from omtree.columns.options import Options
from omtree.columns.pool import ColumnPool, Duals, IntArray
from omtree.columns.pricing import RulePricer, native_pricer
from omtree.columns.start import greedy_paths, tree_paths
from omtree.deadline import Deadline
from omtree.problem import Path, Problem, Solution
from omtree.progress import Event, Progress

logger = logging.getLogger(__name__)

#: Relative accuracy of the last LP, and the reduced cost (relative to the total loss) that counts as zero.
LAST_TOLERANCE = 1e-6
ZERO = 1e-9
#: Most of the way from the LP's duals to the best ones known.
MOST_SMOOTHING = 0.8
#: Share of the time in which the tree search may look for a start.
SEARCH_SHARE = 0.1
#: Largest set of rules handed to the MIP for a proof.
PROOF_LIMIT = 60_000


def solve(
    problem: Problem,
    options: Options | None = None,
    deadline: Deadline | None = None,
    start: Sequence[Path] = (),
    progress: Progress | None = None,
) -> Solution:
    """The best set of disjoint rules, with a bound.

    Parameters
    ----------
    problem : Problem
    options : Options, optional
    deadline : Deadline, optional
        Without one the engine works until it is done.
    start : sequence of Path
        Rules to start from. If they make a model it is the first one known, so the answer is never worse.
    progress : callable, optional
        Told how far the work is, now and then.
    """
    return _Run(problem, options or Options(), deadline or Deadline(), progress).run(start)


class _Run:
    """One call of the engine: the best model and the best bound so far, and the phases that improve them."""

    def __init__(
        self,
        problem: Problem,
        options: Options,
        deadline: Deadline,
        progress: Progress | None,
    ) -> None:
        # Tolerances, here and in the MIP solver, are meant for losses in the order of 1.
        self.unit = _unit(problem)
        self.problem = problem = replace(problem, costs=problem.costs / self.unit)
        self.options = options
        self.deadline = deadline
        self.progress = progress
        self.native = native_pricer(problem, options.n_jobs)
        self.pool = ColumnPool(problem, self.native)
        self.pricer = RulePricer(problem, self.pool, self.native, options)
        self.master = Master(problem, self.pool, options.row_generation, options.seed)
        costs = problem.row_costs()
        self.integral = bool((costs == np.round(costs)).all())
        # No model costs more, so a bound above this shows that there is none.
        self.worst = 1.000001 * float(costs.max(axis=1).sum()) + 1e-6
        self.zero = ZERO * max(1.0, float(costs.max(axis=1).sum()))
        # Whatever the rules, a merged row pays for its cheapest label.
        self.bound = self.raw_bound = float(costs.min(axis=1).sum())
        self.value = math.inf
        self.best: IntArray = np.empty(0, dtype=np.int32)
        self.best_paths: tuple[Path, ...] = ()
        self.best_duals: Duals | None = None
        self.lp_value: float | None = None
        self.exact_pricing = False
        self.iterations = 0
        self.pool_limit = 4000
        self.seconds: dict[str, float] = {}

    def run(self, start: Sequence[Path]) -> Solution:
        """All phases."""
        if self.problem.table.weight.sum() < self.problem.min_support * (1.0 - 1e-9):
            self.bound = math.inf  # not even a rule for all rows has enough support
            return self._solution("infeasible")
        with self._phase("start"):
            self._start(start)
        ended = self._generate()
        if ended == "infeasible":
            return self._solution(ended)
        if not self._done():
            self._solve_master_mip()
        if self.options.proof and not self._done() and not self.deadline.expired:
            self._prove()
        return self._solution(ended)

    # Phases

    def _start(self, start: Sequence[Path]) -> None:
        # One rule for all rows; with constraints over the model, not only the label of least loss may meet them.
        labels = np.argsort(self.problem.table.counts.sum(axis=0) @ self.problem.costs, kind="stable")
        for label in labels if self.problem.rows else labels[:1]:
            self._offer(self.pool.add_paths([Path((), int(label))]))
        given = [path for path in start if self.pool.fits(path)]
        if given:
            self._offer(self.pool.add_paths(given))
        if self.options.warm_start:
            self._offer(self.pool.add_paths(greedy_paths(self.problem, self.options.seed)))
            limit = Deadline(min(SEARCH_SHARE * self.deadline.remaining, self.deadline.remaining))
            for tree in tree_paths(self.problem, limit, self.options.n_jobs):
                self._offer(self.pool.add_paths(tree))

    def _generate(self) -> Status:
        """Adds rules (and rows) until the LP is solved; says what ended it."""
        options, deadline = self.options, self.deadline
        tolerance = 1e-2
        share = 0.0
        while not deadline.expired:
            if options.max_iterations is not None and self.iterations >= options.max_iterations:
                return "stopped"
            if options.max_columns is not None and len(self.pool) >= options.max_columns:
                return "stopped"
            self.iterations += 1
            with self._phase("lp"):
                point = self.master.solve(tolerance)
            duals = point.duals
            if self.best_duals is not None:
                duals = duals.mix(self.best_duals, share)
            with self._phase("pricing"):
                priced = self.pricer.price(duals, self.zero, deadline)
            improved = priced.proven and self._raise_bound(duals, priced.least)
            if self.raw_bound > self.worst:
                self.bound = math.inf
                return "infeasible"
            with self._phase("lp"):
                new_rows = self.master.add_violated_rows(point)
            with self._phase("pricing"):
                new_columns = self.pool.add(priced.conditions, priced.label)
            self._report("generate")
            if self._done():
                break
            if options.drop_columns and new_columns:
                self._drop_columns(duals)
            gap = (point.value - self.raw_bound) / max(1.0, abs(point.value))
            settled = new_columns == 0 or (priced.proven and gap < LAST_TOLERANCE)
            if new_rows or not settled:
                tolerance = min(tolerance, max(LAST_TOLERANCE, 0.1 * gap))
                if options.stabilise:
                    share = min(MOST_SMOOTHING, share + 0.1) if improved else max(0.0, share - 0.3)
            elif share > 0.0 or (tolerance > LAST_TOLERANCE and gap >= LAST_TOLERANCE):
                share = 0.0  # nothing is left to find at these duals: look again at sharper ones
                tolerance = max(LAST_TOLERANCE, tolerance * 0.01)
            elif point.slack > 1e-5 * max(1.0, abs(point.value)):
                self.master.widen_box()
            elif not self.master.tighten():
                self.exact_pricing = priced.proven
                self.lp_value = self.raw_bound if priced.proven else point.value
                return "optimal"
        return "optimal" if self._done() else "time_limit"

    def _solve_master_mip(self) -> None:
        """The best model over the generated rules."""
        with self._phase("mip"):
            limit = math.inf
            if self.options.proof:
                limit = min(self.deadline.remaining, max(2.0, 0.35 * self.deadline.remaining))
            within = self._within_gap()
            self._mip(within, Deadline(min(limit, self.deadline.remaining)))

    def _prove(self) -> None:
        """Every rule that a better model could use, and the best model over these."""
        with self._phase("proof"):
            if self.best_duals is None:
                return
            duals = self.best_duals
            below = self.value - self.raw_bound - (1.0 - 1e-6 if self.integral else 0.0)
            found = self.pricer.enumerate(duals, below + self.zero, PROOF_LIMIT, self.deadline)
            logger.info("proof: %d rules within %.3f of the bound%s", len(found.cost), below, "+" * found.overflow)
            if found.overflow or not found.proven:
                return
            self.pool.add(found.conditions, found.label)
            within = self._within_gap()
            answer = self._mip(within, self.deadline)
            if answer is not None:
                self.bound = max(self.bound, min(self.value, self._rounded(answer)))

    # Steps

    def _within_gap(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Columns that a better model could use, and those of the best one."""
        if self.best_duals is None:
            return np.arange(len(self.pool))
        cost = self.pool.reduced_costs(self.best_duals)
        cutoff = self.value - self.raw_bound + self.zero
        keep = cost <= cutoff
        keep[self.best] = True
        return np.flatnonzero(keep)

    def _mip(self, candidates: np.ndarray[tuple[int], np.dtype[np.int64]], deadline: Deadline) -> float | None:
        answer = solve_mip(
            self.pool,
            candidates,
            self.best,
            integral=self.integral,
            gap=self.options.gap,
            deadline=deadline,
            n_jobs=self.options.n_jobs,
            seed=self.options.seed,
        )
        self._offer(answer.columns)
        self._report("mip")
        return answer.bound

    def _offer(self, columns: IntArray) -> None:
        """Takes these columns as the best model if they are one and are better."""
        if len(columns) and self.pool.is_model(columns):
            value = float(self.pool.loss[columns].sum())
            if value < self.value - self.zero:
                self.value, self.best = value, np.asarray(columns)
                self.best_paths = tuple(self.pool.path(j) for j in columns)

    def _raise_bound(self, duals: Duals, least: float) -> bool:
        """The Lagrangian bound of these duals; whether it is the best so far."""
        raw = duals.value(self.problem) + self.problem.max_leaves * min(0.0, least)
        if math.isnan(raw) or (self.best_duals is not None and raw <= self.raw_bound):
            return False
        self.best_duals, self.raw_bound = duals, raw
        self.bound = max(self.bound, min(self.value, self._rounded(raw)))
        return True

    def _rounded(self, bound: float) -> float:
        if not math.isfinite(bound):
            return bound
        return math.ceil(bound - 1e-6) if self.integral else bound

    def _drop_columns(self, duals: Duals) -> None:
        """Drops columns that no better model can use, and the dearest ones of a pool that has grown too large."""
        cost = self.pool.reduced_costs(duals)
        if len(self.pool) <= self.pool_limit:
            return
        kept = self.pool_limit // 2
        keep = cost <= max(self.zero, np.partition(cost, kept)[kept])
        self.pool_limit += self.pool_limit // 4  # or the same columns might come and go for ever
        keep[self.best] = True
        self.best = np.cumsum(keep)[self.best].astype(np.int32) - 1
        self.pool.keep(keep)

    # Bookkeeping

    def _done(self) -> bool:
        return self._gap() <= max(self.options.gap, LAST_TOLERANCE * 1e-1)

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

    def _solution(self, ended: Status) -> Solution:
        proven = math.isfinite(self.value) and self.value - self.bound <= LAST_TOLERANCE * max(1.0, abs(self.value))
        status: Status
        if not math.isfinite(self.value):
            status = "infeasible" if math.isinf(self.bound) else "time_limit"
        elif proven:
            status = "optimal"
        elif self._gap() <= self.options.gap:
            status = "gap_reached"
        else:
            status = "time_limit" if self.deadline.expired else "stopped"
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
        )


def _unit(problem: Problem) -> float:
    """The power of two to divide losses by: 1 unless they are tiny, so that whole numbers stay whole."""
    total = float(problem.row_costs().max(axis=1).sum())
    if total >= 1.0 or total == 0.0:
        return 1.0
    return 2.0 ** math.floor(math.log2(total / problem.table.n_rows))
