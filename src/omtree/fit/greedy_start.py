"""The greedy tree over all cuts, by scikit-learn, as one to start from."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from omtree.data.table import MAX_CODES, Feature, FloatArray
from omtree.fit.fine_grid import cuts_of
from omtree.fit.pose import Pose
from omtree.fit.raw_cuts import Part, RawNode
from omtree.sources.samples import Training

#: Cells times levels up to which the greedy tree is worth its time.
MOST_WORK = 10_000_000


def greedy_tree(training: Training, features: Sequence[Feature], pose: Pose, coarse: Collection[int]) -> RawNode | None:
    """The greedy tree of the same depth, leaves and support; None where it would take long or has too many cuts.

    Nominal features are cut along the order of their targets, numeric ones that are not `coarse` at their thresholds,
    which tell all their values apart.
    """
    depth = min(pose.max_depth, 30)
    if len(training) * len(features) * depth > MOST_WORK or not features:
        return None
    matrix = np.column_stack([_numbers(training, feature) for feature in features])
    bounded = pose.max_leaves < 2**depth and pose.max_leaves > 1
    params: dict[str, Any] = {
        "max_depth": depth,
        "max_leaf_nodes": pose.max_leaves if bounded else None,
        "min_weight_fraction_leaf": min(0.5, pose.min_support / pose.total * (1.0 - 1e-9)),
        "random_state": 0,
    }
    target = training.target
    if target.is_number:
        numbers = target.values
        if target.outputs is not None and target.output_weights is not None:
            numbers = target.outputs * np.sqrt(target.output_weights)
        model = DecisionTreeRegressor(**params).fit(matrix, numbers, sample_weight=training.weight)
    else:
        model = DecisionTreeClassifier(**params).fit(matrix, target.labels, sample_weight=training.weight)
    values = [np.unique(column[~np.isnan(column)]) for column in matrix.T]
    edges = [
        own if feature.thresholds is None or position in coarse else _edges(own, feature.thresholds)
        for position, (own, feature) in enumerate(zip(values, features, strict=True))
    ]
    root = _raw(model.tree_, 0, features, values, edges)
    fits = all(len(cuts) < MAX_CODES - features[position].has_missing for position, cuts in cuts_of(root).items())
    return root if fits else None


def _numbers(training: Training, feature: Feature) -> FloatArray:
    """A column as numbers: its own, or the place of each level in the order along which it is cut."""
    column = training.columns[feature.column]
    if feature.kind == "numeric":
        # The library compares in single precision, and has no larger numbers.
        return np.clip(np.asarray(column.values, dtype=np.float64), -1e38, 1e38)
    codes = feature.encode(column)
    place = np.full(256, np.nan)
    place[list(_order(feature))] = np.arange(feature.n_codes - (feature.has_missing and feature.ordered))
    return np.asarray(place[codes])


def _edges(values: FloatArray, thresholds: FloatArray) -> FloatArray:
    """The threshold just below each value."""
    return np.concatenate([[-math.inf], thresholds])[np.searchsorted(thresholds, values, side="right")]


def _order(feature: Feature) -> Sequence[int]:
    """The codes along which a feature is cut; missing cells of an ordered one are apart."""
    if feature.ordered:
        return range(feature.n_values)
    return feature.target_order or range(feature.n_codes)


def _raw(
    tree: Any, node: int, features: Sequence[Feature], values: Sequence[FloatArray], edges: Sequence[FloatArray]
) -> RawNode:
    """The tree below a node; a cut below the i-th value of a number is at its i-th edge."""
    if tree.children_left[node] < 0:
        return RawNode(0)
    position = int(tree.feature[node])
    feature = features[position]
    left = bool(tree.missing_go_to_left[node])
    below = int(np.searchsorted(values[position].astype(np.float32), tree.threshold[node], side="right"))
    low, high = Part(missing=left), Part(missing=not left)
    if feature.kind == "numeric":
        cut = float(edges[position][below]) if below < len(values[position]) else math.inf
        low, high = Part(high=cut, missing=left), Part(low=cut, missing=not left)
    else:
        order = list(_order(feature))
        first = {order[int(place)] for place in values[position][:below]}
        low = _of_codes(feature, first, left)
        high = _of_codes(feature, set(order) - first, not left)
    branches = (
        (low, _raw(tree, int(tree.children_left[node]), features, values, edges)),
        (high, _raw(tree, int(tree.children_right[node]), features, values, edges)),
    )
    return RawNode(0, position, branches)


def _of_codes(feature: Feature, codes: set[int], missing: bool) -> Part:
    """Levels as a part; where missing cells have a place in the order, they are one of them."""
    known = tuple(sorted(code for code in codes if code < feature.n_values))
    return Part(codes=known, missing=missing if feature.ordered else feature.n_values in codes)
