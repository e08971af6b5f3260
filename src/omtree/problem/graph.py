"""The feature graph: every decision rule is a path through it."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from omtree.data.table import Feature

#: What a condition on a nominal feature may name: several values, one, or with "single" one or all but one.
Categories = Literal["groups", "values", "single"]

#: Up to this many codes a nominal feature offers every subset of its values as a condition.
MAX_FULL_SUBSETS = 5


@dataclass(frozen=True)
class Condition:
    """One node of the graph: a feature and the set of its codes that satisfy the condition."""

    feature: int
    codes: tuple[int, ...]
    text: str = field(compare=False, default="")

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class Level:
    """One feature of the graph with its conditions; every level also has a SKIP node."""

    index: int
    feature: Feature
    position: int
    categories: Categories

    @cached_property
    def code_sets(self) -> tuple[tuple[int, ...], ...]:
        """The codes behind each condition."""
        return _distinct_sets(self.feature, self.categories)

    @property
    def n_conditions(self) -> int:
        """Number of conditions, without listing them where that is easy."""
        feature, n = self.feature, self.feature.n_codes
        if feature.ordered:
            n_intervals = feature.n_values * (feature.n_values + 1) // 2
            return 2 * n_intervals if feature.has_missing else n_intervals - 1
        if self.categories == "groups" and 1 < n <= MAX_FULL_SUBSETS:
            return int(2**n - 2)
        if self.categories == "groups" and n > MAX_FULL_SUBSETS:
            # Single codes, all but one, and runs of 2 .. n - 2 along the order.
            return 2 * n + n * (n - 1) // 2 - 3
        return len(self.code_sets)

    @cached_property
    def nodes(self) -> tuple[Condition, ...]:
        """The conditions; their words are found when first asked for, which the engines never do."""
        return tuple(self.node(i) for i in range(len(self.code_sets)))

    def node(self, i: int) -> Condition:
        """The `i`-th condition."""
        codes = self.code_sets[i]
        return Condition(self.position, codes, self.feature.describe(codes))


@dataclass(frozen=True, eq=False)
class PackedGraph:
    """The graph as flat arrays, for the kernel.

    ``feature[l]`` is the table's feature of level ``l``; its conditions are ``start[l] .. start[l + 1] - 1``, and bit
    ``v`` of ``masks[i]`` (four 64-bit words) says whether code ``v`` satisfies condition ``i``.
    """

    feature: npt.NDArray[np.int32]
    start: npt.NDArray[np.int32]
    masks: npt.NDArray[np.uint64]


class FeatureGraph:
    """Levels of conditions between a source and a sink; a path takes one node, or SKIP, per level.

    Parameters
    ----------
    features : sequence of Feature
        The table's features; conditions refer to them by position.
    categories : {"groups", "values", "single"}
        Whether nominal features offer groups of values, single values only, or a single value and all but that.
    order : sequence of int, optional
        Positions of the features in the order of the levels; by default as given.

    Examples
    --------
    >>> from omtree.data.table import Feature
    >>> shape = Feature("shape", 0, "nominal", 2, False, levels=("round", "square"))
    >>> size = Feature("size", 1, "ordinal", 3, False, levels=("S", "M", "L"))
    >>> graph = FeatureGraph([shape, size])
    >>> [len(level.nodes) for level in graph]
    [2, 5]
    >>> graph.n_paths(), graph.n_paths(max_depth=1)
    (18, 8)
    """

    def __init__(
        self, features: Sequence[Feature], categories: Categories = "groups", order: Sequence[int] | None = None
    ) -> None:
        self.features = tuple(features)
        self.categories = categories
        positions = range(len(self.features)) if order is None else order
        if sorted(positions) != list(range(len(self.features))):
            raise ValueError("order must name each feature exactly once.")
        self.levels = tuple(Level(place, self.features[f], f, categories) for place, f in enumerate(positions))

    def __iter__(self) -> Iterator[Level]:
        return iter(self.levels)

    def __len__(self) -> int:
        return len(self.levels)

    @property
    def n_conditions(self) -> int:
        """Number of conditions on all levels."""
        return sum(level.n_conditions for level in self.levels)

    @property
    def n_nodes(self) -> int:
        """Number of nodes: conditions, one SKIP per level, source and sink."""
        return self.n_conditions + len(self.levels) + 2

    def n_paths(self, max_depth: int | None = None) -> int:
        """Exact number of paths with at most `max_depth` conditions (all paths when None).

        Without a limit this is the product of (conditions + 1) over the levels; with a limit ``d`` the sum of the first
        ``d`` elementary symmetric polynomials of the numbers of conditions.
        """
        limit = len(self.levels) if max_depth is None else min(max_depth, len(self.levels))
        by_length = [1] + [0] * limit
        for level in self.levels:
            for length in range(limit, 0, -1):
                by_length[length] += by_length[length - 1] * len(level.code_sets)
        return sum(by_length)

    def successors(self, path: Sequence[Condition], max_depth: int | None = None) -> Iterator[Condition]:
        """Conditions that may extend `path`: those of later levels, while the path is shorter than `max_depth`."""
        if max_depth is not None and len(path) >= max_depth:
            return
        first = self.level_of(path[-1].feature) + 1 if path else 0
        for level in self.levels[first:]:
            yield from level.nodes

    def paths(self, max_depth: int | None = None) -> Iterator[tuple[Condition, ...]]:
        """Every path with at most `max_depth` conditions, depth first, the empty one first."""
        stack: list[tuple[Condition, ...]] = [()]
        while stack:
            path = stack.pop()
            yield path
            stack.extend((*path, node) for node in reversed(list(self.successors(path, max_depth))))

    def level_of(self, feature: int) -> int:
        """Level of the feature at this position of the table."""
        return self._by_position[feature].index

    def number_of(self, feature: int, codes: tuple[int, ...]) -> int | None:
        """The condition's number, counted over all levels; None for one that the graph does not have.

        >>> graph = FeatureGraph([Feature("size", 0, "ordinal", 3, False, levels=("S", "M", "L"))])
        >>> [graph.number_of(0, node.codes) for node in graph.levels[0].nodes], graph.number_of(0, (0, 2))
        ([0, 1, 2, 3, 4], None)
        """
        level = self._by_position[feature]
        sets = level.code_sets
        if id(sets) not in self._places_in:
            self._places_in[id(sets)] = {inside: i for i, inside in enumerate(sets)}
        place = self._places_in[id(sets)].get(codes)
        return None if place is None else self._starts[level.index] + place

    def place_of(self, number: int) -> tuple[Level, int]:
        """The level of the condition with this number, and its place there."""
        index = bisect_right(self._starts, number) - 1
        return self.levels[index], number - self._starts[index]

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *itertools.accumulate(len(level.code_sets) for level in self.levels)]

    @cached_property
    def _by_position(self) -> dict[int, Level]:
        return {level.position: level for level in self.levels}

    @cached_property
    def _places_in(self) -> dict[int, dict[tuple[int, ...], int]]:
        """Where each set of codes stands; features of one shape share the listing, and so the places."""
        return {}

    def pack(self) -> PackedGraph:
        """The graph as flat arrays."""
        known: dict[int, npt.NDArray[np.uint64]] = {}
        for level in self.levels:
            if id(level.code_sets) not in known:
                known[id(level.code_sets)] = _masks(level.code_sets)
        masks = [np.empty((0, 4), dtype=np.uint64), *(known[id(level.code_sets)] for level in self.levels)]
        return PackedGraph(
            np.array([level.position for level in self.levels], dtype=np.int32),
            np.array(self._starts, dtype=np.int32),
            np.concatenate(masks),
        )

    def to_dot(self) -> str:
        """The graph in the DOT language."""
        lines = ["digraph features {", "  rankdir=LR;", '  source [shape=circle, label="source"];']
        previous = ["source"]
        for level in self.levels:
            names = [f"n{level.index}_{i}" for i in range(len(level.nodes))]
            lines += [
                f"  {name} [shape=box, label={_quote(node.text)}];"
                for name, node in zip(names, level.nodes, strict=True)
            ]
            skip = f"skip{level.index}"
            lines.append(f"  {skip} [shape=box, style=dashed, label={_quote(f'SKIP {level.feature.name}')}];")
            names.append(skip)
            lines += [f"  {a} -> {b};" for a in previous for b in names]
            previous = names
        lines.append('  sink [shape=circle, label="sink"];')
        lines += [f"  {a} -> sink;" for a in previous]
        return "\n".join([*lines, "}"])


def _distinct_sets(feature: Feature, categories: Categories) -> tuple[tuple[int, ...], ...]:
    """The conditions of one feature as sets of codes, each set once, never all codes (that is SKIP)."""
    n = feature.n_codes
    listed = _listed_small if n <= 16 else _listed_large
    if feature.ordered:
        return listed(feature.n_values, feature.has_missing, None, None)
    order = feature.target_order if categories == "groups" and n > MAX_FULL_SUBSETS else None
    return listed(n, False, categories, order)


def _listed(
    n: int, has_missing: bool, categories: Categories | None, order: tuple[int, ...] | None
) -> tuple[tuple[int, ...], ...]:
    return _intervals(n, has_missing) if categories is None else _groups(n, categories, order)


# Features of the same shape are many, and share what they list.
_listed_small = lru_cache(maxsize=128)(_listed)
_listed_large = lru_cache(maxsize=4)(_listed)


def _intervals(n_values: int, has_missing: bool) -> tuple[tuple[int, ...], ...]:
    """Runs of the values, and these with the missing code, which is the last, or that alone."""
    runs = [tuple(range(low, high)) for low in range(n_values) for high in range(low + 1, n_values + 1)]
    with_missing = [(n_values,), *((*run, n_values) for run in runs)] if has_missing else []
    return _each_once([*runs, *with_missing], n_values + has_missing)


def _groups(n: int, categories: Categories, order: tuple[int, ...] | None) -> tuple[tuple[int, ...], ...]:
    singles = [(code,) for code in range(n)]
    others = [tuple(other for other in range(n) if other != code) for code in range(n)]
    if categories == "values":
        return _each_once(singles, n)
    if categories == "single":
        return _each_once([*singles, *others], n)
    if n <= MAX_FULL_SUBSETS:
        return _each_once([codes for size in range(1, n) for codes in itertools.combinations(range(n), size)], n)
    order = order or tuple(range(n))
    runs = [order[low:high] for low in range(n) for high in range(low + 1, n + 1)]
    return _each_once([*singles, *others, *runs], n)


def _each_once(sets: Sequence[tuple[int, ...]], n_codes: int) -> tuple[tuple[int, ...], ...]:
    found = dict.fromkeys(tuple(sorted(codes)) for codes in sets)
    return tuple(codes for codes in found if 0 < len(codes) < n_codes)


def _masks(sets: Sequence[tuple[int, ...]]) -> npt.NDArray[np.uint64]:
    """A bit for each code of each set."""
    members = np.zeros((len(sets), 256), dtype=bool)
    owner = np.repeat(np.arange(len(sets)), [len(codes) for codes in sets])
    members[owner, np.fromiter(itertools.chain.from_iterable(sets), dtype=np.intp, count=len(owner))] = True
    return np.packbits(members, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
