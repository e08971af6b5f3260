"""Brute-force answers on tiny data, written from the definitions alone.

Nothing here is shared with the engines, not even the list of conditions: what both get wrong in the same way would go
unnoticed otherwise. Plain enumeration throughout; meant for a handful of features and about a dozen merged rows.

A condition is a pair ``(feature, frozenset of codes)``; a rule is a tuple of conditions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_array

from omtree.data.table import Feature

Condition = tuple[int, frozenset[int]]
Rule = tuple[Condition, ...]

#: Slack in comparisons of sums of floats; far below the difference of any two sums of the weights used in tests.
TOLERANCE = 1e-9
#: Up to this many codes, "missing" included, every subset of a nominal feature's codes is a condition.
ALL_SUBSETS = 5


def conditions(feature: Feature, categories: str = "groups") -> list[frozenset[int]]:
    """Every set of codes that is a condition on the feature."""
    n = feature.n_values + feature.has_missing
    everything = frozenset(range(n))
    subsets = [frozenset(c) for size in range(1, n) for c in itertools.combinations(range(n), size)]
    if feature.kind in ("numeric", "ordinal"):
        missing = {feature.n_values} if feature.has_missing else set()
        return [s for s in subsets if _consecutive(s - missing, range(feature.n_values))]
    if categories == "values":
        return [s for s in subsets if len(s) == 1]
    if categories == "single":
        return [s for s in subsets if len(s) == 1 or len(everything - s) == 1]
    if n <= ALL_SUBSETS:
        return subsets
    order = feature.target_order if feature.target_order is not None else range(n)
    return [s for s in subsets if len(s) == 1 or len(everything - s) == 1 or _consecutive(s, order)]


def _consecutive(codes: Iterable[int], order: Sequence[int]) -> bool:
    """Whether the codes stand side by side in `order`; true of none at all."""
    places = sorted(list(order).index(code) for code in codes)
    return not places or places[-1] - places[0] == len(places) - 1


# --- disjoint rules ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Oracle:
    """The best set of disjoint rules: its loss, the best loss with at most 1, 2, ... rules, and one such set."""

    value: float
    by_leaves: tuple[float, ...]
    rules: tuple[tuple[Rule, int], ...]


@dataclass(frozen=True)
class Column:
    """A rule with a prediction: the rows it covers (a bit each), its loss, and its part in every global row."""

    rows: int
    rule: Rule
    label: int
    loss: float
    shares: tuple[float, ...]


def all_rules(
    codes: np.ndarray,
    counts: np.ndarray,
    features: Sequence[Feature],
    max_depth: int,
    min_support: float,
    categories: str = "groups",
) -> dict[int, Rule]:
    """Every set of rows (a bit each) that some rule with enough support covers, with a shortest such rule."""
    n_rows = codes.shape[1]
    found: dict[int, Rule] = {(1 << n_rows) - 1: ()}
    for position, feature in enumerate(features):
        # A rule has at most one condition on this feature, so only rules over the features before it are extended.
        # Of the rules that cover the same rows the shortest can be extended at least as far as the others.
        for rows, rule in list(found.items()):
            if len(rule) == max_depth:
                continue
            for allowed in conditions(feature, categories):
                inside = rows & _bits(np.isin(codes[position], list(allowed)))
                longer = (*rule, (position, allowed))
                if inside and (inside not in found or len(longer) < len(found[inside])):
                    found[inside] = longer
    weight = counts.sum(axis=1)
    return {
        rows: rule for rows, rule in found.items() if weight[_members(rows, n_rows)].sum() >= min_support - TOLERANCE
    }


def all_columns(
    codes: np.ndarray,
    counts: np.ndarray,
    features: Sequence[Feature],
    costs: np.ndarray,
    max_depth: int,
    min_support: float,
    categories: str = "groups",
    rows: Sequence[tuple[np.ndarray, float]] = (),
) -> list[Column]:
    """Every rule with every prediction; without global rows only the prediction of least loss."""
    row_costs = counts @ costs
    columns = []
    for bits, rule in all_rules(codes, counts, features, max_depth, min_support, categories).items():
        inside = _members(bits, codes.shape[1])
        losses = row_costs[inside].sum(axis=0)
        for label in range(len(losses)) if rows else [int(losses.argmin())]:
            shares = tuple(float(coefficient[inside, label].sum()) for coefficient, _ in rows)
            columns.append(Column(bits, rule, label, float(losses[label]), shares))
    return columns


def best_rules(
    codes: np.ndarray,
    counts: np.ndarray,
    features: Sequence[Feature],
    costs: np.ndarray,
    max_depth: int,
    max_leaves: int,
    min_support: float,
    categories: str = "groups",
    rows: Sequence[tuple[np.ndarray, float]] = (),
) -> Oracle | None:
    """Least loss of at most `max_leaves` rules that cover every row exactly once; None when there are none.

    Parameters
    ----------
    codes : array, shape (n_features, n_rows)
    counts : array, shape (n_rows, n_classes)
    costs : array, shape (n_classes, n_classes)
        ``costs[true, predicted]``.
    rows : sequence of (coefficient, at_least)
        Constraints ``sum of coefficient[row, prediction of row] >= at_least`` over the whole model. Predictions are
        free then, not those of least loss.
    """
    starting_at: dict[int, list[Column]] = {}
    for column in all_columns(codes, counts, features, costs, max_depth, min_support, categories, rows):
        starting_at.setdefault(_lowest(column.rows), []).append(column)

    # Layer by layer: every set of rows that m disjoint rules cover, the first uncovered row always being next. What is
    # kept of each set is the front of (loss, minus the share in each global row): all that the rest can depend on.
    everything = (1 << codes.shape[1]) - 1
    layer: dict[int, list[Partial]] = {0: [((0.0,) * (1 + len(rows)), ())]}
    best: Partial | None = None
    by_leaves = []
    for left in reversed(range(max_leaves)):
        following: dict[int, list[Partial]] = {}
        for covered, front in layer.items():
            if covered == everything:
                continue
            for column in starting_at.get(_lowest(~covered), []):
                reached = covered | column.rows
                if covered & column.rows or (left == 0 and reached != everything):
                    continue
                part = (column.loss, *(-share for share in column.shares))
                following.setdefault(reached, []).extend(
                    (tuple(map(sum, zip(total, part, strict=True))), (*chosen, column)) for total, chosen in front
                )
        layer = {reached: _front(partials) for reached, partials in following.items()}
        for partial in layer.get(everything, []):
            reached_all = all(-v >= at_least - TOLERANCE for v, (_, at_least) in zip(partial[0][1:], rows, strict=True))
            if reached_all and (best is None or partial[0][0] < best[0][0]):
                best = partial
        by_leaves.append(best[0][0] if best else math.inf)
    if best is None:
        return None
    return Oracle(best[0][0], tuple(by_leaves), tuple((column.rule, column.label) for column in best[1]))


def lp_rules(
    codes: np.ndarray,
    counts: np.ndarray,
    features: Sequence[Feature],
    costs: np.ndarray,
    max_depth: int,
    max_leaves: int,
    min_support: float,
    categories: str = "groups",
    rows: Sequence[tuple[np.ndarray, float]] = (),
) -> float | None:
    """The same with fractions of rules: the linear relaxation over all rules; None when infeasible."""
    columns = all_columns(codes, counts, features, costs, max_depth, min_support, categories, rows)
    if not columns:
        return None
    n_rows = codes.shape[1]
    members = np.array([_members(column.rows, n_rows) for column in columns], dtype=float).T
    at_most = [[1.0] * len(columns)]
    at_most += [[-column.shares[k] for column in columns] for k in range(len(rows))]
    result = linprog(
        [column.loss for column in columns],
        A_ub=np.array(at_most),
        b_ub=[max_leaves, *(-at_least for _, at_least in rows)],
        A_eq=csc_array(members),
        b_eq=np.ones(n_rows),
        bounds=(0, None),
        method="highs",
    )
    if result.status == 2:
        return None
    assert result.status == 0, result.message
    return float(result.fun)


Partial = tuple[tuple[float, ...], tuple[Column, ...]]


def _front(partials: list[Partial]) -> list[Partial]:
    """Those that no other one equals or beats in every number."""
    kept: list[Partial] = []
    for partial in sorted(partials, key=lambda p: p[0]):
        if not any(all(a <= b for a, b in zip(other[0], partial[0], strict=True)) for other in kept):
            kept.append(partial)
    return kept


def _bits(inside: np.ndarray) -> int:
    return sum(1 << int(i) for i in np.flatnonzero(inside))


def _members(bits: int, n_rows: int) -> np.ndarray:
    return np.array([bits >> i & 1 for i in range(n_rows)], dtype=bool)


def _lowest(bits: int) -> int:
    """Position of the lowest bit that is set."""
    return (bits & -bits).bit_length() - 1


# --- trees ------------------------------------------------------------------------------------------------------------


def best_trees(
    codes: np.ndarray,
    counts: np.ndarray,
    features: Sequence[Feature],
    costs: np.ndarray,
    max_depth: int,
    max_leaves: int,
    min_support: float,
    categories: str = "groups",
    splits: str = "multiway",
    max_children: int | None = None,
) -> list[float]:
    """Least loss of a tree with at most 1, 2, ..., `max_leaves` leaves; infinite where there is none.

    An inner node splits one feature into two or more conditions so that each of its rows meets exactly one and each
    child has rows. A feature may be split again further down. With ``splits="binary"`` a node has two children.
    """
    children_limit = 2 if splits == "binary" else math.inf if max_children is None else max_children
    row_costs = counts @ costs
    weight = counts.sum(axis=1)
    solved: dict[Any, list[float]] = {}
    split_ways: dict[Any, list[tuple[frozenset[int], ...]]] = {}

    def ways(feature: int, present: frozenset[int]) -> list[tuple[frozenset[int], ...]]:
        if (feature, present) not in split_ways:
            parts = {allowed & present for allowed in conditions(features[feature], categories)} - {frozenset()}
            split_ways[feature, present] = [
                way for way in partitions(present, parts) if 2 <= len(way) <= children_limit
            ]
        return split_ways[feature, present]

    def solve(rows: np.ndarray, depth: int) -> list[float]:
        key = (rows.tobytes(), depth)
        if key in solved:
            return solved[key]
        enough = weight[rows].sum() >= min_support - TOLERANCE
        leaf = float(row_costs[rows].sum(axis=0).min()) if enough else math.inf
        best = [leaf] * max_leaves
        if depth > 0:
            for feature in range(len(features)):
                here = codes[feature, rows]
                subtree: dict[frozenset[int], list[float]] = {}
                for way in ways(feature, frozenset(here.tolist())):
                    total = [0.0] + [math.inf] * max_leaves
                    for part in way:
                        if part not in subtree:
                            subtree[part] = solve(rows[np.isin(here, list(part))], depth - 1)
                        total = _share_leaves(total, subtree[part])
                    best = [min(a, b) for a, b in zip(best, total[1:], strict=True)]
        # At most m leaves, not exactly m.
        solved[key] = list(itertools.accumulate(best, min))
        return solved[key]

    return solve(np.arange(codes.shape[1]), max_depth)


def best_trees_of_any_depth(
    codes: np.ndarray,
    counts: np.ndarray,
    features: Sequence[Feature],
    costs: np.ndarray,
    min_support: float,
    splits: str = "multiway",
) -> list[float]:
    """Least loss of a tree with at most 1, 2, ... leaves, as many as there are rows, whatever its depth.

    A feature may be split again further down, also into more than two parts.
    """
    row_costs = counts @ costs
    return best_trees_by_leaf(
        codes,
        counts.sum(axis=1),
        features,
        lambda rows: float(row_costs[rows].sum(axis=0).min()),
        min_support,
        splits,
    )


def best_trees_by_leaf(
    codes: np.ndarray,
    weight: np.ndarray,
    features: Sequence[Feature],
    leaf: Callable[[np.ndarray], float],
    min_support: float,
    splits: str = "multiway",
) -> list[float]:
    """The same for any loss, told by what rows cost as one leaf."""
    most = codes.shape[1]
    solved: dict[bytes, list[float]] = {}

    def solve(rows: np.ndarray) -> list[float]:
        if rows.tobytes() in solved:
            return solved[rows.tobytes()]
        enough = weight[rows].sum() >= min_support - TOLERANCE
        best = [leaf(rows) if enough else math.inf] * most
        for position, feature in enumerate(features):
            here = codes[position, rows]
            present = frozenset(here.tolist())
            parts = {allowed & present for allowed in conditions(feature)} - {frozenset(), present}
            for way in partitions(present, parts):
                if splits == "binary" and len(way) > 2:
                    continue
                total = [0.0] + [math.inf] * most
                for part in way:
                    total = _share_leaves(total, solve(rows[np.isin(here, list(part))]))
                best = [min(a, b) for a, b in zip(best, total[1:], strict=True)]
        solved[rows.tobytes()] = list(itertools.accumulate(best, min))
        return solved[rows.tobytes()]

    return solve(np.arange(most))


def _share_leaves(total: list[float], child: list[float]) -> list[float]:
    """Best sums when the leaves are shared: ``total[m]`` for m = 0, 1, ...; ``child[m - 1]`` for m = 1, 2, ..."""
    return [
        min((total[m - own] + child[own - 1] for own in range(1, m + 1)), default=math.inf) for m in range(len(total))
    ]


def partitions(codes: frozenset[int], parts: Iterable[frozenset[int]]) -> Iterator[tuple[frozenset[int], ...]]:
    """Every way to write `codes` as a union of disjoint members of `parts`."""
    if not codes:
        yield ()
        return
    parts = list(parts)
    for part in parts:
        if min(codes) in part and part <= codes:
            for rest in partitions(codes - part, parts):
                yield (part, *rest)
