"""``omtree predict``, and how answers are written; it imports little, so that a few rows are answered at once."""

from __future__ import annotations

import csv
import io
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Any, BinaryIO

import pyarrow as pa

from omtree.cli.modelling import check_different, check_writable, load_model, read_rows
from omtree.cli.tables import FileOptions, files_of, is_several
from omtree.export.model_file import replacing
from omtree.export.predictor import load_predictor


def run_predict(
    model_path: str,
    data: str,
    out: str | None,
    probabilities: bool,
    keep: bool,
    options: FileOptions,
    log_path: str | None = None,
) -> None:
    """Write one prediction per row; several files are answered one after the other."""
    check_writable(out)
    check_different({"the data": data, "the model": model_path, "--log": log_path, "--out": out})
    _writer(out)  # complains early
    model: Any = load_predictor(model_path)
    if log_path is not None or model.several:
        # What a log says of a decision, and several targets, need the whole model.
        model = load_model(model_path)
    if probabilities and "classes_" not in vars(model):
        raise ValueError("--probabilities needs a model of classes; this one predicts numbers.")
    if probabilities and "outputs_" in vars(model):
        raise ValueError("--probabilities is for one target, and the model has several; leave it out.")
    files, log = files_of(data) if is_several(data) else [data], None
    if log_path is not None:
        from omtree.cli.decision_log import DecisionLog

        log = DecisionLog(log_path, model_path, model)

    def answers(file: str) -> pa.Table:
        table, rows = read_rows(model, file, options)
        columns: dict[str, Any] = {name: table[name] for name in table.column_names} if keep else {}
        said = model.predict(rows)
        if said.ndim == 2:
            names = model.outputs_.names
            found = {f"prediction {name}": pa.array(said[:, place].tolist()) for place, name in enumerate(names)}
        else:
            found = {"prediction": pa.array(said.tolist())}
        if probabilities:
            shares = model.predict_proba(rows)
            found |= {f"probability {label}": pa.array(shares[:, i]) for i, label in enumerate(model.classes_.tolist())}
        taken = sorted(set(columns) & set(found))
        if taken:
            raise ValueError(f"{file} has a column {taken[0]!r} already; leave out --keep, or rename it.")
        if log is not None:
            log.note(file, table, rows)
        return pa.table({**columns, **found})

    write_answers(map(answers, files), out)


def write_answers(tables: Iterator[pa.Table], out: str | None) -> None:
    """Write tables, one after the other, to a file or as CSV on the screen."""
    if out is None:
        _write_csv(tables, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    write = _writer(out)
    with replacing(out) as file:
        write(tables, file)


def _writer(out: str | None) -> Callable[[Iterator[pa.Table], BinaryIO], None]:
    """What writes a file of this name."""
    suffix = "" if out is None else PurePath(out).suffix.lower()
    if suffix in (".parquet", ".pq"):
        return _write_parquet
    if suffix == ".xlsx":
        from omtree.cli.excel import write_excel

        return write_excel
    if suffix in ("", ".csv", ".txt"):
        return _write_csv
    raise ValueError(f"{out} is of no kind that predictions are written in; use .csv, .parquet or .xlsx.")


def _write_parquet(tables: Iterator[pa.Table], file: BinaryIO) -> None:
    import pyarrow.parquet

    first = next(tables)
    with pyarrow.parquet.ParquetWriter(file, first.schema) as writer:
        for table in itertools.chain([first], tables):
            writer.write_table(table.cast(first.schema))


def _write_csv(tables: Iterator[pa.Table], file: BinaryIO) -> None:
    for place, table in enumerate(tables):
        # Not pyarrow's writer, which puts every text in quotes.
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if place == 0:
            writer.writerow(table.column_names)
        writer.writerows(zip(*(_cells(column) for column in table.columns), strict=True))
        file.write(text.getvalue().encode("utf-8"))


def _cells(column: pa.ChunkedArray) -> list[Any]:
    cells: list[Any] = column.to_pylist()
    return (
        [None if cell is None else str(cell).lower() for cell in cells] if pa.types.is_boolean(column.type) else cells
    )
