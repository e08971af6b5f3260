"""Tables from files: CSV and other delimited text, Parquet, Arrow and Feather, Excel, JSON; or standard input.

What a file is, its first bytes say, not its name. A column of text in which all cells are plain numbers is numeric,
except for codes with leading zeros (``00123``); an empty cell is missing. What other texts mean, numbers with decimal
commas and dates among them, is found out by the fit. Typed files keep their types.
"""

from __future__ import annotations

import difflib
import glob
import gzip
import json
import os
import re
import sys
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from omtree.cli.encodings import decode
from omtree.cli.layout import Layout, find_layout
from omtree.cli.notes import Notes
from omtree.data.cells import LEADING_ZERO, NUMBER
from omtree.data.parsing.number_texts import Decimal, find_formats

_WHOLE = r"^\s*[+-]?\d{1,18}\s*$"


@dataclass(frozen=True)
class FileOptions:
    """What is known about a text file; the rest is found.

    Attributes
    ----------
    delimiter : str or None
    missing : tuple of str
        Cells that mean missing, besides the usual ones.
    encoding : str or None
    decimal : {".", ","} or None
        The sign before fractions.
    """

    delimiter: str | None = None
    missing: tuple[str, ...] = ()
    encoding: str | None = None
    decimal: Decimal | None = None


def read_table(
    path: str,
    options: FileOptions | None = None,
    *,
    as_text: Collection[str] = (),
    drop: Collection[str] = (),
    notes: Notes | None = None,
) -> pa.Table:
    """Read a table.

    Parameters
    ----------
    path : str
        A file, a folder or pattern of files with the same columns, or ``-`` for standard input.
    options : FileOptions, optional
    as_text : collection of str
        Columns of a text file whose cells stay texts, even where all are numbers.
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
    options = options or FileOptions()
    name = "standard input" if path == "-" else path
    if re.match(r"(https?|ftp|s3|gs)://", path):
        raise ValueError(f"{path} is an address, and only files are read; download it first.")
    files = files_of(path) if is_several(path) else [path]
    table = _joined([(file, *_as_in_file(file, options, notes)) for file in files], options, as_text)
    if table.num_rows == 0:
        raise ValueError(f"{name} has a header but no rows.")
    unknown = [column for column in drop if column not in table.column_names]
    if unknown:
        raise ValueError(f"{name} has no column {unknown[0]!r} to drop{suggest(unknown[0], table.column_names)}.")
    table = table.drop_columns([column for column in table.column_names if column in drop])
    return pa.table({column: _plain_type(table[column]) for column in table.column_names})


def is_several(path: str) -> bool:
    """Whether this is a folder or a pattern."""
    return os.path.isdir(path) or (glob.has_magic(path) and not os.path.exists(path))


def files_of(path: str) -> list[str]:
    """The files of a folder or a pattern, in order."""
    from omtree.sources.disk.files import find_files

    return find_files([path])


def _as_in_file(path: str, options: FileOptions, notes: Notes | None) -> tuple[pa.Table, bool]:
    """One file, and whether its cells are texts of which some may be numbers."""
    name = "standard input" if path == "-" else path
    content = _unpacked(sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes(), name)
    table = _typed_table(content, name, notes)
    if table is not None:
        return table, False
    return _text_table(decode(content, options.encoding, name, notes), name, options, notes), True


def _joined(tables: Sequence[tuple[str, pa.Table, bool]], options: FileOptions, as_text: Collection[str]) -> pa.Table:
    """The rows of all files as one table; what the cells of text files are, all of them say together."""
    first_file, first, _ = tables[0]
    for file, table, _ in tables[1:]:
        for one, other in (((file, table), (first_file, first)), ((first_file, first), (file, table))):
            lacking = [name for name in other[1].column_names if name not in one[1].column_names]
            if lacking:
                raise ValueError(f"{one[0]} lacks the column {lacking[0]!r}, which {other[0]} has.")
    parts = [(file, table) for file, table, is_text in tables if not is_text]
    texts = [(file, table.select(first.column_names)) for file, table, is_text in tables if is_text]
    if texts:
        parts.append((texts[0][0], _with_numbers(pa.concat_tables([table for _, table in texts]), options, as_text)))
    joined = parts[0][1]
    for file, table in parts[1:]:
        for name in joined.column_names:
            try:
                pa.unify_schemas(
                    [joined.select([name]).schema, table.select([name]).schema], promote_options="permissive"
                )
            except pa.ArrowTypeError:
                raise ValueError(
                    f"The cells of {name!r} are of another kind in {file} than in {parts[0][0]}; save both in one way."
                ) from None
        joined = pa.concat_tables([joined, table], promote_options="permissive")
    return joined


def suggest(name: str, known: Iterable[str]) -> str:
    """A remark on the known name that was probably meant."""
    by_lower = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    if near:
        return f"; the nearest name is {by_lower[near[0]]!r}"
    shown = ", ".join(map(repr, list(by_lower.values())[:8]))
    return f"; it has {shown}{' and more' if len(by_lower) > 8 else ''}"


def _unpacked(content: bytes, name: str) -> bytes:
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            raise ValueError(f"{name} is a damaged gzip file.") from None
    if not content.strip():
        raise ValueError(f"{name} is empty.")
    return content


def _typed_table(content: bytes, name: str, notes: Notes | None) -> pa.Table | None:
    """The table in a Parquet, Feather, Arrow, Excel or JSON file; None when it is none of them."""
    try:
        if content[:4] == b"PAR1":
            from pyarrow.parquet import read_table as read_parquet

            return read_parquet(pa.BufferReader(content))
        if content[:6] == b"ARROW1" or content[:4] == b"FEA1":
            from pyarrow.feather import read_table as read_feather

            return read_feather(pa.BufferReader(content))
        if content[:4] == b"\xff\xff\xff\xff":
            return pa.ipc.open_stream(content).read_all()
    except (pa.ArrowException, OSError):
        raise ValueError(f"{name} looks like Parquet or Arrow but is damaged.") from None
    if content[:4] in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        from omtree.cli.excel import read_excel

        return read_excel(content, name, notes)
    start = content[:1000].lstrip(b"\xef\xbb\xbf \r\n\t")
    if start[:1] in (b"{", b"["):
        return _from_json(content, name)
    if re.match(rb"<(!doctype|html|\?xml)", start, re.IGNORECASE):
        raise ValueError(f"{name} is a web page or XML, not a table; save the table itself, as CSV.")
    return None


def _from_json(content: bytes, name: str) -> pa.Table:
    """One object a line, or a list of objects."""
    sentence = f"{name} looks like JSON but is no table; give one object a line, or a list of objects."
    text = content.lstrip(b"\xef\xbb\xbf \r\n\t")
    if b'"omtree-model"' in text[:200]:
        raise ValueError(f"{name} is a model of omtree, not a table.")
    try:
        if text[:1] == b"[":
            rows = json.loads(text)
            if not rows or not all(isinstance(row, dict) for row in rows):
                raise ValueError(sentence)
            return pa.Table.from_pylist(rows)
        from pyarrow.json import read_json

        return read_json(pa.BufferReader(text))
    except (ValueError, pa.ArrowException):
        raise ValueError(sentence) from None


def _text_table(text: str, name: str, options: FileOptions, notes: Notes | None) -> pa.Table:
    """A delimited text file with every cell as text."""
    layout = find_layout(text, options.delimiter, name)
    if layout.skipped:
        text = "".join(text.splitlines(keepends=True)[layout.skipped :])
        if notes is not None:
            few = layout.skipped == 1
            lines, are = ("line", "is") if few else (f"{layout.skipped} lines", "are")
            notes.append(f"the first {lines} of {name} {are} left out: the names of the columns stand below")
    names = _names(layout, name)
    content = text.encode("utf-8", errors="replace")
    convert = pyarrow.csv.ConvertOptions(
        column_types={column: pa.string() for column in names},
        strings_can_be_null=True,
        null_values=["", *options.missing],
    )
    parse = pyarrow.csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=b'"' in content)
    for threads in (True, False):
        try:
            return pyarrow.csv.read_csv(
                pa.BufferReader(content),
                read_options=pyarrow.csv.ReadOptions(use_threads=threads, column_names=names, skip_rows_after_names=1),
                parse_options=parse,
                convert_options=convert,
            )
        except pa.ArrowInvalid as error:
            # Only one thread alone knows the number of the row.
            if not threads:
                raise ValueError(_csv_fault(str(error), name, layout)) from None
    raise AssertionError("one of the two reads returns or raises")


def _names(layout: Layout, name: str) -> list[str]:
    """The names of the columns; those without one are called by their place."""
    cells = [cell.strip() for cell in ([""] if layout.unnamed_first else []) + layout.names]
    for column, times in Counter(cells).items():
        if times > 1 and column:
            raise ValueError(f"{name} has {times} columns named {column!r}; give each its own name.")
    return [cell or f"unnamed {place}" for place, cell in enumerate(cells, start=1)]


def _csv_fault(error: str, name: str, layout: Layout) -> str:
    ragged = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", error)
    if ragged:
        row, wanted, got = ragged.groups()
        cells = "1 cell" if got == "1" else f"{got} cells"
        return f"{name}: line {int(row) + layout.skipped} has {cells}, but the header has {wanted} names."
    return f"{name} cannot be read as CSV: {error.splitlines()[0].removeprefix('CSV parse error: ')}."


def _with_numbers(table: pa.Table, options: FileOptions, as_text: Collection[str]) -> pa.Table:
    """The table with its columns of plain numbers as numbers."""
    comma = options.decimal == ","
    columns: dict[str, pa.ChunkedArray] = {}
    dotted = []
    for name in table.column_names:
        cells = table[name]
        present = cells.drop_null()
        if not len(present):
            cells = cells.cast(pa.float64())
        elif name not in as_text:
            first = present.slice(0, 200)
            if pc.all(pc.match_substring_regex(first, NUMBER)).as_py() and _are_numbers(present):
                if pc.any(pc.match_substring(present, ".")).as_py():
                    dotted.append(name)
                cells = _numbers(cells, present)
            elif options.decimal is None and not comma:
                comma = find_formats(pc.unique(first).to_pylist()).only_decimal == ","
        columns[name] = cells
    if comma:
        # Points may stand between thousands then.
        columns.update((name, table[name]) for name in dotted)
    return pa.table(columns)


def _are_numbers(present: pa.ChunkedArray) -> bool:
    if pc.any(pc.match_substring_regex(present, LEADING_ZERO)).as_py():
        return False
    return bool(pc.all(pc.match_substring_regex(present, NUMBER)).as_py())


def _numbers(cells: pa.ChunkedArray, present: pa.ChunkedArray) -> pa.ChunkedArray:
    bare = pc.replace_substring_regex(pc.utf8_trim_whitespace(cells), r"^\+", "")
    whole = pc.all(pc.match_substring_regex(present, _WHOLE)).as_py()
    return bare.cast(pa.int64() if whole else pa.float64())


def _plain_type(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in a type that a model takes."""
    if pa.types.is_decimal(cells.type) or pa.types.is_null(cells.type):
        return cells.cast(pa.float64())
    return cells


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
