"""How databases write names, texts and truth values: what differs between the dialects of SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

DialectName = Literal["ansi", "postgres", "sqlite", "duckdb", "mysql", "bigquery", "snowflake", "tsql"]


@dataclass(frozen=True)
class Dialect:
    """How one database writes what is in a model.

    Attributes
    ----------
    name : callable
        A column or table, quoted.
    text : callable
        A text as a literal.
    true, false : str
        Truth values; numbers where a column could take the place of a keyword, or where there are no keywords.
    text_type, number_type : str
        What texts and floating-point numbers are called.
    has_dates : bool
        Whether dates are compared and taken apart as the standard says, with ISODOW for the day of the week.
    """

    name: Callable[[str], str]
    text: Callable[[str], str]
    true: str = "TRUE"
    false: str = "FALSE"
    text_type: str = "VARCHAR"
    number_type: str = "DOUBLE PRECISION"
    has_dates: bool = False


def find_dialect(name: DialectName) -> Dialect:
    """The dialect of a database.

    Examples
    --------
    >>> find_dialect("mysql").text("it's a \\\\")
    "'it''s a \\\\\\\\'"
    >>> find_dialect("tsql").name("a]b")
    '[a]]b]'
    """
    if name not in get_args(DialectName):
        known = ", ".join(map(repr, get_args(DialectName)))
        raise ValueError(f"dialect={name!r} is not known; use one of {known}.")
    return _DIALECTS[name]


def _quoted(text: str) -> str:
    return '"' + _whole(text).replace('"', '""') + '"'


def _ticked(text: str) -> str:
    return "`" + _whole(text).replace("`", "``") + "`"


def _bracketed(text: str) -> str:
    return "[" + _whole(text).replace("]", "]]") + "]"


def _ticked_with_backslashes(text: str) -> str:
    return "`" + _escaped(text).replace("`", "\\`") + "`"


def _standard(text: str) -> str:
    return "'" + _whole(text).replace("'", "''") + "'"


def _postgres(text: str) -> str:
    # Whether a plain literal knows backslashes is a setting of the server; an E'' literal always does.
    return "E" + _with_backslashes(text) if "\\" in text else _standard(text)


def _with_backslashes(text: str) -> str:
    return _standard(text.replace("\\", "\\\\"))


def _bigquery(text: str) -> str:
    return "'" + _escaped(text).replace("'", "\\'") + "'"


def _tsql(text: str) -> str:
    # A backslash at the end of a line joins it with the next one, so no literal has both.
    parts = _whole(text).replace("\\\r\n", "\\\0\r\n").replace("\\\n", "\\\0\n").split("\0")
    return " + ".join("N" + _standard(part) for part in parts)


def _escaped(text: str) -> str:
    """For literals within one line."""
    return _whole(text).replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")


def _whole(text: str) -> str:
    if "\0" in text:
        raise ValueError(f"{text!r} has a zero character, at which databases end a text; rename it.")
    return text


_DIALECTS: dict[str, Dialect] = {
    "ansi": Dialect(_quoted, _standard, has_dates=True),
    "postgres": Dialect(_quoted, _postgres, has_dates=True),
    "sqlite": Dialect(_quoted, _standard, "1", "0", text_type="TEXT", number_type="REAL"),
    "duckdb": Dialect(_quoted, _standard, number_type="DOUBLE", has_dates=True),
    "mysql": Dialect(_ticked, _with_backslashes, text_type="CHAR", number_type="DOUBLE"),
    "bigquery": Dialect(_ticked_with_backslashes, _bigquery, text_type="STRING", number_type="FLOAT64"),
    "snowflake": Dialect(_quoted, _with_backslashes, number_type="DOUBLE"),
    "tsql": Dialect(_bracketed, _tsql, "1", "0", text_type="NVARCHAR(4000)", number_type="FLOAT"),
}
