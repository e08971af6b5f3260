"""The samples of a fit that stay on disk: counted by DuckDB, coded in one pass, merged as they come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from omtree.constraints.samples import GroupColumn, as_groups
from omtree.data.binning import Binning
from omtree.data.build import encode_rows
from omtree.data.columns import CodedColumns, Column, Columns, not_a_date, read_columns
from omtree.data.merging import Merger
from omtree.data.summaries import ColumnSummary, features_of, quantile_points
from omtree.data.table import CodeArray, Feature, FloatArray
from omtree.deadline import Deadline
from omtree.disk.files import TypedColumn, quoted
from omtree.disk.rows import NumberColumn, Rows, double, position_of
from omtree.disk.scan import Scan
from omtree.progress import Event, Progress
from omtree.targets import Target, check_numbers, class_scale, encode_labels
from omtree.training import Training

#: Numbers of so many rows are counted value by value, of more rows in ranges first.
_FEW_ROWS = 1_000_000
#: The part of the memory that merged rows may take, with all that a search makes of them.
_TABLE_SHARE = 0.4


@dataclass(frozen=True, eq=False)
class ScannedTraining(Training):
    """Samples on disk; the arrays of a `Training` are empty here, and `coded` gives one that has them.

    Attributes
    ----------
    rows : Rows
    scan : Scan
    n_rows : int
    fields : tuple of _Field
    group_fields : mapping of str to _Field
    label : str
        The class of a row, or its target, in SQL.
    weight_cell : str
        The weight of a row in SQL.
    deadline : Deadline
        Of the fit; reading does not count.
    progress : callable or None
    """

    rows: Rows = field(kw_only=True)
    scan: Scan = field(kw_only=True)
    n_rows: int = field(kw_only=True)
    fields: tuple[_Field, ...] = field(kw_only=True)
    group_fields: Mapping[str, _Field] = field(kw_only=True, default_factory=dict)
    label: str = field(kw_only=True)
    deadline: Deadline = field(kw_only=True)
    progress: Progress | None = field(kw_only=True, default=None)
    _last: dict[str, Any] = field(kw_only=True, default_factory=dict)

    def __len__(self) -> int:
        return self.n_rows

    def close(self) -> None:
        """Remove temporary files."""
        self.rows.close()

    # ---- what is known before coding

    def with_groups(self, names: Sequence[str], groups: Any) -> Training:
        """The same samples with the group columns that constraints name."""
        found: dict[str, GroupColumn] = {}
        fields: dict[str, _Field] = {}
        for name in names:
            if name not in self.rows.columns:
                raise ValueError(
                    f"A constraint names the group column {name!r}, which the scan does not have; "
                    "name a column of the files."
                )
            known = _level_field(self, self.rows.columns[name], None)
            assert known.summary is not None
            group = as_groups(name, known.summary.column)
            levels = tuple(level for level in group.levels if level is not None)
            fields[name] = replace(known, column=replace(known.column, levels=levels))
            found[name] = GroupColumn(np.empty(0, dtype=np.intp), group.levels)
        return replace(self, groups=found, group_fields=fields)

    def features(
        self, n_bins: int, binning: Binning, group_levels: bool = True
    ) -> tuple[tuple[Feature, ...], list[tuple[str, str]]]:
        """The columns that vary as features, and name and reason for each that was dropped."""
        summaries = []
        with self.deadline.outside():
            for place, known in enumerate(self.fields):
                self._tell(f"column {place + 1}/{len(self.fields)}")
                summaries.append(known.summary or self._numbers(known, n_bins, binning))
        self._last["summaries"] = summaries
        return features_of(summaries, len(self.target.classes), n_bins, binning, group_levels)

    def many_valued(self, feature: Feature, n_bins: int) -> bool:
        """Whether a numeric feature has more distinct values than this."""
        summary: ColumnSummary = self._last["summaries"][feature.column]
        return summary.n_distinct(n_bins + 1) > n_bins

    def _numbers(self, known: _Field, n_bins: int, binning: Binning) -> ColumnSummary:
        """A column of numbers by its distinct values, or by those that decide its quantiles."""
        column = known.column
        weight = self._weight_cell
        if np.isnan(known.low):
            return ColumnSummary(replace(column, values=np.array([np.nan])), np.ones(1), np.zeros(1, dtype=int))
        missing = np.full(int(column.has_missing), np.nan)
        if binning == "quantile":
            counts = NumberColumn(self.rows, known.cell, weight)
            points = (
                counts.points()
                if self.n_rows <= _FEW_ROWS
                else quantile_points(counts, known.low, known.high, n_bins, _FEW_ROWS)
            )
            values = np.concatenate([points.values, missing])
            weights = np.concatenate([points.weights, self._missing_weight(known) * np.ones(len(missing))])
            return ColumnSummary(replace(column, values=values), weights, np.zeros(len(values), dtype=int))
        if self.target.is_number:
            # A numeric target is in memory anyway, so one column is as well.
            values, guide, weights = self.rows.fetch(f"{known.select}, {self.label}, {weight}")
            return ColumnSummary(replace(column, values=values), weights, guide)
        values, guide, weights = self.rows.fetch(
            "x, y, sum(w)::DOUBLE",
            f"GROUP BY x, y LIMIT {MAX_LEVELS + 1}",
            f"{known.select} AS x, {self.label} AS y, {weight} AS w",
        )
        if len(values) > MAX_LEVELS:
            raise ValueError(
                f"Column {column.name!r} has more than {MAX_LEVELS:,} different numbers, too many on disk for "
                f"binning={binning!r}; use binning='adaptive' or 'quantile'."
            )
        order = np.lexsort((guide, values))
        return ColumnSummary(replace(column, values=values[order]), weights[order], guide[order])

    def _missing_weight(self, known: _Field) -> float:
        if not known.column.has_missing:
            return 0.0
        weight = self._weight_cell
        (total,) = self.rows.fetch_one(f"sum({weight}) FILTER ({known.cell} IS NULL)")
        return float(total or 0.0)

    @property
    def _weight_cell(self) -> str:
        return "1" if self.scan.weight is None else f"{quoted(self.scan.weight)}::DOUBLE"

    # ---- reading rows

    def sample(self, size: int, seed: int) -> Training:
        """A part of the samples in memory: the same that would be drawn were all of them there."""
        chosen = np.sort(np.random.default_rng(seed).choice(len(self), size, replace=False))
        with self.deadline.outside():
            return self._in_memory(chosen)

    def whole(self) -> Training:
        """All samples in memory."""
        with self.deadline.outside():
            return self._in_memory(None)

    def _in_memory(self, chosen: npt.NDArray[np.int64] | None) -> Training:
        parts: list[list[npt.NDArray[Any]]] = []
        done = 0
        for batch in self._batches(self.fields, "sample", self._weighted):
            n_rows = len(batch[0])
            if chosen is None:
                parts.append(batch)
            else:
                inside = chosen[np.searchsorted(chosen, done) : np.searchsorted(chosen, done + n_rows)] - done
                parts.append([values[inside] for values in batch])
            done += n_rows
        merged = [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]
        columns = tuple(
            replace(known.column, values=values)
            for known, values in zip(self.fields, merged[: len(self.fields)], strict=True)
        )
        n_samples = len(merged[0])
        rest = merged[len(self.fields) :]
        return self._training(Columns(columns, n_samples), rest, n_samples)

    def _training(self, columns: Columns, rest: list[npt.NDArray[Any]], n_samples: int) -> Training:
        """Samples in memory from their columns, and their labels, groups and weights."""
        target = self._target_of(rest[0])
        groups = {
            name: GroupColumn(_group_codes(rest[1 + place], len(column.levels)), column.levels)
            for place, (name, column) in enumerate(self.groups.items())
        }
        row_weight = rest[1 + len(self.groups)] if self._weighted else None
        weight = np.ones(n_samples) if row_weight is None else row_weight
        if self.class_scale is not None:
            weight = weight * self.class_scale[target.labels]
        return Training(columns, target, row_weight, weight, float(weight.sum()), groups, self.class_scale)

    def _target_of(self, labels: npt.NDArray[Any]) -> Target:
        if self.target.is_number:
            return Target(self.target.classes, self.target.labels, np.asarray(labels, dtype=np.float64))
        return Target(self.target.classes, labels.astype(np.intp), self.target.values)

    @property
    def _weighted(self) -> bool:
        return self.scan.weight is not None

    def _batches(
        self, fields: Sequence[_Field], phase: str, weighted: bool, rest: str = ""
    ) -> Iterator[list[npt.NDArray[Any]]]:
        """Batches of cells: those of the fields, the label, the groups, and the weight."""
        select = [known.select for known in (*fields,)]
        select.append(self.label)
        select += [known.select for known in self.group_fields.values()]
        if weighted:
            select.append(self._weight_cell)
        done = 0
        for batch in self.rows.batches(", ".join(select), rest):
            done += len(batch[0])
            yield batch
            self._tell(phase, done)

    def _tell(self, phase: str, n_rows: int = 0) -> None:
        if self.progress is not None:
            self.progress(Event(phase, self.deadline.elapsed, rows=n_rows))

    # ---- coded rows

    def coded(self, features: tuple[Feature, ...]) -> Training:
        """The samples coded by these features, equal ones merged where the target is a class."""
        known = self._last.get("features")
        if known is not None and len(known) == len(features) and all(a is b for a, b in zip(known, features)):
            training: Training = self._last["coded"]
            return training
        self._last.pop("features", None)
        self._last.pop("coded", None)
        with self.deadline.outside():
            made = self._number_rows(features) if self.target.is_number else self._merged_rows(features)
        self._last.update(features=features, coded=made)
        return made

    def _encoded(
        self, features: tuple[Feature, ...]
    ) -> Iterator[tuple[CodeArray, list[npt.NDArray[Any]]]]:
        """Codes of batches, and their labels, groups and weights; rows of weight zero are left out."""
        positions = [feature.column for feature in features]
        fields = [self.fields[position] for position in positions]
        empty = [known.column for known in self.fields]
        rest = f"WHERE {self._weight_cell} > 0" if self._weighted else ""
        for batch in self._batches(fields, "reading", self._weighted, rest):
            n_rows = len(batch[len(fields)])
            columns = list(empty)
            for position, known, values in zip(positions, fields, batch, strict=False):
                columns[position] = replace(known.column, values=values)
            yield encode_rows(Columns(tuple(columns), n_rows), features), batch[len(fields) :]

    def _number_rows(self, features: tuple[Feature, ...]) -> Training:
        """All rows, one by one: their targets are all that a loss may need."""
        bytes_of_row = 2 * len(features) + 80
        if self.n_rows * bytes_of_row > _TABLE_SHARE * self.scan.memory:
            raise ValueError(
                f"The {self.n_rows:,} rows of a numeric target need about {self.n_rows * bytes_of_row / 1e9:.1f} GB "
                "even when they are coded, more than memory_limit leaves; raise it, read fewer columns or rows, "
                "or turn the target into classes."
            )
        codes, rest = [], []
        for block, others in self._encoded(features):
            codes.append(block)
            rest.append(others)
        merged = [np.concatenate(pieces) for pieces in zip(*rest, strict=True)]
        return self._of_codes(np.concatenate(codes, axis=1), features, merged)

    def _merged_rows(self, features: tuple[Feature, ...]) -> Training:
        n_classes, n_codes = len(self.target.classes), len(features)
        wide = n_classes > 256
        width = n_codes + 1 + wide + len(self.groups)
        n_weights = (1 if self._weighted else 0) if self.class_scale is None else 2
        bytes_of_row = 4 * width + 16 * n_classes + 100
        merger = Merger(width, n_weights, int(_TABLE_SHARE * self.scan.memory / bytes_of_row))
        for codes, (labels, *others) in self._encoded(features):
            weights = others.pop() if self._weighted else None
            rows = np.empty((width, len(labels)), dtype=np.uint8)
            rows[:n_codes] = codes
            rows[n_codes] = labels & 255
            if wide:
                rows[n_codes + 1] = labels >> 8
            for place, (group, positions) in enumerate(zip(self.groups.values(), others, strict=True)):
                rows[n_codes + 1 + wide + place] = _group_codes(positions, len(group.levels))
            added = None
            if n_weights:
                own = np.ones(len(labels)) if weights is None else weights
                added = own[None, :]
                if self.class_scale is not None:
                    added = np.stack([own, own * self.class_scale[labels]])
            if not merger.add(rows, added):
                raise ValueError("too many rows")  # the spill
        rows, weights = merger.result()
        labels = rows[n_codes].astype(np.int64)
        if wide:
            labels += rows[n_codes + 1].astype(np.int64) << 8
        groups = list(rows[n_codes + 1 + wide :])
        columns = self._coded_columns(features, rows[:n_codes])
        named = {
            name: GroupColumn(codes.astype(np.intp), column.levels)
            for (name, column), codes in zip(self.groups.items(), groups, strict=True)
        }
        row_weight, weight = weights[0], weights[-1]
        return Training(
            columns, self._target_of(labels), row_weight, weight, self.total, named, self.class_scale
        )

    def _of_codes(self, codes: CodeArray, features: tuple[Feature, ...], rest: list[npt.NDArray[Any]]) -> Training:
        n_samples = codes.shape[1]
        return self._training(self._coded_columns(features, codes), rest, n_samples)

    def _coded_columns(self, features: tuple[Feature, ...], codes: CodeArray) -> CodedColumns:
        return CodedColumns(tuple(known.column for known in self.fields), codes.shape[1], features, codes)


def _group_codes(positions: npt.NDArray[Any], n_levels: int) -> npt.NDArray[np.intp]:
    """Missing cells, at position -1, are the last group."""
    return np.where(positions < 0, n_levels - 1, positions).astype(np.intp)
