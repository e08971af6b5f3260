"""Trees that cut numbers anywhere: the features with just the cuts of such a tree, and the tree over them.

A search that is not bound to a grid answers with the numbers it cuts at. Everything after it (rules, checks, exports)
knows a tree by the codes of features, so these get exactly the thresholds that the tree needs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from omtree.data.table import MAX_CODES, Feature
from omtree.problem.graph import Condition
from omtree.problem.problem import Node


@dataclass(frozen=True)
class Part:
    """The values of a feature that one branch takes.

    Attributes
    ----------
    low, high : float
        Numeric features: ``low <= x < high``; both infinite of one sign for no number at all.
    codes : tuple of int
        Ordinal and nominal features: the codes of the levels.
    missing : bool
        Whether missing cells belong to it.
    """

    low: float = -math.inf
    high: float = math.inf
    codes: tuple[int, ...] = ()
    missing: bool = False


@dataclass(frozen=True)
class RawNode:
    """A node of a tree that cuts anywhere.

    Attributes
    ----------
    label : int
        The class it would predict as a leaf.
    feature : int
        Position of the feature that it splits; -1 in a leaf.
    branches : tuple of (Part, RawNode)
        Their parts may be wider than what reaches the node, as ``x < 5`` is below ``x < 10``.
    """

    label: int
    feature: int = -1
    branches: tuple[tuple[Part, RawNode], ...] = ()


def with_cuts(features: Sequence[Feature], root: RawNode) -> tuple[tuple[Feature, ...], Node]:
    """The features with the thresholds that a tree cuts at, and the tree in terms of their codes.

    Numeric features that the tree does not cut, and those of other kinds, stay as they are.

    Examples
    --------
    >>> age = Feature("age", 0, "numeric", 2, False, thresholds=np.array([40.0]))
    >>> young, old = Part(high=35.5), Part(low=35.5)
    >>> (cut,), node = with_cuts([age], RawNode(0, 0, ((young, RawNode(0)), (old, RawNode(1)))))
    >>> cut.thresholds, [condition.text for condition, _ in node.branches]
    (array([35.5]), ['age < 35.5', 'age >= 35.5'])
    """
    cuts: dict[int, set[float]] = {}
    for node in _inner(root):
        if features[node.feature].kind == "numeric":
            found = cuts.setdefault(node.feature, set())
            found.update(edge for part, _ in node.branches for edge in (part.low, part.high) if math.isfinite(edge))
    changed = list(features)
    for position, edges in cuts.items():
        feature = features[position]
        if len(edges) + 1 + feature.has_missing > MAX_CODES:
            raise ValueError(
                f"The tree cuts column {feature.name!r} at {len(edges)} places, more than the "
                f"{MAX_CODES - 1 - feature.has_missing} possible; use a smaller max_leaves."
            )
        changed[position] = replace(feature, thresholds=np.array(sorted(edges)), n_values=len(edges) + 1)
    return tuple(changed), coded(root, changed)


def n_leaves(root: RawNode) -> int:
    """Leaves of a tree."""
    return sum(n_leaves(child) for _, child in root.branches) or 1


def _inner(node: RawNode) -> Iterator[RawNode]:
    if node.branches:
        yield node
        for _, child in node.branches:
            yield from _inner(child)


def coded(root: RawNode, features: Sequence[Feature]) -> Node:
    """A tree in terms of the codes of features that have its cuts among their thresholds."""
    return _coded(root, features, {})


def _coded(node: RawNode, features: Sequence[Feature], domains: dict[int, frozenset[int]]) -> Node:
    """The tree below a node, given the codes that reach it of the features split above."""
    if not node.branches:
        return Node(node.label)
    feature = features[node.feature]
    domain = domains.get(node.feature, frozenset(range(feature.n_codes)))
    branches = []
    for part, child in node.branches:
        codes = domain & _codes(feature, part)
        condition = Condition(node.feature, tuple(sorted(codes)), feature.describe(tuple(codes)))
        branches.append((condition, _coded(child, features, {**domains, node.feature: codes})))
    return Node(node.label, tuple(branches))


def _codes(feature: Feature, part: Part) -> frozenset[int]:
    codes = set(part.codes)
    if feature.thresholds is not None:
        first = 0 if part.low == -math.inf else int(np.searchsorted(feature.thresholds, part.low)) + 1
        last = feature.n_values - 1
        if part.high < math.inf:
            last = int(np.searchsorted(feature.thresholds, part.high, side="right")) - 1
        codes = set(range(first, last + 1))
    return frozenset(codes | ({feature.n_values} if part.missing and feature.has_missing else set()))
