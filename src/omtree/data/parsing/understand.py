"""Training tables: what their texts mean, and which columns to leave out; new rows: the same again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from omtree.data.column import Column, Columns
from omtree.data.columns import RawColumns, raw_columns
from omtree.data.kind_choices import KindChoice, as_kind, kind_choices
from omtree.data.parsing.ids import names_its_rows
from omtree.data.parsing.missing import mean_no_number, missing_words, signs_are_values
from omtree.data.parsing.moments import MomentFormat, Part, find_moments, part_of
from omtree.data.parsing.number_texts import Decimal, NumberFormat, NumberFormats, find_formats
from omtree.data.parsing.reading import ColumnReading, Reading

_PARTS: tuple[Part, ...] = ("year", "month", "weekday", "hour")
#: A column this much of which is numbers probably was meant to be one.
_NEARLY = 0.9
#: So many different cells are looked at to find out whether a column nearly is one of numbers.
_SOME = 1000


def understand(
    X: Any, feature_kinds: Mapping[Any, KindChoice] | None = None, reading: Reading | None = None
) -> Columns:
    """Read the columns of a training table, texts as what they mean.

    Texts that are all numbers, in one of the ways people write them, become numbers; dates and timestamps become the
    date and its year, month, weekday and hour, as far as they differ; times of day hours. Columns that name or count
    their rows are left out. A column in `feature_kinds` is what that says.

    Parameters
    ----------
    X : array, list of rows, or pandas, polars or pyarrow data frame
    feature_kinds : mapping, optional
        As in `read_columns`.
    reading : Reading, optional
        What is known about the texts.

    Examples
    --------
    >>> columns = understand([["1,5", "red"], ["2,25", "?"]])
    >>> columns.kinds, columns[0].values.tolist(), columns[1].has_missing
    (('numeric', 'nominal'), [1.5, 2.25], True)
    """
    raw = raw_columns(X)
    choices = kind_choices(feature_kinds, raw.labels)
    readings = _readings(raw, choices, reading or Reading())
    made = [_columns(each, column, training=True) for each, column in zip(readings, raw.columns, strict=True)]
    if reading is None or reading.guess:
        readings, made = _without_ids(readings, made, choices, raw.named)
    return Columns(tuple(column for each in made for column in each), raw.n_samples, readings=tuple(readings))


def read_again(X: Any, readings: Sequence[ColumnReading], asked: Collection[int], *, by_name: bool = True) -> Columns:
    """Read new rows as the training rows were read.

    Parameters
    ----------
    X : array, list of rows, data frame, or one row as a mapping of cells or a pandas series
    readings : sequence of ColumnReading
        One for every column of the training table.
    asked : collection of int
        Positions, among `readings`, of the columns that are needed; the others are left empty.
    by_name : bool
        Whether columns are found by the names of the readings, or by their positions.
    """
    if by_name:
        raw = raw_columns(X, {readings[place].name for place in asked})
        found = {column.name: column for column in raw.columns}
    else:
        raw = raw_columns(X)
        found = {reading.name: column for reading, column in zip(readings, raw.columns, strict=True)}
    columns: list[Column] = []
    for place, reading in enumerate(readings):
        if place in asked:
            columns += _columns(reading, found[reading.name], training=False)
        else:
            columns += [Column(name, "numeric", np.empty(0), False) for name in reading.names]
    return Columns(tuple(columns), raw.n_samples, readings=tuple(readings))


def given_readings(names: Sequence[str], feature_kinds: Mapping[Any, KindChoice] | None) -> tuple[ColumnReading, ...]:
    """Readings of columns that are what their types, or the user, say."""
    choices = kind_choices(feature_kinds, names)
    return tuple(ColumnReading(name, choice=_fixed(choices.get(place))) for place, name in enumerate(names))


def _columns(reading: ColumnReading, raw: Column, *, training: bool) -> list[Column]:
    # Texts that are to be numbers may be written as people write them.
    if reading.choice is None or reading.how in ("number", "moment"):
        return reading.columns(raw)
    return [as_kind(raw, reading.choice, training)]


def _readings(raw: RawColumns, choices: Mapping[int, KindChoice], wanted: Reading) -> list[ColumnReading]:
    """How to read each column."""
    formats: dict[int, NumberFormats] = {}
    texts: dict[int, list[str]] = {}
    words: dict[int, frozenset[str]] = {}
    signs: dict[int, bool] = {}
    besides: dict[int, tuple[str, ...]] = {}
    for position, column in enumerate(raw.columns):
        if not _is_text(column) or (position in choices and choices[position] != "numeric"):
            continue
        if position not in choices and not wanted.guess:
            continue
        assert column.levels is not None
        signs[position] = not signs_are_values(column.levels)
        words[position] = missing_words(column.levels, wanted.missing, signs=signs[position])
        texts[position] = [level for level in column.levels if level not in words[position]]
        formats[position] = find_formats(texts[position])
        if not formats[position].formats:
            # Words that mean missing where all others are numbers or dates; elsewhere they are values.
            absent = mean_no_number(texts[position])
            others = [text for text in texts[position] if text not in absent]
            if absent and others and (find_formats(others).formats or find_moments(others, wanted.day_first)):
                words[position] |= absent
                besides[position] = tuple(sorted({text.strip() for text in absent}))
                texts[position], formats[position] = others, find_formats(others)
    decimal = wanted.decimal or _common_decimal(formats.values())
    readings = []
    for position, column in enumerate(raw.columns):
        choice = choices.get(position)
        if position not in texts:
            reading = ColumnReading(column.name, choice=_fixed(choice))
            if column.unit and choice in (None, "numeric"):
                typed = MomentFormat("%H:%M:%S", "time") if column.unit == "time" else None
                reading = replace(reading, how="moment", moment=typed)
                if column.unit == "date" and choice is None and wanted.guess:
                    reading = _split(reading, column)
            readings.append(reading)
            continue
        if choice is not None and decimal is None and not formats[position].formats:
            readings.append(ColumnReading(column.name, choice=choice))  # what is no number is named by `as_kind`
            continue
        known = ColumnReading(
            column.name,
            choice=_fixed(choice),
            words="all" if signs[position] else "letters",
            missing=(*wanted.missing, *besides.get(position, ())),
            notes=_missing_note(column, words[position]),
        )
        readings.append(_of_texts(known, column, texts[position], formats[position], decimal, wanted))
    return readings


def _of_texts(
    known: ColumnReading,
    column: Column,
    texts: list[str],
    formats: NumberFormats,
    decimal: Decimal | None,
    wanted: Reading,
) -> ColumnReading:
    """How to read a column of texts."""
    if not texts:
        return known
    number = formats.with_decimal(decimal) or formats.with_decimal(wanted.decimal)
    if number is not None:
        return replace(
            known,
            how="number",
            number=number,
            notes=(*known.notes, *_number_note(known.name, number, formats, sure=wanted.decimal is not None)),
        )
    found = find_moments(texts, wanted.day_first) if known.choice is None else None
    if found is None:
        return replace(known, notes=(*known.notes, *_nearly_note(known.name, column, texts, decimal)))
    moment, unclear = found
    reading = replace(known, how="moment", moment=moment)
    order = "; where it is month before day, say so with day_first=False" if unclear else ""
    if moment.unit == "time":
        return replace(reading, notes=(*known.notes, f"column {known.name!r} is read as times of day, in hours"))
    return _split(reading, reading.columns(column)[0], f" ({moment}{order})")


def _split(reading: ColumnReading, dates: Column, written: str = "") -> ColumnReading:
    """The reading with those parts of the dates that differ between rows."""
    parts = []
    for part in _PARTS:
        values = part_of(dates.values, part)
        present = values[~np.isnan(values)]
        if len(present) and present.min() < present.max():
            parts.append(part)
    said = f"column {dates.name!r} is read as a date{written}" + (f", and as its {_and(parts)}" if parts else "")
    return replace(reading, parts=tuple(parts), notes=(*reading.notes, said))


def _without_ids(
    readings: list[ColumnReading], made: list[list[Column]], choices: Mapping[int, KindChoice], named: bool
) -> tuple[list[ColumnReading], list[list[Column]]]:
    """Leave out the columns that name or count their rows, unless nothing would be left."""
    reasons = {}
    for position, columns in enumerate(made):
        if position in choices or not columns or not (named or columns[0].levels is not None):
            continue
        number = readings[position].number
        reason = names_its_rows(columns[0]) if number is None or number.is_plain else ""
        if reason:
            reasons[position] = reason
    if len(reasons) == len(readings):
        return readings, made
    for position, reason in reasons.items():
        name = readings[position].name
        kind = made[position][0].kind
        said = f"column {name!r} is left out: {reason}; keep it with feature_kinds={{{name!r}: {kind!r}}}"
        # How numbers were read does not matter any more; why a column is text does.
        before = () if readings[position].how == "number" else readings[position].notes
        readings[position] = ColumnReading(name, how="left out", notes=(*before, said))
        made[position] = []
    return readings, made


def _common_decimal(formats: Collection[NumberFormats]) -> Decimal | None:
    """The sign before fractions that all columns agree on where they can be read in one way only."""
    signs = {each.only_decimal for each in formats if any(not one.is_plain for one in each.formats)} - {None}
    return signs.pop() if len(signs) == 1 else None


def _is_text(column: Column) -> bool:
    return (
        column.kind == "nominal" and column.levels is not None and all(isinstance(each, str) for each in column.levels)
    )


def _fixed(choice: KindChoice | None) -> Any:
    return choice if choice is None or isinstance(choice, str) else tuple(choice)


def _missing_note(column: Column, words: Collection[str]) -> tuple[str, ...]:
    shown = sorted(word for word in words if word.strip())
    if not shown:
        return ()
    named = ", ".join(map(repr, shown[:3])) + " and more" if len(shown) > 3 else _and(list(map(repr, shown)))
    return (f"column {column.name!r}: {named} {'means' if len(shown) == 1 else 'mean'} missing",)


def _number_note(name: str, number: NumberFormat, formats: NumberFormats, *, sure: bool) -> tuple[str, ...]:
    if number.is_plain:
        return (f"column {name!r} holds numbers as text and is read as numbers",)
    other = ""
    if formats.only_decimal is None and not sure:
        sign = "," if number.decimal == "." else "."
        other = f"; if that is wrong, say so with decimal={sign!r}"
    return (f"column {name!r} is read as numbers with {number}{other}",)


def _nearly_note(name: str, column: Column, texts: list[str], decimal: Decimal | None) -> tuple[str, ...]:
    """What keeps a column from being one of numbers, where that is but a few cells."""
    some = texts[:: max(1, len(texts) // _SOME)]
    numbers = NumberFormat(decimal or ".").parse(some)
    odd = [text for text, number in zip(some, numbers.tolist(), strict=True) if number != number]
    if not odd or len(odd) > (1 - _NEARLY) * len(some):
        return ()
    return (
        f"column {name!r} is read as text because of cells such as {odd[0]!r}; "
        f"if that means missing, say so with missing=[{odd[0]!r}]",
    )


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
