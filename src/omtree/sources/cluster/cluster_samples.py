"""The samples of a fit that stay on a cluster: counted there, coded there once, and kept there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.binning import Binning
from omtree.data.column import CodedColumns, Column, Columns
from omtree.data.columns import KindChoice, read_columns
from omtree.data.summaries import ColumnSummary, quantile_points
from omtree.data.table import CodeArray, Feature
from omtree.data.wording import text_of
from omtree.sources.cluster.cluster_counts import DaskCounts
from omtree.sources.cluster.cluster_facts import Facts, add_facts, facts_of
from omtree.sources.cluster.cluster_quantiles import DaskNumbers
from omtree.sources.cluster.frames import Cluster, partitions
from omtree.sources.cluster.parts import add_merged, code_part, label_codes, merge_part, take
from omtree.sources.counts import Counts, ScaledCounts
from omtree.sources.distant import CountedTraining, DistantTraining
from omtree.sources.samples import Training

#: Columns whose quantiles are looked for at the same time.
_AT_ONCE = 8


@dataclass(frozen=True, eq=False)
class DaskTraining(DistantTraining):
    """Samples on a cluster; the arrays of a `Training` are empty here.

    Attributes
    ----------
    cluster : Cluster
    frame : dask.dataframe.DataFrame
        The columns to predict from.
    labels : dask.dataframe.Series
    row_weights : dask.dataframe.Series or None
    facts : Facts
    numeric : tuple of str
        Names of the columns that hold numbers.
    kinds : mapping
        What the user says of columns.
    """

    cluster: Cluster = field(kw_only=True)
    frame: Any = field(kw_only=True)
    labels: Any = field(kw_only=True)
    row_weights: Any = field(kw_only=True)
    facts: Facts = field(kw_only=True)
    numeric: tuple[str, ...] = field(kw_only=True)
    kinds: Mapping[Any, KindChoice] = field(kw_only=True)

    def __len__(self) -> int:
        return sum(self.facts.rows)

    def close(self) -> None:
        """Let go of the coded rows."""
        self._known.clear()

    def with_groups(self, names: Iterable[str], groups: Any) -> Training:
        """Groups are for constraints, which need the rows in memory."""
        if groups is not None or list(names):
            raise ValueError("Constraints over groups need the rows in memory; fit X.compute(), or leave them out.")
        return self

    def _summaries(self, n_bins: int, binning: Binning) -> list[ColumnSummary]:
        def summary(column: Column) -> ColumnSummary:
            if column.name in self.numeric:
                return self._numbers(column, n_bins, binning)
            return self._cells(column)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(summary, self.columns))

    def sample(self, size: int, seed: int) -> Training:
        """A part of the samples in memory: the same that would be drawn were all of them there."""
        chosen = np.sort(np.random.default_rng(seed).choice(len(self), size, replace=False))
        return self._rows(chosen)

    def whole(self) -> Training:
        """All samples in memory."""
        return self._rows(np.arange(len(self)))

    def _parts(self, names: Sequence[str]) -> list[Any]:
        return partitions(self.frame[list(names)], self.labels, self.row_weights)

    def _numbers(self, column: Column, n_bins: int, binning: Binning) -> ColumnSummary:
        """A column of numbers by its distinct values, or by those that decide its quantiles."""
        known = self.facts.numbers[column.name]
        missing = np.full(int(column.has_missing), np.nan)
        if known.values is not None and binning == "quantile":
            values, weights = known.values
        elif binning == "quantile":
            own = [[frame[column.name], weight] for frame, _, weight in self._parts([column.name])]
            points = quantile_points(DaskNumbers(self.cluster, own), known.low, known.high, n_bins)
            values, weights = points.values, points.weights
        else:
            return self._cells(column)
        values, weights = np.concatenate([values, missing]), np.append(weights, [known.missing] * len(missing))
        return ColumnSummary(replace(column, values=values), weights, np.zeros(len(values), dtype=np.intp))

    def _cells(self, column: Column) -> ColumnSummary:
        """A column by its distinct cells and the label of each."""
        counted = self.facts.cells.get(column.name)
        if counted is None:
            tasks = self.cluster.tasks(facts_of, self._parts([column.name]), ())
            counted = self.cluster.add_up(tasks, add_facts).cells[column.name]
        position = {label: place for place, label in enumerate(self.target.classes.tolist())}
        entries = sorted(counted, key=lambda entry: (str(entry[0]), position[entry[1]]))
        guide = np.array([position[label] for _, label in entries], dtype=np.intp)
        weights = np.array([counted[entry] for entry in entries], dtype=np.float64)
        if column.levels is None:
            values = np.array([np.nan if cell is None else cell for cell, _ in entries], dtype=np.float64)
            order = np.lexsort((guide, values))
            return ColumnSummary(replace(column, values=values[order]), weights[order], guide[order])
        return ColumnSummary(replace(column, values=_positions([cell for cell, _ in entries], column)), weights, guide)

    def _rows(self, chosen: npt.NDArray[np.int64]) -> Training:
        """Some rows, by their places among all."""
        import pandas as pd

        ends = np.cumsum(self.facts.rows)
        cut = np.searchsorted(chosen, ends)
        local = np.split(chosen, cut[:-1])
        starts = ends - self.facts.rows
        picked = [
            self.cluster.tasks(take, [part], places - start)[0]
            for part, places, start in zip(self._parts(self.columns.names), local, starts.tolist(), strict=True)
            if len(places)
        ]
        with self.deadline.outside():
            found = self.cluster.result(picked)
        frame = pd.concat([part for part, _, _ in found], ignore_index=True)
        read = read_columns(frame, self.kinds, training=False)
        columns = tuple(_as_before(column, own) for column, own in zip(self.columns, read, strict=True))
        labels = np.concatenate([label_codes(part, self.target.classes) for _, part, _ in found]).astype(np.intp)
        row_weight = None
        if self.row_weights is not None:
            row_weight = np.concatenate([part.to_numpy(dtype=np.float64) for _, _, part in found])
        weight = np.ones(len(labels)) if row_weight is None else row_weight
        if self.class_scale is not None:
            weight = weight * self.class_scale[labels]
        target = replace(self.target, labels=labels)
        total = self.total if len(labels) == len(self) else float(weight.sum())
        return Training(Columns(columns, len(labels)), target, row_weight, weight, total, {}, self.class_scale)

    def _code(self, features: tuple[Feature, ...]) -> CountedTraining:
        """The samples behind a source of counts: each worker codes its partitions once and keeps them."""
        names = [feature.name for feature in features]
        own = tuple(replace(feature, column=place) for place, feature in enumerate(features))
        kinds = {name: self.kinds[name] for name in names if name in self.kinds}
        tasks = self.cluster.tasks(code_part, self._parts(names), own, kinds, self.target.classes)
        parts = self.cluster.keep(tasks)
        totals = np.array([self.facts.labels.get(label, 0.0) for label in self.target.classes.tolist()])
        n_codes = [feature.n_codes for feature in features]
        counts: Counts = DaskCounts(self.cluster, parts, n_codes, totals, self.facts.whole)
        if self.class_scale is not None:
            counts = ScaledCounts(counts, self.class_scale)
        empty = Columns(self.columns.columns, len(self))
        return CountedTraining(
            empty,
            self.target,
            self.row_weight,
            self.weight,
            self.total,
            class_scale=self.class_scale,
            counts=counts,
            merge=partial(self._merged, parts, features),
            instead="fit X.compute() where it fits into memory",
        )

    def _merged(self, parts: Sequence[Any], features: tuple[Feature, ...], stands_for: CodeArray) -> Training:
        """The coded rows, those merged that agree in the class and in what their codes stand for."""
        tasks = self.cluster.tasks(merge_part, parts, stands_for)
        codes, labels, row_weight = self.cluster.add_up(tasks, add_merged)
        target = replace(self.target, labels=labels.astype(np.intp))
        weight = row_weight if self.class_scale is None else row_weight * self.class_scale[target.labels]
        columns = CodedColumns(self.columns.columns, len(labels), features, codes)
        return Training(columns, target, row_weight, weight, self.total, {}, self.class_scale)


def _positions(cells: Sequence[Any], column: Column) -> npt.NDArray[np.int32]:
    """The place of each cell among the levels of a column, -1 where it is missing."""
    assert column.levels is not None
    place = {level: i for i, level in enumerate(column.levels)}
    found = [-1 if cell is None else place[cell] if cell in place else place[text_of(cell)] for cell in cells]
    return np.array(found, dtype=np.int32)


def _as_before(column: Column, own: Column) -> Column:
    """Some rows of a column, which on their own may look like less than the whole column is."""
    if column.levels is None:
        return replace(column, values=own.values)
    if own.levels is not None:
        # The last entry is the one that position -1, a missing cell, refers to.
        places = np.append(_positions(own.levels, column), np.int32(-1))
        return replace(column, values=places[own.values])
    cells = [None if cell != cell else cell for cell in own.values.tolist()]
    return replace(column, values=_positions(cells, column))
