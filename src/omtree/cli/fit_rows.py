"""What ``omtree fit`` was asked for, and the rows that it fits to: in memory, or on disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from omtree.cli.notes import Notes
from omtree.cli.tables import FileOptions, column_of, files_of, is_several, read_table, suggest
from omtree.cli.targets import answered_rows, choose_task, target_values
from omtree.cli.task_columns import TaskColumns, lifetimes

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes of files that are read into memory together, as a single file would be.
_SMALL_FILES = 200_000_000


@dataclass(frozen=True)
class FitRequest:
    """What a person asked for on the command line."""

    data: str
    target: str
    task: str
    parameters: Mapping[str, Any]
    constraints: str | None = None
    kinds: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    weight: str | None = None
    memory_limit: str | None = None
    test: str | None = None
    holdout: float | None = None
    out: str | None = None
    report: str | None = None
    title: str = ""
    alternatives: int = 0
    quiet: bool = False
    options: FileOptions = field(default_factory=FileOptions)
    month_first: bool = False
    positive: str | None = None
    columns: TaskColumns | None = None
    notes: Notes = field(default_factory=Notes)


@dataclass(frozen=True)
class Asked:
    """What a fit is given: the task, the rows, their targets (None where they are in the rows), and the rest."""

    task: str
    rows: Any
    y: Any
    extra: Mapping[str, Any]
    kinds: Mapping[str, Any]


def stays_on_disk(request: FitRequest) -> bool:
    """Whether rows are counted where they are: those of many files, unless they are small, and on request."""
    if request.memory_limit is not None:
        return True
    return is_several(request.data) and sum(map(os.path.getsize, files_of(request.data))) > _SMALL_FILES


def read_in_memory(request: FitRequest, kinds: dict[str, Any]) -> Asked:
    """The rows in memory."""
    # Levels that are given are texts; so are the cells then, even where they look like numbers.
    as_text = {name for name, kind in kinds.items() if isinstance(kind, list)}
    name = "standard input" if request.data == "-" else request.data
    _name_passed_over(request)
    table = read_table(request.data, request.options, as_text=as_text, drop=request.drop, notes=request.notes)
    if request.columns is not None:
        return _read_columns(request, request.columns, table, name, kinds)
    cells = column_of(table, request.target, "the target", name)
    cells, present = answered_rows(cells, request.target, request.options.missing, request.notes)
    if not present.all():
        table, cells = table.filter(present), cells.filter(present)
    y = target_values(cells, request.target, request.task, request.notes)
    features, extra = _apart(table.drop_columns([request.target]), request, name, kinds)
    task = choose_task(y, request.target, request.task, request.notes)
    return Asked(task, features, y.astype(float) if task == "regression" else y, extra, kinds)


def _read_columns(
    request: FitRequest, columns: TaskColumns, table: pa.Table, name: str, kinds: dict[str, Any]
) -> Asked:
    """The rows in memory of a task with several columns."""
    features, arrays = columns.read(table, name, request.options.missing, request.notes)
    features, extra = _apart(features, request, name, kinds)
    if request.task == "survival":
        if "entry" in arrays:
            extra["entry"] = arrays["entry"]
        return Asked(request.task, features, lifetimes(arrays), extra, kinds)
    extra |= {what: arrays[what] for what in ("outcome", "propensity", "rewards") if what in arrays}
    return Asked(request.task, features, arrays.get("treatment"), extra, kinds)


def rows_of_test(request: FitRequest, columns: TaskColumns, kinds: dict[str, Any]) -> Asked:
    """The rows of the test file of such a task."""
    assert request.test is not None
    as_text = {name for name, kind in kinds.items() if isinstance(kind, list)}
    table = read_table(request.test, request.options, as_text=as_text, drop=request.drop, notes=request.notes)
    return _read_columns(request, columns, table, request.test, kinds)


def _apart(
    features: pa.Table, request: FitRequest, name: str, kinds: Mapping[str, Any]
) -> tuple[pa.Table, dict[str, Any]]:
    """The columns to predict from, and weights and groups apart from them."""
    extra: dict[str, Any] = {}
    if request.weight is not None:
        extra["sample_weight"] = column_of(features, request.weight, "the weights", name).to_numpy()
        features = features.drop_columns([request.weight])
    if request.groups:
        for column in request.groups:
            column_of(features, column, "--groups", name)
        extra["groups"] = features.select(list(request.groups))
        features = features.drop_columns(list(request.groups))
    for column in kinds:
        column_of(features, column, "--kind", name)
    if not features.num_columns:
        raise ValueError(f"{name} has no column besides the target {request.target!r}; give it some to predict from.")
    return features, extra


def _name_passed_over(request: FitRequest) -> None:
    """Note the files of a folder that are not read."""
    if not os.path.isdir(request.data):
        return
    from omtree.sources.disk.files import passed_over

    others = passed_over(request.data)
    if others:
        named = ", ".join(others[:3]) + (" and more" if len(others) > 3 else "")
        request.notes.append(
            f"of the folder {request.data} only Parquet, CSV and Arrow files are read, not {named}; "
            "save tables among those as CSV"
        )


def ask_for_scan(request: FitRequest, kinds: Mapping[str, Any]) -> Asked:
    """Rows that stay on disk; what the target is, the first file says."""
    from omtree.sources.disk.rows import first_look
    from omtree.sources.disk.scan import scan

    if request.data == "-":
        raise ValueError("--memory-limit needs files; standard input is read into memory.")
    asked = scan(
        request.data,
        request.target if request.columns is None else request.columns.on_disk,
        weight=request.weight,
        groups=request.groups,
        memory_limit=request.memory_limit,
        delimiter=request.options.delimiter,
        missing=request.options.missing,
    )
    known, targets = first_look(asked)
    _name_passed_over(request)
    others = {*asked.targets, request.weight, *request.groups}
    for what, names in (("to drop", request.drop), ("for --kind", kinds)):
        unknown = [name for name in names if name not in known or name in others]
        if unknown:
            raise ValueError(f"{request.data} has no column {unknown[0]!r} {what}{suggest(unknown[0], known)}.")
    columns = tuple(name for name in known if name not in others and name not in request.drop)
    rows = replace(asked, columns=columns)
    # Levels are texts on the command line; those of a column of numbers are numbers.
    levels = {
        name: [float(level) for level in kind] if isinstance(kind, list) and known[name] == "number" else kind
        for name, kind in kinds.items()
    }
    task = request.task
    if request.columns is None:
        task = choose_task(targets, request.target, request.task, request.notes)
    return Asked(task, rows, None, {}, levels)
