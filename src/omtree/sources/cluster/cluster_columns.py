"""From a Dask frame to the samples of a fit: what its columns hold, and what is wrong with them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from omtree.data.cell_columns import not_a_date
from omtree.data.column import Column, Columns
from omtree.data.columns import read_columns
from omtree.data.kind_choices import KindChoice, kind_choices
from omtree.data.table import FloatArray, are_whole
from omtree.deadline import Deadline
from omtree.sources.cluster.cluster_facts import Facts, add_facts, facts_of
from omtree.sources.cluster.cluster_samples import DaskTraining
from omtree.sources.cluster.frames import Cluster, partitions
from omtree.sources.cluster.gathered_target import GatheredTarget, MakeTarget, gather_target, is_room, row_bytes
from omtree.sources.target import Target, check_n_classes, encode_labels, no_number, weigh_classes


def on_cluster(
    X: Any,
    given: Mapping[str, Any],
    sample_weight: Any,
    *,
    make: MakeTarget | None = None,
    number: bool = False,
    exact: bool = False,
    beside: Callable[[Sequence[str]], Sequence[str]] = lambda numeric: (),
    of_classes: bool = True,
    class_weight: Mapping[Any, float] | Literal["balanced"] | None,
    feature_kinds: Mapping[Any, KindChoice] | None,
    deadline: Deadline,
) -> DaskTraining:
    """The samples of a Dask frame, to be closed after the fit.

    Parameters
    ----------
    X : dask.dataframe.DataFrame
    given : mapping of str to dask.dataframe.Series, dask.dataframe.DataFrame, str or sequence of str
        What the target is made of: with the partitions of X, or names of columns of X.
    sample_weight : a series or a name, optional
    make : callable or None
        Makes the target of what was given, which is gathered for it; None where that is the class of each row.
    number : bool
        Whether `make` only reads one number of each row, which need not be gathered then.
    exact : bool
        Whether the same model is found to the last digit from sums of whole numbers, wherever these are formed.
    beside : callable
        Which of the numeric columns of X `make` needs as well, as its frame ``"X"``.
    of_classes : bool
        Whether rows have classes, of which a model needs two.
    class_weight, feature_kinds
        As the estimators have them.
    deadline : Deadline
    """
    cluster = Cluster()
    columns, named = {}, []
    for what, own in given.items():
        columns[what], names = _columns_of(X, own, what, one=make is None)
        named += names
    weights = None
    if sample_weight is not None:
        (weights,), names = _columns_of(X, sample_weight, "sample_weight", one=True)
        named += names
    X = X.drop(columns=named)
    names = [str(name) for name in X.columns]
    if len(set(names)) < len(names) or any(not isinstance(name, str) for name in X.columns):
        raise ValueError("The columns of a Dask frame need different names, all of them text.")
    if not names:
        raise ValueError("X has no columns to predict from; give it at least one.")
    kinds = {names[place]: choice for place, choice in kind_choices(feature_kinds, names).items()}
    numeric = tuple(name for name in names if _is_numeric(X.dtypes[name], name, kinds.get(name)))

    def gather() -> GatheredTarget:
        assert make is not None
        more = [X[name] for name in beside(numeric)]
        return gather_target(cluster, {**columns, "X": more}, weights, len(names), make)

    gathered = None
    with deadline.outside():
        stays = number and _holds_numbers(columns["y"][0])
        if make is None or stays:
            (labels,) = columns["y"]
        else:
            gathered = gather()
            labels = gathered.labels
        numbers = stays or (gathered is not None and gathered.target.is_number)
        tasks = cluster.tasks(facts_of, partitions(X, labels, weights), numeric, numbers)
        facts: Facts = cluster.add_up(tasks, add_facts)
        _check_weights(facts)
        if stays and facts.no_label:
            raise no_number()
        if stays and not _stay(facts, len(names), exact):
            stays, gathered = False, gather()
    none: FloatArray = np.empty(0)
    scale: FloatArray | None = None
    fetch = None
    if stays:
        target, total = Target.of_numbers(none), float(sum(facts.labels.values()))
        fetch = functools.cache(lambda: gather().target)
    elif gathered is None:
        target = Target(_classes(facts, labels), np.empty(0, dtype=np.intp), none)
        totals = np.array([facts.labels[label] for label in target.classes.tolist()])
    else:
        target, total = gathered.target, float(gathered.weight.sum())
        totals = np.bincount(target.labels, weights=gathered.weight, minlength=len(target.classes)).astype(np.float64)
    if of_classes:
        scale, total = weigh_classes(class_weight, target.classes, totals)
    read = tuple(_column(name, facts, X[name], kinds.get(name)) for name in names)
    return DaskTraining(
        Columns(read, sum(facts.rows)),
        target,
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
        fetch=fetch,
    )


def _columns_of(X: Any, given: Any, what: str, one: bool = False) -> tuple[list[Any], list[str]]:
    """Series beside X, or columns of X by their names, and these names."""
    names = [given] if isinstance(given, str) else given
    if isinstance(names, (list, tuple)) and names and all(isinstance(name, str) for name in names):
        unknown = [name for name in names if name not in X.columns]
        if unknown:
            raise ValueError(f"{what} names the column {unknown[0]!r}, which X does not have.")
        if not (one and len(names) > 1):
            return [X[name] for name in names], list(names)
    if (one and getattr(given, "ndim", 0) != 1) or not hasattr(given, "to_delayed"):
        raise ValueError(f"{what} must be a Dask series, or the name of a column of X, when X is a Dask frame.")
    if given.npartitions != X.npartitions:
        raise ValueError(
            f"X has {X.npartitions} partitions and {what} has {given.npartitions}; make them from the same Dask frame."
        )
    return [given] if given.ndim == 1 else [given[name] for name in given.columns], []


def _is_numeric(dtype: Any, name: str, choice: KindChoice | None) -> bool:
    """Whether the column holds numbers and is to be read as such."""
    from pandas.api.types import is_bool_dtype, is_complex_dtype, is_datetime64_any_dtype, is_numeric_dtype

    if is_datetime64_any_dtype(dtype) or dtype.kind == "m":
        raise not_a_date(name)
    if is_complex_dtype(dtype):
        raise ValueError(f"Complex data not supported (column {name!r}).")
    return is_numeric_dtype(dtype) and not is_bool_dtype(dtype) and choice in (None, "numeric")


def _holds_numbers(series: Any) -> bool:
    """Whether these are numbers, or flags, as they are."""
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    return getattr(series, "ndim", 0) == 1 and is_numeric_dtype(series.dtype) and not is_complex_dtype(series.dtype)


def _stay(facts: Facts, n_columns: int, exact: bool) -> bool:
    """Whether rows with numbers stay on the workers: few different ones, of which sums are exact or all are too many.

    Other sums depend on the order of the rows in their last digits, so that rows come here where there is room.
    """
    if facts.targets is None or facts.targets.values is None:
        return False
    values, _ = facts.targets.values
    return (exact and facts.whole and are_whole(values - values[:1])) or not is_room(
        sum(facts.rows), row_bytes(n_columns, 1)
    )


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
    check_n_classes(len(facts.labels))
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
