"""Cells in SQL as the model reads them: texts that mean missing, numbers and dates in texts, parts of dates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from omtree.data.clock import show_moment
from omtree.data.parsing.missing import MISSING_WORDS
from omtree.data.parsing.moments import WEEKDAYS, Part
from omtree.data.parsing.number_texts import NumberFormat
from omtree.data.parsing.reading import ColumnReading
from omtree.data.table import Feature
from omtree.export.sql_dialects import Dialect

#: Signs that are written in several ways.
_SAME_SIGN = {" ": (" ", "\u00a0", "\u202f", "\u2009"), "'": ("'", "’")}
_FIELDS = {"year": "YEAR", "month": "MONTH", "weekday": "ISODOW", "hour": "HOUR"}


class Cells:
    """Writes the cells of features, and what they are compared with.

    Parameters
    ----------
    dialect : Dialect
    sources : mapping
        How the column behind the name of a feature is read, and which part of a date it is.
    value : callable
        Writes a plain value.
    """

    def __init__(
        self,
        dialect: Dialect,
        sources: Mapping[str, tuple[ColumnReading, Part | None]],
        value: Callable[[Any], str],
    ) -> None:
        self._dialect = dialect
        self._sources = sources
        self._value = value

    def cell(self, feature: Feature) -> str:
        """The cell of a feature, as a number, date, time or text."""
        reading, part = self._sources[feature.name]
        column = self._dialect.name(reading.name)
        if reading.how == "number" and reading.number is not None:
            return self._number(column, reading, reading.number)
        if reading.how != "moment":
            return column
        self._check_dates(reading)
        kind = "TIME" if feature.unit == "time" else "TIMESTAMP"
        moment = f"CAST({self._present(column, reading, column)} AS {kind})"
        return moment if part is None else f"EXTRACT({_FIELDS[part]} FROM {moment})"

    def is_missing(self, feature: Feature) -> str:
        """Whether the cell of a feature is missing."""
        reading, _ = self._sources[feature.name]
        cell = self.cell(feature)
        if reading.how != "given" or reading.words == "none" or feature.levels is None:
            return f"{cell} IS NULL"
        return f"{cell} IS NULL OR {self._bare(cell)} IN ({self._words(reading)})"

    def literal(self, feature: Feature, value: Any) -> str:
        """A threshold or level of a feature."""
        if feature.unit == "date":
            text = show_moment(value, "date")
            return f"TIMESTAMP '{text}{'' if ':' in text else ' 00:00:00'}'"
        if feature.unit == "time":
            return f"TIME '{show_moment(value, 'time')}'"
        if self._sources[feature.name][1] == "weekday":
            return str(WEEKDAYS.index(value) + 1)
        return self._value(value)

    def _check_dates(self, reading: ColumnReading) -> None:
        if not self._dialect.has_dates:
            raise ValueError(
                f"The model asks about dates in the column {reading.name!r}, which is written for the dialects 'ansi', "
                "'postgres' and 'duckdb' only; use one of these, or to_python."
            )
        if reading.moment is not None and reading.moment.pattern not in ("iso", "%H:%M", "%H:%M:%S"):
            raise ValueError(
                f"The column {reading.name!r} holds dates as text ({reading.moment}), which every database reads in "
                "its own way; make it a column of dates, fit to that, and export again."
            )

    def _bare(self, column: str) -> str:
        return f"TRIM(CAST({column} AS {self._dialect.text_type}))"

    def _words(self, reading: ColumnReading) -> str:
        return ", ".join(map(self._value, sorted(reading.is_missing([*MISSING_WORDS, *reading.missing]))))

    def _present(self, column: str, reading: ColumnReading, text: str) -> str:
        """The text, or NULL where the column means missing."""
        if reading.words == "none":
            return text
        return f"CASE WHEN {self._bare(column)} NOT IN ({self._words(reading)}) THEN {text} END"

    def _number(self, column: str, reading: ColumnReading, form: NumberFormat) -> str:
        """A text as the number that it is."""
        text = self._bare(column)
        removed = [form.unit, *_SAME_SIGN.get(form.thousands, (form.thousands,))]
        if form.unit and form.thousands != " ":
            removed += _SAME_SIGN[" "]
        for sign in filter(None, removed):
            text = f"REPLACE({text}, {self._value(sign)}, '')"
        if form.decimal == ",":
            text = f"REPLACE({text}, ',', '.')"
        return f"CAST({self._present(column, reading, text)} AS {self._dialect.number_type})"
