"""Problems in units of their own: engines compare sums with small numbers, which mean something only near one.

Everything is divided by powers of two, so no digit of any weight, cost or target is lost on the way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from omtree.constraints.demands import CurvedLimit
from omtree.problem.judge import loss_of_all, make_judge
from omtree.problem.limits import LinearLimit, RuleLimits
from omtree.problem.losses import adds_up
from omtree.problem.losses.units import near_one, power_below
from omtree.problem.problem import ModelLimit, Problem
from omtree.sources.counts import Counts, ScaledCounts


@dataclass(frozen=True, eq=False)
class InUnits:
    """A problem in its own units.

    Attributes
    ----------
    problem : Problem
    loss : float
        What a unit of its loss is in the units of the problem it was made from.
    """

    problem: Problem
    loss: float


def in_units(problem: Problem) -> InUnits:
    """The problem with weights and losses of rows in the order of one.

    Examples
    --------
    >>> from omtree.data.table import Feature, Table
    >>> from omtree.problem.graph import FeatureGraph
    >>> from omtree.problem.losses import LinearLoss
    >>> size = Feature("size", 0, "ordinal", 2, False, levels=("S", "L"))
    >>> weights = np.array([[3.0, 0.0], [0.0, 1.0]]) * 2.0**-40
    >>> table = Table((size,), np.array([[0, 1]], np.uint8), weights, np.arange(2))
    >>> small = Problem(table, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 1, 2, 2.0**-40)
    >>> standard = in_units(small)
    >>> standard.problem.table.statistics.tolist(), standard.problem.min_support, standard.loss == 2.0**-39
    ([[1.5, 0.0], [0.0, 0.5]], 0.5, True)
    """
    if problem.counts is not None:
        # The rows are elsewhere, with their weights.
        if problem.table.row_weight is not None:
            return _sums_in_units(problem, problem.counts)
        loss, unit = problem.loss.of_counted(float(problem.table.weight.mean()))
        return InUnits(replace(problem, loss=loss), unit)
    table = problem.table
    weight = table.weight
    scale = problem.loss.in_units(table, near_one(float(weight.sum()) / len(weight)), lambda: _loss_unit(problem))
    by, unit = scale.weight, scale.unit
    scaled = replace(
        problem,
        table=replace(table, statistics=scale.statistics, row_weight=None if table.row_weight is None else weight / by),
        loss=scale.loss,
        min_support=problem.min_support / by,
        model_limits=tuple(replace(row, at_least=row.at_least / by) for row in problem.model_limits),
        curved=tuple(_curved(limit, by) for limit in problem.curved),
        limits=_limits(problem, by, unit),
        leaf_price=problem.leaf_price / unit,
    )
    return InUnits(scaled, unit)


def _sums_in_units(problem: Problem, counts: Counts) -> InUnits:
    """The same where the sums come from elsewhere: targets, or what answers cost, are divided, or else all sums."""
    table = problem.table
    assert table.row_weight is not None
    assert adds_up(problem.loss)
    per_weight = power_below(make_judge(problem).bare_loss(np.zeros(1, dtype=np.uint32)) / float(counts.totals[0]))
    loss, scale, by, unit = problem.loss.scale_of_sums(len(counts.totals), per_weight)
    # Where the weight is none of the statistics, it comes before them.
    statistics = table.statistics * scale[-table.statistics.shape[1] :]
    scaled = replace(
        problem,
        table=replace(table, statistics=statistics, row_weight=table.row_weight / by),
        loss=loss,
        min_support=problem.min_support / by,
        counts=ScaledCounts(counts, scale),
    )
    return InUnits(scaled, unit)


def _loss_unit(problem: Problem) -> float:
    """About what a row adds to the loss, where that depends on the rows it is with."""
    codes = problem.table.codes
    largest = loss_of_all(problem)
    if not problem.loss.refines:
        judge = make_judge(problem)
        for level in problem.graph:
            for inside in level.code_sets:
                rows = np.flatnonzero(np.isin(codes[level.position], inside)).astype(np.uint32)
                if len(rows):
                    largest = max(largest, abs(judge.bare_loss(rows)))
    return power_below(largest / codes.shape[1]) if math.isfinite(largest) else 1.0


def _curved(limit: CurvedLimit, by: float) -> CurvedLimit:
    def within(low: float, high: float) -> tuple[ModelLimit, ...]:
        return tuple(replace(row, at_least=row.at_least / by) for row in limit.within(low * by, high * by))

    return replace(
        limit, holds=lambda hits, called: limit.holds(hits * by, called * by), within=within, largest=limit.largest / by
    )


def _limits(problem: Problem, by: float, unit: float) -> RuleLimits:
    limits = problem.limits
    prices = limits.prices
    return replace(
        limits,
        measures=None if limits.measures is None else limits.measures / by,
        linear=tuple(LinearLimit(limit.coefficient, limit.at_least / by) for limit in limits.linear),
        prices=None if prices is None else replace(prices, weight=prices.weight * by / unit),
    )
