"""A small interior-point solver for the restricted master.

Column generation wants *central* duals, often and roughly: an interior method stopped early gives exactly these, and
far fewer rounds are needed than with the extreme duals of the simplex method. The master has few rows (they are
generated), so a step is one dense Cholesky factor and little else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from threadpoolctl import threadpool_limits

from omtree import _native
from omtree.data.table import FloatArray
from omtree.deadline import Deadline

#: A step goes this share of the way to the boundary.
STEP = 0.995
MAX_STEPS = 80
#: Columns with more than this share of the rows are multiplied densely.
DENSE = 0.6


@dataclass(frozen=True, eq=False)
class BoxedLP:
    """``min cost @ x + over @ up + under @ down`` subject to ``A @ x + up - down = rhs``, everything >= 0.

    ``A`` has the transpose of `cover` (0/1, columns x rows) on top and `dense` below. The prices of the two slacks of a
    row are a box around its dual: ``-under <= dual <= over``.
    """

    cost: FloatArray
    cover: sparse.csr_matrix
    dense: FloatArray
    rhs: FloatArray
    over: FloatArray
    under: FloatArray

    def times(self, x: FloatArray) -> FloatArray:
        """``A @ x``."""
        return np.concatenate([self.cover.T @ x, self.dense @ x])

    def transposed(self, y: FloatArray) -> FloatArray:
        """``A.T @ y``."""
        n = self.cover.shape[1]
        return np.asarray(self.cover @ y[:n] + y[n:] @ self.dense)


@dataclass(frozen=True, eq=False)
class InteriorPoint:
    """Primal and dual values, accurate to the relative gap that was asked for."""

    x: FloatArray
    up: FloatArray
    down: FloatArray
    dual: FloatArray
    value: float
    gap: float
    steps: int


def solve_interior(lp: BoxedLP, tolerance: float, deadline: Deadline | None = None) -> InteriorPoint:
    """Mehrotra's predictor-corrector method on a boxed LP.

    Parameters
    ----------
    lp : BoxedLP
    tolerance : float
        Relative duality gap at which to stop.
    deadline : Deadline, optional
        Ends the work where it is.
    """
    # One thread: the matrices are small, and the answer must not depend on how many there are.
    with threadpool_limits(1, user_api="blas"):
        return _Solver(lp).solve(tolerance, deadline or Deadline())


class _Solver:
    def __init__(self, lp: BoxedLP) -> None:
        self.lp = lp
        n_cover = lp.cover.shape[1]
        heavy = np.diff(lp.cover.indptr) > DENSE * n_cover
        self.light = lp.cover[~heavy]
        self.light.sort_indices()
        self.heavy = lp.cover[heavy].toarray()
        self.is_heavy = heavy
        self.normal = np.empty((len(lp.rhs), len(lp.rhs)))

    def solve(self, tolerance: float, deadline: Deadline) -> InteriorPoint:
        lp = self.lp
        cost, rhs, over, under = lp.cost, lp.rhs, lp.over, lp.under
        n_pairs = len(cost) + 2 * len(rhs)
        scale = 1.0 + float(np.abs(cost).max(initial=0.0))
        x, up, down, y, z = self._first_point(scale)
        z_up, z_down = over - y, under + y
        best: InteriorPoint | None = None
        for step in range(MAX_STEPS):
            primal_residual = rhs - lp.times(x) - up + down
            dual_residual = cost - lp.transposed(y) - z
            complementarity = float(x @ z + up @ z_up + down @ z_down)
            value = float(cost @ x + over @ up + under @ down)
            gap = complementarity / (1.0 + abs(value))
            best = InteriorPoint(x, up, down, y, value, gap, step)
            infeasible = max(_size(primal_residual), _size(dual_residual) / scale)
            if deadline.expired or (gap < tolerance and infeasible < max(1e-7, min(1e-3, tolerance))):
                break
            try:
                newton = _Newton(self, (x, up, down, z, z_up, z_down), primal_residual, dual_residual)
            except LinAlgError:
                break  # as accurate as the arithmetic allows; the caller's bound does not rest on it
            dx, d_up, d_down, dy, dz = newton.direction(-x * z, -up * z_up, -down * z_down)
            if not np.isfinite(dy).all():
                break
            primal_step = min(_longest(x, dx), _longest(up, d_up), _longest(down, d_down))
            dual_step = min(_longest(z, dz), _longest(z_up, -dy), _longest(z_down, dy))
            primal_step, dual_step = min(1.0, primal_step), min(1.0, dual_step)
            aimed = float(
                (x + primal_step * dx) @ (z + dual_step * dz)
                + (up + primal_step * d_up) @ (z_up - dual_step * dy)
                + (down + primal_step * d_down) @ (z_down + dual_step * dy)
            )
            target = complementarity / n_pairs * min(1.0, aimed / complementarity) ** 3
            dx, d_up, d_down, dy, dz = newton.direction(
                target - x * z - dx * dz, target - up * z_up + d_up * dy, target - down * z_down - d_down * dy
            )
            primal_step = min(1.0, STEP * min(_longest(x, dx), _longest(up, d_up), _longest(down, d_down)))
            dual_step = min(1.0, STEP * min(_longest(z, dz), _longest(z_up, -dy), _longest(z_down, dy)))
            x, up, down = x + primal_step * dx, up + primal_step * d_up, down + primal_step * d_down
            y, z = y + dual_step * dy, z + dual_step * dz
            # Not over - y and under + y, which may round to zero at the edge of the box.
            z_up, z_down = z_up - dual_step * dy, z_down + dual_step * dy
        assert best is not None
        return best

    def _first_point(self, scale: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """All pairs have the same product: well centred matters more here than nearly feasible."""
        lp = self.lp
        y = np.clip(np.zeros(len(lp.rhs)), 0.01 * lp.over - 0.99 * lp.under, 0.99 * lp.over - 0.01 * lp.under)
        z = np.maximum(lp.cost - lp.transposed(y), 0.1 * scale)
        product = 0.1 * scale
        return product / z, product / (lp.over - y), product / (lp.under + y), y, z


class _Newton:
    """The factored normal matrix at one point; gives directions for several targets."""

    def __init__(
        self,
        solver: _Solver,
        point: tuple[FloatArray, ...],
        primal_residual: FloatArray,
        dual_residual: FloatArray,
    ) -> None:
        self.lp = lp = solver.lp
        self.point = point
        self.primal_residual, self.dual_residual = primal_residual, dual_residual
        x, up, down, z, z_up, z_down = point
        theta = x / z
        n_cover, n_rows = lp.cover.shape[1], len(lp.rhs)
        normal = solver.normal  # what is above the diagonal is not looked at
        normal.fill(0.0)
        _native.add_normal_matrix(solver.light.indptr, solver.light.indices, theta[~solver.is_heavy], normal)
        if len(solver.heavy):
            scaled = solver.heavy.T * np.sqrt(theta[solver.is_heavy])
            normal[:n_cover, :n_cover] += scaled @ scaled.T
        weighted = lp.dense * theta
        normal[n_cover:, :n_cover] = (lp.cover.T @ weighted.T).T
        normal[n_cover:, n_cover:] = weighted @ lp.dense.T
        diagonal = np.diag_indices(n_rows)
        normal[diagonal] += up / z_up + down / z_down
        normal[diagonal] *= 1.0 + 1e-12
        # Transposed it is in the order of columns, which is factored where it stands.
        self.factor = cho_factor(normal.T, lower=False, overwrite_a=True, check_finite=False)

    def direction(
        self, r_x: FloatArray, r_up: FloatArray, r_down: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """The step that changes each product of a pair by the given amount."""
        x, up, down, z, z_up, z_down = self.point
        right = self.primal_residual - self.lp.times((r_x - x * self.dual_residual) / z) - r_up / z_up + r_down / z_down
        dy = cho_solve(self.factor, right, check_finite=False)
        dz = self.dual_residual - self.lp.transposed(dy)
        return (r_x - x * dz) / z, (r_up + up * dy) / z_up, (r_down - down * dy) / z_down, dy, dz


def _longest(value: FloatArray, step: FloatArray) -> float:
    """How far one can go along `step` before an entry of `value` becomes negative."""
    ratio = np.divide(-value, step, out=np.full(len(value), 1e6), where=step < 0.0)
    return float(ratio.min(initial=1e6))


def _size(residual: npt.NDArray[np.float64]) -> float:
    return float(np.abs(residual).max(initial=0.0))
