"""Good rules to start from: the leaves of the best tree, and of a greedy one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from omtree.data.table import Feature
from omtree.deadline import Deadline
from omtree.graph import Condition
from omtree.problem import Node, Path, Problem
from omtree.search.solve import solve as search_trees


def tree_paths(problem: Problem, deadline: Deadline, n_jobs: int) -> Iterator[list[Path]]:
    """The leaves of the best trees the search finds in time, smallest tree first.

    The search answers Ctrl-C with the trees it has; the interrupt is raised once they are handed over.
    """
    found = search_trees(dataclasses.replace(problem, rows=()), deadline=deadline, n_jobs=n_jobs)
    distinct = {id(tree): tree for tree in found.trees if tree is not None}
    for tree in distinct.values():
        yield leaves_of(tree)
    if found.interrupted:
        raise KeyboardInterrupt


def leaves_of(node: Node, above: tuple[Condition, ...] = ()) -> list[Path]:
    """The leaves below a node as rules, with the conditions above it."""
    if not node.branches:
        return [Path(above, node.label)]
    return [path for condition, child in node.branches for path in leaves_of(child, (*above, condition))]


def greedy_paths(problem: Problem, seed: int) -> list[Path]:
    """The leaves of scikit-learn's tree on the codes, as rules; empty when its splits are not nodes of the graph.

    Nominal codes are ranked along the target, so that every cut is a group the graph knows.
    """
    table = problem.table
    known = {(level.position, codes) for level in problem.graph for codes in level.code_sets}
    ranks = [_ranking(feature) for feature in table.features]
    if not ranks or problem.max_leaves < 2:
        return []
    ranked = np.column_stack([rank[codes] for rank, codes in zip(ranks, table.codes, strict=True)])
    row, label = np.nonzero(table.statistics)
    weight = table.statistics[row, label]
    share = min(0.5, problem.min_support / float(weight.sum()))
    # The cost of a class is the cost of its most expensive mistake: close enough for a start.
    tree = DecisionTreeClassifier(
        max_depth=problem.max_depth,
        max_leaf_nodes=problem.max_leaves,
        min_weight_fraction_leaf=share,
        random_state=seed,
    )
    tree.fit(ranked[row], label, sample_weight=weight * problem.costs.max(axis=1)[label])
    paths = []
    for inside in _leaves(tree, ranks):
        conditions: list[Condition] = []
        for f, codes in inside.items():
            if len(codes) == table.features[f].n_codes:
                continue
            if (f, codes) not in known:
                return []
            conditions.append(Condition(f, codes))
        covered = Path(tuple(conditions), 0).covers(table.codes)
        counts = table.statistics[covered].sum(axis=0)
        if counts.sum() < problem.min_support:
            return []
        paths.append(Path(tuple(conditions), int((counts @ problem.costs).argmin())))
    return paths


def _ranking(feature: Feature) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Place of each code in the order along which it may be cut."""
    order = range(feature.n_codes) if feature.ordered else feature.target_order or range(feature.n_codes)
    rank = np.empty(feature.n_codes, dtype=np.float32)
    rank[list(order)] = np.arange(feature.n_codes)
    return rank


def _leaves(
    tree: DecisionTreeClassifier, ranks: list[np.ndarray[tuple[int], np.dtype[np.float32]]]
) -> list[dict[int, tuple[int, ...]]]:
    """For each leaf the codes that reach it, by feature."""
    inner = tree.tree_
    every = {f: frozenset(range(len(rank))) for f, rank in enumerate(ranks)}
    stack = [(0, every)]
    found = []
    while stack:
        node, inside = stack.pop()
        if inner.children_left[node] == -1:
            found.append({f: tuple(sorted(codes)) for f, codes in inside.items()})
            continue
        f = int(inner.feature[node])
        low = frozenset(np.flatnonzero(ranks[f] <= inner.threshold[node]).tolist())
        stack.append((int(inner.children_left[node]), {**inside, f: inside[f] & low}))
        stack.append((int(inner.children_right[node]), {**inside, f: inside[f] - low}))
    return found
