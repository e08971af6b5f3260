"""The rows that a studio works on: read once, at the start, from the files that were given."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from omtree.cli.fit_command import origin_of
from omtree.cli.fit_rows import FitRequest, read_in_memory
from omtree.cli.notes import Notes
from omtree.cli.tables import FileOptions
from omtree.data.parsing.reading import Reading


@dataclass(frozen=True, eq=False)
class Source:
    """Rows and their target.

    Attributes
    ----------
    name : str
        Of the file, for people.
    target : str
    task : {"classification", "regression"}
    X : pyarrow.Table
    y : array
    origin : mapping
        What a model says about its data: file, hash, day.
    notes : tuple of str
        How the table was read.
    command : str
        The file as it was given, for scripts; empty for the demonstration.
    test : tuple of (str, str, table, array) or None
        Name, hash, rows and targets that models are tried on.
    """

    name: str
    target: str
    task: str
    X: Any
    y: Any
    origin: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    command: str = ""
    test: tuple[str, str, Any, Any] | None = None

    @cached_property
    def classes(self) -> list[Any]:
        """The classes as plain values; empty where the target is a number."""
        return [] if self.task == "regression" else sorted(set(np.asarray(self.y).tolist()))

    @property
    def columns(self) -> list[str]:
        """The columns that a model may ask about."""
        return [str(name) for name in self.X.column_names]


def read_source(data: str, target: str, test: str | None = None, options: FileOptions | None = None) -> Source:
    """The rows of a file.

    Parameters
    ----------
    data : str
    target : str
        The column to predict.
    test : str, optional
        A file of rows to try models on.
    options : FileOptions, optional
    """
    options = options or FileOptions()
    if data == "-":
        raise ValueError("The studio needs a file; save the table and name it.")
    found = _read(data, target, options)
    tried = None
    if test is not None:
        other = _read(test, target, options)
        missing = [name for name in found.rows.column_names if name not in other.rows.column_names]
        if missing:
            raise ValueError(f"{test} lacks the column {missing[0]!r} of {data}.")
        digest = hashlib.sha256(Path(test).read_bytes()).hexdigest()
        tried = (PurePath(test).name, digest, other.rows, other.y)
    notes = tuple(found.extra["notes"])
    # In one piece: a worker is sent every piece with all of the memory that it is a part of.
    rows = found.rows.combine_chunks()
    return Source(PurePath(data).name, target, found.task, rows, found.y, origin_of(data), notes, data, tried)


def _read(path: str, target: str, options: FileOptions) -> Any:
    from dataclasses import replace

    notes = Notes()
    request = FitRequest(path, target, "auto", {}, options=options, notes=notes)
    asked = read_in_memory(request, {})
    return replace(asked, extra={"notes": list(notes)})


def demo_source() -> Source:
    """Measurements of breast tumours, which scikit-learn ships; a part of them to try models on."""
    import pyarrow as pa
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    names = [str(name).replace(" ", "_") for name in data.feature_names[:10]]
    columns: dict[str, Any] = {name: data.data[:, place] for place, name in enumerate(names)}
    y = np.array(["benign" if label == 1 else "malignant" for label in data.target], dtype=object)
    order = np.random.default_rng(0).permutation(len(y))
    train, rest = order[:400], order[400:]
    table = pa.table(columns)
    test = ("rows kept apart", "", table.take(rest), y[rest])
    notes = ("400 tumours of the Wisconsin diagnostic set; 169 more are kept apart for testing",)
    return Source("demonstration", "diagnosis", "classification", table.take(train), y[train], {}, notes, "", test)


def reading_of(options: FileOptions) -> Reading:
    """How texts are to be understood, as on the command line."""
    return Reading(decimal=options.decimal, missing=options.missing)
