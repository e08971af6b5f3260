"""Rows on disk as DuckDB sees them: counts of values, and the cells themselves in batches."""

from __future__ import annotations

import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from omtree.data.column import Column
from omtree.data.summaries import N_RANGES, Points, Ranges
from omtree.sources.disk.files import TypedColumn, find_files, read_columns_of, text_literal
from omtree.sources.disk.scan import Scan

#: Rows that are fetched at a time.
BATCH_ROWS = 1 << 17
#: The part of the memory that coded rows may take, with all that a search makes of them.
TABLE_SHARE = 0.4
#: DuckDB's part of the memory, and the memory that a thread of it should have.
_SHARE, _THREAD_MEMORY = 0.35, 100 * 10**6


class Rows:
    """The rows of a scan.

    Parameters
    ----------
    scan : Scan

    Attributes
    ----------
    folder : Path
        A private folder for temporary files; `close` removes it.
    columns : dict of str to TypedColumn
        What there is, by name, in order.
    memory : int
        Bytes that are left of the limit for all that a fit does; what the process has before counts as well.
    """

    def __init__(self, scan: Scan) -> None:
        duckdb = import_duckdb()
        self._fault: type[Exception] = duckdb.Error
        self._stopped: type[Exception] = duckdb.InterruptException
        self._paths = find_files(scan.source) if isinstance(scan.source, tuple) else []
        self.folder = Path(tempfile.mkdtemp(prefix="omtree-", dir=scan.temp_directory))
        self._own: Any = None
        self.memory = max(scan.memory // 4, scan.memory - _resident())
        try:
            self._settings = _settings(self.memory, self.folder)
            with self._in_words():
                self._source, typed = read_columns_of(scan, self._connection, self.folder)
            self.columns = {column.name: column for column in typed}
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """What the rows are called in a complaint."""
        return self._paths[0] if self._paths else "The relation"

    @property
    def table_memory(self) -> float:
        """Bytes that coded rows may take, with all that a search makes of them."""
        return TABLE_SHARE * self.memory

    def column(self, name: str, what: str) -> TypedColumn:
        """A column by its name; what it is for is said when there is none."""
        if name not in self.columns:
            shown = ", ".join(map(repr, list(self.columns)[:8])) + (" and more" if len(self.columns) > 8 else "")
            raise ValueError(f"{self.name} has no column {name!r} for {what}; it has {shown}.")
        return self.columns[name]

    def close(self) -> None:
        """Forget the rows and remove what was written; more than once is no harm."""
        self.rest()
        shutil.rmtree(self.folder, ignore_errors=True)

    def rest(self) -> None:
        """Give back DuckDB's memory until rows are read again."""
        if self._own is not None:
            self._own.close()
            self._own = None

    def fetch(self, select: str, rest: str = "", cells: str = "*") -> list[npt.NDArray[Any]]:
        """The columns of ``SELECT select FROM (SELECT cells FROM rows) rest``."""
        with self._in_words():
            table = self._query(select, rest, cells).to_arrow_table()
            return [column.to_numpy() for column in table.columns]

    def fetch_one(self, select: str) -> tuple[Any, ...]:
        """The one row of ``SELECT select FROM rows``."""
        with self._in_words():
            (found,) = self._query(select).fetchall()
        return tuple(found)

    def batches(self, select: str, rest: str = "") -> Iterator[list[npt.NDArray[Any]]]:
        """The columns of ``SELECT select FROM rows rest`` part by part, in the order of the rows."""
        with self._in_words(), self._query(select, rest).to_arrow_reader(BATCH_ROWS) as reader:
            for batch in reader:
                yield [column.to_numpy(zero_copy_only=False) for column in batch.columns]

    def _query(self, select: str, rest: str = "", cells: str = "*") -> Any:
        return self._connection.sql(f"SELECT {select} FROM (SELECT {cells} FROM {self._source}) {rest}")

    @property
    def _connection(self) -> Any:
        if self._own is None:
            self._own = import_duckdb().connect(config=self._settings)
            self._own.execute("SET enable_progress_bar = false")
        return self._own

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """Faults of DuckDB as one sentence that names the file."""
        try:
            yield
        except RuntimeError as fault:
            # What DuckDB makes of Ctrl-C; its other faults are of a kind of their own.
            if str(fault) == "Query interrupted":
                raise KeyboardInterrupt from None
            raise
        except self._fault as fault:
            if isinstance(fault, self._stopped):
                raise KeyboardInterrupt from None
            raise ValueError(_sentence(str(fault), self._paths)) from fault


class NumberColumn:
    """Counts of the numbers in one column that are not missing and weigh something.

    Parameters
    ----------
    rows : Rows
    cell : str
        The number in SQL, NULL where it is missing.
    weight : str or None
        The weight in SQL, where rows have one.
    """

    def __init__(self, rows: Rows, cell: str, weight: str | None) -> None:
        self._rows = rows
        self._cells = f"{cell} AS x" if weight is None else f"{cell} AS x, {weight} AS w"
        self._sum = "count(*)" if weight is None else "sum(w)"
        self._some = "" if weight is None else " AND w > 0"

    def ranges(self, low: float, high: float) -> Ranges:
        """Counts in the ranges of a span."""
        return Ranges(
            *self._rows.fetch(
                f"{_range(low, high)} AS b, min(x), max(x), {self._sum}::DOUBLE, count(*)",
                f"WHERE x BETWEEN {double(low)} AND {double(high)}{self._some} GROUP BY b ORDER BY b",
                self._cells,
            )
        )

    def points(self, low: float, high: float, numbers: Sequence[int]) -> Points:
        """The distinct values in some of the ranges."""
        inside = f"{_range(low, high)} IN ({', '.join(map(str, numbers))})"
        return Points(
            *self._rows.fetch(
                f"x, {self._sum}::DOUBLE",
                f"WHERE {inside} AND x BETWEEN {double(low)} AND {double(high)}{self._some} GROUP BY x ORDER BY x",
                self._cells,
            )
        )


def _range(low: float, high: float) -> str:
    """The number of the range of ``x`` in SQL; halves are rounded, so the first and the last range are narrower."""
    low, high = float(low), float(high)
    scale = N_RANGES / (high - low) if high > low else 0.0
    # A tiny span is not divided; where the difference is too large for a double, the product comes first.
    scale = scale if math.isfinite(scale) else 0.0
    if math.isfinite(high - low):
        return f"TRY_CAST((x - {double(low)}) * {double(scale)} AS USMALLINT)"
    scale = N_RANGES / (high / 2 - low / 2) / 2
    return f"TRY_CAST(x * {double(scale)} - {double(low * scale)} AS USMALLINT)"


def first_look(scan: Scan) -> tuple[dict[str, str], npt.NDArray[Any]]:
    """The columns of the first file and their families, and some of the different targets in it.

    Parameters
    ----------
    scan : Scan
    """
    if isinstance(scan.source, tuple):
        scan = replace(scan, source=(find_files(scan.source)[0],))
    with closing(Rows(scan)) as rows:
        goal = rows.column(scan.targets[0], "the target")
        (targets,) = rows.fetch("y", "WHERE y IS NOT NULL GROUP BY y LIMIT 1000", f"{goal.raw} AS y")
        return {column.name: column.family for column in rows.columns.values()}, targets


def double(value: float) -> str:
    """A number in SQL, to the last digit."""
    return f"'{float(value)!r}'::DOUBLE"


def position_of(column: Column, cell: str) -> str:
    """The position of a cell among the levels of a column in SQL, -1 where it is missing.

    Parameters
    ----------
    column : Column
        With levels.
    cell : str
        The cell in SQL: a text, a boolean or a double.
    """
    assert column.levels is not None
    if all(isinstance(level, str) for level in column.levels):
        levels = ", ".join(text_literal(level) for level in column.levels)
        place = f"enum_code({cell}::ENUM({levels}))::INTEGER"
    elif all(isinstance(level, bool) for level in column.levels):
        place = f"{cell}::INTEGER"
    else:
        ordered = sorted((float(level), place) for place, level in enumerate(column.levels))
        place = f"CASE WHEN {cell} IS NOT NULL THEN {_bisection(cell, ordered)} END"
    return f"coalesce({place}, -1)::INTEGER"


def _bisection(cell: str, ordered: Sequence[tuple[float, int]]) -> str:
    if len(ordered) == 1:
        return str(ordered[0][1])
    middle = len(ordered) // 2
    low, high = _bisection(cell, ordered[:middle]), _bisection(cell, ordered[middle:])
    return f"CASE WHEN {cell} < {double(ordered[middle][0])} THEN {low} ELSE {high} END"


def import_duckdb() -> Any:
    """DuckDB, and pyarrow, which carries its answers; a sentence where they are not installed."""
    try:
        import duckdb
        import pyarrow  # noqa: F401
    except ImportError as fault:
        raise ImportError(
            f"Rows on disk need the package {fault.name}; install it with pip install 'omtree[duckdb]'."
        ) from None
    return duckdb


def _settings(memory: int, folder: Path) -> dict[str, Any]:
    own = int(_SHARE * memory)
    return {
        "memory_limit": f"{own}B",
        "threads": max(1, min(os.cpu_count() or 1, own // _THREAD_MEMORY)),
        "temp_directory": str(folder / "duckdb"),
        "preserve_insertion_order": True,
        "enable_external_file_cache": False,
        # The statistics in Parquet files know nothing of NaN, and conclusions from them can be wrong.
        "disabled_optimizers": "statistics_propagation",
    }


def _resident() -> int:
    """Bytes of memory that the process has now."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 250 * 10**6  # about what the packages take


def _sentence(fault: str, paths: Sequence[str]) -> str:
    """A fault of DuckDB in one sentence: the file that it names, and what it says of it."""
    lines = [line.strip() for line in fault.splitlines() if line.strip()]
    reason = re.sub(r"^\w[\w ]* Error: ", "", lines[0])
    file = next((path for path in sorted(paths, key=len, reverse=True) if path in fault), None)
    if file is None:
        return f"The rows cannot be read: {reason.rstrip('.')}."
    line = re.search(r"CSV Error on Line: (\d+)", fault)
    if line is not None:
        found = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", fault)
        if found is not None:
            cells = "1 cell" if found[2] == "1" else f"{found[2]} cells"
            return f"{file}: line {line[1]} has {cells}, but the header has {found[1]} names."
        if "not utf-8" in fault:
            return f"{file} is not UTF-8 text (line {line[1]}); save it as UTF-8 (or as Parquet)."
        return f"{file} cannot be read as CSV: line {line[1]} is damaged."
    named = rf"""(Failed to read file|Error while reading file)? ?["']?{re.escape(file)}["']?:? ?"""
    reason = re.sub(named, "", reason)
    return f"{file} is damaged or cannot be read: {reason.strip().rstrip('.') or 'unknown reason'}."
