"""How a text file is laid out: what stands between cells, and on which line the names of the columns are."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass

from omtree.data.cells import DELIMITERS

#: So many lines are looked at.
_FIRST = 60


@dataclass(frozen=True)
class Layout:
    """The layout of a text file.

    Attributes
    ----------
    delimiter : str
    skipped : int
        Lines above the header.
    names : list of str
        The cells of the header.
    unnamed_first : bool
        Whether every row has one more cell than the header, in front: the rows are numbered or named.
    """

    delimiter: str
    skipped: int
    names: list[str]
    unnamed_first: bool


def find_layout(text: str, delimiter: str | None, name: str) -> Layout:
    """The layout of a text file.

    A header is the first line with as many cells as most lines; one cell less where rows have names. A spreadsheet pads
    a title with empty cells: a line of one cell, or none, is above the header where a line of names follows.

    Parameters
    ----------
    text : str
    delimiter : str, optional
        Where it is known.
    name : str
        Of the file, in an error.

    Examples
    --------
    >>> find_layout("Patients in 2024\\n\\nage;sex\\n18;f\\n35;m\\n", None, "p.csv")
    Layout(delimiter=';', skipped=2, names=['age', 'sex'], unnamed_first=False)
    """
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(f"--delimiter {delimiter!r} is not one character.")
    lines = text[: 1 << 20].splitlines(keepends=True)
    start = "".join(lines[:_FIRST])
    if delimiter is None:
        delimiter = max(DELIMITERS, key=lambda sign: _regularity(start, sign))
    counts = [len(row) for row in _rows(start, delimiter)]
    usual = Counter(count for count in counts if count).most_common(1)[0][0] if any(counts) else 1
    # The line of a header is found among lines, since a name may hold a line break.
    for place in range(min(len(lines), _FIRST)):
        rows = _rows("".join(lines[place:_FIRST]), delimiter)
        first = rows[0] if rows else []
        if not first or (len(first) < usual - 1) or (len(first) < usual and usual == 2):
            continue
        if _is_padded_title(first) and _names_follow(rows[1:]):
            continue
        below = [len(row) for row in rows[1:] if row]
        if len(first) == usual - 1 and place > 0:
            continue
        if place > 0 and sum(count == len(first) for count in below) < 0.9 * len(below):
            break  # not a title above a table, but lines of different lengths
        return Layout(delimiter, place, first, len(first) == usual - 1 and set(below) == {usual})
    return Layout(delimiter, 0, next((row for row in _rows(start, delimiter) if row), []), False)


def _is_padded_title(row: list[str]) -> bool:
    """Whether all cells but one, at most, are empty.

    >>> _is_padded_title(["Customers", "", ""]), _is_padded_title(["age", "sex", ""]), _is_padded_title(["", ""])
    (True, False, True)
    """
    filled = sum(bool(cell.strip()) for cell in row)
    return filled == 0 or (filled == 1 and len(row) > 2)


def _names_follow(rows: list[list[str]]) -> bool:
    """Whether the first line that is no padded title has different names, none of them with a digit in front."""
    row = next((row for row in rows if row and not _is_padded_title(row)), [])
    names = [cell.strip() for cell in row if cell.strip()]
    return len(names) > 1 and len(set(names)) == len(names) and not any(name[:1].isdigit() for name in names)


def _rows(text: str, delimiter: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        return []


def _regularity(text: str, delimiter: str) -> tuple[float, int]:
    """How many of the lines have the usual number of cells, where that is more than one, and that number."""
    counts = [len(row) for row in _rows(text, delimiter) if row]
    several = [count for count in counts if count > 1]
    if not several:
        return 0.0, 0
    usual, times = Counter(several).most_common(1)[0]
    # A header of names alone decides where all else is equal: decimal commas are as regular as delimiters.
    head = counts[0] > 1
    return times / len(counts) + (0.5 if head else 0.0), usual
