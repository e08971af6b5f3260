"""Between files and models: what the commands share."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from omtree.cli.notes import Notes
from omtree.cli.tables import FileOptions, column_of, read_table, suggest
from omtree.cli.targets import answered_rows, as_numbers, target_values
from omtree.data.table import Pooled
from omtree.data.wording import text_of

if TYPE_CHECKING:
    import pyarrow as pa

    from omtree.estimators.base import OptimalTreeBase


def load_model(path: str) -> OptimalTreeBase:
    """The model in a file."""
    from omtree.export.saving import load

    return load(path)


def text_columns(model: OptimalTreeBase) -> set[str]:
    """The columns whose cells stay texts in a file, even where all are numbers: the model knows what they mean."""
    texts = {
        feature.name
        for feature in model.rules_.features
        if feature.levels is not None and any(isinstance(level, str | Pooled) for level in feature.levels)
    }
    return {each.name for each in model.reading_ if each.how != "given" or each.name in texts}


def column_names(model: OptimalTreeBase) -> list[str]:
    """The columns that the model was fitted on."""
    names = vars(model).get("feature_names_in_")
    return [f"x{i}" for i in range(model.n_features_in_)] if names is None else [str(name) for name in names]


def read_rows(
    model: OptimalTreeBase, path: str, options: FileOptions | None = None, notes: Notes | None = None
) -> tuple[pa.Table, Any]:
    """A table, and what the model takes of it: the table itself, or an array where the model knows no names."""
    options = options or FileOptions()
    if model.reading is not None:
        # What meant missing in the fit means so here.
        options = replace(options, missing=(*options.missing, *model.reading.missing))
    table = read_table(path, options, as_text=text_columns(model), notes=notes)
    names = column_names(model)
    named = "feature_names_in_" in vars(model)
    asked = [model.reading_[place].name for place in sorted(model._asked_columns())] if named else names
    absent = [name for name in asked if name not in table.column_names]
    if absent:
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        where = "standard input" if path == "-" else path
        others = [name for name in table.column_names if name not in names]
        hint = suggest(absent[0], others) if others else ""
        raise ValueError(f"{where} lacks the column {absent[0]!r} of the model{more}{hint}.")
    if not named:
        return table, np.column_stack([table[name].to_numpy() for name in names])
    return table, table


def read_answered(
    model: OptimalTreeBase, path: str, target: str, options: FileOptions | None, notes: Notes
) -> tuple[pa.Table, Any, Any]:
    """The rows of a table that have a target: all their columns, what the model takes, and the true answers."""
    if model.rules_.are_actions or model.rules_.are_curves:
        raise ValueError(
            "Files of true answers are for classes and numbers; of policies and survival use the report without data, "
            "or Python."
        )
    table, rows = read_rows(model, path, options, notes)
    missing = () if options is None else options.missing
    cells, present = answered_rows(column_of(table, target, "the target", path), target, missing, notes)
    if not present.all():
        table, cells = table.filter(present), cells.filter(present)
        rows = rows[present] if isinstance(rows, np.ndarray) else table
    return table, rows, _answers(cells, target, model)


def groups_in(model: Any, table: pa.Table) -> pa.Table | None:
    """The columns of a table that the groups of the model's constraints are in."""
    named = {name for constraint in model.constraints for name in constraint.group_columns}
    found = [name for name in table.column_names if name in named]
    return table.select(found) if found else None


def _answers(cells: pa.ChunkedArray, target: str, model: OptimalTreeBase) -> Any:
    """The true answers, in the type of the model's."""
    classes = vars(model).get("classes_")
    task = "regression" if classes is None else "auto" if classes.dtype.kind in "iuf" else "classification"
    values = target_values(cells, target, task, Notes())
    if classes is None:
        return as_numbers(values, target)
    if classes.dtype.kind in "OU" and values.dtype.kind != "O":
        # A target that was text in training, such as codes with leading zeros, may look like numbers now.
        return np.array([text_of(value) for value in values.tolist()], dtype=object)
    if classes.dtype.kind == "b" and values.dtype.kind == "O":
        return np.array([str(value).lower() in ("true", "1") for value in values.tolist()])
    if classes.dtype.kind in "iuf" and values.dtype.kind not in "iufb":
        raise ValueError(f"The target {target!r} holds text such as {values[0]!r}; the model's classes are numbers.")
    return values


def estimator_class(task: str) -> Any:
    """The estimator of a task."""
    import omtree

    names = {
        "regression": "OptimalTreeRegressor",
        "policy": "OptimalPolicyTree",
        "survival": "OptimalSurvivalTree",
    }
    return getattr(omtree, names.get(task, "OptimalTreeClassifier"))


def check_writable(path: str | None) -> None:
    """Complain before a long fit, not after it, about a file that cannot be written."""
    if path is None:
        return
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {folder}.")
    if Path(path).is_dir():
        raise ValueError(f"{path} cannot be written: it is a folder.")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path} cannot be written: the folder {folder} is not yours to write to.")


def check_different(paths: Mapping[str, str | None]) -> None:
    """Complain about a file that would be written twice, or over the data."""
    seen: dict[str, str] = {}
    for option, path in paths.items():
        if path is None or path == "-":
            continue
        place = os.path.realpath(path)
        is_written = option in ("--out", "--report") and (os.path.isfile(place) or not os.path.exists(place))
        if place in seen and is_written:
            raise ValueError(f"{option} and {seen[place]} are the same file, {path}; give each its own.")
        seen[place] = option
