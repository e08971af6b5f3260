"""Excel files: tables in, predictions out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, BinaryIO

import pyarrow as pa

from omtree.cli.notes import Notes

#: So many rows are looked at to find the names of the columns.
_FIRST = 30


def read_excel(content: bytes, name: str, notes: Notes | None) -> pa.Table:
    """The first sheet of an Excel file; lines above the names of the columns are left out.

    Parameters
    ----------
    content : bytes
    name : str
        Of the file, in an error.
    notes : Notes, optional
    """
    try:
        import fastexcel
    except ImportError:
        raise ImportError(
            f"{name} is an Excel file, which needs the package fastexcel; install it with pip install 'omtree[excel]'."
        ) from None
    try:
        book = fastexcel.read_excel(content)
        bare = book.load_sheet(0, header_row=None, n_rows=_FIRST, dtypes="string").to_arrow()
    except fastexcel.FastExcelError:
        raise ValueError(f"{name} is a zip or Office file, but no Excel table that can be read.") from None
    filled = [sum(cell is not None for cell in row.values()) for row in bare.to_pylist()]
    if not filled:
        raise ValueError(f"{name} is empty.")
    header = next(place for place, count in enumerate(filled) if count >= 0.5 * max(filled))
    if notes is not None:
        if len(book.sheet_names) > 1:
            notes.append(f"{name} has {len(book.sheet_names)} sheets, and the first, {book.sheet_names[0]!r}, is read")
        if header:
            rows, are = ("row", "is") if header == 1 else (f"{header} rows", "are")
            notes.append(f"the first {rows} of {name} {are} left out: the names of the columns stand below")
    table = pa.table(book.load_sheet(0, header_row=header).to_arrow())
    names = [f"unnamed {place}" if "__UNNAMED__" in each else each for place, each in enumerate(table.column_names, 1)]
    return table.rename_columns(names)


def write_excel(tables: Iterable[pa.Table], file: BinaryIO) -> None:
    """Write tables below each other, under one header."""
    try:
        import xlsxwriter
    except ImportError:
        raise ImportError(
            "Excel files need the package xlsxwriter; install it with pip install 'omtree[excel]'."
        ) from None
    book = xlsxwriter.Workbook(file, {"remove_timezone": True, "default_date_format": "yyyy-mm-dd hh:mm"})
    sheet = book.add_worksheet("predictions")
    line = 0
    for table in tables:
        if line == 0:
            sheet.write_row(0, 0, table.column_names)
            line = 1
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            _write_row(sheet, line, row)
            line += 1
    book.close()


def _write_row(sheet: Any, line: int, row: tuple[Any, ...]) -> None:
    for place, cell in enumerate(row):
        if cell is None or cell != cell:
            continue
        if isinstance(cell, str):
            sheet.write_string(line, place, cell)  # also where it begins like a formula
        else:
            sheet.write(line, place, cell)
