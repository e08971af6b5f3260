"""The best set of disjoint rules under sums over rules: all rules are listed, and one MIP chooses among them."""

from __future__ import annotations

import math
import time

import numpy as np
import numpy.typing as npt

from omtree.columns.answer import status_of
from omtree.columns.extent import extent_of
from omtree.columns.mip import solve_mip
from omtree.columns.options import Options
from omtree.columns.pool import ColumnPool, Duals
from omtree.columns.pricing import RulePricer, general_pricer, native_pricer
from omtree.deadline import Deadline
from omtree.judging import make_judge
from omtree.problem import Path, Problem, Solution
from omtree.sums import too_many_rules

#: Most rules that are listed, labels and conditions told apart.
MOST_RULES = 20_000


def solve_listed(problem: Problem, options: Options, deadline: Deadline, bound: float) -> Solution:
    """The best set of disjoint rules for a problem with `sums`.

    A sum asks a Python function about each rule, so that no price of it can be had for rules that are not listed.

    Parameters
    ----------
    problem : Problem
    options : Options
    deadline : Deadline
    bound : float
        No model has a lower loss; that of the problem without its sums.

    Raises
    ------
    ValueError
        When there are more rules than `MOST_RULES`.
    """
    began = time.monotonic()
    judge = make_judge(problem)
    extent = extent_of(problem, judge)
    native = native_pricer(problem, options.n_jobs)
    general = general_pricer(problem, native, judge, extent.unit)
    pool = ColumnPool(problem, native, general)
    pricer = RulePricer(problem, pool, native, options, general)
    everything = [Path((), label) for label in range(problem.loss.n_labels)]
    known = pool.add_paths([path for path in everything if pool.fits(path)])
    nothing = Duals(np.zeros(problem.table.n_rows), 0.0, np.zeros(len(problem.rows)))
    listed = pricer.enumerate(nothing, math.inf, MOST_RULES, deadline)
    if listed.overflow:
        raise too_many_rules(problem)
    pool.add(listed.conditions, listed.label)
    single = [column for column in known if pool.is_model([column])]
    start = np.array(sorted(single, key=lambda column: pool.loss[column])[:1], dtype=np.int32)
    answer = solve_mip(
        pool,
        _worth_choosing(pool),
        start,
        integral=extent.integral,
        gap=options.gap,
        deadline=deadline,
        seed=options.seed,
    )
    columns = answer.columns if len(answer.columns) else start
    value = float(pool.loss[columns].sum()) if len(columns) else math.inf
    complete = listed.proven and answer.complete
    least = max(bound / extent.unit, min(answer.bound, value) if listed.proven else -math.inf)
    if extent.integral and math.isfinite(least):
        least = math.ceil(least - 1e-6)
    if complete and (not len(columns) or value - least <= 1e-6 * max(1.0 if extent.integral else 0.0, abs(value))):
        least = value
    status = status_of(
        value,
        least,
        proven=complete and value == least,
        interrupted=False,
        within_gap=value - least <= options.gap * abs(value),
        expired=deadline.expired,
    )
    return Solution(
        tuple(pool.path(column) for column in columns),
        status,
        value * extent.unit,
        least * extent.unit,
        columns=len(pool),
        iterations=1,
        seconds={"mip": time.monotonic() - began},
    )


def _worth_choosing(pool: ColumnPool) -> npt.NDArray[np.int64]:
    """All columns, without those that another one for the same rows can stand for whatever the model."""
    if pool.problem.conflict is not None:
        return np.arange(len(pool))
    alike: dict[bytes, list[int]] = {}
    for column in np.argsort(pool.loss, kind="stable"):
        rows = np.sort(pool.cover.indices[pool.cover.indptr[column] : pool.cover.indptr[column + 1]]).tobytes()
        others = alike.setdefault(rows, [])
        if not any((pool.extra[other] >= pool.extra[column]).all() for other in others):
            others.append(int(column))
    return np.array(sorted(column for columns in alike.values() for column in columns), dtype=np.int64)
