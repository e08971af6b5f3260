"""The master MIP: the best model over a given set of rules."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import highspy
import numpy as np
import numpy.typing as npt
from scipy import sparse

from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.rules.pool import ColumnPool
from omtree.engines.rules.rule_counts import IntArray

#: HiGHS does not look at its clock everywhere; it gets this long to come back before it is left behind.
GRACE_SECONDS = 0.75
#: Presolve pays on small models of this kind and can take all the time on large ones.
PRESOLVE_COLUMNS = 8000


@dataclass(frozen=True, eq=False)
class MipAnswer:
    """Best columns found (numbers in the pool; empty when none were), their loss, and a bound over these rules."""

    columns: IntArray
    value: float
    bound: float
    complete: bool


def solve_mip(
    pool: ColumnPool,
    candidates: npt.NDArray[np.int64],
    start: IntArray,
    *,
    integral: bool,
    gap: float,
    deadline: Deadline,
    seed: int,
    cutoff: float = np.inf,
) -> MipAnswer:
    """The best model that uses the candidate columns only.

    Parameters
    ----------
    candidates : array of int
        Columns of the pool.
    start : array of int
        Columns of a known model, among the candidates; empty when there is none.
    integral : bool
        Whether every loss is a whole number, so that an improvement is at least 1.
    cutoff : float
        Only models with at most this loss count.
    """
    if len(candidates) == 0:
        return MipAnswer(np.empty(0, dtype=np.int32), np.inf, np.inf, complete=True)
    model = _build(pool, candidates, cutoff)
    cuts: list[tuple[IntArray, int]] = []
    while True:
        if deadline.expired:  # a large program takes its time to be written down, and more to be handed over
            known_loss = float(pool.loss[start].sum()) if len(start) else np.inf
            kept = start if known_loss <= cutoff else start[:0]
            return MipAnswer(kept, known_loss if len(kept) else np.inf, -np.inf, complete=False)
        solver = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.setOptionValue("output_flag", False)
        # HiGHS has one pool of threads per process, whose size cannot change later; one thread is always possible.
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("random_seed", seed)
        solver.setOptionValue("presolve", "on" if len(candidates) <= PRESOLVE_COLUMNS else "off")
        solver.setOptionValue("mip_rel_gap", gap)
        solver.setOptionValue("mip_abs_gap", 0.999 if integral else 1e-9)
        if deadline.remaining < 1e6:
            solver.setOptionValue("time_limit", deadline.remaining)
        solver.passModel(model)
        for cut, most in cuts:
            solver.addRow(-np.inf, float(most), len(cut), cut, np.ones(len(cut)))
        if len(start):
            known = highspy.HighsSolution()
            known.col_value = np.isin(candidates, start).astype(float)
            solver.setSolution(known)
        run = _Run(solver, deadline)
        chosen = run.wait()
        if chosen is None:
            return MipAnswer(np.empty(0, dtype=np.int32), np.inf, run.bound, run.finished)
        columns = candidates[chosen > 0.5].astype(np.int32)
        if pool.model_rows.learn(pool, columns):
            if not run.finished:
                return MipAnswer(np.empty(0, dtype=np.int32), np.inf, run.bound, complete=False)
            model = _build(pool, candidates, cutoff)
            continue
        more = [(cut, 1) for pair in pool.conflicts(columns) for cut in _cuts(pool, candidates, *pair)]
        if not more and not pool.meets_limits(columns):
            # The solver's tolerance is wider than ours: this very choice is no model.
            more = [(np.flatnonzero(chosen > 0.5).astype(np.int32), len(columns) - 1)]
        if not more:
            return MipAnswer(columns, float(pool.loss[columns].sum()), run.bound, run.finished)
        if not run.finished:
            return MipAnswer(np.empty(0, dtype=np.int32), np.inf, run.bound, complete=False)
        cuts += more


def _build(pool: ColumnPool, candidates: npt.NDArray[np.int64], cutoff: float) -> highspy.HighsLp:
    """Every row that is looked at once, the leaf limit, the constraints over the whole model, and the cutoff."""
    problem = pool.problem
    cover = distinct_rows(pool.cover(candidates, pool.model_rows.rows).T.tocsr())
    loss = pool.loss[candidates]
    n_rows, n_columns = cover.shape
    matrix = sparse.vstack(
        [cover, sparse.csr_matrix(np.ones((1, n_columns))), sparse.csr_matrix(pool.extra[candidates].T)], format="csc"
    )
    lower = [0.0, *problem.at_least]
    upper = [float(problem.max_leaves), *(np.inf for _ in problem.at_least)]
    if np.isfinite(cutoff):
        matrix = sparse.vstack([matrix, sparse.csr_matrix(loss)], format="csc")
        lower.append(-np.inf)
        upper.append(cutoff)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = n_columns, matrix.shape[0]
    model.col_cost_ = loss
    model.col_lower_, model.col_upper_ = np.zeros(n_columns), np.ones(n_columns)
    model.row_lower_ = np.concatenate([np.ones(n_rows), lower])
    model.row_upper_ = np.concatenate([np.ones(n_rows), upper])
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    model.integrality_ = [highspy.HighsVarType.kInteger] * n_columns
    return model


def _cuts(pool: ColumnPool, candidates: npt.NDArray[np.int64], one: int, other: int) -> list[IntArray]:
    """Candidates of which at most one can be chosen, for two columns in conflict.

    A row of the other column is covered once: so of the columns that cover it and are in conflict with the first one,
    and that one itself, at most one is chosen. The same the other way round.
    """
    cuts = []
    for a, b in ((one, other), (other, one)):
        row = pool.cover(np.array([b])).indices[:1]
        covering = np.flatnonzero(pool.cover(candidates, row).toarray().ravel())
        members = [j for j in covering if pool.in_conflict(a, int(candidates[j]))]
        cuts.append(np.array([*members, *np.flatnonzero(candidates == a)], dtype=np.int32))
    return cuts


class _Run:
    """A solver on a thread of its own, so that neither its blind spots nor Ctrl-C can hold us up."""

    def __init__(self, solver: highspy.Highs, deadline: Deadline) -> None:
        self._solver = solver
        self._deadline = deadline
        self._best: FloatArray | None = None
        self._stop = False
        self.bound = -np.inf
        self.finished = False
        solver.cbMipImprovingSolution.subscribe(self._improved)
        solver.cbMipInterrupt.subscribe(self._tick)

    def _improved(self, event: highspy.highs.HighsCallbackEvent) -> None:
        self._best = np.array(event.data_out.mip_solution)
        self.bound = max(self.bound, event.data_out.mip_dual_bound)

    def _tick(self, event: highspy.highs.HighsCallbackEvent) -> None:
        self.bound = max(self.bound, event.data_out.mip_dual_bound)
        if self._stop or self._deadline.expired:
            event.interrupt()

    def wait(self) -> FloatArray | None:
        """Runs to the end or to the deadline; the best solution found, if any."""
        # Not a daemon: a solver that is killed in the middle at exit takes the process down with it.
        thread = threading.Thread(target=self._solver.run)
        thread.start()
        try:
            while thread.is_alive() and self._deadline.remaining > 0:
                thread.join(min(self._deadline.remaining, 0.5))
            thread.join(GRACE_SECONDS)
        finally:
            self._stop = True
        if thread.is_alive():
            return self._best
        status = self._solver.getModelStatus()
        info = self._solver.getInfo()
        self.finished = status in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible)
        if status == highspy.HighsModelStatus.kInfeasible:
            self.bound = np.inf
            return None
        self.bound = max(self.bound, info.mip_dual_bound)
        if np.isfinite(info.objective_function_value) and info.primal_solution_status == 2:
            return np.array(self._solver.getSolution().col_value)
        return self._best


def distinct_rows(cover: sparse.csr_matrix) -> sparse.csr_matrix:
    """Rows with the same columns demand the same thing: one of each stays."""
    cover.sort_indices()
    seen: dict[bytes, int] = {}
    for i in range(cover.shape[0]):
        seen.setdefault(cover.indices[cover.indptr[i] : cover.indptr[i + 1]].tobytes(), i)
    return cover[sorted(seen.values())]
