"""What a tree does with codes that its nodes never saw: part of the model, chosen before anything is asked of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from omtree.data.table import Table
from omtree.problem.problem import Node

Region = dict[int, frozenset[int]]


def with_defaults(root: Node, table: Table) -> Node:
    """The tree in which every node sends codes it never saw the way of the feature's most common code.

    So a value that training never saw, which has no code, is answered as the most common one is. Where a node never saw
    that either, it is the heaviest branch.

    Examples
    --------
    >>> from omtree.data.table import Feature
    >>> from omtree.problem.graph import Condition
    >>> size = Feature("size", 0, "nominal", 3, False, levels=("S", "M", "L"))
    >>> table = Table((size,), np.array([[0, 1, 2]], np.uint8), np.array([[5.0], [4.0], [3.0]]), np.arange(3))
    >>> root = Node(0, ((Condition(0, (1, 2)), Node(0)), (Condition(0, (0,)), Node(1))))
    >>> with_defaults(root, table).default
    1
    """
    weight = table.weight
    common = [int(np.bincount(codes, weights=weight, minlength=256).argmax()) for codes in table.codes]

    def chosen(node: Node, rows: npt.NDArray[np.intp]) -> Node:
        if not node.branches:
            return node
        branches, weights = [], []
        default = None
        for place, (condition, child) in enumerate(node.branches):
            inside = rows[np.isin(table.codes[condition.feature, rows], condition.codes)]
            branches.append((condition, chosen(child, inside)))
            weights.append(float(weight[inside].sum()))
            if common[condition.feature] in condition.codes:
                default = place
        return replace(node, branches=tuple(branches), default=int(np.argmax(weights)) if default is None else default)

    return chosen(root, np.arange(table.n_rows))


def regions_of(root: Node, n_codes: tuple[int, ...]) -> list[Region]:
    """The codes that lead to each leaf, by feature, in the order of `leaves_of`; every node has its default."""

    def below(node: Node, region: Region) -> list[Region]:
        if not node.branches:
            return [region]
        feature = node.branches[0][0].feature
        here = region.get(feature, frozenset(range(n_codes[feature])))
        rest = here.difference(*(condition.codes for condition, _ in node.branches))
        found = []
        for place, (condition, child) in enumerate(node.branches):
            inside = here.intersection(condition.codes) | (rest if place == node.default else frozenset())
            found += below(child, {**region, feature: inside})
        return found

    return below(root, {})
