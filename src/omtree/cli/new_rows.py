"""Rows that a fitted model is tried on: held out of the table, or from a file of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import train_test_split

from omtree.cli.modelling import groups_in, read_answered
from omtree.cli.notes import Notes
from omtree.cli.tables import FileOptions, column_of, read_table, suggest

if TYPE_CHECKING:
    import pyarrow as pa

    from omtree.estimators.base import OptimalTreeBase


@dataclass(frozen=True)
class NewRows:
    """Rows with their true answers, and where they are from.

    Attributes
    ----------
    X, y : object
    weight : array or None
    how : str
        In words, after "by".
    groups : pyarrow.Table or None
        The columns of the groups that constraints are about, where they are apart.
    """

    X: Any
    y: Any
    weight: Any
    how: str
    groups: pa.Table | None = None


@dataclass(frozen=True)
class Parted:
    """A table in two: what is fitted to, and what is held out."""

    rows: pa.Table
    y: Any
    extra: Mapping[str, Any]
    held_out: NewRows


def check_share(share: float) -> None:
    """Complain about a share that leaves nothing on one side."""
    if not 0 < share < 1:
        raise ValueError(f"--holdout {share:g} is not possible; use a share above 0 and below 1, such as 0.3.")


def part(rows: pa.Table, y: Any, extra: Mapping[str, Any], share: float, *, classes: bool, seed: int | None) -> Parted:
    """Hold out a share of the rows, with every class in proportion where all classes have rows enough."""
    counts = np.unique(y, return_counts=True)[1] if classes else np.array([2])
    n_held = round(share * len(y))
    stratify = y if classes and counts.min() >= 2 and min(n_held, len(y) - n_held) >= len(counts) else None
    try:
        kept, held = train_test_split(np.arange(len(y)), test_size=share, random_state=seed or 0, stratify=stratify)
    except ValueError:
        raise ValueError(
            f"--holdout {share:g} leaves no rows on one side of the {len(y)}; use another share."
        ) from None
    kept, held = np.sort(kept), np.sort(held)

    def taken(values: Any, places: Any) -> Any:
        return values.take(places) if hasattr(values, "column_names") else values[places]

    weight = extra.get("sample_weight")
    groups = extra["groups"].take(held) if "groups" in extra else None
    how = f"{len(held):,} rows held out ({100 * share:.0f} %)"
    return Parted(
        rows.take(kept),
        y[kept],
        {name: taken(values, kept) for name, values in extra.items()},
        NewRows(rows.take(held), y[held], None if weight is None else weight[held], how, groups),
    )


def check_test_file(path: str, target: str, names: list[str], options: FileOptions) -> None:
    """Complain before the fit about a test file that cannot be read or lacks columns."""
    table = read_table(path, options)
    column_of(table, target, "the target", path)
    absent = [name for name in names if name not in table.column_names]
    if absent:
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        others = [name for name in table.column_names if name not in names]
        hint = suggest(absent[0], others) if others else ""
        raise ValueError(f"--test {path} lacks the column {absent[0]!r} of the training data{more}{hint}.")


def from_file(model: OptimalTreeBase, path: str, target: str, options: FileOptions, notes: Notes) -> NewRows:
    """The rows of a test file, as the model reads them."""
    table, X, y = read_answered(model, path, target, options, notes)
    return NewRows(X, y, None, f"a test on the {table.num_rows:,} rows of {path}", groups_in(model, table))
