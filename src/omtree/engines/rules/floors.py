"""What every merged row adds at least to the loss of a rule that covers it: the stuff of the pricers' bounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from omtree import _native
from omtree.data.table import FloatArray
from omtree.problem.losses import HazardLoss, ImpurityLoss, LinearLoss, MomentLoss, SampleLoss
from omtree.problem.problem import Problem

#: Into how many intervals the predictions of a rule are divided.
INTERVALS = 16

#: Loss and slope (any subgradient) of every row at a prediction.
LossAt = Callable[[float], tuple[FloatArray, FloatArray]]


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
    if isinstance(loss, HazardLoss):
        exposed = problem.table.statistics[:, 1:]
        if (exposed[:, 0] > 0).all():
            # Events in parts of those expected are counts over the exposure, or numbers that weigh so much.
            of_parts = MomentLoss("poisson" if loss.kind == "hazard" else "squared")
            return _by_interval(floor, *_moments(of_parts, exposed))
        return floor
    if isinstance(loss, MomentLoss):
        return _by_interval(floor, *_moments(loss, problem.table.statistics))
    if isinstance(loss, SampleLoss) and (np.diff(loss.start) > 0).all():
        return _by_interval(floor, *_samples(loss))
    if isinstance(loss, ImpurityLoss) and loss.n_labels == 2:
        return _by_interval(floor, *_two_classes(loss, problem.table.statistics))
    return floor


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


def _moments(loss: MomentLoss, statistics: FloatArray) -> tuple[FloatArray, FloatArray, LossAt]:
    weight, total, third = statistics[:, :3].T

    def squared(p: float) -> tuple[FloatArray, FloatArray]:
        return third - 2.0 * p * total + p * p * weight, weight * p - total

    def poisson(p: float) -> tuple[FloatArray, FloatArray]:
        # The row's mean is 1 + total / weight, the prediction 1 + p.
        slope = np.log1p(p)
        return third - total * slope + weight * (p - slope), weight - (weight + total) / (1.0 + p)

    by_kind: dict[str, LossAt] = {"squared": squared, "poisson": poisson}
    return total / weight, weight, by_kind[loss.kind]


def _samples(loss: SampleLoss) -> tuple[FloatArray, FloatArray, LossAt]:
    level = delta = loss.parameter

    def over_rows(values: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(loss.weight * values, loss.start[:-1]))

    def quantile(p: float) -> tuple[FloatArray, FloatArray]:
        above = loss.target - p
        slope = np.where(above > 0, -level, np.where(above < 0, 1.0 - level, 0.0))
        return over_rows(-slope * above), over_rows(slope)

    def huber(p: float) -> tuple[FloatArray, FloatArray]:
        distance = np.abs(loss.target - p)
        value = np.where(distance <= delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta))
        return over_rows(value), over_rows(np.clip(p - loss.target, -delta, delta))

    by_kind: dict[str, LossAt] = {"quantile": quantile, "huber": huber}
    return loss.target, loss.weight, by_kind[loss.kind]


def _two_classes(loss: ImpurityLoss, statistics: FloatArray) -> tuple[FloatArray, FloatArray, LossAt]:
    """The impurity of two classes is the least loss of a predicted share of the second."""
    first, second = statistics[:, 0], statistics[:, 1]
    weight = first + second

    def gini(p: float) -> tuple[FloatArray, FloatArray]:
        return 2.0 * (second * (1.0 - p) ** 2 + first * p * p), weight * p - second

    def entropy(p: float) -> tuple[FloatArray, FloatArray]:
        return -second * np.log(p) - first * np.log1p(-p), first / (1.0 - p) - second / p

    by_kind: dict[str, LossAt] = {"gini": gini, "entropy": entropy}
    return second / weight, weight, by_kind[loss.kind]
