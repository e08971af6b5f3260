"""The best set of disjoint rules under sums over rules: the rules a model can use are listed, and a MIP chooses.

A sum asks a Python function about each rule, so that no price of it can be had for rules that are not listed. Without
the sums, column generation gives prices for everything else; a model of a given loss can only use rules whose reduced
cost at these prices is small. So all rules for a loss a little above the bound are listed, and a model is chosen among
them or shown not to be there; then all for a larger loss.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from omtree.deadline import Deadline
from omtree.engines.reductions.listed_trees import solve_summed
from omtree.engines.rules.answer import status_of
from omtree.engines.rules.mip import solve_mip
from omtree.engines.rules.options import Options
from omtree.engines.rules.pool import ColumnPool, Duals
from omtree.engines.rules.pricing import RulePricer, general_pricer, native_pricer
from omtree.engines.rules.rule_counts import IntArray
from omtree.engines.rules.run import Run
from omtree.engines.rules.solve import make_run
from omtree.problem.judge import make_judge
from omtree.problem.problem import Path, Problem, Solution, leaves_of
from omtree.problem.rule_sums import TooManyRulesError, merged, sums_of, too_many_rules, within_limits
from omtree.progress import Progress

#: Most rules that are listed, labels and conditions told apart.
MOST_RULES = 20_000
#: The first distance from the bound up to which rules are listed, as a part of the bound.
FIRST_STEP = 0.03
#: Share of the time in which the best tree may be looked for, to start from.
TREE_SHARE = 0.2


def solve_listed(
    problem: Problem,
    options: Options,
    deadline: Deadline,
    start: Sequence[Path] = (),
    progress: Progress | None = None,
) -> Solution:
    """The best set of disjoint rules for a problem with `sums`.

    Parameters
    ----------
    problem : Problem
    options : Options
    deadline : Deadline
    start : sequence of Path
        Rules to start from.
    progress : callable, optional

    Raises
    ------
    ValueError
        When more rules than `MOST_RULES` have to be listed.
    """
    free = make_run(replace(problem, sums=()), options, deadline, progress)
    found = free.run(start)
    met = bool(found.paths) and within_limits(problem, sums_of(problem, found.paths))
    if met or found.status in ("infeasible", "interrupted"):
        return found if met or found.status == "infeasible" else replace(found, paths=(), value=math.inf)
    began = time.monotonic()
    judge = make_judge(problem)
    native = native_pricer(problem, options.n_jobs)
    general = general_pricer(problem, native, judge, free.unit)
    pool = ColumnPool(problem, native, general)
    pricer = RulePricer(problem, pool, native, options, general)
    best = _first_model(pool, deadline)
    bound, finished = free.bound, False
    for target in _targets(free):
        # The last step is to show that there is no better model than the one known.
        last = _loss(pool, best) - (1.0 if free.integral else free.zero)
        finished = last < bound
        if finished:
            break
        target = min(target, last)
        # Where no prices are known, nothing is known of any rule: all are listed.
        known = free.best_duals is not None and math.isfinite(target)
        duals = free.best_duals if known else _no_duals(problem)
        assert duals is not None
        below = target - free.raw_bound + free.zero + 1e-6 * max(1.0, abs(target)) if known else math.inf
        listed = pricer.enumerate(duals, below, MOST_RULES, deadline)
        if listed.overflow:
            raise too_many_rules(problem)
        if not listed.proven:
            break
        pool.add(listed.conditions, listed.label)
        answer = solve_mip(
            pool,
            _worth_choosing(pool),
            np.empty(0, dtype=np.int32),
            cutoff=target if known else math.inf,
            integral=free.integral,
            gap=0.0,
            deadline=deadline,
            seed=options.seed,
        )
        if len(answer.columns) and pool.is_model(answer.columns):
            best = answer.columns if _loss(pool, answer.columns) < _loss(pool, best) else best
        if not answer.complete:
            break
        finished = len(answer.columns) > 0 or target == last or not known
        if finished:
            break
        bound = max(bound, target)
    value = _loss(pool, best)
    bound = value if finished else min(bound, value)
    status = status_of(
        value,
        bound,
        proven=finished,
        interrupted=False,
        within_gap=value - bound <= options.gap * abs(value),
        expired=deadline.expired,
    )
    return Solution(
        tuple(pool.path(column) for column in best),
        status,
        value * free.unit,
        bound * free.unit,
        columns=len(pool),
        rows=found.rows,
        iterations=found.iterations,
        seconds={**found.seconds, "sums": time.monotonic() - began},
    )


def _targets(free: Run) -> Iterator[float]:
    """Losses up to which models are looked for, one after the other; infinite: all of them."""
    step = max(FIRST_STEP * abs(free.bound), 2.0 if free.integral else 0.0, 1e-3 * free.worst)
    target = free.bound + step
    while free.best_duals is not None and math.isfinite(free.raw_bound) and target < free.worst:
        yield math.floor(target) if free.integral else target
        step *= 2.0
        target += step
    yield math.inf


def _no_duals(problem: Problem) -> Duals:
    return Duals(np.empty(0, dtype=np.int32), np.empty(0), 0.0, 0.0, np.zeros(len(problem.model_limits)))


def _loss(pool: ColumnPool, columns: IntArray) -> float:
    return float(pool.loss[columns].sum()) if len(columns) else math.inf


def _first_model(pool: ColumnPool, deadline: Deadline) -> IntArray:
    """A model to start from: a single rule, or the leaves of the best tree if that is soon found; or none."""
    models = [[Path((), label)] for label in range(pool.problem.loss.n_labels)]
    try:
        tree = solve_summed(pool.problem, deadline=deadline.at_most(300.0).share(TREE_SHARE))
    except TooManyRulesError:
        tree = None
    if tree is not None and tree.root is not None:
        models.append([merged(path) for path in leaves_of(tree.root)])
    known = [pool.add_paths(paths) for paths in models if all(map(pool.fits, paths))]
    return min(filter(pool.is_model, known), key=partial(_loss, pool), default=np.empty(0, dtype=np.int32))


def _worth_choosing(pool: ColumnPool) -> npt.NDArray[np.int64]:
    """All columns, without those that another one for the same rows can stand for whatever the model."""
    if pool.problem.conflict is not None:
        return np.arange(len(pool))
    alike: dict[int, list[int]] = {}
    for column in np.argsort(pool.loss, kind="stable"):
        others = alike.setdefault(int(pool.rows_hash[column]), [])
        if not any((pool.extra[other] >= pool.extra[column]).all() for other in others):
            others.append(int(column))
    return np.array(sorted(column for columns in alike.values() for column in columns), dtype=np.int64)
