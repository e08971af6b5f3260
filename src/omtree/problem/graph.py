"""The feature graph: every decision rule is a path through it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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
        return tuple(_distinct_sets(self.feature, self.categories))

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
        return next(level.index for level in self.levels if level.position == feature)

    def pack(self) -> PackedGraph:
        """The graph as flat arrays."""
        sizes = [len(level.code_sets) for level in self.levels]
        every = [codes for level in self.levels for codes in level.code_sets]
        members = np.zeros((len(every), 256), dtype=bool)
        owner = np.repeat(np.arange(len(every)), [len(codes) for codes in every])
        members[owner, np.fromiter(itertools.chain.from_iterable(every), dtype=np.intp, count=len(owner))] = True
        masks = np.packbits(members, axis=1, bitorder="little").view("<u8").astype(np.uint64)
        return PackedGraph(
            np.array([level.position for level in self.levels], dtype=np.int32),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
            masks,
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


def _distinct_sets(feature: Feature, categories: Categories) -> Iterator[tuple[int, ...]]:
    """The conditions of one feature as sets of codes, each set once, never all codes (that is SKIP)."""
    seen: set[tuple[int, ...]] = set()
    for codes in _code_sets(feature, categories):
        key = tuple(sorted(codes))
        if 0 < len(key) < feature.n_codes and key not in seen:
            seen.add(key)
            yield key


def _code_sets(feature: Feature, categories: Categories) -> Iterator[tuple[int, ...]]:
    n = feature.n_codes
    if feature.ordered:
        for low in range(feature.n_values):
            for high in range(low + 1, feature.n_values + 1):
                yield tuple(range(low, high))
        if feature.has_missing:
            missing = feature.n_values
            yield (missing,)
            for low in range(feature.n_values):
                for high in range(low + 1, feature.n_values + 1):
                    yield (*range(low, high), missing)
    elif categories != "groups":
        for code in range(n):
            yield (code,)
        for code in range(n) if categories == "single" else ():
            yield tuple(other for other in range(n) if other != code)
    elif n <= MAX_FULL_SUBSETS:
        for size in range(1, n):
            yield from itertools.combinations(range(n), size)
    else:
        order = feature.target_order or tuple(range(n))
        for code in range(n):
            yield (code,)
        for code in range(n):
            yield tuple(other for other in range(n) if other != code)
        for low in range(n):
            for high in range(low + 1, n + 1):
                yield order[low:high]


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
