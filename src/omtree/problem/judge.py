"""The kernel's judge of rules: what a rule costs and whether it is allowed, for any loss and any limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from omtree import _native
from omtree.problem.limits import RuleLimits
from omtree.problem.losses import adds_up
from omtree.problem.problem import Problem


def make_judge(problem: Problem) -> _native.RuleJudge:
    """The judge of a problem's rules.

    Examples
    --------
    >>> from omtree.data.table import Feature, Table
    >>> from omtree.problem.graph import FeatureGraph
    >>> from omtree.problem.losses import ImpurityLoss
    >>> size = Feature("size", 0, "ordinal", 3, False, levels=("S", "M", "L"))
    >>> table = Table((size,), np.array([[0, 1, 2]], np.uint8), np.array([[5.0, 0], [1, 4], [6, 0]]), np.arange(3))
    >>> problem = Problem(table, FeatureGraph(table.features), ImpurityLoss("gini", 2), 1, 3, 1.0)
    >>> loss, label = make_judge(problem).judge(np.array([1], np.uint32), [(0, [1])])
    >>> round(loss, 9), label
    (1.6, 1)
    """
    table, limits = problem.table, problem.limits
    n_measures = 0 if limits.measures is None else limits.measures.shape[1]
    before = 1 + table.statistics.shape[1]
    columns = [table.weight[:, None], table.statistics]
    if limits.measures is not None:
        columns.append(limits.measures)
    linear = []
    for limit in limits.linear:
        coefficient = np.zeros((before + n_measures, limit.coefficient.shape[1]))
        coefficient[before:] = limit.coefficient
        linear.append((coefficient, float(limit.at_least)))
    prices, shape = limits.prices, limits.shape
    return _native.RuleJudge(
        np.ascontiguousarray(np.concatenate(columns, axis=1)),
        problem.loss.native(),
        min_support=float(problem.min_support),
        linear=linear,
        ratios=[(before + r.a, before + r.b, before + r.c, before + r.d, r.tolerance) for r in limits.ratios],
        prices=None
        if prices is None
        else (list(prices.full), list(prices.again), list(prices.group), prices.limit, prices.weight),
        at_most=[(sorted(features), n) for features, n in shape.at_most],
        needs=[(feature, sorted(others), first) for feature, others, first in shape.needs],
        above=list(shape.above),
        root=-1 if shape.root is None else shape.root,
        predicate=limits.predicate,
        refines=problem.loss.refines,
    )


def loss_of_all(problem: Problem) -> float:
    """The size of the loss of all rows in one leaf, whatever the limits.

    Examples
    --------
    >>> from omtree.data.table import Feature, Table
    >>> from omtree.problem.graph import FeatureGraph
    >>> from omtree.problem.losses import ImpurityLoss
    >>> size = Feature("size", 0, "ordinal", 2, False, levels=("S", "L"))
    >>> table = Table((size,), np.array([[0, 1]], np.uint8), np.array([[3.0, 1], [1, 3]]), np.arange(2))
    >>> loss_of_all(Problem(table, FeatureGraph(table.features), ImpurityLoss("gini", 2), 1, 2, 1.0))
    4.0
    """
    table = problem.table
    if adds_up(problem.loss):
        # Sums decide, and one row that has them is judged sooner than all rows are.
        one = replace(
            table,
            codes=table.codes[:, :1],
            statistics=table.statistics.sum(axis=0, keepdims=True),
            row_weight=None if table.row_weight is None else np.array([table.row_weight.sum()]),
        )
        problem = replace(problem, table=one, limits=RuleLimits())
    return abs(make_judge(problem).bare_loss(np.arange(problem.table.n_rows, dtype=np.uint32)))
