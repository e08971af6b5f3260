"""From a scan to the samples of a fit: which columns there are, what they hold, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from omtree.data.cell_columns import not_a_date
from omtree.data.column import Column, Columns
from omtree.data.columns import read_columns
from omtree.data.kind_choices import KindChoice, kind_choices
from omtree.data.summaries import ColumnSummary
from omtree.data.table import FloatArray
from omtree.sources.disk.files import TypedColumn, quoted
from omtree.sources.disk.goals import Goal, Task, read_goal
from omtree.sources.disk.rows import Rows, position_of
from omtree.sources.disk.scan import Scan
from omtree.sources.target import class_scale

#: A column with more different texts than this is more likely a name or a key than a category.
MAX_LEVELS = 1_000_000


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
    goal : Goal
        The target.
    weight : str
        The weight of a row in SQL.
    """

    n_rows: int
    fields: tuple[Field, ...]
    goal: Goal
    weight: str


def read_contents(rows: Rows, scan: Scan, feature_kinds: Mapping[Any, KindChoice] | None, task: Task) -> Contents:
    """Look at every column once.

    Parameters
    ----------
    rows : Rows
    scan : Scan
    feature_kinds : mapping, optional
        As in `read_columns`.
    task : {"classification", "regression", "survival", "policy"}
    """
    typed = _chosen(rows, scan)
    weight = "1" if scan.weight is None else f"{quoted(scan.weight)}::DOUBLE"
    (n_rows,) = rows.fetch_one("count(*)")
    if n_rows == 0:
        raise ValueError(f"{rows.name} has no rows.")
    if scan.weight is not None:
        _check_weights(rows, rows.columns[scan.weight], weight, n_rows)
    targets = [rows.columns[name] for name in scan.targets]
    goal = read_goal(rows, targets, weight, task, n_rows, n_rows * (2 * len(typed) + 80))
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
            levels[place] = level_field(rows, column, choice, goal, weight)
    found = _number_fields(rows, {place: (typed[place].name, cell) for place, cell in cells.items()}, n_rows)
    fields = tuple(levels[place] if place in levels else found[place] for place in range(len(typed)))
    return Contents(n_rows, fields, goal, weight)


def _chosen(rows: Rows, scan: Scan) -> list[TypedColumn]:
    """The columns to predict from."""
    others: list[tuple[str, str | None]] = [("the target", name) for name in scan.targets]
    others += [("the weights", scan.weight), *(("groups", name) for name in scan.groups)]
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
        named = ", ".join(map(repr, scan.targets))
        raise ValueError(f"{rows.name} has no column besides the target {named}; give it some to predict from.")
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


def level_field(rows: Rows, column: TypedColumn, choice: KindChoice | None, goal: Goal, weight: str) -> Field:
    """A column of texts, flags or ordered values, or of numbers that are to be read so, with its cells counted.

    Parameters
    ----------
    rows : Rows
    column : TypedColumn
    choice : str, sequence or None
        What the user says it is.
    goal : Goal
    weight : str
        In SQL.
    """
    import pyarrow as pa

    name, cell = column.name, column.expression
    if choice is None and column.family == "ordered":
        choice = column.levels
    of_cell = f"{cell} AS x, {goal.label} AS y, {weight} AS w"
    numbers = goal.target.is_number
    found: Sequence[npt.NDArray[Any]]
    if goal.target.lifetimes is not None:
        found = _mean_above(rows.fetch("x, y, sum(w)::DOUBLE", "GROUP BY x, y", of_cell), goal)
    elif numbers:
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


def _mean_above(counted: Sequence[npt.NDArray[Any]], goal: Goal) -> tuple[npt.NDArray[Any], FloatArray, FloatArray]:
    """Cells, how much more happened to their rows on average than to be expected, and their weights."""
    cells, labels, weights = counted
    place: dict[Any, int] = {}
    row = np.array([place.setdefault(cell, len(place)) for cell in cells.tolist()], dtype=np.intp)
    total = np.bincount(row, weights=weights, minlength=len(place))
    above = np.bincount(row, weights=weights * goal.decode(labels).values, minlength=len(place))
    mean = np.divide(above, total, out=np.zeros(len(place)), where=total > 0)
    different = np.empty(len(place), dtype=object)
    different[:] = list(place)
    return different, mean, total.astype(np.float64)


def empty_columns(fields: Sequence[Field], n_rows: int) -> Columns:
    """The columns without their values."""
    return Columns(tuple(known.column for known in fields), n_rows)


def scale_of(
    class_weight: Mapping[Any, float] | Literal["balanced"] | None, contents: Contents
) -> tuple[FloatArray | None, float]:
    """What the weights of each class are multiplied by, and the weight of all rows after that."""
    target, totals = contents.goal.target, contents.goal.totals
    if target.is_number or contents.goal.rewards:
        return None, float(totals.sum())
    scale = class_scale(class_weight, target.classes, totals)
    if np.count_nonzero(totals * scale) < 2:
        raise ValueError("y has only one class (of positive weight); a classifier needs at least two classes.")
    return None if class_weight is None else scale, float((totals * scale).sum())
