"""Rows that were never seen, for a search that has to say what it would do with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from omtree.constraints.compile import RuleNumber
from omtree.problem.problem import Problem

Point = tuple[int, ...]

#: What an imagined row weighs, as a part of the mean of the others: something, or a search would pass it over.
WEIGHT = 2.0**-40


def with_rows(problem: Problem, points: Sequence[Point]) -> Problem:
    """The problem with a row for each of the points that costs nothing, and is no support of any rule.

    Parameters
    ----------
    problem : Problem
    points : sequence of tuple of int
        A code for every feature.
    """
    if not points:
        return problem
    table, n, more = problem.table, problem.table.n_rows, len(points)
    weight = table.weight
    imagined = replace(
        table,
        codes=np.concatenate([table.codes, np.array(points, dtype=np.uint8).T], axis=1),
        statistics=np.concatenate([table.statistics, np.zeros((more, table.statistics.shape[1]))]),
        row_weight=np.concatenate([weight, np.full(more, WEIGHT * float(weight.mean()))]),
    )
    limits = problem.limits
    if limits.measures is not None:
        limits = replace(limits, measures=np.concatenate([limits.measures, np.zeros((more, limits.measures.shape[1]))]))
    asked = limits.predicate
    if asked is not None:
        limits = replace(limits, predicate=lambda conditions, rows, label: asked(conditions, rows[rows < n], label))
    return replace(
        problem,
        table=imagined,
        loss=problem.loss.blind_to(n, more),
        # A rule of imagined rows alone would predict nothing.
        min_support=max(problem.min_support, 0.5 * float(weight.min())),
        limits=limits,
        sums=tuple(replace(part, number=_of_seen(part.number, n)) for part in problem.sums),
    )


def _of_seen(number: RuleNumber, n: int) -> RuleNumber:
    return lambda conditions, rows, label: number(conditions, rows[rows < n], label)
