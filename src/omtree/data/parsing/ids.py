"""Columns that name their rows: they separate everything and say nothing about a new row."""

from __future__ import annotations

import re

import numpy as np

from omtree.data.column import Column
from omtree.data.table import FloatArray

#: Fewer rows than this tell nothing.
LEAST_ROWS = 20
#: A text column of which this share of the cells is different names its rows.
NEARLY_ALL = 0.9
_NAMED_SO = re.compile(
    r"(^|[\s_.\-#])(id|ids|uid|uuid|guid|key|index|idx|row|nr|no|num|number|seq|serial|record|rownames?)$|^unnamed|^$",
    re.IGNORECASE,
)
_ENDS_SO = re.compile(r"([a-z]|^)(ID|Id|Nr|No)$")


def names_its_rows(column: Column) -> str:
    """Why a column is taken for a name or number of its rows; empty where it is not.

    Texts of which nearly all are different; whole numbers that rise by one from row to row, or fill a range without a
    gap; and, where the column is called so (``id``, ``patient_nr``, ``index``), whole numbers that are all different.

    Examples
    --------
    >>> names_its_rows(Column("case", "numeric", np.arange(100.0), False))
    'its numbers count the rows'
    """
    values = column.values
    if len(values) < LEAST_ROWS:
        return ""
    if column.levels is not None:
        if column.kind != "nominal" or not all(isinstance(level, str) for level in column.levels[:1]):
            return ""
        present = int((values >= 0).sum())
        n_levels = len(column.levels)
        if present >= LEAST_ROWS and n_levels >= NEARLY_ALL * present:
            return f"it has {n_levels:,} different texts in {present:,} rows"
        return ""
    if column.unit or column.has_missing or not _rises_or_fits(values):
        return ""
    # Looked at in parts: nearly every column of measurements is told by its first rows.
    if not (values[:LEAST_ROWS] == np.round(values[:LEAST_ROWS])).all() or not (values == np.round(values)).all():
        return ""
    called_so = _NAMED_SO.search(column.name) is not None or _ENDS_SO.search(column.name) is not None
    steps = np.diff(values)
    if (steps == 1.0).all():
        return "its numbers count the rows"
    spread = float(values.max() - values.min())
    if not called_so and spread != len(values) - 1:
        return ""
    if len(np.unique(values)) < len(values):
        return ""
    return (
        "its numbers count the rows"
        if spread == len(values) - 1
        else "its numbers are all different, and it is called so"
    )


def _rises_or_fits(values: FloatArray) -> bool:
    """Whether the first rows leave it possible that all numbers are different."""
    first = values[: 4 * LEAST_ROWS]
    return len(set(first.tolist())) == len(first)
