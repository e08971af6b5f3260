"""Columns from Python objects and typed arrays: numbers, flags, moments, texts; and which cells are missing."""

from __future__ import annotations

import datetime
import numbers
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.column import Column
from omtree.data.parsing.moments import days_of
from omtree.data.table import FloatArray, Kind
from omtree.data.wording import text_of

_MOMENTS = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


def from_cells(name: str, cells: list[Any]) -> Column:
    """A column of Python objects, its kind decided by what they are."""
    distinct = distinct_cells(name, cells)
    if not distinct:
        return Column(name, "numeric", np.full(len(cells), np.nan), True)
    # All cells, not the distinct ones: among those True stands for 1 as well.
    if len(distinct) <= 2 and all(isinstance(cell, (bool, np.bool_)) or is_missing(cell) for cell in cells):
        return with_levels(name, "nominal", cells, (False, True))
    if any(isinstance(cell, _MOMENTS) for cell in distinct):
        return _moment_cells(name, cells, distinct)
    if all(isinstance(cell, numbers.Number) for cell in distinct):
        return numeric_column(name, floats_of(name, cells), suspicious=True)
    if all(isinstance(cell, str) for cell in distinct):
        return with_levels(name, "nominal", cells, tuple(sorted(map(str, distinct))))
    texts = [None if is_missing(cell) else text_of(cell) for cell in cells]
    return with_levels(name, "nominal", texts, tuple(sorted({text for text in texts if text is not None})))


def moment_column(name: str, values: npt.NDArray[Any]) -> Column:
    """Dates as days since 1970, and spans of time in days."""
    if values.dtype.kind == "O":  # types with missing cells of their own kind
        return from_cells(name, values.tolist())
    if values.dtype.kind == "m":
        seconds = values.astype("timedelta64[us]")
        days = np.where(np.isnat(seconds), np.nan, seconds.astype(np.int64) / 86_400e6)
        return numeric_column(name, days, suspicious=True)
    return replace(numeric_column(name, days_of(values), suspicious=True), unit="date")


def _moment_cells(name: str, cells: list[Any], distinct: list[Any]) -> Column:
    """A column of Python's own dates, times of day or spans of time."""
    if all(isinstance(cell, datetime.time) for cell in distinct):
        hours = [
            np.nan if is_missing(cell) else cell.hour + cell.minute / 60 + (cell.second + cell.microsecond / 1e6) / 3600
            for cell in cells
        ]
        return replace(numeric_column(name, np.array(hours), suspicious=True), unit="time")
    for kind, kinds in (("M", (datetime.date, np.datetime64)), ("m", (datetime.timedelta, np.timedelta64))):
        if all(isinstance(cell, kinds) for cell in distinct):
            bare = [None if is_missing(cell) else _without_zone(cell) for cell in cells]
            return moment_column(name, np.array(bare, dtype=f"{kind}8[us]"))
    raise ValueError(f"Column {name!r} mixes dates or times with other values; give it one type.")


def _without_zone(cell: Any) -> Any:
    return cell.replace(tzinfo=None) if isinstance(cell, datetime.datetime) else cell


def distinct_cells(name: str, cells: list[Any]) -> list[Any]:
    """The distinct cells that are not missing; an error for those that are no scalars."""
    try:
        distinct = [cell for cell in set(cells) if not is_missing(cell)]
    except TypeError:
        distinct = cells
    for cell in distinct:
        if isinstance(cell, complex):
            raise ValueError(f"Complex data not supported (column {name!r}).")
        if not isinstance(cell, (str, numbers.Number, bool, np.bool_, *_MOMENTS)) and not is_missing(cell):
            # The type and some of the words are those that scikit-learn expects here.
            kind = type(cell).__name__
            raise TypeError(f"Column {name!r} holds a {kind}, but the argument must be made of strings or numbers.")
    return distinct


def numeric_column(name: str, values: FloatArray, *, suspicious: bool) -> Column:
    missing = False
    if suspicious:
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = not np.isfinite(values.sum())
    if suspicious:
        if np.isinf(values).any():
            raise ValueError(f"Column {name!r} has infinite values; replace them by numbers or by NaN (missing).")
        missing = bool(np.isnan(values).any())
    return Column(name, "numeric", values, missing)


def flag_column(name: str, flags: npt.NDArray[np.bool_]) -> Column:
    return Column(name, "nominal", flags.astype(np.int32), False, (False, True))


def with_levels(name: str, kind: Kind, cells: list[Any], levels: tuple[Any, ...]) -> Column:
    """Positions of the cells in `levels`; every cell must be missing or one of them."""
    index = {level: code for code, level in enumerate(levels)}
    index.update((cell, -1) for cell in set(cells).difference(index))
    codes = np.fromiter(map(index.__getitem__, cells), dtype=np.int32, count=len(cells))
    return Column(name, kind, codes, bool((codes < 0).any()), levels)


def floats_of(name: str, cells: list[Any]) -> FloatArray:
    values = np.empty(len(cells))
    for i, cell in enumerate(cells):
        try:
            values[i] = np.nan if is_missing(cell) else float(cell)
        except (TypeError, ValueError):
            raise ValueError(f"Column {name!r} is to be numeric, but {cell!r} is not a number.") from None
    return values


def not_a_date(name: str) -> ValueError:
    """The complaint about a column of dates or times."""
    return ValueError(
        f"Column {name!r} holds dates or times; derive numbers or categories from it (year, weekday, days since ...)."
    )


def is_missing(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, numbers.Number) and bool(cell != cell)
