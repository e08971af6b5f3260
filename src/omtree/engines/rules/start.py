"""Good rules to start from: the leaves of the best tree, and of a greedy one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from omtree.data.table import Feature
from omtree.deadline import Deadline
from omtree.engines.rules.options import Options
from omtree.engines.rules.pool import ColumnPool
from omtree.engines.trees.general import solve_general
from omtree.engines.trees.search import solve as search_trees
from omtree.problem.graph import Condition
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Path, Problem, leaves_of
from omtree.problem.rule_sums import merged

#: Share of the time, and most time, in which the tree search may look for a start: proofs about trees say nothing of
#: rules, which need the rest.
SEARCH_SHARE = 0.1
MOST_SEARCH_SECONDS = 120.0

#: Once the time is nearly up, a greedy tree is grown on so many rows, and fewer where there are many columns.
LATE_ROWS, LATE_CELLS = 20_000, 500_000
#: Cells of the table that a greedy tree gets through in a second, level by level.
GREEDY_CELLS = 20_000_000

SklearnTree: TypeAlias = DecisionTreeClassifier | DecisionTreeRegressor


def first_models(
    pool: ColumnPool, start: Sequence[Path], options: Options, deadline: Deadline
) -> Iterator[Sequence[Path]]:
    """Models to start from, as rules: a single rule, those given, the best trees, and a greedy one if these take long.

    Rules among them may be against the limits of the problem.
    """
    problem = pool.problem
    if problem.free_labels:
        # Not only the label of least loss may meet the constraints.
        yield from ([Path((), label)] for label in range(problem.loss.n_labels))
    else:
        yield [pool.with_best_label(Path((), 0))]
    yield start
    if not options.warm_start:
        return
    if options.method == "paper":
        yield from greedy_models(pool, options.seed, deadline)
    if options.trees:
        limit = deadline.share(SEARCH_SHARE).at_most(MOST_SEARCH_SECONDS)
        yield from tree_paths(problem, limit, options.n_jobs)
        if options.method == "exact" and limit.expired and not (start and deadline.expired):
            yield from greedy_models(pool, options.seed, deadline)


def greedy_models(pool: ColumnPool, seed: int, deadline: Deadline) -> Iterator[list[Path]]:
    """The leaves of greedy trees, as rules with their best labels; of one on some rows where time is too short."""
    table = pool.problem.table
    work = table.codes.size * min(pool.problem.max_depth, len(table.features))
    few = max(1, min(LATE_ROWS, LATE_CELLS // max(1, len(table.features))))
    for single_values in (False, True) if any(not feature.ordered for feature in table.features) else (False,):
        late = work > GREEDY_CELLS * deadline.remaining
        paths = greedy_paths(pool.problem, seed, single_values=single_values, most_rows=few if late else None)
        yield [pool.with_best_label(path) for path in paths]
        if late:
            return


def tree_paths(problem: Problem, deadline: Deadline, n_jobs: int) -> Iterator[list[Path]]:
    """The leaves of the best trees the search finds in time, smallest tree first.

    The search answers Ctrl-C with the trees it has; the interrupt is raised once they are handed over.
    """
    engine = search_trees if problem.additive else solve_general
    found = engine(dataclasses.replace(problem, model_limits=(), conflict=None), deadline=deadline, n_jobs=n_jobs)
    distinct = {id(tree): tree for tree in found.trees if tree is not None}
    for tree in distinct.values():
        yield [merged(path) for path in leaves_of(tree)]
    if found.interrupted:
        raise KeyboardInterrupt


def greedy_paths(
    problem: Problem, seed: int, *, single_values: bool = False, most_rows: int | None = None
) -> list[Path]:
    """The leaves of scikit-learn's tree on the codes, as rules; empty when its splits are not nodes of the graph.

    Nominal codes are ranked along the target, so that every cut is a group the graph knows; or with `single_values`
    each of them is told from all others. Labels are chosen where the loss has costs by label. The tree is grown on at
    most so many rows of the table.
    """
    table = problem.table
    cuttings = [cutting for f, feature in enumerate(table.features) for cutting in _cuttings(f, feature, single_values)]
    if not cuttings or problem.max_leaves < 2:
        return []
    step = 1 if most_rows is None else -(-table.n_rows // most_rows)
    values = np.column_stack([cutting.value[table.codes[cutting.feature, ::step]] for cutting in cuttings])
    limits = {
        "max_depth": problem.max_depth,
        "max_leaf_nodes": problem.max_leaves,
        "min_weight_fraction_leaf": min(0.5, problem.min_support / float(table.weight.sum())),
        "random_state": seed,
    }
    tree = _grow(problem, values, limits, step)
    if tree is None:
        return []
    paths = []
    for inside in _leaves(tree, cuttings, [feature.n_codes for feature in table.features]):
        tested = [(f, codes) for f, codes in inside.items() if len(codes) < table.features[f].n_codes]
        if any(problem.graph.number_of(*node) is None for node in tested):
            return []
        path = Path(tuple(Condition(f, codes) for f, codes in tested), 0)
        covered = path.covers(table.codes)
        if table.weight[covered].sum() < problem.min_support:
            return []
        if isinstance(problem.loss, LinearLoss):
            path = Path(path.conditions, int((table.statistics[covered].sum(axis=0) @ problem.costs).argmin()))
        paths.append(path)
    return paths


@dataclasses.dataclass(frozen=True, eq=False)
class _Cutting:
    """A feature as numbers that a greedy tree may cut: the number of each of its codes."""

    feature: int
    value: np.ndarray[tuple[int], np.dtype[np.float32]]


def _cuttings(f: int, feature: Feature, single_values: bool) -> list[_Cutting]:
    """One along which the feature is ordered, or one for each value of a feature that has no order."""
    if single_values and not feature.ordered:
        return [_Cutting(f, (np.arange(feature.n_codes) == code).astype(np.float32)) for code in range(feature.n_codes)]
    order = range(feature.n_codes) if feature.ordered else feature.target_order or range(feature.n_codes)
    rank = np.empty(feature.n_codes, dtype=np.float32)
    rank[list(order)] = np.arange(feature.n_codes)
    return [_Cutting(f, rank)]


def _grow(problem: Problem, ranked: npt.NDArray[np.float32], limits: dict[str, Any], step: int) -> SklearnTree | None:
    """The greedy tree for classes or for numbers, on every so many rows; None for a loss of another kind."""
    guide = problem.loss.guide(problem.table, step)
    if guide is None:
        return None
    kind = DecisionTreeClassifier if guide.of_classes else DecisionTreeRegressor
    return kind(**limits).fit(ranked[guide.rows], guide.target, sample_weight=guide.weight)


def _leaves(tree: SklearnTree, cuttings: list[_Cutting], n_codes: list[int]) -> list[dict[int, tuple[int, ...]]]:
    """For each leaf the codes that reach it, by feature."""
    inner = tree.tree_
    every = {f: frozenset(range(n)) for f, n in enumerate(n_codes)}
    stack = [(0, every)]
    found = []
    while stack:
        node, inside = stack.pop()
        if inner.children_left[node] == -1:
            found.append({f: tuple(sorted(codes)) for f, codes in inside.items()})
            continue
        cutting = cuttings[int(inner.feature[node])]
        f = cutting.feature
        low = frozenset(np.flatnonzero(cutting.value <= inner.threshold[node]).tolist())
        stack.append((int(inner.children_left[node]), {**inside, f: inside[f] & low}))
        stack.append((int(inner.children_right[node]), {**inside, f: inside[f] - low}))
    return found
