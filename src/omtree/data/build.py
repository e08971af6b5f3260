"""Raw columns in, features and the coded table out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data.binning import (
    Binning,
    exact_thresholds,
    quantile_thresholds,
    readable_between,
    supervised_thresholds,
)
from omtree.data.column import CodedColumns, Column, Columns
from omtree.data.table import MAX_CODES, CodeArray, Feature, FloatArray, Pooled, Table
from omtree.data.wording import show_level
from omtree.deadline import Deadline
from omtree.errors import warn

#: A nominal column with more levels than this is cut into at most so many groups of levels, and those of fewer rows
#: than the last number are one level: what their few targets say is chance.
MANY_LEVELS, GROUPED_LEVELS, LEAST_ROWS = 64, 32, 10
#: Where the label changes is looked for in all rows for this share of the time, after that in so many of them.
LOOK_SHARE, SOME_ROWS = 0.5, 500

IntArray = npt.NDArray[np.integer[Any]]
TargetArray = npt.NDArray[np.integer[Any] | np.floating[Any]]


def make_features(
    columns: Columns,
    y_codes: TargetArray,
    n_classes: int,
    sample_weight: FloatArray | None = None,
    n_bins: int = 8,
    binning: Binning = "quantile",
    group_levels: bool = True,
    n_rows: int | None = None,
    deadline: Deadline | None = None,
) -> tuple[tuple[Feature, ...], list[tuple[str, str]]]:
    """Turn the columns that vary into features.

    Of a nominal column with very many levels, those that few rows have, and those beyond the number of codes, become
    one level, "(other)", and a warning says so. Levels that no sample of positive weight has are left out.

    Parameters
    ----------
    columns : Columns
    y_codes : array of int or float, shape (n_samples,)
        The class of each sample, ``0 .. n_classes - 1``, or its target where that is a number.
    n_classes : int
        0 where the target is a number.
    sample_weight : array of float, optional
        A sample of weight zero counts as absent.
    n_bins : int
        Most bins of a number.
    binning : {"quantile", "supervised", "exact"}
    group_levels : bool
        Whether a nominal column with very many levels is cut into groups of levels with similar targets.
    n_rows : int, optional
        How many rows the samples stand for, where that is not their number.
    deadline : Deadline, optional
        Of the fit. Supervised cuts take half of the time left at most: the columns that remain are cut by some rows.

    Returns
    -------
    features : tuple of Feature
    dropped : list of (name, reason)
        The columns that can't distinguish anything.

    Examples
    --------
    >>> from omtree.data.columns import read_columns
    >>> columns = read_columns([[18, "a"], [35, "a"], [60, "a"]])
    >>> features, dropped = make_features(columns, np.array([0, 1, 1]), 2)
    >>> features[0].describe((1, 2)), dropped
    ('x0 >= 30', [('x1', 'it is constant')])
    """
    if not 2 <= n_bins < MAX_CODES:
        raise ValueError(f"n_bins must be between 2 and {MAX_CODES - 1}, got {n_bins}.")
    if binning not in get_args(Binning):
        raise ValueError(f"binning must be one of {', '.join(map(repr, get_args(Binning)))}, got {binning!r}.")
    weights = _checked(sample_weight)
    present = None if weights is None or weights.all() else weights > 0.0
    looking = Deadline() if deadline is None else deadline.share(LOOK_SHARE)
    guide = _Guide(y_codes, n_classes == 0, weights, looking)
    features: list[Feature] = []
    dropped: list[tuple[str, str]] = []
    firsts = columns.first_values if weights is None else {}
    for position, column in enumerate(columns):
        if column.levels is None:
            few = firsts[position] if weights is None else _first_values(column.values, weights)
            made = _numeric_feature(column, position, few, guide, present, n_bins, binning)
        else:
            count = columns.n_samples if n_rows is None else n_rows
            made = _level_feature(column, position, y_codes, n_classes, weights, group_levels, count)
        if isinstance(made, str):
            dropped.append((column.name, made))
        else:
            features.append(made)
    return tuple(features), dropped


def make_table(
    columns: Columns,
    features: tuple[Feature, ...],
    y_codes: IntArray,
    n_classes: int,
    sample_weight: FloatArray | None = None,
    merge: bool = True,
) -> Table:
    """Code the samples and merge those with equal codes, in order of first appearance.

    Parameters
    ----------
    columns : Columns
    features : tuple of Feature
        Made from these columns; their thresholds may have been changed since.
    y_codes : array of int, shape (n_samples,)
    n_classes : int
    sample_weight : array of float, optional
        Samples of weight zero are left out.
    merge : bool
        When False, every sample keeps a row of its own.
    """
    weights = _checked(sample_weight)
    merged = _Merged.of(columns, features, weights, merge)
    counts = np.zeros((merged.codes.shape[1], n_classes))
    classes = np.ascontiguousarray(merged.kept(y_codes), dtype=np.int64)
    weights = None if weights is None else merged.kept(weights)
    _native.count_classes(merged.rows, classes, np.empty(0) if weights is None else weights, counts)
    return Table(tuple(features), merged.codes, counts, merged.row_of(columns.n_samples))


def make_number_table(
    columns: Columns, features: tuple[Feature, ...], statistics: FloatArray, sample_weight: FloatArray
) -> Table:
    """The same for samples with any statistics that add up.

    Parameters
    ----------
    columns : Columns
    features : tuple of Feature
    statistics : array of float, shape (n_samples, n_statistics)
    sample_weight : array of float
        Samples of weight zero are left out.
    """
    merged = _Merged.of(columns, features, sample_weight, merge=True)
    n_rows = merged.codes.shape[1]
    sums = [np.bincount(merged.rows, weights=merged.kept(column), minlength=n_rows) for column in statistics.T]
    weight = np.bincount(merged.rows, weights=merged.kept(sample_weight), minlength=n_rows).astype(np.float64)
    return Table(
        tuple(features), merged.codes, np.stack(sums, axis=1), merged.row_of(columns.n_samples), row_weight=weight
    )


@dataclass(frozen=True, eq=False)
class _Merged:
    """Samples of positive weight, those with equal codes as one row: the row of each sample, and which they are."""

    codes: CodeArray
    rows: npt.NDArray[np.int64]
    positive: npt.NDArray[np.intp] | None

    @classmethod
    def of(cls, columns: Columns, features: tuple[Feature, ...], weights: FloatArray | None, merge: bool) -> _Merged:
        codes = encode_rows(columns, features)
        positive = None
        if weights is not None and not weights.all():
            positive = np.flatnonzero(weights)
            codes = np.take(codes, positive, axis=1)
        rows = np.arange(codes.shape[1], dtype=np.int64)
        if merge:
            first = _native.merge_rows(codes, rows)
            if len(first) < codes.shape[1]:
                codes = np.take(codes, first, axis=1)
        return cls(codes, rows, positive)

    def kept(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The values of the samples that were not left out."""
        return values if self.positive is None else values[self.positive]

    def row_of(self, n_samples: int) -> npt.NDArray[np.int64]:
        """The row of every sample, -1 for those left out."""
        if self.positive is None:
            return self.rows
        row_of = np.full(n_samples, -1, dtype=np.int64)
        row_of[self.positive] = self.rows
        return row_of


def encode_rows(columns: Columns, features: tuple[Feature, ...]) -> CodeArray:
    """Codes of every sample, shape (n_features, n_samples)."""
    if isinstance(columns, CodedColumns):
        return columns.codes_of(features)
    codes = np.empty((len(features), columns.n_samples), dtype=np.uint8)
    inputs = [columns[feature.column] for feature in features]
    thresholds = [feature.thresholds for feature in features if feature.thresholds is not None]
    if len(thresholds) == len(features) and all(column.levels is None for column in inputs):
        missing = [feature.missing_code for feature in features]
        _native.bin_columns([column.values for column in inputs], thresholds, missing, codes)
        return codes
    for row, feature, column in zip(codes, features, inputs, strict=True):
        feature.encode(column, out=row)
    return codes


def _checked(sample_weight: FloatArray | None) -> FloatArray | None:
    """Weights as contiguous floats; None when all are one."""
    if sample_weight is None:
        return None
    weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
    return None if bool((weights == 1.0).all()) else weights


@dataclass(frozen=True, eq=False)
class _Guide:
    """What supervised cuts go by: the targets, whether they are numbers, and the time to look at all of them."""

    targets: TargetArray
    numbers: bool
    weights: FloatArray | None
    looking: Deadline

    def thresholds(self, values: FloatArray, most: int, few: Sequence[float]) -> FloatArray:
        """Cuts where the label changes; once the time is up, in some rows, or one between two of the values."""
        if self.looking.expired and len(values) > SOME_ROWS:
            some = slice(None, None, len(values) // SOME_ROWS)
            weights = None if self.weights is None else self.weights[some]
            cuts = supervised_thresholds(values[some], self.targets[some], weights, most, numbers=self.numbers)
            return cuts if len(cuts) or len(few) < 2 else np.array([readable_between(*sorted(few)[:2])])
        return supervised_thresholds(values, self.targets, self.weights, most, numbers=self.numbers)


def _numeric_feature(
    column: Column,
    position: int,
    few: Sequence[float],
    guide: _Guide,
    present: npt.NDArray[np.bool_] | None,
    n_bins: int,
    binning: Binning,
) -> Feature | str:
    values = column.values
    has_missing = column.has_missing and (present is None or bool(np.isnan(values[present]).any()))
    weights = guide.weights
    if len(few) <= 2 and binning != "supervised":
        thresholds = np.array([readable_between(*few)] if len(few) == 2 else [])
    elif binning == "quantile":
        thresholds = quantile_thresholds(values, weights, n_bins)
    elif binning == "supervised":
        thresholds = guide.thresholds(values, n_bins - 1, few)
    else:
        thresholds = exact_thresholds(values, weights, MAX_CODES - 1 - has_missing, column.name)
    if len(thresholds) == 0:
        if len(few) == 0:
            return "all its cells are missing"
        if not has_missing:
            return "it is constant" if len(few) == 1 else "no threshold on it separates the classes"
    whole = len(few) == 2 and few[0].is_integer() and few[1].is_integer()
    codes = whole and len(thresholds) == 1 and not column.unit
    return Feature(
        column.name,
        position,
        "numeric",
        len(thresholds) + 1,
        has_missing,
        thresholds=thresholds,
        unit=column.unit,
        pair=(few[0], few[1]) if codes else None,
    )


def _first_values(values: FloatArray, weights: FloatArray) -> Sequence[float]:
    """As those of all samples, of the samples that weigh something."""
    return _native.few_distinct(values, weights, 2).tolist()  # type: ignore[no-any-return]


def _level_feature(
    column: Column,
    position: int,
    y_codes: TargetArray,
    n_classes: int,
    weights: FloatArray | None,
    group_levels: bool,
    n_rows: int,
) -> Feature | str:
    assert column.levels is not None
    # Where the target is a number, all samples are of one class.
    labels = y_codes.astype(np.int64, copy=False) if n_classes else np.empty(0, dtype=np.int64)
    given = np.empty(0) if weights is None else weights
    mass, joint = _native.count_codes(column.values, len(column.levels), labels, max(1, n_classes), given)
    # Missing cells are counted first.
    has_missing = mass[0] > 0
    used = [i for i, weight in enumerate(mass[1:]) if weight]
    if len(used) == 0:
        return "all its cells are missing"
    if len(used) == 1 and not has_missing:
        return "it is constant"
    levels = column.levels if len(used) == len(column.levels) else tuple(column.levels[i] for i in used)
    limit = MAX_CODES - has_missing
    if len(levels) > limit and column.kind == "ordinal":
        raise ValueError(
            f"Column {column.name!r} has {len(levels)} ordered levels, more than the {limit} possible; "
            "make it numeric or merge some of its levels."
        )
    if len(levels) > MANY_LEVELS and column.kind == "nominal":
        own = np.array([mass[i + 1] for i in used])
        # A stable sort: of equally frequent levels the earlier ones stay.
        first = np.argsort(-own, kind="stable")[: limit - 1 if len(levels) > limit else len(levels)]
        frequent = np.sort(first[own[first] >= (1 - 1e-9) * LEAST_ROWS * sum(mass) / n_rows])
        if len(frequent) == 0 and not has_missing:
            return f"none of its {len(levels)} values is in {LEAST_ROWS} rows"
        rare = frozenset(levels) - {levels[i] for i in frequent}
        if rare:
            warn(
                f"Column {column.name!r} has {len(levels)} levels; the {len(rare)} rarest are treated as one, "
                "'(other)'."
            )
            levels = (*(levels[i] for i in frequent), Pooled(rare, rest=True))
    named = partial(Feature, column.name, position, column.kind, len(levels), has_missing, levels=levels)
    if column.kind == "ordinal":
        return named()
    if n_classes and len(levels) == len(used) <= MANY_LEVELS:
        rows = [*(i + 1 for i in used), *([0] if has_missing else [])]
        return named(target_order=lambda: _class_order(joint[rows]))
    feature = named()
    codes = feature.encode(column)
    order = _target_order(codes, feature.n_codes, y_codes, n_classes, weights)
    if group_levels and len(levels) > MANY_LEVELS:
        feature = _grouped(feature, codes, order, weights)
        warn(
            f"Column {column.name!r} has {len(levels)} levels; they are cut into {feature.n_values} groups "
            "with similar targets."
        )
        order = _target_order(feature.encode(column), feature.n_codes, y_codes, n_classes, weights)
    return replace(feature, target_order=order)


def _grouped(feature: Feature, codes: CodeArray, order: tuple[int, ...], weights: FloatArray | None) -> Feature:
    """The feature with neighbours along the target in one level, so that the levels weigh about the same."""
    assert feature.levels is not None
    mass = np.bincount(codes, weights=weights, minlength=feature.n_codes)
    along = [code for code in order if code < feature.n_values]
    middle = np.cumsum(mass[along]) - mass[along] / 2
    group = np.minimum((GROUPED_LEVELS * middle / mass[along].sum()).astype(int), GROUPED_LEVELS - 1)
    levels: list[Any] = []
    for g in np.unique(group):
        members = [feature.levels[along[i]] for i in np.flatnonzero(group == g)]
        if len(members) == 1:
            levels += members
            continue
        inside = frozenset().union(*(m.members if isinstance(m, Pooled) else {m} for m in members))
        rest = any(isinstance(member, Pooled) and member.rest for member in members)
        levels.append(Pooled(inside, ", ".join(sorted(show_level(member) for member in members)), rest))
    return replace(feature, n_values=len(levels), levels=tuple(levels))


def _target_order(
    codes: CodeArray, n_codes: int, y_codes: TargetArray, n_classes: int, weights: FloatArray | None
) -> tuple[int, ...]:
    """The codes along the target: by its mean, by the rate of class 1, or along the main axis of the class shares.

    The axis points to the class that it depends on most (the first of equals); equal codes keep their order.
    """
    if n_classes == 0:
        sums = np.bincount(codes, weights=y_codes if weights is None else weights * y_codes, minlength=n_codes)
        mean = sums[:n_codes] / np.bincount(codes, weights=weights, minlength=n_codes)[:n_codes]
        spread = float(mean.max() - mean.min()) or 1.0
        return tuple(np.argsort(np.round((mean - mean.min()) / spread, 9), kind="stable").tolist())
    return _class_order(_class_masses(codes, n_codes, y_codes, n_classes, weights))


def _class_masses(
    codes: IntArray, n_codes: int, y_codes: TargetArray, n_classes: int, weights: FloatArray | None
) -> FloatArray:
    """Weight of each code in each class; codes beyond `n_codes` do not count."""
    size = n_codes * n_classes
    mass = np.bincount(codes * np.int64(n_classes) + y_codes, weights=weights, minlength=size)[:size]
    return mass.reshape(n_codes, n_classes).astype(np.float64)


def _class_order(mass: FloatArray) -> tuple[int, ...]:
    total = mass.sum(axis=1, keepdims=True)
    share = mass / total
    if mass.shape[1] == 2:
        score = share[:, 1]
    else:
        centred = share - mass.sum(axis=0) / total.sum()
        axis = np.linalg.svd(centred * np.sqrt(total / total.sum()), full_matrices=False)[2][0]
        size_of = np.round(np.abs(axis), 9)
        score = centred @ (axis * np.sign(axis[int(size_of.argmax())]))
    return tuple(np.argsort(np.round(score, 9), kind="stable").tolist())
