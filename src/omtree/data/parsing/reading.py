"""How each column of a training table is read, so that new rows are read the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from omtree.data.column import Column
from omtree.data.parsing.missing import mean_no_number, missing_words
from omtree.data.parsing.moments import WEEKDAYS, MomentFormat, Part, part_of
from omtree.data.parsing.number_texts import Decimal, NumberFormat

How = Literal["given", "number", "moment", "left out"]


@dataclass(frozen=True)
class Reading:
    """How texts in a table are to be understood; what is None is found out from the table.

    Attributes
    ----------
    decimal : {".", ","} or None
        The sign before fractions in numbers that are texts.
    day_first : bool or None
        Whether 1/2/2024 is the first of February; by default so, unless some month would be above 12.
    missing : tuple of str
        Texts that mean missing besides the usual ones (``NA``, ``?``, ``n/a``, ``nan``, ``None``, ``.``, ``-``).
    guess : bool
        False takes texts as they are, splits no dates and leaves no column out.

    Examples
    --------
    >>> Reading(decimal=",", missing=("unknown",))
    Reading(decimal=',', day_first=None, missing=('unknown',), guess=True)
    """

    decimal: Decimal | None = None
    day_first: bool | None = None
    missing: tuple[str, ...] = ()
    guess: bool = True

    def __post_init__(self) -> None:
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal={self.decimal!r} is not possible; use '.', ',' or None.")
        object.__setattr__(self, "missing", tuple(self.missing))


@dataclass(frozen=True)
class ColumnReading:
    """How one column is read.

    Attributes
    ----------
    name : str
    how : {"given", "number", "moment", "left out"}
        By its type or the user's choice; texts as numbers; as dates or times; not at all.
    choice : str, tuple or None
        The kind, or the levels, that the user gave.
    words : {"none", "letters", "all"}
        Which texts mean missing: none, only those with letters (and the empty one), or signs such as ``-`` as well.
    missing : tuple of str
        Texts that mean missing besides.
    number : NumberFormat or None
        How the numbers of a text column are written.
    moment : MomentFormat or None
        How the dates of a text column are written.
    parts : tuple of str
        The parts of a date that are columns of their own beside it.
    notes : tuple of str
        What a person should know about it.
    """

    name: str
    how: How = "given"
    choice: Any = None
    words: Literal["none", "letters", "all"] = "none"
    missing: tuple[str, ...] = ()
    number: NumberFormat | None = None
    moment: MomentFormat | None = None
    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that it gives."""
        if self.how == "left out":
            return ()
        return (self.name, *(f"{part} of {self.name}" for part in self.parts))

    def columns(self, raw: Column) -> list[Column]:
        """What a column as its type says it, of training or of new rows, is read as.

        Parameters
        ----------
        raw : Column
        """
        if self.how == "left out":
            return []
        if self.how == "given":
            return [self._present(raw)]
        if self.how == "number":
            return [self._numbers(raw)]
        whole = self._moments(raw)
        return [whole, *(_part(whole, part) for part in self.parts)]

    def is_missing(self, texts: Sequence[str]) -> frozenset[str]:
        """Those of the texts that mean missing."""
        if self.words == "none":
            return frozenset()
        known = missing_words(texts, self.missing, signs=self.words == "all")
        return known | mean_no_number(texts) if self.how in ("number", "moment") else known

    def _present(self, raw: Column) -> Column:
        """The column with texts that mean missing as missing cells."""
        if raw.levels is None or self.words == "none":
            return raw
        texts = [level for level in raw.levels if isinstance(level, str)]
        absent = self.is_missing(texts)
        if not absent:
            return raw
        kept = [level not in absent for level in raw.levels]
        levels = tuple(level for level, keep in zip(raw.levels, kept, strict=True) if keep)
        if not levels:
            return Column(raw.name, "numeric", np.full(len(raw.values), np.nan), True)
        # The last entry is the one that position -1, a missing cell, refers to.
        places = np.array([*np.where(kept, np.cumsum(kept) - 1, -1), -1], dtype=np.int32)
        return replace(raw, values=places[raw.values], has_missing=True, levels=levels)

    def _numbers(self, raw: Column) -> Column:
        assert self.number is not None
        return self._parsed(raw, self.number, "numbers")

    def _moments(self, raw: Column) -> Column:
        if raw.levels is None:
            if not raw.unit and not np.isnan(raw.values).all():
                raise ValueError(
                    f"Column {self.name!r} held dates or times in training and holds numbers now; give dates."
                )
            return raw
        moment = self.moment or MomentFormat("iso")
        return replace(self._parsed(raw, moment, "dates or times"), unit=moment.unit)

    def _parsed(self, raw: Column, format: NumberFormat | MomentFormat, what: str) -> Column:
        """The column as the numbers behind its levels."""
        column = self._present(raw)
        if column.levels is None:
            return column
        texts = [level if isinstance(level, str) else str(level) for level in column.levels]
        values = format.parse(texts)
        odd = np.flatnonzero(np.isnan(values))
        if len(odd):
            used = set(np.unique(column.values).tolist())
            for place in odd.tolist():
                if place in used:
                    raise ValueError(
                        f"Column {self.name!r} held {what} in training, but has the cell {texts[place]!r} here; "
                        "correct it, or leave it empty where the value is missing."
                    )
        return Column(self.name, "numeric", np.append(values, np.nan)[column.values], column.has_missing)


def _part(moments: Column, part: Part) -> Column:
    """A part of dates as a column of its own."""
    values = part_of(moments.values, part)
    name = f"{part} of {moments.name}"
    if part != "weekday":
        return Column(name, "numeric", values, moments.has_missing)
    places = np.where(np.isnan(values), -1, values).astype(np.int32)
    return Column(name, "ordinal", places, moments.has_missing, WEEKDAYS)


def part_parents(readings: Sequence[ColumnReading]) -> Mapping[str, tuple[ColumnReading, Part | None]]:
    """The reading behind the name of every column that is read, and which part of it that is."""
    return {
        name: (reading, None if place == 0 else reading.parts[place - 1])
        for reading in readings
        for place, name in enumerate(reading.names)
    }
