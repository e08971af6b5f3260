"""The samples of a fit that stay on a cluster: counted there, coded there once, and kept there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.cluster.counts import CodedPart, DaskCounts
from omtree.cluster.facts import FEW_VALUES, MAX_LEVELS, Facts, Numbers, add_facts, facts_of
from omtree.cluster.frames import Cluster
from omtree.cluster.numbers import DaskNumbers
from omtree.counted import CountedTraining
from omtree.data.binning import Binning
from omtree.data.build import encode_rows
from omtree.data.columns import CodedColumns, Column, Columns, KindChoice, kind_choices, not_a_date, read_columns
from omtree.data.summaries import ColumnSummary, features_of, quantile_points
from omtree.data.table import CodeArray, Feature, FloatArray
from omtree.data.wording import text_of
from omtree.deadline import Deadline
from omtree.search.sources import Counts, ScaledCounts
from omtree.targets import Target, class_scale, encode_labels
from omtree.training import Training

#: Labels are coded in two bytes.
MAX_CLASSES = 1 << 16
#: Columns whose quantiles are looked for at the same time.
_AT_ONCE = 8


@dataclass(frozen=True, eq=False)
class DaskTraining(Training):
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
    deadline : Deadline
        Of the fit; reading does not count.
    """

    cluster: Cluster = field(kw_only=True)
    frame: Any = field(kw_only=True)
    labels: Any = field(kw_only=True)
    row_weights: Any = field(kw_only=True)
    facts: Facts = field(kw_only=True)
    numeric: tuple[str, ...] = field(kw_only=True)
    kinds: Mapping[Any, KindChoice] = field(kw_only=True)
    deadline: Deadline = field(kw_only=True)
    _known: dict[str, Any] = field(kw_only=True, default_factory=dict)

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

    def features(
        self, n_bins: int, binning: Binning, group_levels: bool = True
    ) -> tuple[tuple[Feature, ...], list[tuple[str, str]]]:
        """The columns that vary as features, and name and reason for each that was dropped."""

        def summary(column: Column) -> ColumnSummary:
            if column.name in self.numeric:
                return self._numbers(column, n_bins, binning)
            return self._cells(column)

        with self.deadline.outside(), ThreadPoolExecutor(_AT_ONCE) as pool:
            summaries = list(pool.map(summary, self.columns))
        self._known["summaries"] = summaries
        return features_of(summaries, len(self.target.classes), n_bins, binning, group_levels)

    def many_valued(self, feature: Feature, n_bins: int) -> bool:
        """Whether a numeric feature has more distinct values than this."""
        summary: ColumnSummary = self._known["summaries"][feature.column]
        return summary.n_distinct(n_bins + 1) > n_bins

    def sample(self, size: int, seed: int) -> Training:
        """A part of the samples in memory: the same that would be drawn were all of them there."""
        chosen = np.sort(np.random.default_rng(seed).choice(len(self), size, replace=False))
        return self._rows(chosen)

    def whole(self) -> Training:
        """All samples in memory."""
        return self._rows(np.arange(len(self)))

    def coded(self, features: tuple[Feature, ...]) -> Training:
        """The samples behind a source of counts: each worker codes its partitions once and keeps them."""
        known = self._known.get("features", ())
        if len(known) != len(features) or any(old is not new for old, new in zip(known, features, strict=True)):
            with self.deadline.outside():
                self._known.update(features=features, coded=self._counted(features))
        coded: Training = self._known["coded"]
        return coded

    def _parts(self, names: Sequence[str]) -> list[Any]:
        """A task for each partition: the frame with these columns, labels, and weights or None."""
        frames = self.frame[list(names)].to_delayed()
        weights = [None] * len(frames) if self.row_weights is None else self.row_weights.to_delayed()
        return [list(part) for part in zip(frames, self.labels.to_delayed(), weights, strict=True)]

    def _numbers(self, column: Column, n_bins: int, binning: Binning) -> ColumnSummary:
        """A column of numbers by its distinct values, or by those that decide its quantiles."""
        known = self.facts.numbers[column.name]
        missing = np.full(int(column.has_missing), np.nan)
        if known.weights is not None and binning == "quantile":
            values = np.array(sorted(known.weights), dtype=np.float64)
            weights = np.array([known.weights[value] for value in values.tolist()], dtype=np.float64)
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
            self.cluster.tasks(_take, [part], places - start)[0]
            for part, places, start in zip(self._parts(self.columns.names), local, starts.tolist(), strict=True)
            if len(places)
        ]
        with self.deadline.outside():
            found = self.cluster.result(picked)
        frame = pd.concat([part for part, _, _ in found], ignore_index=True)
        read = read_columns(frame, self.kinds, training=False)
        columns = tuple(_as_before(column, own) for column, own in zip(self.columns, read, strict=True))
        labels = np.concatenate([_label_codes(part, self.target.classes) for _, part, _ in found]).astype(np.intp)
        row_weight = None
        if self.row_weights is not None:
            row_weight = np.concatenate([part.to_numpy(dtype=np.float64) for _, _, part in found])
        weight = np.ones(len(labels)) if row_weight is None else row_weight
        if self.class_scale is not None:
            weight = weight * self.class_scale[labels]
        target = replace(self.target, labels=labels)
        total = self.total if len(labels) == len(self) else float(weight.sum())
        return Training(Columns(columns, len(labels)), target, row_weight, weight, total, {}, self.class_scale)

    def _counted(self, features: tuple[Feature, ...]) -> CountedTraining:
        names = [feature.name for feature in features]
        own = tuple(replace(feature, column=place) for place, feature in enumerate(features))
        kinds = {name: self.kinds[name] for name in names if name in self.kinds}
        tasks = self.cluster.tasks(_code_part, self._parts(names), own, kinds, self.target.classes)
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
        )

    def _merged(self, parts: Sequence[Any], features: tuple[Feature, ...], used: Sequence[int]) -> Training:
        """The coded rows, those merged that agree in some of the features and in the class."""
        tasks = self.cluster.tasks(_merge_part, parts, tuple(used))
        kept, labels, row_weight = self.cluster.add_up(tasks, _add_merged)
        codes = np.zeros((len(features), len(labels)), dtype=np.uint8)
        codes[list(used)] = kept
        target = replace(self.target, labels=labels.astype(np.intp))
        weight = row_weight if self.class_scale is None else row_weight * self.class_scale[target.labels]
        columns = CodedColumns(self.columns.columns, len(labels), features, codes)
        return Training(columns, target, row_weight, weight, self.total, {}, self.class_scale)


def on_cluster(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    class_weight: Mapping[Any, float] | Literal["balanced"] | None,
    feature_kinds: Mapping[Any, KindChoice] | None,
    deadline: Deadline,
) -> DaskTraining:
    """The samples of a Dask frame, to be closed after the fit.

    Parameters
    ----------
    X : dask.dataframe.DataFrame
    y : dask.dataframe.Series or str
        With the partitions of X, or the name of a column of X.
    sample_weight : the same, optional
    class_weight, feature_kinds
        As the estimators have them.
    deadline : Deadline
    """
    cluster = Cluster()
    X, labels = _column_of(X, y, "y")
    weights = None
    if sample_weight is not None:
        X, weights = _column_of(X, sample_weight, "sample_weight")
    names = [str(name) for name in X.columns]
    if len(set(names)) < len(names) or any(not isinstance(name, str) for name in X.columns):
        raise ValueError("The columns of a Dask frame need different names, all of them text.")
    if not names:
        raise ValueError("X has no columns to predict from; give it at least one.")
    kinds = {names[place]: choice for place, choice in kind_choices(feature_kinds, names).items()}
    numeric = tuple(name for name in names if _is_numeric(X.dtypes[name], name, kinds.get(name)))
    parts = list(
        zip(X.to_delayed(), labels.to_delayed(), [None] * X.npartitions if weights is None else weights.to_delayed(), strict=True)
    )
    with deadline.outside():
        facts: Facts = cluster.add_up(cluster.tasks(facts_of, [list(part) for part in parts], numeric), add_facts)
    _check_weights(facts)
    classes = _classes(facts, labels)
    totals = np.array([facts.labels[label] for label in classes.tolist()])
    scale = class_scale(class_weight, classes, totals)
    if np.count_nonzero(totals * scale) < 2:
        raise ValueError("y has only one class (of positive weight); a classifier needs at least two classes.")
    columns = tuple(
        _number_column(name, facts.numbers[name]) if name in numeric else _level_column(name, facts, X.dtypes[name], kinds)
        for name in names
    )
    none: FloatArray = np.empty(0)
    return DaskTraining(
        Columns(columns, sum(facts.rows)),
        Target(classes, np.empty(0, dtype=np.intp), none),
        None if weights is None else none,
        none,
        float((totals * scale).sum()),
        class_scale=None if class_weight is None else scale,
        cluster=cluster,
        frame=X,
        labels=labels,
        row_weights=weights,
        facts=facts,
        numeric=numeric,
        kinds=kinds,
        deadline=deadline,
    )


def _column_of(X: Any, given: Any, what: str) -> tuple[Any, Any]:
    """A series beside X, or a column of X by its name and X without it."""
    if isinstance(given, str):
        if given not in X.columns:
            raise ValueError(f"{what} names the column {given!r}, which X does not have.")
        return X.drop(columns=[given]), X[given]
    if not hasattr(given, "to_delayed") or getattr(given, "ndim", 0) != 1:
        raise ValueError(f"{what} must be a Dask series, or the name of a column of X, when X is a Dask frame.")
    if given.npartitions != X.npartitions:
        raise ValueError(
            f"X has {X.npartitions} partitions and {what} has {given.npartitions}; make them from the same Dask frame."
        )
    return X, given


def _is_numeric(dtype: Any, name: str, choice: KindChoice | None) -> bool:
    """Whether the column holds numbers and is to be read as such."""
    from pandas.api.types import is_bool_dtype, is_complex_dtype, is_datetime64_any_dtype, is_numeric_dtype

    if is_datetime64_any_dtype(dtype) or dtype.kind == "m":
        raise not_a_date(name)
    if is_complex_dtype(dtype):
        raise ValueError(f"Complex data not supported (column {name!r}).")
    return is_numeric_dtype(dtype) and not is_bool_dtype(dtype) and choice in (None, "numeric")


def _check_weights(facts: Facts) -> None:
    if sum(facts.rows) == 0:
        raise ValueError("X has no rows.")
    if facts.least_weight < 0:
        raise ValueError("sample_weight has missing, infinite or negative weights; give every row one of zero or more.")
    if facts.labels and sum(facts.labels.values()) == 0:
        raise ValueError("sample_weight is zero for every row; at least one row needs a positive weight.")


def _classes(facts: Facts, labels: Any) -> npt.NDArray[Any]:
    import pandas as pd

    if facts.no_label:
        raise ValueError(f"y has {facts.no_label} missing labels; drop those rows or give them a label.")
    if len(facts.labels) > MAX_CLASSES:
        raise ValueError(f"y has more than {MAX_CLASSES:,} classes; that is a quantity, and needs a regressor.")
    dtype = object if isinstance(labels.dtype, pd.CategoricalDtype) else labels.dtype
    return encode_labels(pd.Series(list(facts.labels), dtype=dtype))[0]


def _number_column(name: str, known: Numbers) -> Column:
    if known.infinite:
        raise ValueError(f"Column {name!r} has infinite values; replace them by numbers or by NaN (missing).")
    return Column(name, "numeric", np.empty(0), known.has_missing)


def _level_column(name: str, facts: Facts, dtype: Any, kinds: Mapping[Any, KindChoice]) -> Column:
    """A column that does not hold numbers, as its distinct cells tell."""
    import pandas as pd

    choice = kinds.get(name)
    if choice is None and isinstance(dtype, pd.CategoricalDtype) and dtype.ordered:
        choice = dtype.categories.tolist()
    cells = pd.Series(sorted({cell for cell, _ in facts.cells[name]}, key=str), dtype=object)
    column = read_columns(pd.DataFrame({name: cells}), None if choice is None else {name: choice})[0]
    return replace(column, values=column.values[:0])


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


def _label_codes(labels: Any, classes: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
    import pandas as pd

    return pd.Index(classes).get_indexer(np.asarray(labels)).astype(np.uint16)


def _take(part: tuple[Any, Any, Any], places: npt.NDArray[np.int64]) -> tuple[Any, Any, Any]:
    frame, labels, weights = part
    return frame.iloc[places], labels.iloc[places], None if weights is None else weights.iloc[places]


def _code_part(
    part: tuple[Any, Any, Any],
    features: tuple[Feature, ...],
    kinds: Mapping[Any, KindChoice],
    classes: npt.NDArray[Any],
) -> CodedPart:
    """The rows of a partition that weigh something."""
    frame, labels, weights = part
    weight: FloatArray | None = None
    if weights is not None:
        weight = weights.to_numpy(dtype=np.float64)
        inside = weight > 0
        frame, labels, weight = frame[inside], labels[inside], weight[inside]
    if len(frame) == 0:
        return np.empty((len(features), 0), dtype=np.uint8), np.empty(0, dtype=np.uint16), weight
    codes = encode_rows(read_columns(frame, kinds, training=False), features)
    return codes, _label_codes(labels, classes), weight


def _merge_part(part: CodedPart, used: Sequence[int]) -> tuple[CodeArray, npt.NDArray[np.uint16], FloatArray]:
    codes, labels, weights = part
    return _add_merged([(codes[list(used)], labels, np.ones(len(labels)) if weights is None else weights)])


def _add_merged(
    parts: Sequence[tuple[CodeArray, npt.NDArray[np.uint16], FloatArray]],
) -> tuple[CodeArray, npt.NDArray[np.uint16], FloatArray]:
    """Rows with equal codes and labels as one."""
    codes = np.concatenate([codes for codes, _, _ in parts], axis=1)
    labels = np.concatenate([labels for _, labels, _ in parts])
    weights = np.concatenate([weights for _, _, weights in parts])
    keys = np.concatenate([codes, [(labels & 255).astype(np.uint8), (labels >> 8).astype(np.uint8)]])
    row_of = np.empty(len(labels), dtype=np.int64)
    first = _native.merge_rows(np.ascontiguousarray(keys), row_of)
    sums = np.bincount(row_of, weights=weights, minlength=len(first)).astype(np.float64)
    return codes[:, first], labels[first], sums
