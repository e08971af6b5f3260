"""The log of decisions: a file that only grows, one JSON object a line, each with the hash of the model."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omtree.export.logic import plain

if TYPE_CHECKING:
    import pyarrow as pa

_FORMAT = "omtree-decision"


class DecisionLog:
    """Appends what a model said of rows, and what it was told.

    Every line has the time, the SHA-256 of the model's file, the file and number of the row, the cells of the columns
    that the model asks about, the answer, its probability and the leaf. Lines that are there are never touched.

    Parameters
    ----------
    path : str
        An older log, or a file that is not there yet.
    model_path : str
    model : fitted model
    """

    def __init__(self, path: str, model_path: str, model: Any) -> None:
        self._path = path
        self._model = model
        self._hash = hashlib.sha256(Path(model_path).read_bytes()).hexdigest()
        self._torn = _check_log(path)

    def note(self, file: str, table: pa.Table, rows: Any) -> None:
        """Append the decisions about the rows of a file.

        Parameters
        ----------
        file : str
            What the file is called.
        table : pyarrow.Table
            The rows as they were read.
        rows : table or array
            What of them the model takes.
        """
        model = self._model
        asked = {model.reading_[place].name for place in model._asked_columns()}
        cells = {name: table[name].to_pylist() for name in table.column_names if name in asked}
        owner = model.apply(rows).tolist()
        said = [plain(value) for value in model.predict(rows).tolist()]
        sure = model.predict_proba(rows).max(axis=1).tolist() if "classes_" in vars(model) else None
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        lines = []
        for row, rule in enumerate(owner):
            entry: dict[str, Any] = {
                "format": _FORMAT,
                "time": now,
                "model": self._hash,
                "file": file,
                "row": row + 1,
                "cells": {name: values[row] for name, values in cells.items()},
                "answer": said[row],
                "leaf": rule + 1,
            }
            if sure is not None:
                entry["probability"] = sure[row]
            lines.append(json.dumps(entry, ensure_ascii=False, default=str))
        # One write of whole lines, so that two processes do not mix theirs.
        text = ("\n" if self._torn else "") + "".join(f"{line}\n" for line in lines)
        self._torn = False
        handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            content = memoryview(text.encode("utf-8"))
            while content:
                content = content[os.write(handle, content) :]
            os.fsync(handle)
        finally:
            os.close(handle)


def _check_log(path: str) -> bool:
    """Complain about a file that is no log; whether the last line of a log was cut off."""
    file = Path(path)
    if not file.exists():
        return False
    sentence = f"{path} is no log of decisions, and is left alone; name another file with --log."
    if not file.is_file():
        raise ValueError(sentence)
    with open(file, "rb") as content:
        first = content.readline(1 << 20)
        if first:
            try:
                entry = json.loads(first)
            except ValueError:
                raise ValueError(sentence) from None
            if not isinstance(entry, dict) or entry.get("format") != _FORMAT:
                raise ValueError(sentence)
            content.seek(-1, os.SEEK_END)
            return content.read(1) != b"\n"
    return False
