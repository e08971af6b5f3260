"""What the target columns of a scan say of a row: a class, a number, a time to an event, or what actions bring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from omtree import _native
from omtree.data.column import Column
from omtree.data.table import FloatArray
from omtree.sources.disk.files import TypedColumn
from omtree.sources.disk.rows import Rows, position_of
from omtree.sources.lifetimes import Baseline, Flags
from omtree.sources.target import MAX_CLASSES, MAX_TARGETS, Target, check_numbers, encode_labels

#: How a time of zero without an event is written: times without one have a sign, which zero has not.
_CENSORED_AT_ONCE = -1e-300

Task = Literal["classification", "regression", "survival", "policy"]
Decode = Callable[[FloatArray], Target]


@dataclass(frozen=True, eq=False)
class Goal:
    """The target of a scan.

    Attributes
    ----------
    target : Target
        Its labels are empty; its values are there, unless `levels` stand for them.
    label : str
        The position of a row's class (of a policy, of its best action), or its target, in SQL.
    totals : array of float
        Weight of each class, or of all rows where the target is no class.
    levels : array of float or None
        The different values of a numeric target that does not fit into memory row by row, in order.
    decode : callable
        The target behind some values of a numeric one.
    rewards : tuple of str
        Of a policy: what each action brings, in SQL.
    """

    target: Target
    label: str
    totals: FloatArray
    levels: FloatArray | None = None
    decode: Decode = lambda values: Target.of_numbers(values)
    rewards: tuple[str, ...] = ()

    @property
    def select(self) -> list[str]:
        """What to read of a row."""
        return list(self.rewards) or [self.label]


def read_goal(rows: Rows, columns: Sequence[TypedColumn], weight: str, task: Task, n_rows: int, size: int) -> Goal:
    """Look at the columns of the target.

    Parameters
    ----------
    rows : Rows
    columns : sequence of TypedColumn
        Of the target.
    weight : str
        The weight of a row in SQL.
    task : {"classification", "regression", "survival", "policy"}
    n_rows : int
    size : int
        Bytes that the rows of a numeric target would take in memory.
    """
    wanted = {"survival": "two, time and event", "policy": "several, what each action brings"}.get(task, "one")
    if (len(columns) == 1) != (wanted == "one") or (task == "survival" and len(columns) != 2):
        advice = "name one, or load the rows" if wanted == "one" else "name these"
        raise ValueError(f"target names {len(columns)} of the columns, and this model needs {wanted}; {advice}.")
    for goal in columns:
        if goal.family in ("time", "other"):
            raise ValueError(f"The target {goal.name!r} holds {goal.kind}; give classes or numbers.")
    if task == "classification":
        return _class_goal(rows, columns[0], weight, n_rows)
    if task == "policy":
        return _reward_goal(rows, columns, weight)
    name = columns[0].name
    cell = _number_cell(columns[0]) if task == "regression" else _signed(rows, *columns)
    total: FloatArray
    if size > rows.table_memory:
        needed = size * rows.memory / rows.table_memory
        levels, weights = _levels(rows, name, cell, weight, f"{n_rows:,} rows of a numeric target", needed)
        total = np.array([weights.sum()], dtype=np.float64)
        decode = _decoder(task, levels, weights)
        return Goal(decode(levels[:0]), cell, total, levels, decode)
    values, weights = rows.fetch(f"{cell}, {weight}::DOUBLE")
    values = check_numbers(values)
    decode = _decoder(task, values, weights)
    return Goal(decode(values), cell, np.array([weights.sum()], dtype=np.float64), decode=decode)


def _class_goal(rows: Rows, goal: TypedColumn, weight: str, n_rows: int) -> Goal:
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
    return Goal(Target(classes, np.empty(0, dtype=np.intp), np.empty(0)), label, totals)


def _number_cell(goal: TypedColumn, what: str = "a regressor needs numbers") -> str:
    if goal.family not in ("number", "flag"):
        raise ValueError(f"The target {goal.name!r} holds no numbers; {what}.")
    return goal.expression if goal.family == "number" else f"{goal.expression}::INTEGER::DOUBLE"


def _levels(rows: Rows, name: str, cell: str, weight: str, what: str, needed: float) -> tuple[FloatArray, FloatArray]:
    """The different values of a target of more rows than fit into memory, and their weights."""
    values, weights = rows.fetch(
        "y, sum(w)::DOUBLE", f"GROUP BY y LIMIT {MAX_TARGETS + 1}", f"{cell} AS y, {weight} AS w"
    )
    if len(values) > MAX_TARGETS:
        raise ValueError(
            f"The {what} need about {needed / 1e9:.1f} GB, as {name!r} has more than "
            f"{MAX_TARGETS:,} different values; raise memory_limit, or round the target or turn it into classes."
        )
    values = check_numbers(values)
    order = np.argsort(values)
    return values[order], weights[order]


def _signed(rows: Rows, time: TypedColumn, event: TypedColumn) -> str:
    """Time and event as one number in SQL: times without the event are negative."""
    if event.family not in ("number", "flag"):
        raise ValueError(f"The event {event.name!r} holds no numbers or flags; give whether the event was seen.")
    cell = _number_cell(time, "give the time to the event or the last look")
    flag = event.expression if event.family == "flag" else f"{event.expression} = 1"
    neither = f"{event.expression} IS NULL"
    if event.family == "number":
        neither += f" OR {event.expression} NOT IN (0, 1)"
    missing, negative, odd = rows.fetch_one(
        f"count(*) FILTER (NOT coalesce(isfinite({cell}), false)), count(*) FILTER ({cell} < 0), "
        f"count(*) FILTER ({neither})"
    )
    if missing:
        raise ValueError(f"The time {time.name!r} has missing or infinite entries; leave those rows out.")
    if negative:
        raise ValueError(f"The time {time.name!r} has negative entries; give the time from the beginning.")
    if odd:
        raise ValueError(f"The event {event.name!r} has entries that are neither 0 nor 1; give whether it was seen.")
    return f"CASE WHEN {flag} THEN {cell} WHEN {cell} = 0 THEN {_CENSORED_AT_ONCE!r}::DOUBLE ELSE -{cell} END"


def _unsigned(values: FloatArray) -> tuple[FloatArray, Flags]:
    """Times and events behind such numbers."""
    return np.where(values == _CENSORED_AT_ONCE, 0.0, np.abs(values)), values >= 0


def _decoder(task: Task, values: FloatArray, weights: FloatArray) -> Decode:
    """What makes targets of values; of times to an event, under the hazard of all rows, whose values these are."""
    if task == "regression":
        return Target.of_numbers
    baseline = Baseline.of(*_unsigned(values), None, weights)
    return lambda some: Target.of_lifetimes(baseline.lifetimes(*_unsigned(some)))


def _reward_goal(rows: Rows, columns: Sequence[TypedColumn], weight: str) -> Goal:
    """What each action brings; the best one, the first among equals, is what a row is known by."""
    if len(columns) > MAX_CLASSES:
        raise ValueError(f"target names {len(columns)} actions, and at most {MAX_CLASSES} are possible; name fewer.")
    cells = [_number_cell(column, "give what each action brings") for column in columns]
    for column, cell in zip(columns, cells, strict=True):
        (missing,) = rows.fetch_one(f"count(*) FILTER (NOT coalesce(isfinite({cell}), false))")
        if missing:
            raise ValueError(f"The reward {column.name!r} has missing or infinite entries; give one for each row.")
    best = f"greatest({', '.join(cells)})"
    cases = " ".join(f"WHEN {cell} = {best} THEN {place}" for place, cell in enumerate(cells))
    actions = np.array([column.name for column in columns], dtype=object)
    none = np.empty((0, len(columns)))
    target = Target(actions, np.empty(0, dtype=np.intp), np.empty(0), none, none)
    (total,) = rows.fetch_one(f"sum({weight})::DOUBLE")
    return Goal(target, f"CASE {cases} END", np.array([float(total)]), rewards=tuple(cells))
