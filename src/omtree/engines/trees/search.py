"""The best tree for every number of leaves, and the proof that it is the best."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

import numpy as np

from omtree import _native
from omtree.data.table import Feature, FloatArray
from omtree.deadline import Deadline
from omtree.model.certificate import Status
from omtree.problem.graph import MAX_FULL_SUBSETS, Categories, Condition, FeatureGraph
from omtree.problem.losses import Formula, HazardLoss, ImpurityLoss, LinearLoss, Loss, MomentLoss
from omtree.problem.problem import Node, Problem
from omtree.sources.counts import Counts

Splits = Literal["multiway", "binary"]
Counting = Literal["auto", "bits", "histogram", "tables"]
_PackedTree = Sequence[tuple[int, int, bool, Sequence[tuple[Sequence[int], int]]]]
_Answer = tuple[list[float], Sequence[_PackedTree | None], float, bool, bool, int, int, int]


class TreesBySize(Sequence[Node | None]):
    """The best tree with at most 1, 2, ... leaves, each unpacked when it is first asked for."""

    def __init__(
        self,
        packed: Sequence[_PackedTree | None],
        losses: Sequence[float],
        columns: Sequence[int],
        features: Sequence[Feature],
        categories: Categories,
    ) -> None:
        self._packed = packed
        self._unpack = (columns, features, categories)
        # A larger size without a smaller loss has the tree of the size before.
        self._source = list(range(len(packed)))
        for size in range(1, len(packed)):
            if losses[size] == losses[size - 1]:
                self._source[size] = self._source[size - 1]
        self._known: dict[int, Node | None] = {}

    def __len__(self) -> int:
        return len(self._packed)

    @overload
    def __getitem__(self, size: int) -> Node | None: ...
    @overload
    def __getitem__(self, size: slice) -> list[Node | None]: ...
    def __getitem__(self, size: int | slice) -> Node | list[Node | None] | None:
        if isinstance(size, slice):
            return [self[i] for i in range(*size.indices(len(self)))]
        source = self._source[size]
        if source not in self._known:
            self._known[source] = _unpack(self._packed[source], *self._unpack)
        return self._known[source]


@dataclass(frozen=True, eq=False)
class TreeSolution:
    """The answer of the search.

    Attributes
    ----------
    trees : sequence of Node or None
        ``trees[m - 1]`` is the best tree with at most ``m`` leaves; None where even a single leaf lacks the support.
    losses : array of float
        Their losses, never increasing; infinite where there is no tree.
    status : {"optimal", "time_limit", "stopped", "infeasible"}
    bound : float
        No tree within the limits has a lower loss.
    interrupted : bool
        Whether the user pressed Ctrl-C; the trees are the best known then.
    seconds : float
    subproblems, cache_hits, cache_entries : int
        How much work the search was.
    """

    trees: Sequence[Node | None]
    losses: FloatArray
    status: Status
    bound: float
    interrupted: bool
    seconds: float
    subproblems: int
    cache_hits: int
    cache_entries: int

    @property
    def tree(self) -> Node | None:
        """The best tree."""
        return self.trees[-1]

    @property
    def value(self) -> float:
        """Loss of the best tree."""
        return float(self.losses[-1])


def solve(
    problem: Problem,
    *,
    splits: Splits = "multiway",
    max_children: int | None = None,
    categories: Categories | None = None,
    n_jobs: int = 1,
    cache_mb: float = 512,
    deadline: Deadline | None = None,
    every_size: bool = True,
    use_bounds: bool = True,
    use_cache: bool = True,
    counting: Counting = "auto",
) -> TreeSolution:
    """Find the best tree with at most 1, 2, ..., ``problem.max_leaves`` leaves.

    Parameters
    ----------
    problem : Problem
        Constraints over the whole model (``problem.model_limits``) are not for this engine. Its costs may have any
        number of labels: a leaf takes the one that is cheapest for the classes of its samples.
    splits : {"multiway", "binary"}
        Multiway: any number of children, each feature at most once on a path. Binary: two children, and a feature may
        be split again further down.
    max_children : int, optional
        Most children of a node.
    categories : {"groups", "values", "single"}, optional
        Whether nominal features are split into groups of values or into single values; by default as in the graph.
    n_jobs : int
        Threads; -1 means one per processor. The answer does not depend on it.
    cache_mb : float
        Most memory for what is known about subproblems, in megabytes.
    deadline : Deadline, optional
    every_size : bool
        Whether the best tree of every size is wanted. Where not, smaller ones than the last may be missing (None, with
        infinite loss), and the last one is found faster: first without a limit on leaves.
    use_bounds, use_cache, counting
        Accelerations; the losses do not depend on them.

    Examples
    --------
    >>> import numpy as np
    >>> from omtree.data.table import Feature, Table
    >>> from omtree.problem.graph import FeatureGraph
    >>> from omtree.problem.losses import LinearLoss
    >>> from omtree.problem.problem import Problem
    >>> size = Feature("size", 0, "ordinal", 3, False, levels=("S", "M", "L"))
    >>> table = Table((size,), np.array([[0, 1, 2]], np.uint8), np.array([[5.0, 0], [1, 4], [6, 0]]), np.arange(3))
    >>> problem = Problem(table, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 1, 3, 1.0)
    >>> solve(problem).losses.tolist()
    [4.0, 4.0, 1.0]
    """
    if not problem.limits.empty:
        raise ValueError("This search takes no limits on rules; use solve_general, or solve_priced.")
    found = _solve(
        problem,
        splits,
        max_children,
        categories,
        n_jobs,
        cache_mb,
        deadline,
        every_size,
        use_bounds,
        use_cache,
        counting,
    )
    assert found is not None
    return found


def solve_priced(
    problem: Problem,
    *,
    splits: Splits = "binary",
    n_jobs: int = 1,
    cache_mb: float = 512,
    deadline: Deadline | None = None,
    every_size: bool = True,
    use_bounds: bool = True,
    use_cache: bool = True,
) -> TreeSolution | None:
    """The best binary tree where tests have prices.

    Parameters
    ----------
    problem : Problem
        Its costs are by label, its only limits are prices.
    splits, n_jobs, cache_mb, deadline, every_size, use_bounds, use_cache
        As in `solve`.

    Returns
    -------
    TreeSolution or None
        None where the problem is not one for this search: another loss, other limits, splits that are not binary,
        weights that are no whole numbers, too many columns.

    Examples
    --------
    >>> from omtree.data.table import Feature, Table
    >>> from omtree.problem.graph import FeatureGraph
    >>> from omtree.problem.limits import RuleLimits, TestPrices
    >>> from omtree.problem.losses import LinearLoss
    >>> from omtree.problem.problem import Problem
    >>> size = Feature("size", 0, "ordinal", 3, False, levels=("S", "M", "L"))
    >>> table = Table((size,), np.array([[0, 1, 2]], np.uint8), np.array([[5.0, 0], [1, 4], [0, 3]]), np.arange(3))
    >>> prices = RuleLimits(prices=TestPrices((1.0,), (1.0,), (-1,), np.inf, 0.25))
    >>> problem = Problem(
    ...     table, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 1, 2, 1.0, limits=prices
    ... )
    >>> solve_priced(problem).losses.tolist()
    [6.0, 4.25]
    """
    limits = problem.limits
    if limits.prices is None or not replace(limits, prices=None).empty or not isinstance(problem.loss, LinearLoss):
        return None
    return _solve(problem, splits, None, None, n_jobs, cache_mb, deadline, every_size, use_bounds, use_cache, "auto")


def _solve(
    problem: Problem,
    splits: Splits,
    max_children: int | None,
    categories: Categories | None,
    n_jobs: int,
    cache_mb: float,
    deadline: Deadline | None,
    every_size: bool,
    use_bounds: bool,
    use_cache: bool,
    counting: Counting,
) -> TreeSolution | None:
    """Ask the kernel; None where it cannot tell what tests cost."""
    if problem.model_limits:
        raise ValueError("The tree search takes no constraints over the whole model; remove problem.model_limits.")
    started = time.monotonic()
    categories = categories or problem.graph.categories
    features = problem.table.features
    columns = [features.index(level.feature) for level in problem.graph.levels]
    prices = problem.limits.prices
    answer = _native.search_trees(
        np.ascontiguousarray(problem.table.codes, dtype=np.uint8),
        *sums_and_formula(problem),
        columns=columns,
        max_depth=problem.max_depth,
        max_leaves=problem.max_leaves,
        min_support=float(problem.min_support),
        use_bounds=use_bounds,
        use_cache=use_cache,
        counting=counting,
        every_size=every_size,
        prices=None
        if prices is None
        else (
            [prices.full[column] for column in columns],
            [prices.again[column] for column in columns],
            [prices.group[column] for column in columns],
            prices.limit,
            prices.weight,
        ),
        **common_arguments(
            [features[column] for column in columns], categories, splits, max_children, n_jobs, cache_mb, deadline
        ),
    )
    return None if answer is None else solution_of(answer, columns, features, categories, started)


def solve_counts(
    counts: Counts,
    graph: FeatureGraph,
    loss: Loss,
    *,
    max_depth: int,
    max_leaves: int,
    min_support: float,
    splits: Splits = "multiway",
    max_children: int | None = None,
    n_jobs: int = 1,
    cache_mb: float = 512,
    table_mb: float = 1024,
    deadline: Deadline | None = None,
    every_size: bool = True,
) -> TreeSolution:
    """The same search where the rows are elsewhere, and all that can be had of them are joint counts.

    The trees and losses are those of `solve` for a table of the same rows, where all weights are whole numbers; with
    other weights but for rounding. Of several best binary trees it may be another one.

    Parameters
    ----------
    counts : Counts
        Its features are those of the graph, in the order of ``graph.features``.
    graph : FeatureGraph
    loss : Loss
        One that adds up; the counts are the sums it is made of.
    max_depth, max_leaves : int
    min_support : float
    splits, max_children, n_jobs, cache_mb, deadline, every_size
        As in `solve`.
    table_mb : float
        Most memory for joint counts, in megabytes. Where it suffices, trees of depth 3 take one pass over the rows and
        each further level one more.
    """
    started = time.monotonic()
    features = graph.features
    columns = [features.index(level.feature) for level in graph.levels]
    position = np.array(columns, dtype=np.int32)
    answer = _native.search_tables(
        lambda sets, stopped: counts.tables(position[sets], stopped),
        np.ascontiguousarray(counts.totals, dtype=np.float64),
        _formula(loss),
        max_depth=max_depth,
        max_leaves=max_leaves,
        min_support=float(min_support),
        table_bytes=int(table_mb * 2**20),
        whole=counts.whole,
        every_size=every_size,
        **common_arguments(
            [features[column] for column in columns], graph.categories, splits, max_children, n_jobs, cache_mb, deadline
        ),
    )
    return solution_of(answer, columns, features, graph.categories, started)


def sums_and_formula(problem: Problem) -> tuple[FloatArray, Formula]:
    """The sums of every row that decide what a leaf costs, and how they do."""
    table = problem.table
    name, n_sums, n_weights, n_labels, costs = _formula(problem.loss)
    sums = np.ascontiguousarray(table.statistics, dtype=np.float64)
    if table.row_weight is not None and n_weights == n_sums:
        # The statistics are not weights, so that these come before them, at no cost.
        sums = np.column_stack([table.row_weight, sums])
        return sums, (name, n_sums + 1, 1, n_labels, np.concatenate([np.zeros(n_labels), costs]))
    return sums, (name, n_sums, n_weights, n_labels, costs)


def _formula(loss: Loss) -> Formula:
    if not isinstance(loss, LinearLoss | ImpurityLoss | MomentLoss | HazardLoss):
        raise TypeError(f"The tree search takes losses that add up, not a {type(loss).__name__}.")
    if isinstance(loss, LinearLoss) and not (loss.costs >= 0).all():
        raise ValueError("The tree search takes no costs below zero; add a constant to each row of the costs.")
    return loss.native()


def common_arguments(
    features: Sequence[Feature],
    categories: Categories,
    splits: Splits,
    max_children: int | None,
    n_jobs: int,
    cache_mb: float,
    deadline: Deadline | None,
) -> dict[str, Any]:
    """What the kernel is told wherever the counts are from."""
    return {
        **describe_splits(features, categories, splits, max_children),
        "n_threads": n_jobs if n_jobs > 0 else os.cpu_count() or 1,
        "cache_bytes": int(cache_mb * 2**20),
        "seconds": deadline.remaining if deadline is not None else math.inf,
    }


def describe_splits(
    features: Sequence[Feature], categories: Categories, splits: Splits, max_children: int | None
) -> dict[str, Any]:
    """What the kernel is told about the ways to split features."""
    if splits not in ("multiway", "binary"):
        raise ValueError(f'splits must be "multiway" or "binary", not {splits!r}.')
    if max_children is not None and max_children < 2:
        raise ValueError(f"max_children must be at least 2, not {max_children}.")
    return {
        "n_codes": [feature.n_codes for feature in features],
        "families": [_family(feature, categories) for feature in features],
        "has_missing": [feature.has_missing and feature.n_codes > 2 for feature in features],
        "orders": [_order(feature, categories) for feature in features],
        "binary": splits == "binary",
        "max_children": max_children or 0,
    }


def solution_of(
    answer: _Answer, columns: Sequence[int], features: Sequence[Feature], categories: Categories, started: float
) -> TreeSolution:
    """The kernel's answer in our terms."""
    losses, packed, bound, finished, interrupted, subproblems, hits, entries = answer
    trees = TreesBySize(packed, losses, columns, features, categories)
    status: Status = "optimal" if finished else "stopped" if interrupted else "time_limit"
    if math.isinf(losses[-1]):
        status = "infeasible"
    seconds = time.monotonic() - started
    return TreeSolution(trees, np.array(losses), status, bound, interrupted, seconds, subproblems, hits, entries)


def _family(feature: Feature, categories: Categories) -> str:
    if feature.ordered or feature.n_codes == 2:
        return "interval"
    if categories != "groups":
        return "value" if categories == "values" else "single"
    return "subset" if feature.n_codes <= MAX_FULL_SUBSETS else "run"


def _order(feature: Feature, categories: Categories) -> list[int]:
    """Codes in the order of their runs; empty where that is their own order."""
    if _family(feature, categories) == "run" and feature.target_order is not None:
        return list(feature.target_order)
    return []


def _unpack(
    tree: _PackedTree | None, columns: Sequence[int], features: Sequence[Feature], categories: Categories
) -> Node | None:
    if tree is None:
        return None

    def node(position: int, domains: dict[int, tuple[int, ...]]) -> Node:
        label, level, complement, branches = tree[position]
        if not branches:
            return Node(label)
        column = columns[level]
        feature = features[column]
        domain = domains.get(column, tuple(range(feature.n_codes)))
        parts = _widen(feature, categories, domain, [tuple(codes) for codes, _ in branches], complement)
        return Node(
            label,
            tuple(
                (Condition(column, codes, feature.describe(codes)), node(child, {**domains, column: codes}))
                for codes, (_, child) in zip(parts, branches, strict=True)
            ),
        )

    return node(0, {})


def _widen(
    feature: Feature,
    categories: Categories,
    domain: tuple[int, ...],
    parts: Sequence[tuple[int, ...]],
    complement: bool,
) -> list[tuple[int, ...]]:
    """Give each code of the domain that no row of the node has to a part, so that the parts stay conditions."""
    family = _family(feature, categories)
    if complement:
        single = parts[0] if len(parts[0]) == 1 else parts[1]
        rest = tuple(code for code in domain if code not in single)
        return [single if part == single else rest for part in parts]
    if family not in ("interval", "run"):
        return [tuple(sorted(part)) for part in parts]
    missing = feature.n_values if feature.has_missing and feature.ordered and feature.n_codes > 2 else None
    order = [c for c in (_order(feature, categories) or range(feature.n_codes)) if c in domain and c != missing]
    owner = {code: i for i, part in enumerate(parts) for code in part}
    wide: list[list[int]] = [[] for _ in parts]
    current = next((owner[code] for code in order if code in owner), None)
    for code in order:
        current = owner.get(code, current)
        if current is not None:
            wide[current].append(code)
    if missing in owner:
        wide[owner[missing]].append(missing)
    return [tuple(sorted(codes)) for codes in wide]
