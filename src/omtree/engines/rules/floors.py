"""What every merged row adds at least to the loss of a rule that covers it: the stuff of the pricers' bounds."""

from __future__ import annotations

import numpy as np

from omtree import _native
from omtree.data.table import FloatArray
from omtree.problem.losses import LinearLoss
from omtree.problem.losses.loss import LossAt
from omtree.problem.problem import Problem

#: Into how many intervals the predictions of a rule are divided.
INTERVALS = 16


def row_floors(problem: Problem, judge: _native.RuleJudge) -> FloatArray:
    """Lowest losses of the rows, shape (n_rows, n_cases).

    Whatever a rule predicts, one of the cases holds, in which its loss is at least the sum of its rows' entries: for
    costs by label the cases are the labels, for predicted numbers they are intervals, otherwise there is just one.
    """
    loss = problem.loss
    if isinstance(loss, LinearLoss):
        return np.ascontiguousarray(problem.row_costs())
    floor = judge.floor()[:, None]
    if problem.free_labels:
        return floor  # the cases are the labels then, which make no difference to these losses
    known = loss.near_predictions(problem.table.statistics)
    return floor if known is None else _by_interval(floor, *known)


def _by_interval(floor: FloatArray, centres: FloatArray, weight: FloatArray, loss_at: LossAt) -> FloatArray:
    """Losses are convex in the prediction: over an interval the least one is inside or at an end."""
    cuts = _cuts(centres, weight)
    least = np.repeat(floor, len(cuts) + 1, axis=1)
    for place, cut in enumerate(cuts):
        value, slope = loss_at(float(cut))
        rising, falling = slope >= 0, slope <= 0
        least[rising, place + 1] = np.maximum(least[rising, place + 1], value[rising])
        least[falling, place] = np.maximum(least[falling, place], value[falling])
    return np.ascontiguousarray(least)


def _cuts(centres: FloatArray, weight: FloatArray) -> FloatArray:
    """Ends of the intervals: quantiles of the rows' own best predictions, none at the very ends."""
    order = np.argsort(centres, kind="stable")
    shares = np.cumsum(weight[order]) / weight.sum()
    places = np.searchsorted(shares, np.arange(1, INTERVALS) / INTERVALS)
    cuts = np.unique(centres[order][np.minimum(places, len(order) - 1)])
    return np.asarray(cuts[(cuts > centres.min()) & (cuts < centres.max())])
