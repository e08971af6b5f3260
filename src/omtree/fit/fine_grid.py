"""Numbers cut as finely as codes allow, and trees over such cuts told by the numbers they cut at."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from omtree import _native
from omtree.data.binning import readable_between
from omtree.data.table import MAX_CODES, Feature, FloatArray
from omtree.deadline import Deadline
from omtree.fit.raw_cuts import Part, RawNode
from omtree.problem.problem import Node
from omtree.sources.samples import Training

#: Most cuts of a column, and of all columns together; every column has at least so many of them.
MOST_CUTS, ALL_CUTS, LEAST_CUTS = 250, 100_000, 24
#: Where to cut is looked up in at most so many rows.
MOST_ROWS = 50_000
#: How many distinct values away from a cut that a tree uses there are other cuts.
_STEPS = (1, 2, 3, 5, 8, 13, 21)


def fine_features(
    training: Training,
    features: Sequence[Feature],
    positions: Sequence[int],
    used: Mapping[int, Sequence[float]],
    deadline: Deadline,
) -> tuple[Feature, ...]:
    """The features with many thresholds: those in use, others close to them, and quantiles.

    Thresholds are values of the column but for those in use; `readable` makes them numbers to read.

    Parameters
    ----------
    training : Training
    features : sequence of Feature
    positions : sequence of int
        Of the numeric features to cut.
    used : mapping of int to sequence of float
        By position, thresholds to keep.
    deadline : Deadline
        Features that its end comes before stay as they are, unless thresholds of them are in use.
    """
    most = min(MOST_CUTS, max(LEAST_CUTS, ALL_CUTS // max(1, len(positions))))
    balanced = _balanced(training)
    fine = list(features)
    for position in positions:
        if position not in used and deadline.expired:
            continue
        feature = features[position]
        values = training.columns[feature.column].values
        kept = sorted(used.get(position, ()))
        room = MAX_CODES - 1 - feature.has_missing
        cuts = dict.fromkeys(kept)
        for cut in _close(values, kept)[: room // 3]:
            cuts.setdefault(cut)
        if balanced is None:
            spread = fine_cuts(values, training.row_weight, most + 1)
        else:
            halves = [fine_cuts(values, weight, most // 2 + 1) for weight in (training.row_weight, balanced)]
            spread = np.union1d(*halves)
        size = min(len(spread), max(0, room - len(cuts)))
        if size:
            cuts.update(dict.fromkeys(spread[np.linspace(0, len(spread) - 1, size).astype(int)].tolist()))
        thresholds = np.array(sorted(list(cuts)[:room]))
        fine[position] = replace(feature, thresholds=thresholds, n_values=len(thresholds) + 1)
    return tuple(fine)


def fine_cuts(values: FloatArray, weights: FloatArray | None, n_bins: int) -> FloatArray:
    """About `n_bins` bins of equal weight; what heavy values leave over goes to the others, however rare these are.

    >>> fine_cuts(np.array([0.0] * 50 + [1.0, 2.0, 3.0, 4.0]), None, 4)
    array([1., 2., 4.])
    """
    step = max(1, len(values) // MOST_ROWS)
    values, weights = values[::step], None if weights is None else np.ascontiguousarray(weights[::step])
    given = np.empty(0) if weights is None else weights
    distinct = _native.few_distinct(values, given, n_bins)
    if len(distinct) <= n_bins:
        return np.asarray(distinct[1:])
    cuts = np.array([high for _, high in _native.quantile_cuts(values, given, n_bins)])
    left = n_bins - 1 - len(cuts)
    if left > n_bins // 10:
        present = ~np.isnan(values) if weights is None else ~np.isnan(values) & (weights > 0)
        rare = np.setdiff1d(np.unique(values[present])[1:], cuts)
        cuts = np.union1d(cuts, rare[np.linspace(0, len(rare) - 1, min(left, len(rare))).astype(int)])
    return cuts


def _balanced(training: Training) -> FloatArray | None:
    """Weights with which all classes weigh the same, or rare ones would have no cuts; None where they do anyway."""
    if training.target.is_number:
        return None
    labels = training.target.labels
    weight = np.ones(len(labels)) if training.row_weight is None else training.row_weight
    totals = np.bincount(labels, weights=weight)
    if totals[totals > 0].min() >= 0.5 * totals.max():
        return None
    return np.asarray(weight / np.where(totals > 0, totals, 1.0)[labels])


def _close(values: FloatArray, kept: Sequence[float]) -> list[float]:
    """Values around thresholds in use, the nearest ones first."""
    if not kept:
        return []
    distinct = np.unique(values[~np.isnan(values)])
    places = np.searchsorted(distinct, kept)
    found = [place + sign * step for step in _STEPS for sign in (-1, 1) for place in places.tolist()]
    return [float(distinct[place]) for place in dict.fromkeys(found) if 0 < place < len(distinct)]


def raw_tree(node: Node, features: Sequence[Feature]) -> RawNode:
    """A tree over codes, told by the numbers it cuts at."""
    if not node.branches:
        return RawNode(node.label)
    position = node.branches[0][0].feature
    feature = features[position]
    branches = []
    for condition, child in node.branches:
        codes = [code for code in condition.codes if code < feature.n_values]
        missing = len(codes) < len(condition.codes)
        if feature.thresholds is None:
            part = Part(codes=tuple(codes), missing=missing)
        elif codes:
            edges = [-math.inf, *feature.thresholds.tolist(), math.inf]
            part = Part(edges[min(codes)], edges[max(codes) + 1], missing=missing)
        else:
            part = Part(math.inf, math.inf, missing=missing)
        branches.append((part, raw_tree(child, features)))
    return RawNode(node.label, position, tuple(branches))


def cuts_of(root: RawNode) -> dict[int, set[float]]:
    """The numbers at which a tree cuts, by feature."""
    cuts: dict[int, set[float]] = {}
    nodes = [root]
    while nodes:
        node = nodes.pop()
        for part, child in node.branches:
            nodes.append(child)
            cuts.setdefault(node.feature, set()).update(edge for edge in (part.low, part.high) if math.isfinite(edge))
    return cuts


def readable(training: Training, features: Sequence[Feature], root: RawNode) -> RawNode:
    """The tree with numbers to read that part the samples in the same way."""
    words: dict[int, dict[float, float]] = {}
    weight = training.row_weight
    for position, found in cuts_of(root).items():
        if found:
            values = training.columns[features[position].column].values
            # Samples without weight are as good as absent.
            values = values[~np.isnan(values) if weight is None else ~np.isnan(values) & (weight > 0)]
            cuts = np.array(sorted(found))
            codes = np.empty(len(values), dtype=np.uint8)
            _native.bin_codes(values, cuts, 255, codes)
            lowest = np.full(256, np.inf)
            highest = np.full(256, -np.inf)
            np.minimum.at(lowest, codes, values)
            np.maximum.at(highest, codes, values)
            words[position] = {}
            for place, cut in enumerate(cuts.tolist()):
                below, above = float(highest[: place + 1].max()), float(lowest[place + 1 : len(cuts) + 1].min())
                parts = math.isfinite(below) and math.isfinite(above)
                words[position][cut] = readable_between(below, above) if parts else cut
    return _said(root, words)


def at_thresholds(training: Training, features: Sequence[Feature], root: RawNode) -> RawNode:
    """The tree cut at thresholds of the features, which part the samples in the same way.

    Parameters
    ----------
    training : Training
    features : sequence of Feature
        Numeric ones with a threshold between any two values.
    root : RawNode
    """
    words: dict[int, dict[float, float]] = {}
    weight = training.row_weight
    for position, found in cuts_of(root).items():
        thresholds = features[position].thresholds
        assert thresholds is not None or not found
        if thresholds is not None:
            values = training.columns[features[position].column].values
            values = np.sort(values if weight is None else values[weight > 0])  # missing ones come last
            for cut in found:
                above = values[min(int(np.searchsorted(values, cut)), len(values) - 1)]
                place = int(np.searchsorted(thresholds, above, side="right")) - 1
                if place >= 0 and above >= cut:
                    words.setdefault(position, {})[cut] = float(thresholds[place])
    return _said(root, words)


def _said(root: RawNode, words: Mapping[int, Mapping[float, float]]) -> RawNode:
    """The tree with other words for the numbers it cuts at, by feature."""

    def said(node: RawNode) -> RawNode:
        known = words.get(node.feature, {})
        return replace(
            node,
            branches=tuple(
                (replace(part, low=known.get(part.low, part.low), high=known.get(part.high, part.high)), said(child))
                for part, child in node.branches
            ),
        )

    return said(root)
