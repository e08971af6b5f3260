"""The proof's own search: exact covers within a budget of reduced cost."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.rules.mip import MipAnswer, distinct_rows
from omtree.engines.rules.pool import ColumnPool


def search_cover(
    pool: ColumnPool,
    candidates: npt.NDArray[np.int64],
    reduced_cost: FloatArray,
    *,
    bound: float,
    cutoff: float,
    integral: bool,
    deadline: Deadline,
) -> MipAnswer:
    """The best model of loss at most `cutoff` that uses the candidate columns only.

    Parameters
    ----------
    candidates : array of int
        Columns of the pool.
    reduced_cost : array of float
        Of each candidate, against duals whose bound is `bound`.
    bound : float
        The loss of a model is at least this plus the reduced costs of its rules.
    cutoff : float
    integral : bool
        Whether every loss is a whole number.
    """
    while True:
        answer = _search(pool, candidates, reduced_cost, bound, cutoff, integral, deadline)
        if not pool.model_rows.learn(pool, answer.columns):
            return answer
        if deadline.expired:
            return MipAnswer(np.empty(0, dtype=np.int32), np.inf, bound, complete=False)


def _search(
    pool: ColumnPool,
    candidates: npt.NDArray[np.int64],
    reduced_cost: FloatArray,
    bound: float,
    cutoff: float,
    integral: bool,
    deadline: Deadline,
) -> MipAnswer:
    """The same, on the rows that are looked at."""
    problem = pool.problem
    cover = distinct_rows(pool.cover(candidates, pool.model_rows.rows).T.tocsr()).T.tocsr()
    cover.sort_indices()
    rules, loss, complete, _ = _native.exact_cover(
        cover.shape[1],
        cover.indptr,
        cover.indices,
        pool.loss[candidates],
        np.maximum(0.0, reduced_cost),
        np.ascontiguousarray(pool.extra[candidates]),
        np.array([row.at_least for row in problem.model_limits]),
        bound,
        cutoff,
        1.0 if integral else 1e-9 * max(1.0, abs(cutoff)),
        problem.max_leaves,
        min(deadline.remaining, 1e9),
        None if problem.conflict is None else lambda a, b: pool.in_conflict(int(candidates[a]), int(candidates[b])),
    )
    if len(rules) == 0:
        return MipAnswer(np.empty(0, dtype=np.int32), np.inf, cutoff if complete else bound, complete)
    return MipAnswer(candidates[rules].astype(np.int32), loss, loss if complete else bound, complete)
