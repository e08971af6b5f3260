"""Tests of one feature right below each other, made one test with more children."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from omtree.data.table import Feature
from omtree.engines.trees.splits import Splits
from omtree.problem.graph import Condition
from omtree.problem.problem import Node


def most_children(splits: Splits, max_children: int | None) -> float:
    """How many children a node may have.

    >>> most_children("multiway", None)
    inf
    """
    if splits == "binary":
        return 2
    return math.inf if max_children is None else max_children


def join_tests(node: Node, features: Sequence[Feature], most: float) -> Node:
    """The same leaves in a tree of fewer levels, as far as a node may have so many children."""
    if most <= 2:
        return node  # two tests of two children each have three together
    branches = [(condition, join_tests(child, features, most)) for condition, child in node.branches]
    place = 0
    while place < len(branches):
        condition, child = branches[place]
        again = bool(child.branches) and child.branches[0][0].feature == condition.feature
        if again and len(branches) + len(child.branches) - 1 <= most:
            branches[place : place + 1] = [
                (_within(inner, condition, features[condition.feature]), below) for inner, below in child.branches
            ]
        else:
            place += 1
    return replace(node, branches=tuple(branches))


def _within(inner: Condition, outer: Condition, feature: Feature) -> Condition:
    """Both conditions on a feature as one."""
    codes = tuple(code for code in inner.codes if code in outer.codes)
    return Condition(inner.feature, codes, feature.describe(codes))
