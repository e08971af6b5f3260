"""Problems in units of their own: engines compare sums with small numbers, which mean something only near one.

Everything is divided by powers of two, so no digit of any weight, cost or target is lost on the way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from omtree.constraints.demands import CurvedLimit
from omtree.data.table import FloatArray
from omtree.problem.judge import loss_of_all, make_judge
from omtree.problem.limits import LinearLimit, RuleLimits
from omtree.problem.losses import (
    HazardLoss,
    ImpurityLoss,
    LinearLoss,
    LinesLoss,
    Loss,
    MomentLoss,
    RowLoss,
    RowNumbers,
    SampleLoss,
    SquaresLoss,
)
from omtree.problem.problem import ModelLimit, Problem
from omtree.sources.counts import Counts, ScaledCounts

#: Within these numbers is near enough to one: whole weights and costs stay whole there, which engines make use of.
NEAR_ONE = 2.0**-4, 2.0**20


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
        if not isinstance(problem.loss, LinearLoss):
            return InUnits(problem, 1.0)
        unit = _unit(float(problem.costs.max(initial=0.0)) * float(problem.table.weight.mean()))
        return InUnits(replace(problem, loss=LinearLoss(problem.costs / unit)), unit)
    weight = problem.table.weight
    by = _unit(float(weight.sum()) / len(weight))
    table = problem.table
    if isinstance(problem.loss, (LinearLoss, ImpurityLoss)):
        cost = _unit(float(problem.costs.max(initial=0.0))) if isinstance(problem.loss, LinearLoss) else 1.0
        unit = by * cost
        statistics = table.statistics / by
        loss: Loss = LinearLoss(problem.costs / cost) if isinstance(problem.loss, LinearLoss) else problem.loss
    elif isinstance(problem.loss, MomentLoss):
        # The first of the sums is the weight, which engines rely on. So it is the targets that are divided; where they
        # are parts of their mean already, the unit of weights makes the losses near one.
        target = 1.0
        if problem.loss.kind == "squared":
            _, total, squares = table.statistics.sum(axis=0).tolist()
            largest = max(0.0, squares - total * total / float(weight.sum()))
            target = _power(math.sqrt(largest / len(weight) / by))
        else:
            by = _loss_unit(problem)
        unit = by * target * target * problem.loss.unit
        statistics = table.statistics / (by * np.array([1.0, target, target * target]))
        loss = replace(problem.loss, unit=1.0)
    elif isinstance(problem.loss, LinesLoss):
        target = _power(math.sqrt(_loss_unit(problem) / by))
        unit = by * target * target
        statistics, loss = table.statistics / (by * target**problem.loss.powers), problem.loss
    elif isinstance(problem.loss, HazardLoss | SquaresLoss):
        unit = by = _loss_unit(problem)
        statistics, loss = table.statistics / by, problem.loss
    else:
        unit = _loss_unit(problem)
        statistics, loss = _divided(table.statistics, problem.loss, unit)
    scaled = replace(
        problem,
        table=replace(table, statistics=statistics, row_weight=None if table.row_weight is None else weight / by),
        loss=loss,
        min_support=problem.min_support / by,
        model_limits=tuple(replace(row, at_least=row.at_least / by) for row in problem.model_limits),
        curved=tuple(_curved(limit, by) for limit in problem.curved),
        limits=_limits(problem, by, unit),
        leaf_price=problem.leaf_price / unit,
    )
    return InUnits(scaled, unit)


def _sums_in_units(problem: Problem, counts: Counts) -> InUnits:
    """The same where the sums come from elsewhere: targets, or what answers cost, are divided, or else all sums."""
    loss, table = problem.loss, problem.table
    assert table.row_weight is not None
    per_weight = _power(make_judge(problem).bare_loss(np.zeros(1, dtype=np.uint32)) / float(counts.totals[0]))
    by, unit = 1.0, per_weight
    if isinstance(loss, LinearLoss):
        scale = np.array([1.0] + [1.0 / unit] * loss.n_labels)
    elif isinstance(loss, MomentLoss) and loss.kind == "squared":
        target = _power(math.sqrt(per_weight))
        unit, scale = target * target, np.array([1.0, 1.0 / target, 1.0 / target**2])
    else:
        by = per_weight
        scale = np.full(len(counts.totals), 1.0 / by)
    own = 1.0
    if isinstance(loss, MomentLoss):
        own, loss = loss.unit, replace(loss, unit=1.0)
    # Where the weight is none of the statistics, it comes before them.
    statistics = table.statistics * scale[-table.statistics.shape[1] :]
    scaled = replace(
        problem,
        table=replace(table, statistics=statistics, row_weight=table.row_weight / by),
        loss=loss,
        min_support=problem.min_support / by,
        counts=ScaledCounts(counts, scale),
    )
    return InUnits(scaled, unit * own)


def _unit(size: float) -> float:
    """The power of two that makes this near one; 1 where it is."""
    if size == 0.0 or NEAR_ONE[0] <= size <= NEAR_ONE[1]:
        return 1.0
    return 2.0 ** math.floor(math.log2(size))


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
    return _power(largest / codes.shape[1]) if math.isfinite(largest) else 1.0


def _power(size: float) -> float:
    return 2.0 ** math.floor(math.log2(size)) if size > 0.0 else 1.0


def _divided(statistics: FloatArray, loss: Loss, unit: float) -> tuple[FloatArray, Loss]:
    """The loss divided by the unit: it is proportional to the weights of the samples."""
    if isinstance(loss, SampleLoss):
        # Distances alone matter: around zero they have all their digits.
        return statistics, replace(loss, weight=loss.weight / unit, target=loss.target - np.median(loss.target))
    assert isinstance(loss, RowLoss)
    function = loss.function

    def divided(rows: RowNumbers, allowed: object) -> tuple[float, int]:
        value, label = function(rows, allowed)  # type: ignore[arg-type]
        return value / unit, label

    return statistics, replace(loss, function=divided)


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
