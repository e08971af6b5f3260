"""Conditions of a tree that begins as given: those that were asked for, also for codes that no row of a node has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from omtree.problem.graph import Condition
from omtree.problem.limits import ForcedNode
from omtree.problem.problem import Node, Problem


def given_child(given: ForcedNode, codes: npt.NDArray[np.uint8]) -> tuple[int, tuple[int, ...] | None]:
    """What is given of a child whose rows have these codes, as a position, and its part."""
    if given.feature < 0 or not given.parts:
        return (given.children[0] if given.children else -1), None
    for part, child in zip(given.parts, given.children, strict=False):
        if np.isin(codes, part).any():
            return child, part
    return given.children[-1], None


def with_given_parts(root: Node, problem: Problem) -> Node:
    """The tree with the parts that are given in place of conditions that mean the same for the rows of their node."""
    forced, table = problem.limits.forced, problem.table
    if not forced:
        return root

    def visit(node: Node, place: int, rows: npt.NDArray[np.intp], domains: dict[int, frozenset[int]]) -> Node:
        if place < 0 or not node.branches:
            return node
        given, branches = forced[place], []
        for condition, child in node.branches:
            feature = condition.feature
            everything = frozenset(range(table.features[feature].n_codes))
            inside = rows[np.isin(table.codes[feature, rows], condition.codes)]
            below, part = given_child(given, table.codes[feature, inside])
            codes = frozenset(condition.codes)
            if part is not None:
                free = codes & {given.free_code}
                codes = (frozenset(part) | free) & domains.get(feature, everything)
            own = tuple(sorted(codes))
            text = table.features[feature].describe(own)
            branches.append((Condition(feature, own, text), visit(child, below, inside, {**domains, feature: codes})))
        return replace(node, branches=tuple(branches))

    return visit(root, 0, np.arange(table.n_rows), {})
