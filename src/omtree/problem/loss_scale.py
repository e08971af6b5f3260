"""How large the losses of a problem are: what tolerances and artificial prices are measured against."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from omtree import _native
from omtree.data.table import FloatArray
from omtree.problem.judge import loss_of_all
from omtree.problem.losses import LinearLoss, RowLoss
from omtree.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Extent:
    """Everything but `unit` is measured in units.

    Attributes
    ----------
    unit : float
        What to divide losses by so that they are in the order of 1, a power of two.
    integral : bool
        Whether every loss is a whole number.
    floor : float
        No model costs less; minus infinity where nothing is known.
    worst : float
        No model costs more, so a bound above this shows that there is none; infinite where nothing is known.
    row_price : array of float, shape (n_rows,)
        About what each row may add to the loss of a model.
    """

    unit: float
    integral: bool
    floor: float
    worst: float
    row_price: FloatArray


def extent_of(problem: Problem, judge: _native.RuleJudge | None = None) -> Extent:
    """The extent of a problem; a judge is needed unless the problem is plain."""
    weight = problem.table.weight
    prices = problem.limits.prices
    paid = np.zeros(len(weight)) if prices is None else prices.weight * min(prices.limit, sum(prices.full)) * weight
    if isinstance(problem.loss, LinearLoss):
        costs = problem.row_costs()
        unit = _unit(float(costs.max(axis=1).sum()), len(weight))
        dearest = (costs.max(axis=1) + paid) / unit
        integral = not paid.any() and bool((costs / unit == np.round(costs / unit)).all())
        return Extent(unit, integral, float(costs.min(axis=1).sum()) / unit, _above(dearest.sum()), dearest)
    assert judge is not None
    everything = np.arange(len(weight), dtype=np.uint32)
    total = judge.bare_loss(everything)
    if not problem.loss.refines:
        total = max(abs(total), *(abs(judge.bare_loss(rows)) for rows in _rows_by_condition(problem)))
    dearest = total * weight / weight.sum() + paid
    scale = float(dearest.sum())
    unit = 2.0 ** math.floor(math.log2(scale / len(weight))) if scale > 0.0 else 1.0
    # A loss of the user's own may rise without limit where labels are not free.
    known = problem.loss.refines and (not isinstance(problem.loss, RowLoss) or problem.loss.n_labels == 1)
    return Extent(
        unit,
        False,
        float(judge.floor().sum()) / unit if problem.loss.refines else -math.inf,
        _above(scale / unit) if known else math.inf,
        dearest / unit,
    )


def most_loss(problem: Problem) -> float:
    """What a model costs that is wrong about every sample or, where no label is wrong, has one rule for all of them.

    Examples
    --------
    >>> from omtree.data.table import Feature, Table
    >>> from omtree.problem.graph import FeatureGraph
    >>> size = Feature("size", 0, "ordinal", 2, False, levels=("S", "L"))
    >>> table = Table((size,), np.array([[0, 1]], np.uint8), np.array([[3.0, 2.0], [0.0, 1.0]]), np.arange(2))
    >>> most_loss(Problem(table, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 1, 2, 1.0))
    6.0
    """
    if isinstance(problem.loss, LinearLoss):
        return float(problem.table.statistics.sum(axis=0) @ problem.costs.max(axis=1))
    return loss_of_all(problem) * problem.loss.unit


def _above(total: float) -> float:
    """A little more than the sum of all rows, which rounding cannot reach."""
    return 1.000001 * float(total) + 1e-6


def _unit(total: float, n_rows: int) -> float:
    """The power of two to divide losses by: 1 unless they are tiny, so that whole numbers stay whole."""
    return 1.0 if total >= 1.0 or total == 0.0 else 2.0 ** math.floor(math.log2(total / n_rows))


def _rows_by_condition(problem: Problem) -> list[np.ndarray[tuple[int], np.dtype[np.uint32]]]:
    """The rows of every rule of one condition."""
    codes = problem.table.codes
    members = (np.isin(codes[level.position], inside) for level in problem.graph for inside in level.code_sets)
    return [np.flatnonzero(inside).astype(np.uint32) for inside in members if inside.any()]
