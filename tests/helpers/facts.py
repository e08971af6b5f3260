"""What a set of rules really does, found sample by sample from the definitions alone.

Shares nothing with the package. Rules are accepted as pairs (conditions, predicted class) or as objects with attributes
`conditions` and `label`; conditions as pairs (feature, codes) or as objects with attributes `feature` and `codes`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

Rule = tuple[tuple[int, frozenset[int]], ...]


@dataclass(frozen=True, eq=False)
class Facts:
    """What a set of rules does to samples: its loss, how many rules each sample meets, weight and loss of each rule."""

    loss: float
    matches: np.ndarray
    supports: np.ndarray
    losses: np.ndarray
    depth: int
    n_rules: int

    @property
    def is_partition(self) -> bool:
        """Whether every sample meets exactly one rule."""
        return bool((self.matches == 1).all())


def recompute(
    codes: np.ndarray, labels: np.ndarray, weights: np.ndarray, rules: Iterable[Any], costs: np.ndarray
) -> Facts:
    """Facts about rules, sample by sample.

    Parameters
    ----------
    codes : array, shape (n_features, n_samples)
    labels : array of int, shape (n_samples,)
        True class of every sample.
    weights : array of float, shape (n_samples,)
    rules : iterable of rules with their predictions
    costs : array, shape (n_classes, n_classes)
    """
    model = [_as_prediction(rule) for rule in rules]
    matches = np.zeros(len(labels), dtype=int)
    supports, losses = np.zeros(len(model)), np.zeros(len(model))
    for sample in range(len(labels)):
        for number, (rule, prediction) in enumerate(model):
            if all(int(codes[feature, sample]) in allowed for feature, allowed in rule):
                matches[sample] += 1
                supports[number] += weights[sample]
                losses[number] += weights[sample] * costs[labels[sample], prediction]
    depth = max((len(rule) for rule, _ in model), default=0)
    return Facts(float(losses.sum()), matches, supports, losses, depth, len(model))


def global_value(codes: np.ndarray, coefficient: np.ndarray, rules: Iterable[Any]) -> float:
    """Left side of a global row: the sum of ``coefficient[row, prediction of row]`` over rules and rows covered."""
    total = 0.0
    for rule, prediction in map(_as_prediction, rules):
        for row in range(codes.shape[1]):
            if all(int(codes[feature, row]) in allowed for feature, allowed in rule):
                total += float(coefficient[row, prediction])
    return total


def is_tree(rules: Iterable[Iterable[Any]]) -> bool:
    """Whether rules that cover every row once form a tree.

    They do when there is one rule with no condition left, or when some feature is in all of them with conditions
    pairwise equal or disjoint, and the rest of each group is again a tree. Every such feature is tried.
    """
    model = [_as_rule(rule) for rule in rules]
    assert all(len(dict(rule)) == len(rule) for rule in model), "a rule has at most one condition on a feature"
    return _is_tree(model)


def _is_tree(rules: list[Rule]) -> bool:
    if any(not rule for rule in rules):
        return len(rules) == 1
    shared = set.intersection(*({feature for feature, _ in rule} for rule in rules))
    for feature in shared:
        groups: dict[frozenset[int], list[Rule]] = {}
        for rule in rules:
            groups.setdefault(dict(rule)[feature], []).append(tuple(c for c in rule if c[0] != feature))
        disjoint = all(not a & b for a, b in itertools.combinations(groups, 2))
        if disjoint and all(_is_tree(group) for group in groups.values()):
            return True
    return False


def _as_prediction(rule: Any) -> tuple[Rule, int]:
    if hasattr(rule, "conditions"):
        return _as_rule(rule.conditions), int(rule.label)
    return _as_rule(rule[0]), int(rule[1])


def _as_rule(rule: Iterable[Any]) -> Rule:
    return tuple((c.feature, frozenset(c.codes)) if hasattr(c, "codes") else (int(c[0]), frozenset(c[1])) for c in rule)
