"""The samples of a fit that stay on a cluster: counted there, coded there once, and kept there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.constraints.samples import GroupColumn, as_groups
from omtree.data.binning import Binning
from omtree.data.column import CodedColumns, Column, Columns
from omtree.data.columns import read_columns
from omtree.data.kind_choices import KindChoice
from omtree.data.summaries import ColumnSummary, quantile_points
from omtree.data.table import CodeArray, Feature
from omtree.data.wording import text_of
from omtree.sources.cluster.cluster_counts import DaskCounts
from omtree.sources.cluster.cluster_facts import SUM, WEIGHT, Facts, add_facts, facts_of
from omtree.sources.cluster.cluster_quantiles import DaskNumbers
from omtree.sources.cluster.frames import Cluster, partitions
from omtree.sources.cluster.gathered_target import check_room
from omtree.sources.cluster.parts import (
    CodedPart,
    Coding,
    add_merged,
    code_part,
    group_codes_of,
    join_parts,
    label_codes,
    merge_part,
    n_rows_of,
    take,
)
from omtree.sources.counts import Counts, ScaledCounts
from omtree.sources.distant import CountedTraining, DistantTraining
from omtree.sources.samples import Training
from omtree.sources.target import Target

#: Columns whose quantiles are looked for at the same time.
_AT_ONCE = 8


@dataclass(frozen=True, eq=False)
class DaskTraining(DistantTraining):
    """Samples on a cluster; the arrays of a `Training` are empty here, but for a target that was gathered.

    Attributes
    ----------
    cluster : Cluster
    frame : dask.dataframe.DataFrame
        The columns to predict from.
    labels : dask.dataframe.Series
        The classes or numbers, or what stands for a target that was gathered.
    row_weights : dask.dataframe.Series or None
    facts : Facts
    numeric : tuple of str
        Names of the columns that hold numbers.
    kinds : mapping
        What the user says of columns.
    fetch : callable or None
        Gathers a target of numbers that stays on the workers, for what joint sums do not decide.
    """

    cluster: Cluster = field(kw_only=True)
    frame: Any = field(kw_only=True)
    labels: Any = field(kw_only=True)
    row_weights: Any = field(kw_only=True)
    facts: Facts = field(kw_only=True)
    numeric: tuple[str, ...] = field(kw_only=True)
    kinds: Mapping[Any, KindChoice] = field(kw_only=True)
    fetch: Callable[[], Target] | None = field(kw_only=True, default=None)

    def __len__(self) -> int:
        return sum(self.facts.rows)

    @property
    def _gathered_target(self) -> bool:
        """Whether the target is in memory here, row by row."""
        return len(self.target) > 0

    @property
    def _levels(self) -> npt.NDArray[Any]:
        """What the labels of coded rows stand for: classes, or the different numbers."""
        if not self.target.is_number:
            return self.target.classes
        assert self.facts.targets is not None
        assert self.facts.targets.values is not None
        return self.facts.targets.values[0]

    def _labelled(self, labels: npt.NDArray[np.uint16]) -> Target:
        """The target of rows with these labels."""
        if self.target.is_number:
            return Target.of_numbers(self._levels[labels])
        return replace(self.target, labels=labels.astype(np.intp))

    def close(self) -> None:
        """Let go of the coded rows."""
        self._known.clear()

    def with_groups(self, names: Iterable[str], groups: Any) -> Training:
        """The samples with the group columns that constraints name."""
        if groups is not None:
            raise ValueError(
                "groups must be columns of X where X is a Dask frame; add them to X, "
                "and forbid tests of them with omtree.constraints.Exclude."
            )
        found = {name: self._group(name) for name in dict.fromkeys(names)}
        return replace(self, groups=found) if found else self

    def _group(self, name: str) -> GroupColumn:
        """The groups of a column, without those of the rows."""
        column = next((column for column in self.columns if column.name == name), None)
        if column is None:
            raise ValueError(
                f"A constraint names the group column {name!r}, which X does not have; name one of its columns."
            )
        known = self.facts.numbers.get(name)
        if known is None:
            values: npt.NDArray[Any] = np.array(
                _positions([cell for cell, _ in self.facts.cells[name]], column), dtype=np.int32
            )
        elif known.values is None:
            raise ValueError(f"The group column {name!r} has too many different numbers; merge them into few groups.")
        else:
            values = np.append(known.values[0], [np.nan] * column.has_missing)
        return replace(as_groups(name, replace(column, values=values)), codes=np.empty(0, dtype=np.intp))

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
            tasks = self.cluster.tasks(facts_of, self._parts([column.name]), (), self.target.is_number)
            counted = self.cluster.add_up(tasks, add_facts).cells[column.name]
        if self.target.is_number:
            return _mean_cells(column, counted)
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
        if self._gathered_target:
            target = self.target.take(chosen)
        elif self.target.is_number:
            # Rows of weight zero have numbers, too.
            target = Target.of_numbers(np.concatenate([part.to_numpy(dtype=np.float64) for _, part, _ in found]))
        else:
            target = self._labelled(np.concatenate([label_codes(part, self._levels) for _, part, _ in found]))
        row_weight = None
        if self.row_weights is not None:
            row_weight = np.concatenate([part.to_numpy(dtype=np.float64) for _, _, part in found])
        weight = np.ones(len(target)) if row_weight is None else row_weight
        if self.class_scale is not None:
            weight = weight * self.class_scale[target.labels]
        total = self.total if len(target) == len(self) else float(weight.sum())
        groups = {
            name: replace(column, codes=group_codes_of(frame[name], column.levels).astype(np.intp))
            for name, column in self.groups.items()
        }
        return Training(Columns(columns, len(target)), target, row_weight, weight, total, groups, self.class_scale)

    def _code(self, features: tuple[Feature, ...]) -> Training:
        """The samples behind a source of counts: each worker codes its partitions once and keeps them.

        Those of a target that was gathered come here, coded.
        """
        names = [feature.name for feature in features]
        own = tuple(replace(feature, column=place) for place, feature in enumerate(features))
        kinds = {name: self.kinds[name] for name in names if name in self.kinds}
        coding = Coding(own, kinds, self.groups, None if self._gathered_target else self._levels)
        tasks = self.cluster.tasks(code_part, self._parts([*names, *(set(self.groups) - set(names))]), coding)
        parts = self.cluster.keep(tasks)
        if self._gathered_target:
            return self._training(features, self.cluster.add_up(parts, join_parts))
        n_codes = [feature.n_codes for feature in features] + [len(own.levels) for own in self.groups.values()]
        count = partial(DaskCounts, self.cluster, parts, n_codes)
        if self.target.is_number:
            assert self.facts.targets is not None
            assert self.facts.targets.values is not None
            values, totals = self.facts.targets.values
            target, weight = Target.of_numbers(values), totals
            summed = partial(count, totals, self.facts.whole)
            gather = partial(self._with_fetched_target, features)
        else:
            totals = np.array([self.facts.labels.get(label, 0.0) for label in self.target.classes.tolist()])
            target, weight, summed = self.target, self.weight, None
            gather = partial(self._gathered, parts, features)
        counts: Counts = count(totals, self.facts.whole)
        if self.class_scale is not None:
            counts = ScaledCounts(counts, self.class_scale)
        return CountedTraining(
            Columns(self.columns.columns, len(self)),
            target,
            self.row_weight,
            weight,
            self.total,
            self.groups,
            self.class_scale,
            counts=counts,
            merge=partial(self._merged, parts, features),
            gather=gather,
            summed=summed,
        )

    def _with_fetched_target(self, features: tuple[Feature, ...]) -> Training:
        """All coded rows, none merged, with the numbers they stand for."""
        assert self.fetch is not None
        with self.deadline.outside():
            return replace(self, target=self.fetch())._code(features)

    def _merged(self, parts: Sequence[Any], features: tuple[Feature, ...], stands_for: CodeArray) -> Training:
        """The coded rows, those merged that agree in the class and in what their codes stand for."""
        tasks = self.cluster.tasks(merge_part, parts, stands_for)
        return self._training(features, self.cluster.add_up(tasks, add_merged))

    def _gathered(self, parts: Sequence[Any], features: tuple[Feature, ...]) -> Training:
        """All coded rows, equal ones of one class merged, where these fit into memory here."""
        every_code = np.tile(np.arange(256, dtype=np.uint8), (len(features), 1))
        with self.deadline.outside():
            merged = self.cluster.keep(self.cluster.tasks(merge_part, parts, every_code))
            n_rows = sum(self.cluster.result(self.cluster.tasks(n_rows_of, merged)))
            check_room(n_rows, 5 * len(features) + 16 * len(self.target.classes) + 100)
            return self._training(features, self.cluster.add_up(merged, add_merged))

    def _training(self, features: tuple[Feature, ...], part: CodedPart) -> Training:
        """Coded rows in memory."""
        codes, labels, row_weight = part
        target = self.target if self._gathered_target else self._labelled(labels)
        weight = np.ones(len(labels)) if row_weight is None else row_weight
        if self.class_scale is not None:
            weight = weight * self.class_scale[target.labels]
        groups = {
            name: replace(column, codes=own.astype(np.intp))
            for (name, column), own in zip(self.groups.items(), codes[len(features) :], strict=True)
        }
        columns = CodedColumns(self.columns.columns, len(labels), features, codes[: len(features)])
        return Training(columns, target, row_weight, weight, self.total, groups, self.class_scale)


def _mean_cells(column: Column, counted: Mapping[tuple[Any, Any], float]) -> ColumnSummary:
    """A column by its distinct cells and the mean target of each."""
    cells = sorted({cell for cell, _ in counted}, key=str)
    weights = np.array([counted[cell, WEIGHT] for cell in cells])
    sums = np.array([counted[cell, SUM] for cell in cells])
    means = np.divide(sums, weights, out=np.zeros(len(cells)), where=weights > 0)
    if column.levels is None:
        values = np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
        order = np.argsort(values, kind="stable")
        return ColumnSummary(replace(column, values=values[order]), weights[order], means[order])
    return ColumnSummary(replace(column, values=_positions(cells, column)), weights, means)


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
