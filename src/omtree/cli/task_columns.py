"""Tasks whose target is in several columns of a file: policies and survival."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from omtree.cli.notes import Notes
from omtree.cli.tables import column_of
from omtree.cli.targets import answered_rows, as_numbers, target_values

#: The options that each task needs, and those it may have.
NEEDED = {"policy": ("treatment", "outcome"), "survival": ("time", "event")}
OPTIONAL = {"policy": ("propensity",), "survival": ("entry",)}


@dataclass(frozen=True)
class TaskColumns:
    """The columns of a task, by what they are.

    Attributes
    ----------
    names : mapping of str to str
    rewards : tuple of str
        Of a policy, in place of those: what each action brings.
    """

    names: Mapping[str, str]
    rewards: tuple[str, ...] = ()

    @classmethod
    def of(cls, task: str, given: Mapping[str, str | None], rewards: Sequence[str] = ()) -> TaskColumns | None:
        """The columns that were given on the command line; None for tasks with one target.

        >>> TaskColumns.of("survival", {"time": "days", "event": "died", "treatment": None}).names
        {'time': 'days', 'event': 'died'}
        """
        named = {what: column for what, column in given.items() if column is not None}
        known = (*NEEDED.get(task, ()), *OPTIONAL.get(task, ()))
        for what in named:
            if what not in known:
                of = next(name for name in NEEDED if what in (*NEEDED[name], *OPTIONAL[name]))
                raise ValueError(f"--{what} goes with --task {of}; the task is {task}.")
        if rewards:
            if task != "policy":
                raise ValueError(f"--rewards goes with --task policy; the task is {task}.")
            if named:
                raise ValueError(f"--rewards and --{next(iter(named))} are two ways to say what is brought; use one.")
            if len(rewards) < 2 or len(set(rewards)) < len(rewards):
                raise ValueError("--rewards names one column for each of two or more actions; repeat it for each.")
            return cls({}, tuple(rewards))
        for what in NEEDED.get(task, ()):
            if what not in named:
                raise ValueError(f"--task {task} needs --{what} COLUMN.")
        return cls(named) if task in NEEDED else None

    @property
    def target(self) -> str:
        """The column that the model is about: the outcome, or the time."""
        if self.rewards:
            return "action"
        return self.names["outcome" if "outcome" in self.names else "time"]

    def read(
        self, table: pa.Table, source: str, missing: tuple[str, ...], notes: Notes
    ) -> tuple[pa.Table, dict[str, Any]]:
        """The other columns of the rows that have all of these, and these as arrays."""
        if len(set(self.names.values())) < len(self.names):
            raise ValueError(
                f"Two of {', '.join(f'--{what}' for what in self.names)} name one column; each is its own."
            )
        if self.rewards:
            return self._read_rewards(table, source, notes)
        cells = {}
        present = np.ones(table.num_rows, dtype=bool)
        for what, name in self.names.items():
            cells[what], seen = answered_rows(column_of(table, name, f"--{what}", source), name, missing, Notes())
            present &= seen
        left = int((~present).sum())
        if left:
            rows, are = ("row", "is") if left == 1 else ("rows", "are")
            notes.append(f"{left:,} {rows} without {' and '.join(self.names)} {are} left out")
            table = table.filter(present)
            cells = {what: column.filter(present) for what, column in cells.items()}
        arrays: dict[str, Any] = {}
        for what, column in cells.items():
            numeric = what not in ("treatment", "event")
            values = target_values(column, self.names[what], "regression" if numeric else "auto", notes)
            arrays[what] = as_numbers(values, self.names[what]) if numeric else values
        if "event" in arrays:
            arrays["event"] = _flags(arrays["event"], self.names["event"])
        return table.drop_columns(list(self.names.values())), arrays

    def _read_rewards(self, table: pa.Table, source: str, notes: Notes) -> tuple[pa.Table, dict[str, Any]]:
        arrays = {}
        for name in self.rewards:
            values = target_values(column_of(table, name, "--rewards", source), name, "regression", notes)
            arrays[name] = as_numbers(values, name)
        return table.drop_columns(list(self.rewards)), {"rewards": pa.table(arrays).to_pandas()}

    @property
    def on_disk(self) -> tuple[str, ...]:
        """The target of a scan."""
        return self.rewards or (self.names["time"], self.names["event"])


def check_task(task: str, columns: TaskColumns, on_disk: bool, holdout: float | None) -> None:
    """Complain about what a task with several columns cannot have."""
    if on_disk and task == "policy" and not columns.rewards:
        raise ValueError(
            "--treatment and --outcome need rows in memory: leave --memory-limit out and name one file, or give "
            "columns of what each action brings as --rewards."
        )
    if on_disk and "entry" in columns.names:
        raise ValueError("--entry needs rows in memory: leave --memory-limit out, and name one file.")
    if holdout is not None and task == "policy":
        raise ValueError("--holdout is not for --task policy: use --cv, or keep a file of rows apart for --test.")


def _flags(values: Any, name: str) -> Any:
    """Whether the event was seen, from 0 and 1, booleans, or words for them."""
    if values.dtype.kind in "biuf":
        return values
    words = {"yes": 1, "true": 1, "1": 1, "no": 0, "false": 0, "0": 0}
    unknown = [value for value in values.tolist() if str(value).lower() not in words]
    if unknown:
        raise ValueError(f"The event {name!r} holds {unknown[0]!r}; give 0 and 1, true and false, or yes and no.")
    return np.array([words[str(value).lower()] for value in values.tolist()])


def lifetimes(arrays: Mapping[str, Any]) -> Any:
    """Time and event as the structured array that survival trees take."""
    flags = np.asarray(arrays["event"])
    if not np.isin(flags, (0, 1)).all():
        raise ValueError("--event has entries that are neither 0 nor 1; give whether the event was seen.")
    y = np.zeros(len(flags), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = flags == 1, arrays["time"]
    return y
