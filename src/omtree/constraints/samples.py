"""The samples as constraints see them: classes, groups, weights, and the strata they fall into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from omtree.data.column import Column, Columns
from omtree.data.columns import as_frame, read_columns
from omtree.data.table import FloatArray

IntArray = npt.NDArray[np.intp]

#: A group column with more levels than this is more likely a number than a group.
MAX_GROUPS = 32


@dataclass(frozen=True, eq=False)
class GroupColumn:
    """The group of every sample.

    Attributes
    ----------
    codes : array of int, shape (n_samples,)
        Position of each sample's group in `levels`.
    levels : tuple
        The groups that occur; None, the last, stands for missing cells, which form a group of their own.
    """

    codes: IntArray
    levels: tuple[Any, ...]

    def part(self, rows: IntArray) -> GroupColumn:
        """The groups of some of the samples."""
        return GroupColumn(self.codes[rows], self.levels)


@dataclass(frozen=True, eq=False)
class Strata:
    """Samples of one class and the same groups: what constraints over the whole model count.

    Attributes
    ----------
    of_sample : array of int, shape (n_samples,)
    label : array of int, shape (n_strata,)
        Position of the stratum's class; 0 where the target is a number.
    groups : mapping of str to array of int, shape (n_strata,)
        By group column, the position of the stratum's group in ``levels``.
    levels : mapping of str to tuple
        The groups of each group column.
    totals : array of float, shape (n_strata,)
        Sample weight of each stratum.
    """

    of_sample: IntArray
    label: IntArray
    groups: Mapping[str, IntArray]
    levels: Mapping[str, tuple[Any, ...]]
    totals: FloatArray

    def __len__(self) -> int:
        return len(self.label)

    def part(self, rows: IntArray, weight: FloatArray) -> Strata:
        """The same strata over some of the samples; `weight` is that of those samples."""
        of_sample = self.of_sample[rows]
        totals = np.bincount(of_sample, weights=weight, minlength=len(self)).astype(np.float64)
        return Strata(of_sample, self.label, self.groups, self.levels, totals)


def strata_of(
    labels: npt.NDArray[np.integer], groups: Mapping[str, GroupColumn] | None = None, weight: FloatArray | None = None
) -> Strata:
    """The strata that occur: every class within every combination of groups.

    Parameters
    ----------
    labels : array of int, shape (n_samples,)
        The position of each sample's class; zeros where the target is a number.
    groups : mapping of str to GroupColumn, optional
    weight : array of float, optional
        Of the samples; ones by default.

    Examples
    --------
    >>> sex = GroupColumn(np.array([0, 0, 1, 1]), ("F", "M"))
    >>> strata = strata_of(np.array([0, 1, 1, 1]), {"sex": sex})
    >>> strata.label.tolist(), strata.groups["sex"].tolist(), strata.totals.tolist()
    ([0, 1, 1], [0, 0, 1], [1.0, 1.0, 2.0])
    """
    groups = groups or {}
    key = np.asarray(labels, dtype=np.int64)
    size = int(key.max(initial=0)) + 1
    for column in groups.values():
        key = key * len(column.levels) + column.codes
        size *= len(column.levels)
    if size <= 1 << 20:
        present = np.flatnonzero(np.bincount(key, minlength=size))
        place = np.zeros(size, dtype=np.intp)
        place[present] = np.arange(len(present))
        of_sample = place[key]
    else:
        present, of_sample = np.unique(key, return_inverse=True)
    rest = present
    of_group: dict[str, IntArray] = {}
    for name, column in reversed(list(groups.items())):
        rest, code = np.divmod(rest, len(column.levels))
        of_group[name] = code.astype(np.intp)
    totals = np.bincount(of_sample, weights=weight, minlength=len(present)).astype(np.float64)
    levels = {name: column.levels for name, column in groups.items()}
    return Strata(of_sample, rest.astype(np.intp), {name: of_group[name] for name in groups}, levels, totals)


@dataclass(frozen=True, eq=False)
class Samples:
    """What constraints are compiled for.

    Attributes
    ----------
    labels : array of int, shape (n_samples,)
        The position of each sample's class; zeros where the target is a number.
    weight : array of float, shape (n_samples,)
        Weight of each sample in the constraints: as given to ``fit``, without what a class is worth.
    groups : mapping of str to GroupColumn
    target : array of float or None
        The target, where it is a number.
    class_scale : array of float, shape (n_classes,), or None
        What the weights in the engine's table are multiplied by, by class. Samples of a class of scale zero take no
        part, in the constraints either.
    """

    labels: IntArray
    weight: FloatArray
    groups: Mapping[str, GroupColumn] = field(default_factory=dict)
    target: FloatArray | None = None
    class_scale: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.class_scale is not None and not self.class_scale.all():
            object.__setattr__(self, "weight", np.where(self.class_scale[self.labels] > 0, self.weight, 0.0))

    def strata(self) -> Strata:
        """The strata of these samples."""
        return strata_of(self.labels, self.groups, self.weight)


def read_groups(names: Iterable[str], groups: Any, columns: Columns) -> dict[str, GroupColumn]:
    """The group columns that constraints name, from what was given as `groups` or else from ``X``.

    Parameters
    ----------
    names : iterable of str
    groups : array, series, data frame, mapping of str to array, or None
        An array (or a series) without a name is the one group column that ``X`` does not have, whatever the
        constraints call it.
    columns : Columns
        The columns of ``X``.

    Examples
    --------
    >>> columns = read_columns([[18], [35], [60]])
    >>> read_groups(["sex"], ["F", "M", "F"], columns)["sex"].levels
    ('F', 'M')
    """
    named, unnamed = _given(groups)
    n_samples = columns.n_samples
    found: dict[str, GroupColumn] = {}
    nameless: list[str] = []
    for name in dict.fromkeys(names):
        if name in named:
            column = named[name]
        elif name in columns.names:
            column = columns[columns.names.index(name)]
        elif unnamed is not None:
            nameless.append(name)
            column = unnamed
        else:
            raise ValueError(
                f"A constraint names the group column {name!r}, which neither X nor groups has; "
                "pass it as fit(..., groups=...)."
            )
        if len(column.values) != n_samples:
            raise ValueError(f"groups has {len(column.values)} rows and X has {n_samples}; give one group per row.")
        found[name] = as_groups(name, column)
    if len(nameless) > 1:
        raise ValueError(
            f"groups is one column without a name, but the constraints name {nameless[0]!r} and {nameless[1]!r}; "
            "pass a data frame with these columns."
        )
    return found


def _given(groups: Any) -> tuple[dict[str, Column], Column | None]:
    """The columns of `groups` by name, or the one that has none."""
    if groups is None:
        return {}, None
    if isinstance(groups, Mapping):
        return {str(name): _single(values) for name, values in groups.items()}, None
    frame = as_frame(groups)
    if frame is not None:
        read = read_columns(groups)
        return {column.name: column for column in read}, None
    series = nw.from_native(groups, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        column = _single(series.to_list())
        return ({str(series.name): column}, None) if series.name not in (None, "") else ({}, column)
    return {}, _single(groups)


def _single(values: Any) -> Column:
    cells = np.asarray(values, dtype=None if isinstance(values, np.ndarray) else object)
    if cells.ndim == 2 and cells.shape[1] == 1:
        cells = cells[:, 0]
    if cells.ndim != 1:
        raise ValueError(f"groups has {cells.ndim} dimensions; pass one column, or a data frame with named columns.")
    return read_columns(cells.reshape(-1, 1))[0]


def as_groups(name: str, column: Column) -> GroupColumn:
    """The groups that occur, missing cells last."""
    if column.levels is None:
        numbers, codes = np.unique(column.values, return_inverse=True)
        levels = tuple(None if value != value else int(value) if value.is_integer() else value for value in numbers)
    else:
        missing = len(column.levels)
        places, codes = np.unique(np.where(column.values < 0, missing, column.values), return_inverse=True)
        levels = tuple((*column.levels, None)[place] for place in places)
    if len(levels) > MAX_GROUPS:
        raise ValueError(
            f"The group column {name!r} has {len(levels)} different values, more than {MAX_GROUPS}; "
            "merge them into fewer groups."
        )
    return GroupColumn(codes.astype(np.intp), levels)
