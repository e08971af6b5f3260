"""The best model under constraints by plain enumeration: every model, every prediction, each asked of the audit.

Meant for two or three features of few codes and about eight merged rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from helpers.constraint_cases import Case
from helpers.oracle import conditions, partitions
from omtree.constraints import Answers, Constraint, audit
from omtree.data.table import Feature
from omtree.model.rules import Rule
from omtree.problem.graph import Condition


@dataclass(frozen=True)
class Leaf:
    """A rule without a prediction: conditions, the rows it covers (a bit each), and the features above it in a tree."""

    conditions: tuple[Condition, ...]
    rows: int
    path: tuple[int, ...]


def rule_models(
    codes: np.ndarray, features: Sequence[Feature], max_depth: int, max_leaves: int
) -> Iterator[tuple[Leaf, ...]]:
    """Every set of rules that covers each row once; rules that cover the same rows by other conditions are others."""
    n_rows = codes.shape[1]
    every = (1 << n_rows) - 1
    by_first: dict[int, list[Leaf]] = {}
    options = [[None, *conditions(feature)] for feature in features]
    for chosen in itertools.product(*options):
        used = tuple(Condition(f, tuple(sorted(c))) for f, c in enumerate(chosen) if c is not None)
        rows = every
        for condition in used:
            rows &= _bits(np.isin(codes[condition.feature], condition.codes))
        if rows and len(used) <= max_depth:
            leaf = Leaf(used, rows, tuple(condition.feature for condition in used))
            by_first.setdefault((rows & -rows).bit_length(), []).append(leaf)

    def extend(covered: int, taken: tuple[Leaf, ...]) -> Iterator[tuple[Leaf, ...]]:
        if covered == every:
            yield taken
        elif len(taken) < max_leaves:
            for leaf in by_first.get((~covered & -~covered).bit_length(), []):
                if not leaf.rows & covered:
                    yield from extend(covered | leaf.rows, (*taken, leaf))

    return extend(0, ())


def tree_models(
    codes: np.ndarray, features: Sequence[Feature], max_depth: int, max_leaves: int
) -> Iterator[tuple[Leaf, ...]]:
    """The leaves of every multiway tree; the branches of a node cover the codes that its rows have.

    A feature may be tested again further down; the conditions of a leaf on it are then one.
    """

    def grow(rows: np.ndarray, above: dict[int, frozenset[int]], depth: int, leaves: int) -> Iterator[tuple[Leaf, ...]]:
        used = tuple(Condition(f, tuple(sorted(allowed))) for f, allowed in above.items())
        yield (Leaf(used, _bits(np.isin(np.arange(codes.shape[1]), rows)), tuple(above)),)
        if depth == max_depth or leaves < 2:
            return
        for f, feature in enumerate(features):
            present = frozenset(codes[f, rows].tolist())
            parts = {allowed & present for allowed in conditions(feature)} - {frozenset()}
            for way in partitions(present, parts):
                if 2 <= len(way) <= leaves:
                    yield from join(f, way, rows, above, depth, leaves)

    def join(
        f: int,
        way: tuple[frozenset[int], ...],
        rows: np.ndarray,
        above: dict[int, frozenset[int]],
        depth: int,
        leaves: int,
    ) -> Iterator[tuple[Leaf, ...]]:
        if not way:
            yield ()
            return
        inside = rows[np.isin(codes[f, rows], list(way[0]))]
        for first in grow(inside, {**above, f: way[0]}, depth + 1, leaves - len(way) + 1):
            for rest in join(f, way[1:], rows, above, depth, leaves - len(first)):
                yield (*first, *rest)

    return grow(np.arange(codes.shape[1]), {}, 0, max_leaves)


def best(
    case: Case, constraints: Sequence[Constraint], structure: str, max_depth: int, max_leaves: int, min_support: float
) -> float | None:
    """Least error of a model that the audit finds nothing wrong with; None when there is none.

    The labels of the case are classes; every sample has a row, `row_of` says which.
    """
    row_of = case.table.row_of
    kept = row_of >= 0
    models = rule_models if structure == "rules" else tree_models
    n_rows, n_labels = case.table.n_rows, len(case.classes)
    weights = np.zeros((n_rows, n_labels))
    np.add.at(weights, (row_of[kept], case.y[kept]), case.weight[kept])
    candidates = []
    for leaves in models(case.table.codes, case.features, max_depth, max_leaves):
        inside = np.array([[leaf.rows >> i & 1 for i in range(n_rows)] for leaf in leaves], dtype=bool)
        sums = inside @ weights
        if (sums.sum(axis=1) < max(min_support, 1e-9) - 1e-9).any():
            continue
        errors = sums.sum(axis=1, keepdims=True) - sums
        for labels in itertools.product(range(n_labels), repeat=len(leaves)):
            candidates.append((float(errors[np.arange(len(leaves)), labels].sum()), labels, leaves, inside, sums))
    candidates.sort(key=lambda candidate: candidate[0])
    for loss, labels, leaves, inside, sums in candidates:
        rules = [
            Rule(leaf.conditions, float(s.sum()), tuple(s), case.classes[label], 0.0, label)
            for leaf, label, s in zip(leaves, labels, sums, strict=True)
        ]
        paths = tuple(leaf.path for leaf in leaves) if structure == "tree" else None
        owner = inside.argmax(axis=0)[np.maximum(row_of, 0)]
        answers = Answers(rules, case.features, case.classes, owner, case.y, case.weight, case.groups, paths)
        if all(check.met for check in audit(constraints, answers)):
            return loss
    return None


def _bits(inside: np.ndarray) -> int:
    return sum(1 << i for i in np.flatnonzero(inside).tolist())
