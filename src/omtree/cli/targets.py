"""The column to predict, from a file: what its cells are, and which rows have one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omtree.cli.notes import Notes
from omtree.data.parsing.missing import missing_words, signs_are_values
from omtree.data.parsing.moments import find_moments
from omtree.data.parsing.number_texts import find_formats

#: A numeric target with more different values than this is taken for a quantity, not for classes.
MOST_CLASSES = 20


def answered_rows(
    cells: pa.ChunkedArray, column: str, missing: tuple[str, ...], notes: Notes
) -> tuple[pa.ChunkedArray, npt.NDArray[np.bool_]]:
    """The target with missing cells where its texts mean that, and which rows have one.

    Parameters
    ----------
    cells : pyarrow.ChunkedArray
    column : str
    missing : tuple of str
        Texts that mean missing besides the usual ones.
    notes : Notes
        Where it is said that rows are left out.
    """
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if pa.types.is_temporal(cells.type):
        raise ValueError(f"The target {column!r} holds dates or times; give classes or numbers.")
    if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
        levels = [level for level in pc.unique(cells).to_pylist() if level is not None]
        words = missing_words(levels, missing, signs=not signs_are_values(levels))
        if words:
            absent = pc.is_in(cells, value_set=pa.array(sorted(words), type=cells.type))
            cells = pc.if_else(absent, pa.scalar(None, cells.type), cells)
    elif pa.types.is_floating(cells.type):
        cells = pc.if_else(pc.is_nan(cells), pa.scalar(None, cells.type), cells)
    present = cells.is_valid().to_numpy().astype(bool)
    left = int((~present).sum())
    if left == len(present):
        raise ValueError(f"The target {column!r} has no cells that are not missing.")
    if left:
        rows, are = ("row", "is") if left == 1 else ("rows", "are")
        notes.append(f"{left:,} {rows} without a target {are} left out")
    return cells, present


def target_values(cells: pa.ChunkedArray, column: str, task: str, notes: Notes) -> Any:
    """The target as an array: numbers where its texts are numbers and it is a quantity.

    Parameters
    ----------
    cells : pyarrow.ChunkedArray
        Without missing cells.
    column : str
    task : {"auto", "classification", "regression"}
    notes : Notes
        Where it is said how texts were read.
    """
    if not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)) or task == "classification":
        return cells.to_numpy()
    levels = pc.unique(cells).to_pylist()
    if task == "regression" or len(levels) > MOST_CLASSES:
        form = find_formats(levels).with_decimal(None)
        if form is not None:
            if not form.is_plain:
                notes.append(f"the target {column!r} is read as numbers with {form}")
            return form.parse(cells.to_pylist())
        if find_moments(levels) is not None:
            raise ValueError(f"The target {column!r} holds dates or times; give classes or numbers.")
    return cells.to_numpy()


def choose_task(values: Any, target: str, task: str, notes: Notes) -> str:
    """Whether the target is classes or a quantity, and a remark where that is a guess."""
    numeric = values.dtype.kind in "iuf"
    whole = numeric and bool((values == np.round(values)).all())
    if task != "auto":
        if task == "regression":
            as_numbers(values, target)
        elif values.dtype.kind == "f" and not whole:
            fraction = values[values != np.round(values)][0]
            raise ValueError(
                f"The target {target!r} holds fractions such as {fraction:g}, which are no classes; "
                "use --task regression, or turn it into a few classes."
            )
        return task
    if not numeric:
        return "classification"
    distinct = len(np.unique(values))
    if whole and distinct <= MOST_CLASSES:
        if distinct > 2:
            notes.append(
                f"the target {target!r} has {distinct} different whole numbers and is fitted as classes; "
                "use --task regression for a quantity"
            )
        return "classification"
    notes.append(
        f"the target {target!r} has {distinct} different numbers and is fitted as a quantity; "
        "use --task classification for classes"
    )
    return "regression"


def as_numbers(values: Any, target: str) -> Any:
    """The target of a regression as numbers."""
    if values.dtype.kind not in "iufb":
        raise ValueError(f"The target {target!r} holds text such as {values[0]!r}; regression needs numbers.")
    return values.astype(np.float64)
