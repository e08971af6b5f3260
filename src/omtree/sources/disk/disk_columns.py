"""From a scan to the samples of a fit: which columns there are, what they hold, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data.column import Column, Columns
from omtree.data.columns import KindChoice, kind_choices, not_a_date, read_columns
from omtree.data.summaries import ColumnSummary
from omtree.data.table import FloatArray
from omtree.sources.disk.files import TypedColumn, quoted
from omtree.sources.disk.rows import Rows, position_of
from omtree.sources.disk.scan import Scan
from omtree.sources.target import MAX_CLASSES, Target, check_numbers, class_scale, encode_labels

#: A column with more different texts than this is more likely a name or a key than a category.
MAX_LEVELS = 1_000_000
#: Most different values of a numeric target whose rows do not fit into memory: labels in a file have two bytes.
MAX_TARGETS = 1 << 16


@dataclass(frozen=True, eq=False)
class Field:
    """A column as batches of rows have it: doubles, or positions among levels.

    Attributes
    ----------
    column : Column
        Its values are empty.
    cell : str
        The cell in SQL: a double (NULL where missing), a text or a boolean.
    summary : ColumnSummary or None
        The counted cells, where there are levels.
    low, high : float
        Smallest and largest number; NaN where there are none.
    """

    column: Column
    cell: str
    summary: ColumnSummary | None = None
    low: float = np.nan
    high: float = np.nan

    @property
    def select(self) -> str:
        """What to read of a row."""
        if self.column.levels is None:
            return f"coalesce({self.cell}, 'nan'::DOUBLE)" if self.column.has_missing else self.cell
        return position_of(self.column, self.cell)


@dataclass(frozen=True, eq=False)
class Contents:
    """What the rows of a scan hold.

    Attributes
    ----------
    n_rows : int
    fields : tuple of Field
        Of the columns to predict from.
    target : Target
        Its labels are empty; its values are there, unless `levels` stand for them.
    label : str
        The position of a row's class, or its target, in SQL.
    weight : str
        The weight of a row in SQL.
    totals : array of float
        Weight of each class, or of all rows where the target is a number.
    levels : array of float or None
        The different values of a numeric target that does not fit into memory row by row, in order.
    """

    n_rows: int
    fields: tuple[Field, ...]
    target: Target
    label: str
    weight: str
    totals: FloatArray
    levels: FloatArray | None = None


def read_contents(rows: Rows, scan: Scan, feature_kinds: Mapping[Any, KindChoice] | None, *, numbers: bool) -> Contents:
    """Look at every column once.

    Parameters
    ----------
    rows : Rows
    scan : Scan
    feature_kinds : mapping, optional
        As in `read_columns`.
    numbers : bool
        Whether the target is a number.
    """
    typed = _chosen(rows, scan)
    weight = "1" if scan.weight is None else f"{quoted(scan.weight)}::DOUBLE"
    (n_rows,) = rows.fetch_one("count(*)")
    if n_rows == 0:
        raise ValueError(f"{rows.name} has no rows.")
    if scan.weight is not None:
        _check_weights(rows, rows.columns[scan.weight], weight, n_rows)
    goal = rows.columns[scan.target]
    if goal.family in ("time", "other"):
        raise ValueError(f"The target {scan.target!r} holds {goal.kind}; give classes or numbers.")
    target_levels: FloatArray | None = None
    if numbers:
        size = n_rows * (2 * len(typed) + 80)
        if size > rows.table_memory:
            needed = size * rows.memory / rows.table_memory
            target, label, totals, target_levels = _level_target(rows, goal, weight, n_rows, needed)
        else:
            target, label, totals = _number_target(rows, goal, weight)
    else:
        target, label, totals = _class_target(rows, goal, weight, n_rows)
    choices = kind_choices(feature_kinds, [column.name for column in typed])
    levels: dict[int, Field] = {}
    cells: dict[int, str] = {}
    for place, column in enumerate(typed):
        choice = choices.get(place)
        if column.family == "time":
            raise not_a_date(column.name)
        if column.family == "other":
            raise ValueError(
                f"Column {column.name!r} holds values of type {column.kind}; turn them into numbers or text first."
            )
        is_number = column.family in ("number", "empty")
        if choice == "numeric" or (is_number and choice is None):
            cells[place] = column.expression if is_number else _as_number(rows, column)
        else:
            levels[place] = level_field(rows, column, choice, label, weight, numbers=numbers)
    found = _number_fields(rows, {place: (typed[place].name, cell) for place, cell in cells.items()}, n_rows)
    fields = tuple(levels[place] if place in levels else found[place] for place in range(len(typed)))
    return Contents(n_rows, fields, target, label, weight, totals, target_levels)


def _chosen(rows: Rows, scan: Scan) -> list[TypedColumn]:
    """The columns to predict from."""
    others = [("the target", scan.target), ("the weights", scan.weight), *(("groups", name) for name in scan.groups)]
    for what, name in [*others, *(("the columns", name) for name in scan.columns or ())]:
        if name is not None:
            rows.column(name, what)
    taken = {name for _, name in others}
    if scan.columns is not None:
        twice = [name for name in scan.columns if name in taken or list(scan.columns).count(name) > 1]
        if twice:
            raise ValueError(f"columns names {twice[0]!r}, which is used already; name each column once.")
        return [rows.columns[name] for name in scan.columns]
    chosen = [column for name, column in rows.columns.items() if name not in taken]
    if not chosen:
        raise ValueError(f"{rows.name} has no column besides the target {scan.target!r}; give it some to predict from.")
    return chosen


def _check_weights(rows: Rows, column: TypedColumn, weight: str, n_rows: int) -> None:
    name = column.name
    if column.family != "number":
        raise ValueError(f"The weights {name!r} are not numbers; give one number per row.")
    present, low, high, total = rows.fetch_one(f"count({weight}), min({weight}), max({weight}), sum({weight})")
    if present < n_rows or not np.isfinite([low, high]).all():
        raise ValueError(f"The weights {name!r} are missing or infinite in some rows; give every row a finite weight.")
    if low < 0:
        raise ValueError(f"The weights {name!r} are negative in some rows; weights must be zero or positive.")
    if total == 0:
        raise ValueError(f"The weights {name!r} are zero in every row; at least one row needs a positive weight.")


def _class_target(rows: Rows, goal: TypedColumn, weight: str, n_rows: int) -> tuple[Target, str, FloatArray]:
    cell = goal.raw
    values, counts, weights = rows.fetch(
        "y, count(*), sum(w)::DOUBLE", f"GROUP BY y LIMIT {MAX_CLASSES + 1}", f"{cell} AS y, {weight} AS w"
    )
    absent = np.array([value is None or value != value for value in values.tolist()], dtype=bool)
    if absent.any():
        missing = int(counts[absent].sum())
        cells = "1 missing cell" if missing == 1 else f"{missing:,} missing cells"
        raise ValueError(f"The target {goal.name!r} has {cells}; drop those rows or fill them in.")
    if len(values) > MAX_CLASSES:
        raise ValueError(
            f"The target {goal.name!r} has more than {MAX_CLASSES:,} classes; use OptimalTreeRegressor for a quantity."
        )
    if not goal.kind and values.dtype.kind == "f" and bool((values == np.round(values)).all()):
        values = values.astype(np.int64)  # text in the file, and numbers without fractions
    classes, places = encode_labels(values)
    totals = np.bincount(places, weights=weights, minlength=len(classes)).astype(np.float64)
    numeric = classes.dtype.kind in "iuf"
    column = Column(goal.name, "nominal", np.empty(0, np.int32), False, tuple(classes.tolist()))
    label = position_of(column, f"{cell}::DOUBLE" if numeric else cell)
    if weight != "1":
        # Added up row by row, as in memory, so that fractions give the same sums.
        sums = np.zeros((1, len(classes)))
        for labels, some in rows.batches(f"{label}::BIGINT, {weight}"):
            _native.count_classes(np.zeros(len(labels), dtype=np.int64), labels, some, sums)
        totals = sums[0]
    return Target(classes, np.empty(0, dtype=np.intp), np.empty(0)), label, totals


def _number_cell(goal: TypedColumn) -> str:
    if goal.family not in ("number", "flag"):
        raise ValueError(f"The target {goal.name!r} holds no numbers; a regressor needs numbers.")
    return goal.expression if goal.family == "number" else f"{goal.expression}::INTEGER::DOUBLE"


def _level_target(
    rows: Rows, goal: TypedColumn, weight: str, n_rows: int, needed: float
) -> tuple[Target, str, FloatArray, FloatArray]:
    """A numeric target of more rows than fit into memory: its different values have to."""
    cell = _number_cell(goal)
    values, weights = rows.fetch(
        "y, sum(w)::DOUBLE", f"GROUP BY y LIMIT {MAX_TARGETS + 1}", f"{cell} AS y, {weight} AS w"
    )
    if len(values) > MAX_TARGETS:
        raise ValueError(
            f"The {n_rows:,} rows of a numeric target need about {needed / 1e9:.1f} GB, as {goal.name!r} has more than "
            f"{MAX_TARGETS:,} different values; raise memory_limit, or round the target or turn it into classes."
        )
    levels = np.unique(check_numbers(values))
    total = np.array([weights.sum()], dtype=np.float64)
    return Target(np.empty(0), np.empty(0, dtype=np.intp), np.empty(0)), cell, total, levels


def _number_target(rows: Rows, goal: TypedColumn, weight: str) -> tuple[Target, str, FloatArray]:
    cell = _number_cell(goal)
    values, weights = rows.fetch(f"{cell}, {weight}")
    target = Target(np.empty(0), np.empty(0, dtype=np.intp), check_numbers(values))
    return target, cell, np.array([weights.sum()], dtype=np.float64)


def _as_number(rows: Rows, column: TypedColumn) -> str:
    """A column of texts or flags that is to be read as numbers, in SQL."""
    if column.family == "flag":
        return f"{column.expression}::INTEGER::DOUBLE"
    number = f"TRY_CAST(trim({column.expression}) AS DOUBLE)"
    (odd,) = rows.fetch_one(f"any_value({column.expression}) FILTER ({number} IS NULL)")
    if odd is not None:
        raise ValueError(f"Column {column.name!r} is to be numeric, but {odd!r} is not a number.")
    return number


def _number_fields(rows: Rows, cells: Mapping[int, tuple[str, str]], n_rows: int) -> dict[int, Field]:
    """Columns of numbers: their ends, and whether any cell is missing."""
    if not cells:
        return {}
    ends = ", ".join(f"count({cell}), min({cell}), max({cell})" for _, cell in cells.values())
    found = rows.fetch_one(ends)
    fields = {}
    for order, (place, (name, cell)) in enumerate(cells.items()):
        present, low, high = found[3 * order : 3 * order + 3]
        if high is not None and high != high:
            # To DuckDB NaN is the largest number.
            cell = f"CASE WHEN isnan({cell}) THEN NULL ELSE {cell} END"
            present, low, high = rows.fetch_one(f"count({cell}), min({cell}), max({cell})")
        if low is not None and not np.isfinite([low, high]).all():
            raise ValueError(f"Column {name!r} has infinite values; replace them by numbers or by NaN (missing).")
        column = Column(name, "numeric", np.empty(0), present < n_rows)
        fields[place] = Field(column, cell, None, np.nan if low is None else low, np.nan if high is None else high)
    return fields


def level_field(
    rows: Rows, column: TypedColumn, choice: KindChoice | None, label: str, weight: str, *, numbers: bool
) -> Field:
    """A column of texts, flags or ordered values, or of numbers that are to be read so, with its cells counted.

    Parameters
    ----------
    rows : Rows
    column : TypedColumn
    choice : str, sequence or None
        What the user says it is.
    label, weight : str
        In SQL.
    numbers : bool
        Whether the label is a number.
    """
    import pyarrow as pa

    name, cell = column.name, column.expression
    if choice is None and column.family == "ordered":
        choice = column.levels
    of_cell = f"{cell} AS x, {label} AS y, {weight} AS w"
    if numbers:
        found = rows.fetch(
            "x, coalesce(sum(w * y) / nullif(sum(w), 0), 0), sum(w)::DOUBLE",
            f"GROUP BY x LIMIT {MAX_LEVELS + 1}",
            of_cell,
        )
    else:
        found = rows.fetch("x, y, sum(w)::DOUBLE", f"GROUP BY x, y LIMIT {2 * MAX_LEVELS + 1}", of_cell)
    cells, guide, weights = found
    if len(cells) > MAX_LEVELS * (1 if numbers else 2):
        raise ValueError(
            f"Column {name!r} has more than {MAX_LEVELS:,} different values, too many for categories; "
            "leave it out with columns=[...]."
        )
    # An order of our own: the answers of a database have none.
    order = sorted(range(len(cells)), key=lambda i: (str(cells[i]), guide[i]))
    frame = pa.table({name: pa.array(cells[order].tolist())})
    counted = read_columns(frame, None if choice is None else {name: choice})[0]
    summary = ColumnSummary(counted, weights[order], guide[order])
    if counted.levels is None:  # all cells are missing
        return Field(replace(counted, values=np.empty(0)), "NULL::DOUBLE", summary)
    empty: npt.NDArray[Any] = np.empty(0, dtype=np.int32)
    return Field(replace(counted, values=empty), cell, summary)


def empty_columns(fields: Sequence[Field], n_rows: int) -> Columns:
    """The columns without their values."""
    return Columns(tuple(known.column for known in fields), n_rows)


def scale_of(
    class_weight: Mapping[Any, float] | Literal["balanced"] | None, contents: Contents
) -> tuple[FloatArray | None, float]:
    """What the weights of each class are multiplied by, and the weight of all rows after that."""
    if contents.target.is_number:
        return None, float(contents.totals.sum())
    scale = class_scale(class_weight, contents.target.classes, contents.totals)
    if np.count_nonzero(contents.totals * scale) < 2:
        raise ValueError("y has only one class (of positive weight); a classifier needs at least two classes.")
    return None if class_weight is None else scale, float((contents.totals * scale).sum())
