"""A small dense interior-point solver for the restricted master.

Column generation wants *central* duals, often and roughly: an interior method stopped early gives exactly these, and
far fewer rounds are needed than with the extreme duals of the simplex method. The master has few rows (they are
generated) and its normal matrix is dense, so one matrix product and one Cholesky factor a step is all there is to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from omtree.data.table import FloatArray

#: A step goes this share of the way to the boundary.
STEP = 0.995
MAX_STEPS = 80


@dataclass(frozen=True, eq=False)
class BoxedLP:
    """``min cost @ x + over @ up + under @ down`` subject to ``matrix @ x + up - down = rhs``, everything >= 0.

    The prices of the two slacks of a row are a box around its dual: ``-under <= dual <= over``.
    """

    cost: FloatArray
    matrix: FloatArray
    rhs: FloatArray
    over: FloatArray
    under: FloatArray


@dataclass(frozen=True, eq=False)
class InteriorPoint:
    """Primal and dual values, accurate to the relative gap that was asked for."""

    x: FloatArray
    up: FloatArray
    down: FloatArray
    dual: FloatArray
    value: float
    gap: float


def solve_interior(lp: BoxedLP, tolerance: float) -> InteriorPoint:
    """Mehrotra's predictor-corrector method on a boxed LP.

    Parameters
    ----------
    lp : BoxedLP
    tolerance : float
        Relative duality gap at which to stop.
    """
    matrix, rhs, cost = lp.matrix, lp.rhs, lp.cost
    n_rows, n_columns = matrix.shape
    scale = 1.0 + float(np.abs(cost).max(initial=0.0))
    y = (lp.over - lp.under) / 2 * 1e-3 + np.clip(0.0, -0.5 * lp.under, 0.5 * lp.over)
    y = np.clip(y, -0.99 * lp.under + 0.01 * lp.over, 0.99 * lp.over - 0.01 * lp.under)
    x = np.full(n_columns, 1.0 / max(1, n_columns))
    up = np.full(n_rows, 0.5)
    down = np.full(n_rows, 0.5)
    z = np.maximum(cost - matrix.T @ y, 0.1 * scale)
    z_up, z_down = lp.over - y, lp.under + y
    n_pairs = n_columns + 2 * n_rows
    best: InteriorPoint | None = None

    for _ in range(MAX_STEPS):
        primal_residual = rhs - matrix @ x - up + down
        dual_residual = cost - matrix.T @ y - z
        complementarity = float(x @ z + up @ z_up + down @ z_down)
        value = float(cost @ x + lp.over @ up + lp.under @ down)
        gap = complementarity / (1.0 + abs(value))
        infeasible = max(float(np.abs(primal_residual).max(initial=0.0)), float(np.abs(dual_residual).max(initial=0.0)) / scale)
        best = InteriorPoint(x, up, down, y, value, gap)
        if gap < tolerance and infeasible < max(1e-7, min(1e-3, tolerance)):
            break
        theta = x / z
        theta_up, theta_down = up / z_up, down / z_down
        scaled = matrix * np.sqrt(theta)
        normal = scaled @ scaled.T
        normal[np.diag_indices(n_rows)] += theta_up + theta_down + 1e-12 * (1.0 + np.trace(normal) / n_rows)
        try:
            factor = cho_factor(normal, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            break  # as accurate as the arithmetic allows; the caller's bound does not rest on it

        def direction(
            r_x: FloatArray, r_up: FloatArray, r_down: FloatArray
        ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
            """Newton step for complementarity targets x*z -> x*z + r."""
            right = (
                primal_residual
                - matrix @ ((r_x - x * dual_residual) / z)  # noqa: B023
                - r_up / z_up  # noqa: B023
                + r_down / z_down  # noqa: B023
            )
            dy = cho_solve(factor, right, check_finite=False)  # noqa: B023
            dz = dual_residual - matrix.T @ dy  # noqa: B023
            dx = (r_x - x * dz) / z  # noqa: B023
            d_up = (r_up + up * dy) / z_up  # noqa: B023
            d_down = (r_down - down * dy) / z_down  # noqa: B023
            return dx, d_up, d_down, dy, dz

        dx, d_up, d_down, dy, dz = direction(-x * z, -up * z_up, -down * z_down)
        primal_step = min(_longest(x, dx), _longest(up, d_up), _longest(down, d_down))
        dual_step = min(_longest(z, dz), _longest(z_up, -dy), _longest(z_down, dy))
        aimed = float(
            (x + primal_step * dx) @ (z + dual_step * dz)
            + (up + primal_step * d_up) @ (z_up - dual_step * dy)
            + (down + primal_step * d_down) @ (z_down + dual_step * dy)
        )
        mu = complementarity / n_pairs
        target = mu * (aimed / complementarity) ** 3
        dx, d_up, d_down, dy, dz = direction(
            target - x * z - dx * dz, target - up * z_up + d_up * dy, target - down * z_down - d_down * dy
        )
        primal_step = min(1.0, STEP * min(_longest(x, dx), _longest(up, d_up), _longest(down, d_down)))
        dual_step = min(1.0, STEP * min(_longest(z, dz), _longest(z_up, -dy), _longest(z_down, dy)))
        x, up, down = x + primal_step * dx, up + primal_step * d_up, down + primal_step * d_down
        y, z = y + dual_step * dy, z + dual_step * dz
        z_up, z_down = lp.over - y, lp.under + y
    assert best is not None
    return best


def _longest(value: FloatArray, step: FloatArray) -> float:
    """How far one can go along `step` before an entry of `value` becomes negative."""
    falling = step < 0.0
    if not falling.any():
        return 1e6
    return float(np.min(-value[falling] / step[falling]))
