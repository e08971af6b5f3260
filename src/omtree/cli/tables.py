"""Tables from files: CSV (also compressed by gzip), Parquet, Arrow and Feather, or standard input.

What a file is, its first bytes say, not its name. In CSV a column is numeric when all its cells are numbers, except
that codes with leading zeros (``00123``) stay text; everything else is text; an empty cell is missing. Typed files keep
their types. Dates are refused by name: a tree cannot cut them in a way a person would want.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import re
import sys
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from omtree.data.cells import DATE, DELIMITERS, LEADING_ZERO, NUMBER

#: What the cells of a column are to be read as.
CellType = Literal["number", "text", "flag"]

_WHOLE = r"^\s*[+-]?\d{1,18}\s*$"
#: A column this much of which is numbers probably was meant to be one.
_NEARLY = 0.9


class Notes(list[str]):
    """What a person should know about how their data was read."""


def read_table(
    path: str,
    *,
    delimiter: str | None = None,
    missing: Sequence[str] = (),
    types: Mapping[str, CellType] | None = None,
    drop: Collection[str] = (),
    notes: Notes | None = None,
) -> pa.Table:
    """Read a table.

    Parameters
    ----------
    path : str
        A file, or ``-`` for standard input.
    delimiter : str, optional
        Of a CSV file; by default the most frequent of comma, semicolon, tab and bar in its header.
    missing : sequence of str
        Cells that mean missing in a CSV file, besides the empty one.
    types : mapping, optional
        What the columns of a CSV file are to be read as, where that is known.
    drop : collection of str
        Columns to leave out.
    notes : Notes, optional
        Where remarks on the data are put.

    Raises
    ------
    ValueError
        When it is no table, or one that makes no sense.
    OSError
        When the file cannot be read.
    """
    name = "standard input" if path == "-" else path
    content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            raise ValueError(f"{name} is a damaged gzip file.") from None
    if not content.strip():
        raise ValueError(f"{name} is empty.")
    typed = _typed_table(content, name)
    table = typed if typed is not None else _text_table(content, name, delimiter, missing)
    _check_names(table.column_names, name)
    if table.num_rows == 0:
        raise ValueError(f"{name} has a header but no rows.")
    unknown = [column for column in drop if column not in table.column_names]
    if unknown:
        raise ValueError(f"{name} has no column {unknown[0]!r} to drop{suggest(unknown[0], table.column_names)}.")
    table = table.drop_columns([column for column in table.column_names if column in drop])
    columns = {}
    for column in table.column_names:
        cells = table[column]
        if typed is None:
            cells = _interpret(column, cells, (types or {}).get(column), name, notes)
        columns[column] = _plain_type(column, cells)
    return pa.table(columns)


def suggest(name: str, known: Iterable[str]) -> str:
    """A remark on the known name that was probably meant."""
    by_lower = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    if near:
        return f"; the nearest name is {by_lower[near[0]]!r}"
    shown = ", ".join(map(repr, list(by_lower.values())[:8]))
    return f"; it has {shown}{' and more' if len(by_lower) > 8 else ''}"


def _typed_table(content: bytes, name: str) -> pa.Table | None:
    """The table in a Parquet, Feather or Arrow file; None when it is none of them."""
    try:
        if content[:4] == b"PAR1":
            return pyarrow.parquet.read_table(pa.BufferReader(content))
        if content[:6] == b"ARROW1" or content[:4] == b"FEA1":
            return pyarrow.feather.read_table(pa.BufferReader(content))
        if content[:4] == b"\xff\xff\xff\xff":
            return pa.ipc.open_stream(content).read_all()
    except (pa.ArrowException, OSError):
        raise ValueError(f"{name} looks like Parquet or Arrow but is damaged.") from None
    return None


def _text_table(content: bytes, name: str, delimiter: str | None, missing: Sequence[str]) -> pa.Table:
    """A CSV file with every cell as text."""
    if b"\x00" in content[:65536]:
        raise ValueError(f"{name} is not a table: it is neither CSV in UTF-8, nor Parquet, nor Arrow.")
    header = content[: 1 << 20].decode("utf-8-sig", errors="replace")
    if delimiter is None:
        first_line = header.splitlines()[0] if header.splitlines() else ""
        delimiter = max(DELIMITERS, key=first_line.count)
    elif len(delimiter) != 1:
        raise ValueError(f"--delimiter {delimiter!r} is not one character.")
    names = next((row for row in csv.reader(io.StringIO(header), delimiter=delimiter) if row), [])
    _check_names(names, name)
    convert = pyarrow.csv.ConvertOptions(
        column_types={column: pa.string() for column in names},
        strings_can_be_null=True,
        null_values=["", *missing],
    )
    parse = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in content)
    for threads in (True, False):
        try:
            return pyarrow.csv.read_csv(
                pa.BufferReader(content),
                read_options=pyarrow.csv.ReadOptions(use_threads=threads),
                parse_options=parse,
                convert_options=convert,
            )
        except pa.ArrowInvalid as error:
            # Only one thread alone knows the number of the row.
            if not threads:
                raise ValueError(_csv_fault(str(error), name)) from None
    raise AssertionError("one of the two reads returns or raises")


def _csv_fault(error: str, name: str) -> str:
    ragged = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", error)
    if ragged:
        row, wanted, got = ragged.groups()
        cells = "1 cell" if got == "1" else f"{got} cells"
        return f"{name}: line {row} has {cells}, but the header has {wanted} names."
    if "invalid UTF8" in error:
        return f"{name} is not UTF-8 text; save it as UTF-8 (or as Parquet)."
    return f"{name} cannot be read as CSV: {error.splitlines()[0].removeprefix('CSV parse error: ')}."


def _check_names(names: Sequence[str], name: str) -> None:
    for column, times in Counter(names).items():
        if times > 1:
            raise ValueError(f"{name} has {times} columns named {column!r}; give each its own name.")
    if "" in names:
        raise ValueError(f"{name} has a column without a name (number {list(names).index('') + 1}); give it one.")


def _interpret(
    column: str, cells: pa.ChunkedArray, wanted: CellType | None, name: str, notes: Notes | None
) -> pa.ChunkedArray:
    """A column of texts as what it is, or is wanted to be."""
    if wanted == "text":
        return cells
    present = cells.drop_null()
    if not len(present):
        return cells.cast(pa.float64())
    if wanted == "flag":
        return _flags(column, cells, name)
    is_number = pc.match_substring_regex(present, NUMBER)
    n_numbers = pc.sum(is_number).as_py() or 0
    if wanted == "number":
        if n_numbers < len(present):
            odd = present.filter(pc.invert(is_number))[0].as_py()
            raise ValueError(f"{name}: column {column!r} was numeric in training, but has the cell {odd!r} here.")
        return _numbers(cells, present)
    if n_numbers == len(present):
        codes = pc.any(pc.match_substring_regex(present, LEADING_ZERO)).as_py()
        return cells if codes else _numbers(cells, present)
    if pc.all(pc.match_substring_regex(present, DATE)).as_py():
        raise _date_error(column)
    if notes is not None and n_numbers >= _NEARLY * len(present):
        odd = present.filter(pc.invert(is_number))[0].as_py()
        few = len(present) - n_numbers
        notes.append(
            f"column {column!r} is read as text because of {few} of its cells, such as {odd!r}; "
            f"if that means missing, add --missing {odd!r}"
        )
    return cells


def _numbers(cells: pa.ChunkedArray, present: pa.ChunkedArray) -> pa.ChunkedArray:
    bare = pc.replace_substring_regex(pc.utf8_trim_whitespace(cells), r"^\+", "")
    whole = pc.all(pc.match_substring_regex(present, _WHOLE)).as_py()
    return bare.cast(pa.int64() if whole else pa.float64())


def _flags(column: str, cells: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    lower = pc.utf8_lower(cells)
    known = pc.is_in(lower, pa.array(["true", "false", "1", "0", None]))
    if not pc.all(known).as_py():
        odd = cells.filter(pc.invert(known))[0].as_py()
        raise ValueError(f"{name}: column {column!r} was true or false in training, but has the cell {odd!r} here.")
    true = pc.is_in(lower, pa.array(["true", "1"]))
    return pc.if_else(pc.is_null(lower), pa.scalar(None, pa.bool_()), true)


def _plain_type(column: str, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in a type that a model takes."""
    kind = cells.type
    if pa.types.is_temporal(kind):
        raise _date_error(column)
    if pa.types.is_decimal(kind):
        return cells.cast(pa.float64())
    if pa.types.is_null(kind):
        return cells.cast(pa.float64())
    return cells


def _date_error(column: str) -> ValueError:
    return ValueError(
        f"Column {column!r} holds dates; leave it out with --drop {column!r}, "
        "or put numbers in its place (year, weekday, days since ...)."
    )


def column_of(table: pa.Table, column: str, what: str, name: str) -> pa.ChunkedArray:
    """One column of the table, by name.

    Parameters
    ----------
    table : pyarrow.Table
    column : str
    what : str
        What the column is for, in an error.
    name : str
        Where the table is from, in an error.
    """
    if column not in table.column_names:
        raise ValueError(f"{name} has no column {column!r} for {what}{suggest(column, table.column_names)}.")
    return table[column]


def target_values(cells: pa.ChunkedArray, column: str) -> Any:
    """The target as an array; an error when cells are missing."""
    if cells.null_count:
        where = pc.index(pc.is_null(cells), True).as_py() + 1
        count = "1 missing cell" if cells.null_count == 1 else f"{cells.null_count} missing cells"
        raise ValueError(
            f"The target {column!r} has {count}, the first in row {where}; drop those rows or fill them in."
        )
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    return cells.to_numpy()
