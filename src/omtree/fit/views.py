"""Columns as the search over all cuts sees them, and its trees in terms of the columns.

A column with missing cells has two views, one with these cells before and one behind all values, so that they may join
either side of a cut or stand alone. A group of levels against the others is a view of two values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from omtree.data.binning import readable_between
from omtree.data.column import Column, Columns
from omtree.data.table import Feature, FloatArray
from omtree.engines.trees.all_cuts import CutNode
from omtree.fit.raw_cuts import Part, RawNode
from omtree.problem.graph import MAX_FULL_SUBSETS, Categories


@dataclass(frozen=True, eq=False)
class View:
    """One order of a feature's values.

    Attributes
    ----------
    feature : int
        Position of the feature.
    values : array of float
        By sample; minus or plus infinity where a cell is missing.
    codes : tuple of tuple of int, or None
        The codes behind the values 0, 1, ...; None where the values are the numbers themselves.
    missing : {"first", "last"} or None
        Where missing cells are, if they have no code among the others.
    """

    feature: int
    values: FloatArray
    codes: tuple[tuple[int, ...], ...] | None = None
    missing: Literal["first", "last"] | None = None

    def parts(self, cuts: Sequence[tuple[float, float]]) -> list[Part]:
        """What is between cuts, each of which is given by the values next to it."""
        first, last = self.missing == "first", self.missing == "last"
        if self.codes is not None:
            ends = [0, *(0 if below == -math.inf else int(below) + 1 for below, _ in cuts), len(self.codes)]
            inside = [tuple(itertools.chain.from_iterable(self.codes[a:b])) for a, b in itertools.pairwise(ends)]
            places = enumerate(inside)
            return [Part(codes=codes, missing=(first and i == 0) or (last and i == len(cuts))) for i, codes in places]
        edges = [-math.inf, *(self._threshold(*cut) for cut in cuts), math.inf]
        parts = [Part(low, high) for low, high in itertools.pairwise(edges)]
        if first:
            parts[0] = replace(parts[0], missing=True)
        if last:
            parts[-1] = replace(parts[-1], missing=True)
        return parts

    @staticmethod
    def _threshold(below: float, above: float) -> float:
        """The most readable threshold between two values, infinite next to cells that are missing."""
        return below if below == -math.inf else above if above == math.inf else readable_between(below, above)


def views_of(columns: Columns, features: Sequence[Feature], categories: Categories) -> list[View]:
    """All views of some features."""
    return [
        view for f, feature in enumerate(features) for view in _views(columns[feature.column], feature, f, categories)
    ]


def _views(column: Column, feature: Feature, position: int, categories: Categories) -> Iterator[View]:
    if feature.kind == "numeric":
        yield from _ordered(position, np.asarray(column.values, dtype=np.float64), None)
        return
    codes = feature.encode(column)
    if feature.kind == "ordinal":
        values = np.where(codes < feature.n_values, codes, np.nan)
        yield from _ordered(position, values, tuple((code,) for code in range(feature.n_values)))
        return
    n = feature.n_codes
    if categories == "groups" and n > MAX_FULL_SUBSETS:
        order = feature.target_order or tuple(range(n))
        place = np.argsort(order)
        yield View(position, place[codes].astype(np.float64), tuple((code,) for code in order))
    for group in _groups(n, categories):
        others = tuple(code for code in range(n) if code not in group)
        yield View(position, np.where(np.isin(codes, group), 0.0, 1.0), (group, others))


def _ordered(position: int, values: FloatArray, codes: tuple[tuple[int, ...], ...] | None) -> Iterator[View]:
    absent = np.isnan(values)
    if not absent.any():
        yield View(position, values, codes)
        return
    yield View(position, np.where(absent, -math.inf, values), codes, "first")
    present = values[~absent]
    # Where there is but one value, the only cut is the same in both.
    if len(present) and present.min() < present.max():
        yield View(position, np.where(absent, math.inf, values), codes, "last")


def _groups(n: int, categories: Categories) -> Iterator[tuple[int, ...]]:
    """The groups of codes that a split sets apart from the others, each pair of sides once."""
    if n == 2:
        yield (0,)
    elif categories != "groups" or n > MAX_FULL_SUBSETS:
        yield from ((code,) for code in range(n))
    else:
        for size in range(1, n // 2 + 1):
            for group in itertools.combinations(range(n), size):
                if 2 * size < n or 0 in group:
                    yield group


def raw_tree(node: CutNode, views: Sequence[View]) -> RawNode:
    """The tree in terms of the features, cut at the most readable numbers that part its rows in the same way."""
    if not node.children:
        return RawNode(node.label)
    view = views[node.view]
    parts = view.parts(node.cuts)
    children = tuple((part, raw_tree(child, views)) for part, child in zip(parts, node.children, strict=True))
    return RawNode(node.label, view.feature, children)
