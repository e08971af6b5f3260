"""From a Dask frame to the samples of a fit: what its columns hold, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from omtree.data.cell_columns import not_a_date
from omtree.data.column import Column, Columns
from omtree.data.columns import read_columns
from omtree.data.kind_choices import KindChoice, kind_choices
from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.sources.cluster.cluster_facts import WEIGHT, Facts, add_facts, facts_of
from omtree.sources.cluster.cluster_samples import DaskTraining
from omtree.sources.cluster.frames import Cluster, partitions
from omtree.sources.target import Target, class_scale, encode_labels

#: Labels are coded in two bytes.
MAX_CLASSES = 1 << 16


def on_cluster(
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    numbers: bool,
    class_weight: Mapping[Any, float] | Literal["balanced"] | None,
    feature_kinds: Mapping[Any, KindChoice] | None,
    deadline: Deadline,
) -> DaskTraining:
    """The samples of a Dask frame, to be closed after the fit.

    Parameters
    ----------
    X : dask.dataframe.DataFrame
    y : dask.dataframe.Series or str
        With the partitions of X, or the name of a column of X.
    sample_weight : the same, optional
    numbers : bool
        Whether the target is a number.
    class_weight, feature_kinds
        As the estimators have them.
    deadline : Deadline
    """
    cluster = Cluster()
    X, labels = _column_of(X, y, "y")
    weights = None
    if sample_weight is not None:
        X, weights = _column_of(X, sample_weight, "sample_weight")
    names = [str(name) for name in X.columns]
    if len(set(names)) < len(names) or any(not isinstance(name, str) for name in X.columns):
        raise ValueError("The columns of a Dask frame need different names, all of them text.")
    if not names:
        raise ValueError("X has no columns to predict from; give it at least one.")
    if numbers:
        _check_numeric(labels)
    kinds = {names[place]: choice for place, choice in kind_choices(feature_kinds, names).items()}
    numeric = tuple(name for name in names if _is_numeric(X.dtypes[name], name, kinds.get(name)))
    with deadline.outside():
        tasks = cluster.tasks(facts_of, partitions(X, labels, weights), numeric, numbers)
        facts: Facts = cluster.add_up(tasks, add_facts)
    _check_weights(facts)
    none: FloatArray = np.empty(0)
    if numbers:
        if facts.no_label:
            raise ValueError("y contains NaN or infinite targets; drop those rows or give them a number.")
        classes, total, scale = none, facts.labels[WEIGHT], None
    else:
        classes = _classes(facts, labels)
        totals = np.array([facts.labels[label] for label in classes.tolist()])
        by_class = class_scale(class_weight, classes, totals)
        if np.count_nonzero(totals * by_class) < 2:
            raise ValueError("y has only one class (of positive weight); a classifier needs at least two classes.")
        total, scale = float((totals * by_class).sum()), None if class_weight is None else by_class
    columns = tuple(_column(name, facts, X[name], kinds.get(name)) for name in names)
    return DaskTraining(
        Columns(columns, sum(facts.rows)),
        Target(classes, np.empty(0, dtype=np.intp), none),
        None if weights is None else none,
        none,
        total,
        class_scale=scale,
        cluster=cluster,
        frame=X,
        labels=labels,
        row_weights=weights,
        facts=facts,
        numeric=numeric,
        kinds=kinds,
        deadline=deadline,
    )


def _column_of(X: Any, given: Any, what: str) -> tuple[Any, Any]:
    """A series beside X, or a column of X by its name and X without it."""
    if isinstance(given, str):
        if given not in X.columns:
            raise ValueError(f"{what} names the column {given!r}, which X does not have.")
        return X.drop(columns=[given]), X[given]
    if not hasattr(given, "to_delayed") or getattr(given, "ndim", 0) != 1:
        raise ValueError(f"{what} must be a Dask series, or the name of a column of X, when X is a Dask frame.")
    if given.npartitions != X.npartitions:
        raise ValueError(
            f"X has {X.npartitions} partitions and {what} has {given.npartitions}; make them from the same Dask frame."
        )
    return X, given


def _is_numeric(dtype: Any, name: str, choice: KindChoice | None) -> bool:
    """Whether the column holds numbers and is to be read as such."""
    from pandas.api.types import is_bool_dtype, is_complex_dtype, is_datetime64_any_dtype, is_numeric_dtype

    if is_datetime64_any_dtype(dtype) or dtype.kind == "m":
        raise not_a_date(name)
    if is_complex_dtype(dtype):
        raise ValueError(f"Complex data not supported (column {name!r}).")
    return is_numeric_dtype(dtype) and not is_bool_dtype(dtype) and choice in (None, "numeric")


def _check_numeric(labels: Any) -> None:
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    if not is_numeric_dtype(labels.dtype) or is_complex_dtype(labels.dtype):
        raise ValueError("y has targets that are not numbers; a regressor needs numbers.")


def _check_weights(facts: Facts) -> None:
    if sum(facts.rows) == 0:
        raise ValueError("X has no rows.")
    if facts.least_weight < 0:
        raise ValueError("sample_weight has missing, infinite or negative weights; give every row one of zero or more.")
    if facts.labels and sum(facts.labels.values()) == 0:
        raise ValueError("sample_weight is zero for every row; at least one row needs a positive weight.")


def _classes(facts: Facts, labels: Any) -> npt.NDArray[Any]:
    import pandas as pd

    if facts.no_label:
        raise ValueError(f"y has {facts.no_label} missing labels; drop those rows or give them a label.")
    if len(facts.labels) > MAX_CLASSES:
        raise ValueError(f"y has more than {MAX_CLASSES:,} classes; that is a quantity, and needs a regressor.")
    dtype = object if isinstance(labels.dtype, pd.CategoricalDtype) else labels.dtype
    return encode_labels(pd.Series(list(facts.labels), dtype=dtype))[0]


def _column(name: str, facts: Facts, series: Any, choice: KindChoice | None) -> Column:
    """A column without its cells; what it is, unless it holds numbers, its distinct cells tell."""
    import pandas as pd

    known = facts.numbers.get(name)
    if known is not None:
        if known.infinite:
            raise ValueError(f"Column {name!r} has infinite values; replace them by numbers or by NaN (missing).")
        return Column(name, "numeric", np.empty(0), known.has_missing)
    dtype = series.dtype
    if choice is None and isinstance(dtype, pd.CategoricalDtype) and dtype.ordered:
        if not series.cat.known:
            raise ValueError(
                f"Column {name!r} is an ordered categorical whose levels Dask does not know before it reads the rows; "
                f"give them in order, as feature_kinds={{{name!r}: [...]}}."
            )
        choice = dtype.categories.tolist()
    cells = pd.Series(sorted({cell for cell, _ in facts.cells[name]}, key=str), dtype=object)
    column = read_columns(pd.DataFrame({name: cells}), None if choice is None else {name: choice})[0]
    return replace(column, values=column.values[:0])
