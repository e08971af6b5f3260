"""The kinds of columns that somebody asks for in place of those that their types say."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

import numpy as np

from omtree.data.cell_columns import (
    floats_of,
    numeric_column,
    with_levels,
)
from omtree.data.column import Column
from omtree.data.table import Kind

#: A kind, or the levels of an ordinal column in their order.
KindChoice = Kind | Sequence[Any]


def as_kind(column: Column, choice: KindChoice, training: bool) -> Column:
    """The column read as the user says."""
    if isinstance(choice, str):
        if choice == column.kind:
            return column
        if choice == "numeric":
            return numeric_column(column.name, floats_of(column.name, _cells(column)), suspicious=True)
        if column.levels is None:
            cells = _cells(column)
            levels = tuple(sorted({cell for cell in cells if cell is not None}))
            return with_levels(column.name, cast(Kind, choice), cells, levels)
        if choice == "ordinal" and any(isinstance(level, str) for level in column.levels):
            raise ValueError(
                f"Column {column.name!r} holds text, whose order is unknown; "
                f"give its levels in order, as feature_kinds={{{column.name!r}: [...]}}."
            )
        return Column(column.name, cast(Kind, choice), column.values, column.has_missing, column.levels)
    if column.levels is None:
        cells = _cells(column)
        found = {cell for cell in cells if cell is not None}
    else:
        found = set(column.levels)
        if not found.issubset(choice):
            present = set(column.values.tolist())
            found = {level for code, level in enumerate(column.levels) if code in present}
    others = sorted(found.difference(choice), key=str)
    if others and training:
        raise ValueError(
            f"Column {column.name!r} has the value {others[0]!r}, which is not among the levels given in feature_kinds."
        )
    levels = (*choice, *others)
    if levels == column.levels:
        return Column(column.name, "ordinal", column.values, column.has_missing, levels)
    if column.levels is None:
        return with_levels(column.name, "ordinal", cells, levels)
    place = {level: code for code, level in enumerate(levels)}
    codes = np.array([*(place.get(level, -1) for level in column.levels), -1], dtype=np.int32)[column.values]
    return Column(column.name, "ordinal", codes, column.has_missing, levels)


def _cells(column: Column) -> list[Any]:
    """The column's cells as Python objects, None where missing, whole numbers as int."""
    if column.levels is not None:
        levels = (*column.levels, None)
        return [levels[code] for code in column.values.tolist()]
    return [None if cell != cell else int(cell) if cell.is_integer() else cell for cell in column.values.tolist()]


def kind_choices(feature_kinds: Mapping[Any, KindChoice] | None, labels: Sequence[Any]) -> dict[int, KindChoice]:
    """The user's choices by position of the column."""
    chosen: dict[int, KindChoice] = {}
    for key, choice in (feature_kinds or {}).items():
        if key in labels:
            position = labels.index(key)
        elif isinstance(key, numbers.Integral) and 0 <= int(key) < len(labels):
            position = int(key)
        else:
            raise ValueError(f"feature_kinds names the column {key!r}, which X does not have.")
        known = choice in get_args(Kind) if isinstance(choice, str) else _are_levels(choice)
        if not known:
            raise ValueError(
                f"feature_kinds[{key!r}] is {choice!r}; "
                "it must be 'numeric', 'ordinal', 'nominal' or a list of different levels in order."
            )
        chosen[position] = choice
    return chosen


def _are_levels(choice: Any) -> bool:
    return isinstance(choice, Sequence) and 0 < len(set(choice)) == len(choice)
