"""What no tree can do better than: samples with equal values cannot be told apart, wherever numbers are cut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from omtree.problem.losses import LinearLoss, MomentLoss
from omtree.problem.problem import Problem
from omtree.sources.samples import Training

Groups = npt.NDArray[np.int64]


def floor_of_equal_rows(training: Training, problem: Problem, positions: Sequence[int]) -> float:
    """The loss that is left when only samples with equal values share a leaf; 0 where the loss is not known.

    Parameters
    ----------
    training : Training
        In memory.
    problem : Problem
        Posed for these samples; its rows are equal in all features but, perhaps, those at `positions`.
    positions : sequence of int
        The numeric features whose values are compared, not their codes.
    """
    groups = problem.table.row_of
    for position in positions:
        groups = _divided(groups, training.columns[problem.table.features[position].column].values)
    inside = groups >= 0
    groups, weight = groups[inside], training.weight[inside]
    size = int(groups.max(initial=-1)) + 1
    if training.target.charges is not None:
        charges = weight[:, None] * training.target.charges[inside]
        sums = [np.bincount(groups, weights=column, minlength=size) for column in charges.T]
        return float(np.min(sums, axis=0).sum()) * (1.0 - 1e-9)
    if isinstance(problem.loss, LinearLoss) and problem.class_of_stratum is None:
        n_classes = len(problem.costs)
        cells = groups * n_classes + training.target.labels[inside]
        counts = np.bincount(cells, weights=weight, minlength=size * n_classes).reshape(size, n_classes)
        return float((counts @ problem.costs).min(axis=1).sum())
    if isinstance(problem.loss, MomentLoss) and problem.loss.kind == "squared":
        target = training.target.values[inside]
        totals = np.bincount(groups, weights=weight, minlength=size)
        means = np.bincount(groups, weights=weight * target, minlength=size) / np.where(totals > 0, totals, 1.0)
        floor = float(weight @ (target - means[groups]) ** 2)
        # Rounding must not lift a bound above the loss of a tree that reaches it.
        return floor * (1.0 - 1e-9)
    return 0.0


def _divided(groups: Groups, values: npt.NDArray[np.float64]) -> Groups:
    """Groups of more than one sample divided by their values; samples left out stay so."""
    sizes = np.bincount(groups[groups >= 0])
    several = np.flatnonzero((groups >= 0) & (np.append(sizes, 0)[groups] > 1))
    if len(several) == 0:
        return groups
    order = several[np.lexsort((values[several], groups[several]))]
    own, value = groups[order], values[order]
    both_missing = np.isnan(value[1:]) & np.isnan(value[:-1])
    new = (own[1:] == own[:-1]) & (value[1:] != value[:-1]) & ~both_missing
    divided = groups.copy()
    # The first part of a group keeps its number; each further one gets one of its own.
    started = np.concatenate([[True], own[1:] != own[:-1]])
    parts = np.cumsum(np.concatenate([[0], new]))
    since = np.maximum.accumulate(np.where(started, parts, 0))
    later = parts > since
    divided[order[later]] = len(sizes) + parts[later] - 1
    return divided
