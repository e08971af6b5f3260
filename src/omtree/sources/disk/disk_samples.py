"""The samples of a fit that stay on disk: counted by DuckDB, coded in one pass, merged as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.constraints.samples import GroupColumn, as_groups
from omtree.data.binning import Binning
from omtree.data.column import CodedColumns, Columns
from omtree.data.spill import Spill
from omtree.data.summaries import ColumnSummary, quantile_points
from omtree.data.table import CodeArray, Feature, FloatArray
from omtree.progress import Event, Progress
from omtree.sources.counts import BlockCounts, Counts, ScaledCounts, SummedCounts
from omtree.sources.disk.disk_columns import (
    MAX_LEVELS,
    Contents,
    Field,
    empty_columns,
    level_field,
)
from omtree.sources.disk.merged import ClassRows, NumberRows, group_codes, too_many
from omtree.sources.disk.rewards import charges, merged_rewards, total_charges
from omtree.sources.disk.rows import NumberColumn, Rows
from omtree.sources.disk.scan import Scan
from omtree.sources.distant import CountedTraining, DistantTraining
from omtree.sources.samples import Training
from omtree.sources.target import Target

#: Numbers of so many rows are counted value by value, those of more rows in ranges.
_FEW_ROWS = 1_000_000
#: Rows that take no more than this part of the memory are read as they are.
SMALL_SHARE = 0.1
#: The part of the memory for joint counts, or for what a search remembers.
_COUNTS_SHARE = 0.2
#: The part of the memory for the rows that a model is read off, once it is found.
_MERGED_SHARE = 0.5

Arrays = list[npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class ScannedTraining(DistantTraining):
    """Samples on disk; the arrays of a `Training` are empty here, and `coded` gives one that has them.

    Attributes
    ----------
    rows : Rows
    scan : Scan
    contents : Contents
    group_fields : mapping of str to Field
    n_jobs : int
        Threads for counting.
    progress : callable or None
        Told how many rows were read.
    """

    rows: Rows = field(kw_only=True)
    scan: Scan = field(kw_only=True)
    contents: Contents = field(kw_only=True)
    n_jobs: int = field(kw_only=True)
    progress: Progress | None = field(kw_only=True)
    group_fields: Mapping[str, Field] = field(kw_only=True, default_factory=dict)

    def __len__(self) -> int:
        return self.contents.n_rows

    def close(self) -> None:
        """Remove temporary files."""
        self.rows.close()

    def with_groups(self, names: Iterable[str], groups: Any) -> Training:
        """The samples with the group columns that constraints name; few samples are read into memory here."""
        found: dict[str, GroupColumn] = {}
        fields: dict[str, Field] = {}
        for name in dict.fromkeys(names):
            if name not in self.rows.columns:
                raise ValueError(
                    f"A constraint names the group column {name!r}, which {self.rows.name} does not have; "
                    "name one of its columns."
                )
            typed, contents = self.rows.columns[name], self.contents
            choice = "nominal" if typed.family in ("number", "empty") else None
            with self.deadline.outside():
                known = level_field(self.rows, typed, choice, contents.goal, contents.weight)
            assert known.summary is not None
            found[name] = replace(as_groups(name, known.summary.column), codes=np.empty(0, dtype=np.intp))
            levels = tuple(level for level in found[name].levels if level is not None)
            fields[name] = replace(known, column=replace(known.column, levels=levels))
        ready = replace(self, groups=found, group_fields=fields)
        row_bytes = 8 * len(self.columns) + 40 + 24 * len(self.contents.goal.rewards)
        return ready.whole() if len(self) * row_bytes <= SMALL_SHARE * self.rows.memory else ready

    def whole(self) -> Training:
        """All samples in memory."""
        return self.sample(len(self), 0)

    @property
    def cache_mb(self) -> float:
        """The part of the memory that is left for what a search remembers."""
        return _COUNTS_SHARE * self.rows.memory / 2**20

    def _summaries(self, n_bins: int, binning: Binning) -> list[ColumnSummary]:
        summaries = []
        for place, known in enumerate(self.contents.fields, start=1):
            self._tell(f"column {place}")
            summaries.append(known.summary or self._numbers(known, n_bins, binning))
        return summaries

    def sample(self, size: int, seed: int) -> Training:
        """A part of the samples in memory: the same that would be drawn were all of them there."""
        n_rows = len(self)
        chosen = (
            np.arange(n_rows) if size == n_rows else np.random.default_rng(seed).choice(n_rows, size, replace=False)
        )
        chosen.sort()
        fields = self.contents.fields
        parts: list[Arrays] = []
        done = 0
        with self.deadline.outside():
            for batch in self._batches(fields, "sample"):
                first, last = np.searchsorted(chosen, [done, done + len(batch[-1])])
                parts.append([values[chosen[first:last] - done] for values in batch])
                done += len(batch[-1])
        self.rows.rest()
        cells = [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]
        columns = [replace(known.column, values=values) for known, values in zip(fields, cells, strict=False)]
        return self._training(Columns(tuple(columns), size), cells[len(fields) :])

    @property
    def _row_by_row(self) -> bool:
        """Whether all rows are to be in memory, none merged: a numeric target, or rewards, that have room there."""
        if self.contents.goal.rewards:
            row_bytes = 2 * len(self.columns) + 40 * len(self.contents.goal.rewards) + 80
            return len(self) * row_bytes <= self.rows.table_memory
        return self.target.is_number and self.contents.goal.levels is None

    def _code(self, features: tuple[Feature, ...]) -> Training:
        """In memory, or counted where that is too little."""
        if self._row_by_row:
            return self._number_rows(features)
        return self._spilled(features) if self._summed else self._class_rows(features)

    @property
    def _summed(self) -> bool:
        """Whether sums, not the weights of classes, decide what a leaf costs."""
        return self.target.is_number or bool(self.contents.goal.rewards)

    def _forget_codes(self) -> None:
        super()._forget_codes()
        spill: Spill | None = self._known.pop("spill", None)
        if spill is not None:
            spill.remove()

    def _numbers(self, known: Field, n_bins: int, binning: Binning) -> ColumnSummary:
        """A column of numbers by its distinct values, or by those that decide its quantiles."""
        column, weight = known.column, self.contents.weight
        if np.isnan(known.low):
            return ColumnSummary(replace(column, values=np.array([np.nan])), np.ones(1), np.zeros(1, dtype=np.intp))
        if binning == "quantile":
            counts = NumberColumn(self.rows, known.cell, None if self.scan.weight is None else weight)
            points = quantile_points(counts, known.low, known.high, n_bins, _FEW_ROWS)
            values, weights = points.values, points.weights
            if column.has_missing:
                (missing,) = self.rows.fetch_one(f"sum({weight}) FILTER ({known.cell} IS NULL)")
                values, weights = np.append(values, np.nan), np.append(weights, float(missing))
            return ColumnSummary(replace(column, values=values), weights, np.zeros(len(values), dtype=np.intp))
        goal = self.contents.goal
        if self.target.is_number and goal.levels is None:
            # The target is in memory as well.
            values, labels, weights = self.rows.fetch(f"{known.select}, {goal.label}, {weight}::DOUBLE")
            return ColumnSummary(replace(column, values=values), weights, goal.decode(labels).values)
        values, guide, weights = self.rows.fetch(
            "x, y, sum(w)::DOUBLE",
            f"GROUP BY x, y LIMIT {MAX_LEVELS + 1}",
            f"{known.select} AS x, {goal.label} AS y, {weight} AS w",
        )
        if len(values) > MAX_LEVELS:
            raise ValueError(
                f"Column {column.name!r} has more than {MAX_LEVELS:,} different numbers, too many on disk for "
                f"binning={binning!r}; use 'adaptive' or 'quantile'."
            )
        if self.target.is_number:
            guide = goal.decode(guide).values
        order = np.lexsort((guide, values))
        return ColumnSummary(replace(column, values=values[order]), weights[order], guide[order])

    def _batches(self, fields: Sequence[Field], phase: str, rest: str = "") -> Iterator[Arrays]:
        """The cells of batches of rows: of the fields, the target, the groups, and the weight where there is one."""
        select = [known.select for known in fields] + self.contents.goal.select
        select += [known.select for known in self.group_fields.values()]
        if self.scan.weight is not None:
            select.append(self.contents.weight)
        done = 0
        for batch in self.rows.batches(", ".join(select), rest):
            done += len(batch[-1])
            yield batch
            self._tell(phase, done)

    def _tell(self, phase: str, n_rows: int = 0) -> None:
        if self.progress is not None:
            self.progress(Event(phase, self.deadline.elapsed, rows=n_rows))

    def _coded_batches(self, features: tuple[Feature, ...]) -> Iterator[tuple[CodeArray, Arrays]]:
        """Codes of batches of rows, and labels, groups and weights; rows of weight zero are left out."""
        fields = [self.contents.fields[feature.column] for feature in features]
        # Codes of all levels are looked up once; the first is that of missing cells, whose position is -1.
        of_level = [
            None
            if known.column.levels is None
            else feature.encode(replace(known.column, values=np.arange(-1, len(known.column.levels), dtype=np.int32)))
            for feature, known in zip(features, fields, strict=True)
        ]
        # Where rows are not merged all of them stay, so that they are those of a table made of the raw rows.
        left_out = self.scan.weight is not None and not self._row_by_row
        rest = f"WHERE {self.contents.weight} > 0" if left_out else ""
        for batch in self._batches(fields, "reading", rest):
            codes = np.empty((len(features), len(batch[-1])), dtype=np.uint8)
            for out, feature, known, lookup, values in zip(codes, features, fields, of_level, batch, strict=False):
                if lookup is None:
                    feature.encode(replace(known.column, values=values), out=out)
                else:
                    np.take(lookup, values + 1, out=out)
            yield codes, batch[len(fields) :]

    def _number_rows(self, features: tuple[Feature, ...]) -> Training:
        """All rows, one by one: a loss may need every target."""
        blocks, others = zip(*self._coded_batches(features), strict=True)
        columns = self._columns(features, np.concatenate(blocks, axis=1))
        return self._training(columns, [np.concatenate(pieces) for pieces in zip(*others, strict=True)])

    def _class_rows(self, features: tuple[Feature, ...]) -> Training:
        """The rows, equal ones of one class merged; in a file where they are too many even so."""
        merge = self._merging(features, self.rows.table_memory)
        for codes, others in self._coded_batches(features):
            if not merge.add(codes, *others):
                break
        else:
            self.rows.rest()
            return merge.result()
        del merge
        return self._spilled(features)

    def _merging(self, features: tuple[Feature, ...], memory: float) -> ClassRows:
        weighted = self.scan.weight is not None
        goal = self.contents.goal
        kind = ClassRows if goal.levels is None else partial(NumberRows, levels=goal.levels, decode=goal.decode)
        return kind(self, features, weighted=weighted, memory=memory)

    def _spilled(self, features: tuple[Feature, ...]) -> Training:
        if self.groups:
            raise ValueError(
                "These rows do not fit into memory even when merged, and constraints over groups need them there; "
                "raise memory_limit, or use fewer columns or bins."
            )
        goal, weighted = self.contents.goal, self.scan.weight is not None
        spill = self._known["spill"] = Spill.create(
            self.rows.folder / "codes", len(features), n_numbers=len(goal.rewards)
        )
        for codes, others in self._coded_batches(features):
            weight = others[-1] if weighted else None
            if goal.rewards:
                rewards = np.stack(others[: len(goal.rewards)])
                spill.append(codes, np.zeros(codes.shape[1], dtype=np.uint16), weight, rewards)
            else:
                labels = others[0] if goal.levels is None else np.searchsorted(goal.levels, others[0])
                spill.append(codes, labels, weight)
        spill.close()
        self.rows.rest()
        n_codes = [feature.n_codes for feature in features]
        empty = empty_columns(self.contents.fields, len(self))
        if goal.rewards:
            return CountedTraining(
                empty,
                self.target,
                self.row_weight,
                self.weight,
                self.total,
                counts=SummedCounts(spill, n_codes, total_charges(spill), charges, self.n_jobs, self._counted()),
                merge=partial(merged_rewards, self, spill, features, _MERGED_SHARE * self.rows.memory),
                gather=too_many,
            )
        levels = goal.levels
        n_labels = len(self.target.classes) if levels is None else len(levels)
        counts: Counts = BlockCounts(spill, n_codes, n_labels, self.n_jobs, self._counted())
        if self.class_scale is not None:
            counts = ScaledCounts(counts, self.class_scale)
        return CountedTraining(
            empty,
            self.target if levels is None else goal.decode(levels),
            self.row_weight,
            self.weight if levels is None else counts.totals,
            self.total,
            class_scale=self.class_scale,
            counts=counts,
            merge=partial(self._merged_spill, spill, features),
            gather=too_many,
            summed=None
            if levels is None
            else lambda numbers: SummedCounts.of_labels(spill, n_codes, numbers, self.n_jobs, self._counted()),
        )

    def _counted(self) -> Any:
        done = 0

        def tell(n_rows: int) -> None:
            nonlocal done
            done += n_rows
            self._tell("counting", done)

        return tell

    def _merged_spill(self, spill: Spill, features: tuple[Feature, ...], alike: CodeArray) -> Training:
        # Little else is in memory by then.
        merge = self._merging(features, _MERGED_SHARE * self.rows.memory)
        for block in spill.blocks():
            codes = np.stack([same[own] for same, own in zip(alike, block.codes, strict=True)])
            if not merge.add(codes, block.labels, *([] if block.weights is None else [block.weights])):
                too_many()
        return merge.result()

    def rewarded(self, features: tuple[Feature, ...]) -> Iterator[tuple[CodeArray, FloatArray, FloatArray]]:
        """Codes of batches of rows, what each action brings them, (n_rows, n_actions), and their weights."""
        n_actions = len(self.contents.goal.rewards)
        for codes, others in self._coded_batches(features):
            weight = np.ones(codes.shape[1]) if self.scan.weight is None else np.asarray(others[-1], dtype=np.float64)
            yield codes, np.stack(others[:n_actions], axis=1), weight

    def _training(self, columns: Columns, others: Arrays) -> Training:
        """Samples in memory: their columns, and their targets, groups and weights."""
        n_targets = len(self.contents.goal.select)
        labels, rest = np.stack(others[:n_targets]), others[n_targets:]
        target = self._target(labels)
        row_weight = rest.pop() if self.scan.weight is not None else None
        weight = np.ones(len(target)) if row_weight is None else row_weight
        if self.class_scale is not None:
            weight = weight * self.class_scale[target.labels]
        groups = {
            name: GroupColumn(group_codes(positions, len(column.levels)), column.levels)
            for (name, column), positions in zip(self.groups.items(), rest, strict=True)
        }
        total = self.total if len(target) == len(self) else float(weight.sum())
        return Training(columns, target, row_weight, weight, total, groups, self.class_scale)

    def _target(self, labels: npt.NDArray[Any]) -> Target:
        """Of rows in memory, given what was read of each column of the target."""
        if self.contents.goal.rewards:
            return Target.of_actions(self.target.classes, np.ascontiguousarray(labels.T, dtype=np.float64))
        if self.target.is_number:
            return self.contents.goal.decode(np.ascontiguousarray(labels[0], dtype=np.float64))
        return replace(self.target, labels=labels[0].astype(np.intp))

    def _columns(self, features: tuple[Feature, ...], codes: CodeArray) -> CodedColumns:
        return CodedColumns(self.columns.columns, codes.shape[1], features, codes)
