"""Between files and models: what the commands share."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from omtree.cli.tables import CellType, Notes, column_of, read_table, suggest, target_values
from omtree.export.logic import members

if TYPE_CHECKING:
    import pyarrow as pa

    from omtree.estimators.base import OptimalTreeBase

#: A numeric target with more different values than this is taken for a quantity, not for classes.
MOST_CLASSES = 20


def load_model(path: str) -> OptimalTreeBase:
    """The model in a file."""
    from omtree.export.saving import load

    return load(path)


def cell_types(model: OptimalTreeBase) -> dict[str, CellType]:
    """How the model's columns are to be read from text; those that no condition can be on, as they are."""
    types: dict[str, CellType] = dict.fromkeys(column_names(model), "text")
    for feature in model.rules_.features:
        levels = () if feature.levels is None else members(feature.levels)
        if any(isinstance(level, str) for level in levels):
            types[feature.name] = "text"
        elif levels and all(isinstance(level, bool) for level in levels):
            types[feature.name] = "flag"
        else:
            types[feature.name] = "number"
    return types


def column_names(model: OptimalTreeBase) -> list[str]:
    """The columns that the model was fitted on."""
    names = vars(model).get("feature_names_in_")
    return [f"x{i}" for i in range(model.n_features_in_)] if names is None else [str(name) for name in names]


def read_rows(
    model: OptimalTreeBase, path: str, *, delimiter: str | None = None, missing: tuple[str, ...] = ()
) -> tuple[pa.Table, Any]:
    """A table, and its part that the model takes: a frame, or an array where the model knows no names."""
    table = read_table(path, delimiter=delimiter, missing=missing, types=cell_types(model))
    names = column_names(model)
    absent = [name for name in names if name not in table.column_names]
    if absent:
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        where = "standard input" if path == "-" else path
        others = [name for name in table.column_names if name not in names]
        hint = suggest(absent[0], others) if others else ""
        raise ValueError(f"{where} lacks the column {absent[0]!r} of the model{more}{hint}.")
    rows = table.select(names)
    if "feature_names_in_" not in vars(model):
        return table, np.column_stack([rows[name].to_numpy() for name in names])
    return table, rows


def read_target(table: pa.Table, target: str, model: OptimalTreeBase, path: str) -> Any:
    """The true answers, in the type of the model's."""
    values = target_values(column_of(table, target, "the target", path), target)
    classes = vars(model).get("classes_")
    if classes is None:
        return _as_numbers(values, target)
    if classes.dtype.kind in "OU" and values.dtype.kind != "O":
        # A target that was text in training, such as codes with leading zeros, may look like numbers now.
        from omtree.data.wording import text_of

        return np.array([text_of(value) for value in values.tolist()], dtype=object)
    if classes.dtype.kind == "b" and values.dtype.kind == "O":
        return np.array([str(value).lower() in ("true", "1") for value in values.tolist()])
    if classes.dtype.kind in "iuf" and values.dtype.kind not in "iufb":
        raise ValueError(f"The target {target!r} holds text such as {values[0]!r}; the model's classes are numbers.")
    return values


def choose_task(values: Any, target: str, task: str, notes: Notes) -> str:
    """Whether the target is classes or a quantity, and a remark where that is a guess."""
    numeric = values.dtype.kind in "iuf"
    whole = numeric and bool((values == np.round(values)).all())
    if task != "auto":
        if task == "regression":
            _as_numbers(values, target)
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
        return "classification"
    notes.append(
        f"the target {target!r} has {distinct} different numbers and is fitted as a quantity; "
        "use --task classification for classes"
    )
    return "regression"


def _as_numbers(values: Any, target: str) -> Any:
    if values.dtype.kind not in "iufb":
        raise ValueError(f"The target {target!r} holds text such as {values[0]!r}; regression needs numbers.")
    return values.astype(np.float64)


def estimator_class(task: str) -> Any:
    """The estimator of a task."""
    import omtree

    return omtree.OptimalTreeRegressor if task == "regression" else omtree.OptimalTreeClassifier


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


def stays_on_disk(data: str) -> bool:
    """Whether this is a folder or a pattern: those are read by a scan."""
    return os.path.isdir(data) or (glob.has_magic(data) and not os.path.exists(data))
