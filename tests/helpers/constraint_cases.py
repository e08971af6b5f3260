"""Random small data with groups and weights, and random models over them, right or wrong."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from helpers.random_models import reader
from omtree.constraints import Answers, Compiled, Constraint, GroupColumn, Samples, Setting, compile_constraints
from omtree.data.build import encode_rows, make_features, make_table
from omtree.data.column import Columns
from omtree.data.columns import read_columns
from omtree.data.table import Feature, Table
from omtree.model.rules import RuleSet
from omtree.model.tree import Tree
from omtree.problem.graph import Condition, FeatureGraph
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Node, Problem

NAMES = ("x0", "x1", "x2")


@dataclass(frozen=True, eq=False)
class Case:
    """Data, and a tree over them whose leaves predict anything."""

    columns: Columns
    features: tuple[Feature, ...]
    table: Table
    y: np.ndarray
    classes: tuple[Any, ...]
    weight: np.ndarray
    groups: dict[str, GroupColumn]
    tree: Tree
    setting: Setting
    class_scale: np.ndarray | None

    @cached_property
    def samples(self) -> Samples:
        """The samples, as constraints see them."""
        target = None if self.classes else self.y
        labels = self.y if self.classes else np.zeros(len(self.y), dtype=np.intp)
        return Samples(labels, self.weight, self.groups, target, self.class_scale)

    @cached_property
    def codes(self) -> np.ndarray:
        """Codes of every sample."""
        return encode_rows(self.columns, self.features)

    @cached_property
    def predicted(self) -> np.ndarray:
        """The label of every sample."""
        return np.array([rule.label for rule in self.tree.rules])[self.tree.apply(self.codes)]

    def answers(self, *, as_tree: bool = True) -> Answers:
        """What the tree answers; without its order of tests when `as_tree` is False."""
        tree = self.tree if as_tree else None
        return Answers.of(self.tree.rules, self.codes, self.y, self.weight, self.groups, tree)

    def compiled(self, *constraints: Constraint) -> Compiled:
        """The constraints, checked and compiled."""
        for constraint in constraints:
            constraint.check(self.setting)
        return compile_constraints(constraints, self.setting, self.samples)

    def met(self, *constraints: Constraint, as_tree: bool = True) -> bool:
        """Whether the audit finds all of them met."""
        answers = self.answers(as_tree=as_tree)
        return all(check.met for constraint in constraints for check in constraint.audit(answers))


def random_case(seed: int, *, n_classes: int = 2, n_leaves: int = 6, scaled: bool = False) -> Case:
    """A small random case; with `n_classes` 0 the target is a number."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 40))
    sizes = rng.integers(2, 5, size=3)
    cells = [
        [float(rng.integers(sizes[0])), "abcd"[rng.integers(sizes[1])], float(rng.integers(sizes[2]))] for _ in range(n)
    ]
    for i in rng.integers(n, size=2):
        cells[i][2] = None
    columns = read_columns(cells)
    weight = rng.choice([1.0, 1.0, 2.0, 0.5, 0.0], size=n)
    weight[:3] = 1.0
    classes: tuple[Any, ...] = ("no", "perhaps", "yes")[-n_classes:] if n_classes == 3 else ("no", "yes")[:n_classes]
    y: np.ndarray
    if n_classes:
        y = rng.integers(n_classes, size=n)
        y[:n_classes] = np.arange(n_classes)
        bins = y
    else:
        y = rng.integers(0, 9, size=n) / 2.0
        bins = (y > 2).astype(np.intp)
    groups = {
        "sex": GroupColumn(rng.choice(3, p=[0.5, 0.4, 0.1], size=n), ("F", "M", None)),
        "dept": GroupColumn(rng.integers(2, size=n), ("A", "B")),
    }
    features, _ = make_features(columns, bins, max(2, n_classes), weight, 4, "quantile")
    scale = rng.choice([0.5, 1.0, 3.0], size=n_classes) if scaled else None
    labels = y if n_classes else np.zeros(n, dtype=np.intp)
    n_labels = max(1, n_classes)
    table = make_table(columns, features, labels, n_labels, weight if scale is None else weight * scale[y])
    problem = Problem(table, FeatureGraph(features), LinearLoss(1.0 - np.eye(n_labels)), 3, 8, 0.0)
    tree = Tree.from_node(_node(rng, problem, 3, n_leaves), reader(problem, classes or (0.0,)))
    if not n_classes:
        tree = Tree.from_rules(RuleSet(tree.rules.rules, features, ())) or tree
    names = columns.names
    levels = {column.name: column.levels for column in columns if column.levels is not None}
    group_levels = {name: column.levels for name, column in groups.items()}
    setting = Setting(names, columns.kinds, levels, classes, group_levels)
    return Case(columns, features, table, y, classes, weight, groups, tree, setting, scale)


def _node(
    rng: np.random.Generator, problem: Problem, depth: int, leaves: int, used: frozenset[int] = frozenset()
) -> Node:
    label = int(rng.integers(problem.costs.shape[1]))
    free = [f for f in range(len(problem.table.features)) if f not in used]
    if depth == 0 or not free or leaves < 2 or rng.random() < 0.1:
        return Node(label)
    feature = int(rng.choice(free))
    item = problem.table.features[feature]
    n_parts = int(rng.integers(2, min(leaves, item.n_codes) + 1))
    if item.ordered:
        cuts = np.sort(rng.choice(np.arange(1, item.n_codes), n_parts - 1, replace=False))
        part = np.searchsorted(cuts, np.arange(item.n_codes), side="right")
    else:
        part = rng.permutation(np.arange(item.n_codes) % n_parts)
    branches = []
    for p in range(n_parts):
        condition = Condition(feature, tuple(np.flatnonzero(part == p).tolist()))
        branches.append((condition, _node(rng, problem, depth - 1, leaves // n_parts, used | {feature})))
    return Node(label, tuple(branches))


def tiny_case(seed: int, n_samples: int = 14) -> Case:
    """Three features of two or three codes, few merged rows, two classes, whole weights; its tree does not matter."""
    rng = np.random.default_rng(seed)
    cells = [[float(rng.integers(2)), "ab"[rng.integers(2)], float(rng.integers(3))] for _ in range(n_samples)]
    cells[:3] = [[0.0, "a", 0.0], [1.0, "b", 1.0], [0.0, "b", 2.0]]
    columns = read_columns(cells)
    weight = rng.integers(1, 3, size=n_samples).astype(float)
    y = rng.integers(2, size=n_samples)
    y[:2] = 0, 1
    groups = {
        "sex": GroupColumn(rng.integers(2, size=n_samples), ("F", "M")),
        "dept": GroupColumn(rng.integers(2, size=n_samples), ("A", "B")),
    }
    features, _ = make_features(columns, y, 2, weight, 4, "quantile")
    table = make_table(columns, features, y, 2, weight)
    problem = Problem(table, FeatureGraph(features), LinearLoss(1.0 - np.eye(2)), 2, 4, 0.0)
    tree = Tree.from_node(Node(0), reader(problem, ("no", "yes")))
    levels = {column.name: column.levels for column in columns if column.levels is not None}
    group_levels = {name: column.levels for name, column in groups.items()}
    setting = Setting(columns.names, columns.kinds, levels, ("no", "yes"), group_levels, "rules", 2, 4)
    return Case(columns, features, table, y, ("no", "yes"), weight, groups, tree, setting, None)
