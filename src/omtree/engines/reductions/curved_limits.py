"""Constraints that are linear in no finite way, by branching on the weight that is given the class."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic

import numpy as np

from omtree.engines.reductions.additive import Additive, Answer, Solve
from omtree.engines.reductions.weight_steps import EQUAL, divide, weight_step
from omtree.model.certificate import Status
from omtree.problem.problem import ModelLimit, Problem

if TYPE_CHECKING:
    from omtree.constraints.demands import CurvedLimit

MAX_SOLVES = 1000

Intervals = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Branched(Generic[Answer]):
    """The best model that meets the curved limits: its answer and value, and what no such model is below.

    Without a model `answer` is None, and `status` says whether that is proven.
    """

    answer: Answer | None
    value: float
    bound: float
    status: Status
    solves: int


def solve_curved(problem: Problem, solve: Solve[Answer]) -> Branched[Answer]:
    """The model of least loss under all constraints.

    Within an interval of the weight given the class, a curved limit implies linear rows, which say the same as the
    limit where the interval is a point. A model of such a relaxation that misses the limit divides its interval there.

    Parameters
    ----------
    problem : Problem
    solve : callable
        The best model for a problem without curved limits.
    """
    curved = problem.curved
    step = weight_step(problem.table.statistics)
    order = itertools.count()
    start: Intervals = tuple((0.0, float(limit.largest)) for limit in curved)
    todo: list[tuple[float, int, Intervals]] = [(-np.inf, next(order), start)]
    best: Additive[Answer] | None = None
    value, solves = np.inf, 0
    status: Status = "optimal"
    given_up = np.inf  # least bound of what was not looked at
    while todo:
        bound, _, intervals = heapq.heappop(todo)
        if bound >= value - 1e-9 * max(1.0, abs(value)):
            break
        if solves == MAX_SOLVES:
            status, given_up = "stopped", min(given_up, bound)
            break
        found = solve(_relaxation(problem, curved, intervals))
        solves += 1
        if found.status == "infeasible":
            continue
        bound = max(bound, found.bound)
        if found.paths:
            sums = [
                tuple(sum(problem.path_sum(path, part) for path in found.paths) for part in (c.hits, c.called))
                for c in curved
            ]
            broken = [
                i
                for i, (limit, (hits, called)) in enumerate(zip(curved, sums, strict=True))
                if not limit.holds(hits, called)
            ]
            loss = sum(map(problem.path_loss, found.paths))
            if not broken and loss < value:
                best, value = found, loss
            if not broken and found.status == "optimal":
                continue
        else:
            broken, sums = [], []
        if found.status not in ("optimal", "gap_reached") or not broken:
            status, given_up = (found.status if found.status != "optimal" else "stopped"), min(given_up, bound)
            if found.status in ("time_limit", "interrupted"):
                break
            continue
        limit = broken[0]
        divided = divide(intervals[limit], sums[limit][1], step, EQUAL * curved[limit].largest)
        if not divided:
            status, given_up = "stopped", min(given_up, bound)
        for part in divided:
            parts = (*intervals[:limit], part, *intervals[limit + 1 :])
            heapq.heappush(todo, (bound, next(order), parts))
    left = min([given_up, *(bound for bound, _, _ in todo)], default=np.inf)
    if best is None:
        return Branched(None, np.inf, left, "infeasible" if status == "optimal" else status, solves)
    proven = left >= value - 1e-9 * max(1.0, abs(value))
    return Branched(best.answer, value, value if proven else left, "optimal" if proven else status, solves)


def _relaxation(problem: Problem, curved: Sequence[CurvedLimit], intervals: Intervals) -> Problem:
    rows = list(problem.model_limits)
    for limit, (low, high) in zip(curved, intervals, strict=True):
        rows += limit.within(low, high)
        if low > 0.0:
            rows.append(ModelLimit(f"{limit.name}: called", limit.called, low))
        if high < limit.largest:
            rows.append(ModelLimit(f"{limit.name}: called", -limit.called, -high))
    return replace(problem, model_limits=tuple(rows), curved=())
