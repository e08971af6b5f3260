"""Random tables and random trees over them, for tests of what a model is made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omtree.data.table import Feature, Table
from omtree.model.rule_facts import Reader
from omtree.objectives.error import Error
from omtree.problem.graph import Condition, FeatureGraph
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Node, Path, Problem
from omtree.sources.target import Target


def random_problem(rng: np.random.Generator, n_features: int = 4, n_rows: int = 60, n_classes: int = 3) -> Problem:
    """Rows with random codes and weights; equal rows are not merged, which nothing here depends on."""
    sizes = rng.integers(2, 6, size=n_features)
    features = tuple(
        Feature(f"f{i}", i, "nominal", int(n), False, levels=tuple(range(int(n)))) for i, n in enumerate(sizes)
    )
    codes = np.array([rng.integers(0, n, size=n_rows) for n in sizes], dtype=np.uint8)
    counts = rng.integers(0, 3, size=(n_rows, n_classes)) * 0.5
    counts[:, 0] += 0.25
    table = Table(features, codes, counts, np.arange(n_rows))
    return Problem(table, FeatureGraph(features, "values"), LinearLoss(1.0 - np.eye(n_classes)), 3, 100, 0.0)


def reader(problem: Problem, classes: Sequence[str]) -> Reader:
    """Reads rules off the rows of a problem with classes."""
    return Reader(problem, Error(), Target(np.array(classes), np.empty(0, dtype=np.intp), np.empty(0)), np.empty(0))


def random_node(rng: np.random.Generator, problem: Problem, depth: int, used: frozenset[int] = frozenset()) -> Node:
    """A tree that splits features into random groups of all their codes, no feature twice on a path."""
    label = int(rng.integers(problem.costs.shape[0]))
    free = [f for f in range(len(problem.table.features)) if f not in used]
    if depth == 0 or not free or rng.random() < 0.15:
        return Node(label)
    feature = int(rng.choice(free))
    n_codes = problem.table.features[feature].n_codes
    group = rng.permutation(np.arange(n_codes) % rng.integers(2, n_codes + 1))
    branches = []
    for g in sorted(set(group.tolist())):
        codes = tuple(np.flatnonzero(group == g).tolist())
        condition = Condition(feature, codes, f"f{feature} in {codes}")
        branches.append((condition, random_node(rng, problem, depth - 1, used | {feature})))
    return Node(label, tuple(branches))


def paths_of(node: Node, above: tuple[Condition, ...] = ()) -> list[Path]:
    """The leaves of a tree as paths."""
    if not node.branches:
        return [Path(above, node.label)]
    return [path for condition, child in node.branches for path in paths_of(child, (*above, condition))]


#: Over binary A, B, C: five disjoint rules that cover each of the 8 cells once, with no feature in all of them.
NOT_A_TREE = (((0, 0), (1, 1)), ((1, 0), (2, 1)), ((0, 1), (2, 0)), ((0, 0), (1, 0), (2, 0)), ((0, 1), (1, 1), (2, 1)))


def not_a_tree() -> tuple[list[Path], Problem]:
    """The classical rule set that is no tree, with the eight cells as rows."""
    features = tuple(Feature(name, i, "nominal", 2, False, levels=(0, 1)) for i, name in enumerate("ABC"))
    codes = np.array([[cell >> bit & 1 for cell in range(8)] for bit in range(3)], dtype=np.uint8)
    counts = np.stack([np.ones(8), np.arange(8.0)], axis=1)
    table = Table(features, codes, counts, np.arange(8))
    problem = Problem(table, FeatureGraph(features, "values"), LinearLoss(1.0 - np.eye(2)), 3, 8, 0.0)
    paths = [
        Path(tuple(Condition(f, (v,), f"{'ABC'[f]} = {v}") for f, v in conditions), label % 2)
        for label, conditions in enumerate(NOT_A_TREE)
    ]
    return paths, problem
