"""The best trees under any loss and any limits, by trying all of them; shares nothing with the kernel."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from helpers import oracle
from omtree.data.table import Feature
from omtree.problem.limits import RuleLimits
from omtree.problem.losses import ImpurityLoss, LinearLoss, Loss, MomentLoss, RowLoss, SampleLoss
from omtree.problem.problem import Node, Problem

Conditions = dict[int, frozenset[int]]


def rule_loss(loss: Loss, statistics: np.ndarray, rows: np.ndarray, labels: list[int]) -> float:
    """Least loss over the allowed labels, from the definitions."""
    sums = statistics[rows].sum(axis=0)
    if isinstance(loss, LinearLoss):
        return min((float(sums @ loss.costs[:, label]) for label in labels), default=math.inf)
    if not labels:
        return math.inf
    if isinstance(loss, ImpurityLoss):
        total = sums.sum()
        if loss.kind == "gini":
            return float(total - (sums**2).sum() / total)
        return float(-sum(s * math.log(s / total) for s in sums if s > 0))
    if isinstance(loss, MomentLoss):
        weight, first, second = sums
        if loss.kind == "squared":
            return float(max(0.0, second - first**2 / weight))
        mean = 1.0 + first / weight
        own = mean * math.log(mean) - mean + 1.0 if mean > 1e-12 else 1.0
        return float(max(0.0, second - weight * own))
    if isinstance(loss, SampleLoss):
        inside = np.concatenate([np.arange(loss.start[row], loss.start[row + 1]) for row in rows])
        return sample_loss(loss, loss.target[inside], loss.weight[inside])
    assert isinstance(loss, RowLoss)
    flags = None if len(labels) == loss.n_labels else [label in labels for label in range(loss.n_labels)]
    return loss.function(rows.astype(np.uint32), flags)[0]


def sample_loss(loss: SampleLoss, target: np.ndarray, weight: np.ndarray) -> float:
    """Least loss over all centres: the loss is convex, and linear or quadratic between finitely many points."""

    def at(centre: float) -> float:
        distance = target - centre
        if loss.kind == "quantile":
            return float((weight * np.maximum(loss.parameter * distance, (loss.parameter - 1) * distance)).sum())
        near = np.abs(distance) <= loss.parameter
        linear = loss.parameter * (np.abs(distance) - loss.parameter / 2)
        return float((weight * np.where(near, distance**2 / 2, linear)).sum())

    if loss.kind == "quantile":
        return min(at(centre) for centre in target)
    delta = loss.parameter
    breaks = np.unique(np.concatenate([target - delta, target, target + delta]))
    best = min(at(centre) for centre in breaks)
    for low, high in itertools.pairwise(breaks):
        middle = (low + high) / 2
        near = np.abs(target - middle) <= delta
        if near.any():
            push = delta * (weight * np.sign(target - middle) * ~near).sum()
            centre = ((weight * target)[near].sum() + push) / weight[near].sum()
            best = min(best, at(min(max(centre, low), high)))
    return best


def price(limits: RuleLimits, tested: set[int]) -> float:
    """What the tests cost: lower prices, and in each group one test at its full price, the one with most discount."""
    prices = limits.prices
    assert prices is not None
    alone = sum(prices.full[f] for f in tested if prices.group[f] < 0)
    for group in {prices.group[f] for f in tested} - {-1}:
        members = [f for f in tested if prices.group[f] == group]
        alone += sum(prices.again[f] for f in members) + max(prices.full[f] - prices.again[f] for f in members)
    return alone


def shape_allows(limits: RuleLimits, order: Sequence[int]) -> bool:
    """Whether a path that tests these features, first tests in this order, may end in a leaf."""
    shape, tested = limits.shape, set(order)
    if shape.root is not None and (not order or order[0] != shape.root):
        return False
    if any(len(tested & features) > n for features, n in shape.at_most):
        return False
    for feature, others, first in shape.needs:
        if feature in tested:
            if not others <= tested:
                return False
            if first and any(order.index(other) > order.index(feature) for other in others):
                return False
    return not any(
        early in tested and late in tested and order.index(late) < order.index(early) for early, late in shape.above
    )


def leaf_options(
    problem: Problem, rows: np.ndarray, conditions: Conditions, order: Sequence[int]
) -> tuple[list[int], float]:
    """The labels that the rule may have, and what is paid for its tests."""
    limits = problem.limits
    weight = problem.table.weight[rows].sum()
    if weight < problem.min_support - 1e-9 or not shape_allows(limits, order):
        return [], 0.0
    paid = 0.0
    if limits.prices is not None:
        cost = price(limits, set(order))
        if cost > limits.prices.limit + 1e-9:
            return [], 0.0
        paid = limits.prices.weight * cost * weight
    labels = list(range(problem.loss.n_labels))
    if limits.measures is not None:
        measures = limits.measures[rows].sum(axis=0)
        for ratio in limits.ratios:
            b, d = measures[ratio.b], measures[ratio.d]
            if b > 0 and d > 0 and abs(measures[ratio.a] / b - measures[ratio.c] / d) > ratio.tolerance + 1e-9:
                return [], 0.0
        for linear in limits.linear:
            reached = np.broadcast_to(measures @ linear.coefficient, problem.loss.n_labels) >= linear.at_least - 1e-9
            labels = [label for label in labels if reached[label]]
    if limits.predicate is not None:
        described = [(feature, tuple(sorted(codes))) for feature, codes in conditions.items()]
        labels = [label for label in labels if limits.predicate(described, rows.astype(np.uint32), label)]
    return labels, paid


def leaf_value(problem: Problem, rows: np.ndarray, conditions: Conditions, order: Sequence[int]) -> float:
    """What the rule costs; infinite where it is not allowed."""
    labels, paid = leaf_options(problem, rows, conditions, order)
    return rule_loss(problem.loss, problem.table.statistics, rows, labels) + paid if labels else math.inf


def widen(feature: Feature, part: frozenset[int], way: Sequence[frozenset[int]], domain: frozenset[int]) -> frozenset:
    """Codes of an ordered feature without rows join the part before them, the first ones the first part."""
    if not feature.ordered and feature.n_codes > 2:
        return part
    missing = feature.n_values if feature.has_missing and feature.n_codes > 2 else None
    present = sorted(set().union(*way) - {missing})
    wide = set(part)
    for code in domain - {missing}:
        before = [other for other in present if other <= code]
        if (before[-1] if before else present[0]) in part:
            wide.add(code)
    return frozenset(wide)


def split_ways(
    problem: Problem, f: int, here: np.ndarray, conditions: Conditions, most: float
) -> Iterator[list[tuple[frozenset[int], frozenset[int]]]]:
    """Every way to split a feature among rows with these codes: parts, and the codes that satisfy each condition."""
    feature = problem.table.features[f]
    present = frozenset(here.tolist())
    parts = {allowed & present for allowed in oracle.conditions(feature, problem.graph.categories)} - {frozenset()}
    domain = conditions.get(f, frozenset(range(feature.n_codes)))
    if problem.graph.categories == "single" and feature.kind == "nominal" and feature.n_codes > 2:
        for code in present if len(present) > 1 else ():
            alone = frozenset({code})
            yield [(alone, alone), (present - alone, domain - alone)]
        return
    for way in oracle.partitions(present, parts):
        if 2 <= len(way) <= most:
            yield [(part, widen(feature, part, way, domain)) for part in way]


def best_trees(problem: Problem, splits: str = "multiway", max_children: int | None = None) -> list[float]:
    """Least loss of a tree with at most 1, 2, ... leaves, all of them allowed rules; infinite where there is none."""
    codes = problem.table.codes
    most = 2 if splits == "binary" else math.inf if max_children is None else max_children
    ordered = bool(problem.limits.shape.needs or problem.limits.shape.above or problem.limits.shape.root is not None)
    solved: dict[Any, list[float]] = {}

    def solve(rows: np.ndarray, depth: int, conditions: Conditions, order: tuple[int, ...]) -> list[float]:
        key = (frozenset(conditions.items()), depth, order if ordered else frozenset(order))
        if key in solved:
            return solved[key]
        best = [leaf_value(problem, rows, conditions, order)] * problem.max_leaves
        for f in range(len(codes)) if depth > 0 else ():
            here = codes[f, rows]
            for way in split_ways(problem, f, here, conditions, most):
                total = [0.0] + [math.inf] * problem.max_leaves
                for part, wide in way:
                    inside = rows[np.isin(here, list(part))]
                    below = order if f in order else (*order, f)
                    total = oracle._share_leaves(total, solve(inside, depth - 1, {**conditions, f: wide}, below))
                best = [min(a, b) for a, b in zip(best, total[1:], strict=True)]
        solved[key] = list(itertools.accumulate(best, min))
        return solved[key]

    return solve(np.arange(codes.shape[1]), problem.max_depth, {}, ())


def all_vectors(problem: Problem, forms: np.ndarray, splits: str, max_children: int | None) -> set[tuple[float, ...]]:
    """The form values of every allowed tree with every allowed labelling, and its number of leaves last."""
    codes = problem.table.codes
    most = 2 if splits == "binary" else math.inf if max_children is None else max_children

    def solve(rows: np.ndarray, depth: int, conditions: Conditions, order: tuple[int, ...]) -> set[tuple[float, ...]]:
        found = set()
        labels, paid = leaf_options(problem, rows, conditions, order)
        for label in labels:
            vector = forms[:, :, label] @ problem.table.statistics[rows].sum(axis=0)
            vector[0] += paid
            found.add((*vector.tolist(), 1))
        for f in range(len(codes)) if depth > 0 else ():
            here = codes[f, rows]
            for way in split_ways(problem, f, here, conditions, most):
                sums = {(0.0,) * (len(forms) + 1)}
                for part, wide in way:
                    inside = rows[np.isin(here, list(part))]
                    below = order if f in order else (*order, f)
                    child = solve(inside, depth - 1, {**conditions, f: wide}, below)
                    sums = {tuple(map(sum, zip(a, b, strict=True))) for a in sums for b in child}
                    sums = {vector for vector in sums if vector[-1] <= problem.max_leaves}
                found |= sums
        return found

    return solve(np.arange(codes.shape[1]), problem.max_depth, {}, ())


def tree_leaves(problem: Problem, tree: Node) -> Iterator[tuple[np.ndarray, Conditions, tuple[int, ...], int]]:
    """Rows, conditions, features in the order of their tests, and label of every leaf."""
    codes = problem.table.codes

    def visit(node: Node, rows: np.ndarray, conditions: Conditions, order: tuple[int, ...]) -> Iterator[Any]:
        if not node.branches:
            yield rows, conditions, order, node.label
        covered = 0
        for condition, child in node.branches:
            f = condition.feature
            inside = rows[np.isin(codes[f, rows], condition.codes)]
            covered += len(inside)
            below = {**conditions, f: frozenset(condition.codes) & conditions.get(f, frozenset(condition.codes))}
            yield from visit(child, inside, below, order if f in order else (*order, f))
        assert not node.branches or covered == len(rows), "the branches of a node share its rows"

    yield from visit(tree, np.arange(codes.shape[1]), {}, ())


def tree_value(problem: Problem, tree: Node) -> tuple[float, int]:
    """Loss and number of leaves of a tree, recomputed from its conditions; infinite where a leaf is not allowed."""
    values = [leaf_value(problem, rows, conditions, order) for rows, conditions, order, _ in tree_leaves(problem, tree)]
    return sum(values), len(values)


def tree_vector(problem: Problem, forms: np.ndarray, tree: Node) -> np.ndarray:
    """The form values of a tree with its labels; fails where a leaf is not allowed its label."""
    total = np.zeros(len(forms))
    for rows, conditions, order, label in tree_leaves(problem, tree):
        labels, paid = leaf_options(problem, rows, conditions, order)
        assert label in labels
        total += forms[:, :, label] @ problem.table.statistics[rows].sum(axis=0)
        total[0] += paid
    return total


Leaves = frozenset[frozenset[int]]


def all_leaf_sets(problem: Problem, splits: str, max_children: int | None, trivial: bool) -> dict[Leaves, float]:
    """Every set of leaves, as sets of rows, that an allowed tree has, with the least loss of such a tree.

    Without `trivial`, trees in which a split into leaves costs no less than its node as a leaf are left out.
    """
    codes = problem.table.codes
    most = 2 if splits == "binary" else math.inf if max_children is None else max_children

    def solve(rows: np.ndarray, depth: int, conditions: Conditions, order: tuple[int, ...]) -> dict[Leaves, float]:
        alone = frozenset([frozenset(rows.tolist())])
        leaf = leaf_value(problem, rows, conditions, order)
        found = {alone: leaf} if leaf < math.inf else {}
        for f in range(len(codes)) if depth > 0 else ():
            here = codes[f, rows]
            for way in split_ways(problem, f, here, conditions, most):
                sums: dict[Leaves, float] = {frozenset(): 0.0}
                for part, wide in way:
                    inside = rows[np.isin(here, list(part))]
                    below = order if f in order else (*order, f)
                    child = solve(inside, depth - 1, {**conditions, f: wide}, below)
                    sums = {
                        a | b: sums[a] + child[b] for a in sums for b in child if len(a) + len(b) <= problem.max_leaves
                    }
                for leaves, value in sums.items():
                    if not trivial and len(leaves) == len(way) and value >= leaf - 1e-9:
                        continue
                    found[leaves] = min(value, found.get(leaves, math.inf))
        return found

    return solve(np.arange(codes.shape[1]), problem.max_depth, {}, ())
