"""A mixed-integer program that is put together in blocks, and solved within a time limit."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from scipy import sparse

#: HiGHS does not look at its clock everywhere; it gets this long to come back before it is left behind.
GRACE_SECONDS = 2.0


@dataclass(frozen=True, eq=False)
class Answer:
    """The best solution found (None where there is none), its value, the bound, and whether the two are equal."""

    values: np.ndarray | None
    value: float
    bound: float
    proven: bool


class Model:
    """Variables and rows by the block; everything is minimised."""

    def __init__(self) -> None:
        self.lower: list[np.ndarray] = []
        self.upper: list[np.ndarray] = []
        self.cost: list[np.ndarray] = []
        self.integer: list[np.ndarray] = []
        self.n_variables = 0
        self._entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._row_lower: list[np.ndarray] = []
        self._row_upper: list[np.ndarray] = []
        self.n_rows = 0

    def variables(
        self, *shape: int, lower: Any = 0.0, upper: Any = 1.0, cost: Any = 0.0, integer: bool = False
    ) -> np.ndarray:
        """A block of new variables: their numbers, in this shape."""
        size = int(np.prod(shape))
        for store, value in ((self.lower, lower), (self.upper, upper), (self.cost, cost)):
            store.append(np.broadcast_to(np.asarray(value, dtype=float), shape).ravel())
        self.integer.append(np.full(size, integer))
        self.n_variables += size
        return np.arange(self.n_variables - size, self.n_variables).reshape(shape)

    def binaries(self, *shape: int, cost: Any = 0.0) -> np.ndarray:
        """A block of 0/1 variables."""
        return self.variables(*shape, cost=cost, integer=True)

    def rows(self, *terms: tuple[Any, Any], at_least: Any = -np.inf, at_most: Any = np.inf) -> None:
        """As many rows as the terms have: each term is (coefficients, numbers of variables).

        The numbers have the shape (rows,) or (rows, variables in a row); coefficients and limits are broadcast to it.
        """
        blocks = []
        count = max(np.asarray(numbers).shape[0] for _, numbers in terms)
        for coefficients, numbers in terms:
            table = np.asarray(numbers).reshape(np.asarray(numbers).shape[0], -1)
            table = np.broadcast_to(table, (count, table.shape[1]))
            factor = np.asarray(coefficients, dtype=float)
            factor = np.broadcast_to(factor.reshape(-1, 1) if factor.ndim == 1 else factor, table.shape)
            row = np.broadcast_to(np.arange(count)[:, None], table.shape)
            used = factor != 0
            blocks.append((row[used] + self.n_rows, table[used], factor[used]))
        self._entries += blocks
        self._row_lower.append(np.broadcast_to(np.asarray(at_least, dtype=float), (count,)))
        self._row_upper.append(np.broadcast_to(np.asarray(at_most, dtype=float), (count,)))
        self.n_rows += count

    def matrix(self) -> sparse.csc_matrix:
        """The rows as a matrix."""
        row, column, value = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        return sparse.csc_matrix((value, (row, column)), shape=(self.n_rows, self.n_variables))

    def broken(self, values: np.ndarray, tolerance: float = 1e-6) -> float:
        """By how much a solution breaks its rows, bounds and whole numbers, or 0."""
        activity = self.matrix() @ values
        parts = [
            np.concatenate(self._row_lower) - activity,
            activity - np.concatenate(self._row_upper),
            np.concatenate(self.lower) - values,
            values - np.concatenate(self.upper),
            np.where(np.concatenate(self.integer), np.abs(values - np.round(values)), 0.0),
        ]
        worst = max(float(part.max()) for part in parts)
        return worst if worst > tolerance else 0.0

    def value(self, values: np.ndarray) -> float:
        """Cost of a solution."""
        return float(np.concatenate(self.cost) @ values)

    def solve(self, until: float, start: np.ndarray | None = None, threads: int = 1) -> Answer:
        """Minimise until this moment of `time.perf_counter`; a start is a whole solution."""
        matrix = self.matrix()
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = self.n_variables, self.n_rows
        lp.col_cost_ = np.concatenate(self.cost)
        lp.col_lower_, lp.col_upper_ = np.concatenate(self.lower), np.concatenate(self.upper)
        lp.row_lower_, lp.row_upper_ = np.concatenate(self._row_lower), np.concatenate(self._row_upper)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr, matrix.indices
        lp.a_matrix_.value_ = matrix.data
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(whole)] for whole in np.concatenate(self.integer)]
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", threads)
        solver.setOptionValue("mip_rel_gap", 0.0)
        solver.setOptionValue("time_limit", max(0.1, until - time.perf_counter()))
        solver.passModel(lp)
        if start is not None:
            known = highspy.HighsSolution()
            known.col_value = start
            solver.setSolution(known)
        run = _Run(solver, until)
        values = run.wait()
        if values is None:
            values = start
        value = np.inf if values is None else self.value(values)
        return Answer(values, value, run.bound, run.proven)


class _Run:
    """A solver on a thread of its own, so that its blind spots cannot hold us up."""

    def __init__(self, solver: highspy.Highs, until: float) -> None:
        self._solver = solver
        self._until = until
        self._best: np.ndarray | None = None
        self.bound = -np.inf
        self.proven = False
        solver.cbMipImprovingSolution.subscribe(self._improved)
        solver.cbMipInterrupt.subscribe(self._tick)

    def _improved(self, event: Any) -> None:
        self._best = np.array(event.data_out.mip_solution)

    def _tick(self, event: Any) -> None:
        self.bound = max(self.bound, event.data_out.mip_dual_bound)
        if time.perf_counter() > self._until:
            event.interrupt()

    def wait(self) -> np.ndarray | None:
        thread = threading.Thread(target=self._solver.run, daemon=True)
        thread.start()
        thread.join(max(0.0, self._until - time.perf_counter()) + GRACE_SECONDS)
        if thread.is_alive():
            # The process of a run ends with it, and takes the thread along.
            return self._best
        self.proven = self._solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        info = self._solver.getInfo()
        self.bound = max(self.bound, info.mip_dual_bound)
        if info.primal_solution_status == 2:
            return np.array(self._solver.getSolution().col_value)
        return self._best
