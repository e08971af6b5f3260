"""Thresholds around those that a tree uses, and where the rows of its nodes would be split best."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data.binning import (
    Impurity,
    entropy,
    quantile_thresholds,
    refine_thresholds,
    spread_of_charges,
    squared_error,
)
from omtree.data.table import MAX_CODES, CodeArray, Feature, FloatArray
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Node, Problem
from omtree.sources.samples import Training

#: The bins on which the rows of a node are looked at.
_FINE_BINS = 240


@dataclass(frozen=True, eq=False)
class Scale:
    """A column cut into many bins, on which the rows of a node are looked at."""

    position: int
    values: FloatArray
    thresholds: FloatArray
    codes: CodeArray

    @classmethod
    def of(cls, training: Training, feature: Feature, position: int) -> Scale:
        column = training.columns[feature.column]
        thresholds = quantile_thresholds(column.values, training.row_weight, _FINE_BINS)
        codes = np.empty(len(training), dtype=np.uint8)
        _native.bin_codes(column.values, thresholds, len(thresholds) + 1, codes)
        return cls(position, column.values, thresholds, codes)


def finer_features(
    training: Training, problem: Problem, root: Node, scales: Sequence[Scale], n_bins: int
) -> tuple[Feature, ...] | None:
    """The features with new thresholds for a tree; None when there are none.

    Parameters
    ----------
    training : Training
    problem : Problem
        That the tree was found for.
    root : Node
        The tree, whose thresholds are kept.
    scales : sequence of Scale
        The columns to cut.
    n_bins : int
        About how many bins a column gets.
    """
    features = list(problem.table.features)
    used = _used_thresholds(root, features)
    nodes = list(_splittable(root, problem, training))
    changed = False
    for scale in scales:
        feature = features[scale.position]
        current = feature.thresholds
        assert current is not None
        chosen = sorted(used.get(scale.position, ()))
        local = _node_cuts(scale, nodes, training, problem)
        if chosen:
            per_side = max(1, (n_bins - 1 - len(chosen)) // (2 * len(chosen)))
            around = refine_thresholds(scale.values, training.row_weight, current, chosen, per_side).tolist()
            limit = max(n_bins - 1, len(around) + 2)
            wanted = [*chosen, *around, *local[:2]]
        else:
            # A column that the best tree does without gets half the bins, and every round is faster for it.
            limit = n_bins // 2
            wanted = local
        limit = min(limit, MAX_CODES - 1 - feature.has_missing)
        cuts = set(list(dict.fromkeys(wanted))[:limit])
        if len(cuts) < limit:
            cuts.update(quantile_thresholds(scale.values, training.row_weight, limit - len(cuts) + 1).tolist())
        changed |= not cuts.issubset(current.tolist())
        thresholds = np.array(sorted(cuts))
        features[scale.position] = replace(feature, thresholds=thresholds, n_values=len(thresholds) + 1)
    return tuple(features) if changed else None


def _used_thresholds(root: Node, features: Sequence[Feature]) -> dict[int, set[float]]:
    """The thresholds at which a tree cuts, by feature."""
    used: dict[int, set[float]] = {}
    nodes = [root]
    while nodes:
        for condition, child in nodes.pop().branches:
            nodes.append(child)
            feature = features[condition.feature]
            codes = [code for code in condition.codes if code < feature.n_values]
            if feature.thresholds is not None and codes:
                edges = {min(codes) - 1, max(codes)} & set(range(len(feature.thresholds)))
                used.setdefault(condition.feature, set()).update(feature.thresholds[list(edges)].tolist())
    return used


def _splittable(root: Node, problem: Problem, training: Training) -> Iterator[npt.NDArray[np.intp]]:
    """The samples of every node that may have children."""
    table = problem.table
    weight = table.weight
    open_nodes = [(root, np.ones(table.n_rows, dtype=bool), 0)]
    while open_nodes:
        node, inside, depth = open_nodes.pop()
        if depth == problem.max_depth or weight[inside].sum() < 2 * problem.min_support:
            continue
        # The last entry stands for samples of weight zero, whose row is -1.
        yield np.flatnonzero(np.append(inside, False)[table.row_of])
        for condition, child in node.branches:
            allowed = np.zeros(256, dtype=bool)
            allowed[list(condition.codes)] = True
            open_nodes.append((child, inside & allowed[table.codes[condition.feature]], depth + 1))


def _node_cuts(
    scale: Scale, nodes: Sequence[npt.NDArray[np.intp]], training: Training, problem: Problem
) -> list[float]:
    """The thresholds that split a node best, by information and by loss in turns, the largest gain first."""

    n_bins = len(scale.thresholds) + 1
    measures = _measures(training, problem)
    gains: list[list[tuple[float, float]]] = [[] for _ in measures]
    for rows in nodes:
        # The last bin is that of missing cells.
        sums = _by_bin(training, scale.codes[rows], rows, n_bins + 1)[:-1]
        below = np.concatenate([np.zeros((1, sums.shape[1])), np.cumsum(sums, axis=0)])
        for measure, found in zip(measures, gains, strict=True):
            found += [
                (-gain, float(scale.thresholds[place - 1]))
                for place, gain in _best_cuts(below, measure, problem.min_support)
            ]
    ranked = ([cut for _, cut in sorted(found)] for found in gains)
    in_turns = (cut for pair in itertools.zip_longest(*ranked) for cut in pair if cut is not None)
    return list(dict.fromkeys(in_turns))


def _by_bin(training: Training, codes: CodeArray, rows: npt.NDArray[np.intp], n_bins: int) -> FloatArray:
    """What the samples in each bin add up to: their weight, then what `_measures` look at."""
    target, weight = training.target, training.weight[rows]
    if target.is_number:
        y = target.values[rows] - target.values.mean()
        moments = (weight, weight, weight * y, weight * y**2)
        return np.stack([np.bincount(codes, weights=moment, minlength=n_bins) for moment in moments], axis=1)
    if target.charges is not None:
        columns = (weight, weight, *(weight * charge for charge in target.charges[rows].T))
        return np.stack([np.bincount(codes, weights=column, minlength=n_bins) for column in columns], axis=1)
    n_classes = len(target.classes)
    cell = codes * np.int64(n_classes) + target.labels[rows]
    mass = np.bincount(cell, weights=weight, minlength=n_bins * n_classes)
    mass = mass.reshape(n_bins, n_classes).astype(np.float64)
    return np.concatenate([mass.sum(axis=1, keepdims=True), mass], axis=1)


def _measures(training: Training, problem: Problem) -> tuple[Impurity, ...]:
    """By what cuts are compared: impurity, and the loss itself where the weights of the classes decide it."""
    if training.target.is_number:
        return (squared_error,)
    if training.target.charges is not None:
        return spread_of_charges, lambda sums: np.asarray(sums[..., 1:].min(axis=-1))
    if not isinstance(problem.loss, LinearLoss) or problem.class_of_stratum is not None:
        return (entropy,)
    costs = problem.costs
    return entropy, lambda mass: np.asarray((mass @ costs).min(axis=-1))


def _best_cuts(below: FloatArray, measure: Impurity, min_support: float) -> Iterator[tuple[int, float]]:
    """The best cut of a run of bins, and that of each part: an interval in the middle needs two cuts to show."""
    first, gain = _best_cut(below, measure, min_support)
    if first:
        yield first, gain
        for low, high in ((0, first), (first, len(below) - 1)):
            cut, gain = _best_cut(below[low : high + 1], measure, min_support)
            if cut:
                yield low + cut, gain


def _best_cut(below: FloatArray, measure: Impurity, min_support: float) -> tuple[int, float]:
    """After how many bins to cut a run of them, and what that gains; 0 where no cut is allowed or gains anything.

    ``below[i] - below[0]`` is what the first ``i`` bins add up to, their weight first.
    """
    left, right, whole = below[1:-1] - below[0], below[-1] - below[1:-1], below[-1] - below[0]
    allowed = np.flatnonzero(np.minimum(left[:, 0], right[:, 0]) >= min_support)
    if len(allowed) == 0:
        return 0, 0.0
    before = float(measure(whole[1:]))
    gain = before - measure(left[allowed, 1:]) - measure(right[allowed, 1:])
    best = int(gain.argmax())
    return (int(allowed[best]) + 1, float(gain[best])) if gain[best] > 1e-9 * before else (0, 0.0)
