"""Files on disk as Parquet files that have the same columns.

Parquet is read where it is. CSV and Arrow files, and lazy frames, become Parquet in a private folder first, a part at
a time. What is wrong with a file is said before anything is counted, in a sentence that names it.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import os
import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw

from omtree.data.cells import DATE, DELIMITERS, LEADING_ZERO, NUMBER
from omtree.sources.disk.scan import Scan

if TYPE_CHECKING:
    import duckdb

_ENDINGS = (".parquet", ".pq", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".arrow", ".feather", ".ipc")

_NUMBERS = {
    "tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger", "ubigint", "uhugeint",
    "float", "double", "decimal",
}  # fmt: skip
_TIMES = ("date", "time", "timestamp", "interval")


@dataclass(frozen=True)
class TypedColumn:
    """A column as it is read.

    Attributes
    ----------
    name : str
    family : {"number", "text", "flag", "ordered", "empty", "time", "other"}
    expression : str
        Its cells in SQL: doubles, texts or booleans.
    levels : tuple of str
        Of an ordered column.
    kind : str
        The type as DuckDB calls it.
    """

    name: str
    family: str
    expression: str
    levels: tuple[str, ...] = ()
    kind: str = ""

    @property
    def raw(self) -> str:
        """The cells in the type of the file, as classes are; numbers of a text file are doubles."""
        return quoted(self.name) if self.kind and self.family != "ordered" else self.expression


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def find_files(source: Sequence[str]) -> list[str]:
    """The files that paths, folders and patterns stand for, in order."""
    files: list[str] = []
    for each in source:
        if os.path.isdir(each):
            found = [path for path in _inside(each) if path.lower().endswith(_ENDINGS)]
            if not found:
                raise ValueError(f"The folder {each} has no Parquet, CSV or Arrow files.")
        elif glob.has_magic(each) and not os.path.exists(each):
            found = sorted(path for path in glob.glob(each, recursive=True) if os.path.isfile(path))
            if not found:
                raise ValueError(f"No file matches {each}.")
        else:
            if not os.path.exists(each):
                raise ValueError(f"There is no file {each}.")
            found = [each]
        files += found
    if not files:
        raise ValueError("scan was given no files.")
    return files


def passed_over(folder: str) -> list[str]:
    """The files in a folder that are not read, by their names in it."""
    others = (path for path in _inside(folder) if not path.lower().endswith(_ENDINGS))
    return [str(Path(path).relative_to(folder)) for path in others]


def _inside(folder: str) -> list[str]:
    """The files of a folder that are not hidden, in order."""
    inside = sorted(str(path) for path in Path(folder).rglob("*") if path.is_file())
    return [
        path for path in inside if not any(part.startswith((".", "_")) for part in Path(path).relative_to(folder).parts)
    ]


def read_columns_of(scan: Scan, connection: duckdb.DuckDBPyConnection, folder: Path) -> tuple[str, list[TypedColumn]]:
    """What to select from, and the columns that are there.

    Parameters
    ----------
    scan : Scan
    connection : DuckDBPyConnection
    folder : Path
        Where converted files go.
    """
    parts: list[tuple[str, str]] = []  # the file of the user's, and the Parquet file it is read from
    text = False
    if not isinstance(scan.source, tuple):
        path = str(folder / "frame.parquet")
        _sink(scan.source, path)
        parts.append((path, path))
    else:
        for place, file in enumerate(find_files(scan.source)):
            kind = kind_of(file)
            path = str(folder / f"part-{place}.parquet")
            if kind == "parquet":
                path = file
            elif kind == "arrow":
                _from_arrow(connection, file, path)
            else:
                text = True
                _from_csv(connection, file, path, kind == "gzip", scan)
            parts.append((file, path))
    schemas = []
    for file, path in parts:
        relation = connection.sql(f"SELECT * FROM {_reader([path])}")
        schema = {name: typed_column(name, kind) for name, kind in zip(relation.columns, relation.types, strict=True)}
        if text and path != file and kind_of(file) in ("csv", "gzip"):
            schema = _interpreted(connection, path, schema, scan)
        schemas.append((file, schema))
    columns = _common(schemas, scan)
    # Numbers of other widths need a common type, for which DuckDB looks at every file first.
    alike = all(own == schemas[0][1] for _, own in schemas)
    return _reader([path for _, path in parts], alike=alike), columns


def kind_of(path: str) -> str:
    """What a file is by its first bytes: "parquet", "arrow", "gzip" or else "csv"."""
    with open(path, "rb") as file:
        start = file.read(6)
    if not start:
        raise ValueError(f"{path} is empty.")
    if start[:4] == b"PAR1":
        return "parquet"
    if start == b"ARROW1" or start[:4] == b"\xff\xff\xff\xff":
        return "arrow"
    return "gzip" if start[:2] == b"\x1f\x8b" else "csv"


def _reader(paths: Iterable[str], *, alike: bool = True) -> str:
    listed = ", ".join(map(text_literal, paths))
    return f"read_parquet([{listed}], union_by_name = {str(not alike).lower()}, hive_partitioning = false)"


def typed_column(name: str, kind: Any) -> TypedColumn:
    """How a column of a DuckDB type is read."""
    cell = quoted(name)
    if kind.id in _NUMBERS:
        return TypedColumn(name, "number", f"{cell}::DOUBLE", kind=str(kind))
    if kind.id == "varchar":
        return TypedColumn(name, "text", cell, kind=str(kind))
    if kind.id == "boolean":
        return TypedColumn(name, "flag", cell, kind=str(kind))
    if kind.id == "enum":
        return TypedColumn(name, "ordered", f"{cell}::VARCHAR", tuple(dict(kind.children)["values"]), str(kind))
    if kind.id in ("null", "sqlnull"):
        return TypedColumn(name, "empty", "NULL::DOUBLE", kind=str(kind))
    family = "time" if kind.id.startswith(_TIMES) else "other"
    return TypedColumn(name, family, cell, kind=str(kind))


def _common(schemas: Sequence[tuple[str, dict[str, TypedColumn]]], scan: Scan) -> list[TypedColumn]:
    """The columns of all files; an error where files differ in one that is needed."""
    first_file, first = schemas[0]
    named = None if scan.columns is None else {*scan.columns, *scan.targets, scan.weight, *scan.groups}
    merged = dict(first)
    for file, schema in schemas[1:]:
        for name in [*first, *schema]:
            if named is not None and name not in named:
                continue
            if name not in schema:
                raise ValueError(f"{file} lacks the column {name!r}, which {first_file} has.")
            if name not in first:
                raise ValueError(f"{first_file} lacks the column {name!r}, which {file} has.")
            known, new = merged[name], schema[name]
            if new.family == "empty":
                continue
            if known.family == "empty":
                merged[name] = new
            elif (known.family, known.levels) != (new.family, new.levels):
                raise ValueError(
                    f"The column {name!r} is {_in_words(known)} in {first_file} and {_in_words(new)} in {file}."
                )
    return list(merged.values())


def _in_words(column: TypedColumn) -> str:
    return {"number": "a number", "text": "text", "flag": "true or false"}.get(column.family, column.kind)


def _sink(source: Any, path: str) -> None:
    """A relation or lazy frame as a file, without holding all of it."""
    native = nw.to_native(source, pass_through=True)
    if type(native).__name__ == "DuckDBPyRelation":
        native.write_parquet(path)
    else:
        nw.from_native(native).lazy().sink_parquet(path)


def _from_arrow(connection: duckdb.DuckDBPyConnection, file: str, path: str) -> None:
    import pyarrow as pa

    try:
        with pa.memory_map(file) as mapped:
            if mapped.read(6) == b"ARROW1":
                reader = pa.ipc.open_file(mapped)
                batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
                stream = pa.RecordBatchReader.from_batches(reader.schema, batches)
            else:
                mapped.seek(0)
                stream = pa.ipc.open_stream(mapped)
            connection.from_arrow(stream).write_parquet(path)
    except (pa.ArrowException, OSError):
        raise ValueError(f"{file} looks like Arrow but is damaged.") from None


def _from_csv(connection: duckdb.DuckDBPyConnection, file: str, path: str, packed: bool, scan: Scan) -> None:
    """All cells as texts; which are numbers is found out later."""
    delimiter, names = _header(file, packed, scan.delimiter)
    columns = ", ".join(f"{text_literal(name)}: 'VARCHAR'" for name in names)
    nothing = ", ".join(map(text_literal, ("", *scan.missing)))
    connection.sql(
        f"SELECT * FROM read_csv({text_literal(file)}, header = true, auto_detect = false, "
        f"delim = {text_literal(delimiter)}, quote = '\"', escape = '\"', columns = {{{columns}}}, "
        f"nullstr = [{nothing}], compression = '{'gzip' if packed else 'none'}', hive_partitioning = false)"
    ).write_parquet(path)


def _header(file: str, packed: bool, delimiter: str | None) -> tuple[str, list[str]]:
    try:
        with gzip.open(file) if packed else open(file, "rb") as stream:
            start = stream.read(1 << 20)
    except (OSError, EOFError, zlib.error):
        raise ValueError(f"{file} is a damaged gzip file.") from None
    if b"\x00" in start:
        raise ValueError(f"{file} is not a table: it is neither CSV in UTF-8, nor Parquet, nor Arrow.")
    text = start.decode("utf-8-sig", errors="replace")
    if delimiter is None:
        lines = text.splitlines()
        delimiter = max(DELIMITERS, key=lines[0].count) if lines else ","
    names = next((row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row), [])
    if len(set(names)) < len(names) or "" in names or not names:
        raise ValueError(f"{file} has a column without a name, or two of the same; give each its own name.")
    return delimiter, names


def _interpreted(
    connection: duckdb.DuckDBPyConnection, path: str, schema: dict[str, TypedColumn], scan: Scan
) -> dict[str, TypedColumn]:
    """Columns of texts as what they are: numbers where all cells are, unless some have leading zeros."""
    wanted: Collection[str] = schema
    if scan.columns is not None:
        wanted = [name for name in schema if name in {*scan.columns, *scan.targets, scan.weight, *scan.groups}]
    if not wanted:
        return schema
    tests = []
    for name in wanted:
        cell = quoted(name)
        tests += [
            f"count({cell})",
            f"count(*) FILTER (regexp_matches({cell}, {text_literal(NUMBER)}))",
            f"bool_or(regexp_matches({cell}, {text_literal(LEADING_ZERO)}))",
            f"bool_and(regexp_matches({cell}, {text_literal(DATE)}))",
        ]
    (found,) = connection.sql(f"SELECT {', '.join(tests)} FROM {_reader([path])}").fetchall()
    columns = dict(schema)
    for place, name in enumerate(wanted):
        present, numbers, zeros, dates = found[4 * place : 4 * place + 4]
        number = f"ltrim(trim({quoted(name)}), '+')::DOUBLE"
        if not present:
            columns[name] = TypedColumn(name, "empty", number)
        elif numbers == present and not zeros:
            columns[name] = TypedColumn(name, "number", number)
        elif dates:
            columns[name] = TypedColumn(name, "time", quoted(name), kind="a date")
    return columns
