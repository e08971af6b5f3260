"""Arrays and data frames in, typed raw columns out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, cast

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.dependencies import get_pandas, get_pyarrow

from omtree import _native
from omtree.data.cell_columns import flag_column, from_cells, is_missing, moment_column, numeric_column, with_levels
from omtree.data.column import Column, Columns
from omtree.data.kind_choices import KindChoice, as_kind, kind_choices


def read_columns(X: Any, feature_kinds: Mapping[Any, KindChoice] | None = None, *, training: bool = True) -> Columns:
    """Read the columns of an array or data frame once.

    Numbers are numeric; text, booleans and unordered categoricals nominal; ordered categoricals (and polars' Enum)
    ordinal in their order. A column of Python objects is numeric when all its cells are numbers, nominal over
    booleans when all are booleans, and otherwise nominal over the cells' texts, so that ``1``, ``1.0`` and ``"1"`` are
    one value there. NaN, None, NA, NaT and null are missing; an empty text is not.

    Parameters
    ----------
    X : array, list of rows, or pandas, polars or pyarrow data frame, shape (n_samples, n_features)
    feature_kinds : mapping, optional
        From a column's name (or position) to ``"numeric"``, ``"ordinal"``, ``"nominal"``, or to the levels of an
        ordinal column in their order. ``"numeric"`` reads texts as numbers; numbers made ordinal or nominal have
        their distinct values, sorted, as levels.
    training : bool
        When False, a cell outside the levels given in `feature_kinds` is let through as a level of its own, for the
        feature to treat as never seen; in training it is an error.

    Returns
    -------
    Columns

    Examples
    --------
    >>> columns = read_columns([[18, "red"], [35, "blue"]])
    >>> columns.kinds, columns[1].levels
    (('numeric', 'nominal'), ('blue', 'red'))
    """
    raw = raw_columns(X)
    read = list(raw.columns)
    for position, choice in kind_choices(feature_kinds, raw.labels).items():
        read[position] = as_kind(read[position], choice, training)
    return Columns(tuple(read), raw.n_samples)


class RawColumns(NamedTuple):
    """The columns of an input by their types alone, and what the input calls them: its labels, or ``x0``, ``x1``."""

    columns: list[Column]
    n_samples: int
    labels: list[Any]
    named: bool


def raw_columns(X: Any, only: Collection[str] | None = None) -> RawColumns:
    """The columns of an array or data frame as their types say.

    Parameters
    ----------
    X : array, list of rows, or pandas, polars or pyarrow data frame
    only : collection of str, optional
        The names of the columns to read; by default all.
    """
    if (row := as_row(X)) is not None:
        labels: list[Any] = list(row)
        read = [from_cells(str(labels[place]), [row[labels[place]]]) for place in _kept(labels, only)]
        return RawColumns(read, 1, labels, True)
    if (texts := _arrow_texts(X)) is not None:
        labels = X.columns.tolist()
        kept = _kept(labels, only)
        read = [_from_texts(str(labels[place]), texts[place]) for place in kept]
        return RawColumns(read, len(X), [labels[place] for place in kept], True)
    if (numbers := _number_matrix(X)) is not None:
        labels = X.columns.tolist()
        kept = _kept(labels, only)
        named = [str(labels[place]) for place in kept]
        read = _from_array(numbers if only is None else numbers[:, kept], named) if kept else []
        return RawColumns(read, len(X), [labels[place] for place in kept], True)
    if (frame := as_frame(X)) is not None:
        labels = list(frame.columns)
        kept = _kept(labels, only)
        if not labels or not len(frame):
            # scikit-learn's own sentence for empty data.
            _checked(np.empty(frame.shape))
        plain = _from_pandas(X, labels, kept)
        series = [] if len(plain) == len(kept) else list(frame.iter_columns())
        read = [plain.get(place) or _from_series(series[place], str(labels[place])) for place in kept]
        return RawColumns(read, len(frame), [labels[place] for place in kept], True)
    array = _as_array(X)
    labels = [f"x{i}" for i in range(array.shape[1])]
    if only is None:
        return RawColumns(_from_array(array, labels), len(array), labels, False)
    kept = _kept(labels, only)
    names = [labels[place] for place in kept]
    return RawColumns(_from_array(array[:, kept], names) if kept else [], len(array), names, False)


def _kept(labels: Sequence[Any], only: Collection[str] | None) -> list[int]:
    names = _unique_names(labels)
    return [place for place, name in enumerate(names) if only is None or name in only]


def as_row(X: Any) -> Mapping[Any, Any] | None:
    """X as the cells of one row by their columns, where it is a mapping of cells or a pandas series; else None."""
    if isinstance(X, Mapping):
        return X
    pandas = get_pandas()
    return dict(X.items()) if pandas is not None and isinstance(X, pandas.Series) else None


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """X as a data frame, None if it is none."""
    if isinstance(X, np.ndarray):
        return None
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        check_labels(X)
        raise
    if isinstance(frame, nw.LazyFrame):
        raise ValueError("X is a lazy frame; collect it first (X.collect()).")
    return frame if isinstance(frame, nw.DataFrame) else None


def check_labels(X: Any) -> list[Any]:
    """The labels of a data frame's columns; equal names are refused."""
    labels = getattr(X, "column_names", None) or X.columns
    labels = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    _unique_names(labels)
    return labels


def is_number_matrix(X: Any) -> bool:
    """Whether X is an array of numbers with at least one row and column."""
    return type(X) is np.ndarray and X.ndim == 2 and X.size > 0 and X.dtype.kind in "iuf"


def one_column(y: Any, *, warn: bool = True) -> npt.NDArray[Any]:
    """One dimension, or scikit-learn's complaint; imported here, since rows are predicted without it."""
    from sklearn.utils.validation import column_or_1d

    return np.asarray(column_or_1d(y, warn=warn))


def _checked(X: Any) -> npt.NDArray[Any]:
    """An array as scikit-learn wants it; imported where it is needed, since predicting from a file takes less time."""
    from sklearn.utils import check_array

    return cast(npt.NDArray[Any], check_array(X, dtype=None, ensure_all_finite=False))


def _as_array(X: Any) -> npt.NDArray[Any]:
    """A two-dimensional array of at least one row and column, or the error scikit-learn gives."""
    if is_number_matrix(X):
        return cast(npt.NDArray[Any], X)
    array = _checked(X)
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
        # A list of mixed rows: numpy would turn its numbers into text.
        array = np.asarray(X, dtype=object)
    return array


def _from_array(array: npt.NDArray[Any], names: Sequence[str]) -> list[Column]:
    kind = array.dtype.kind
    if kind in "iuf":
        # Columns are gone through one by one: where they are copied, the cells of each come to lie side by side.
        matrix = array if array.dtype == np.float64 else array.astype(np.float64, order="F")
        if kind != "f":
            return [Column(name, "numeric", cells, False) for name, cells in zip(names, matrix.T, strict=True)]
        with np.errstate(over="ignore", invalid="ignore"):
            sums = matrix.sum(axis=0)
        # A finite sum proves that nothing is missing or infinite; only the other columns are looked at closely.
        return [
            Column(name, "numeric", cells, False) if finite else numeric_column(name, cells, suspicious=True)
            for name, cells, finite in zip(names, matrix.T, np.isfinite(sums).tolist(), strict=True)
        ]
    if kind in "mM":
        return [moment_column(name, array[:, i]) for i, name in enumerate(names)]
    if kind == "b":
        return [flag_column(name, array[:, i]) for i, name in enumerate(names)]
    return [from_cells(name, array[:, i].tolist()) for i, name in enumerate(names)]


def _from_series(series: nw.Series[Any], name: str) -> Column:
    dtype = series.dtype
    if dtype.is_numeric():
        values = (series if dtype == nw.Float64 else series.cast(nw.Float64())).to_numpy()
        if values.dtype != np.float64:  # nullable types may come as objects
            values = np.array([np.nan if is_missing(cell) else cell for cell in values.tolist()], dtype=np.float64)
        return numeric_column(name, values, suspicious=True)
    if isinstance(dtype, nw.Boolean):
        flags = series.to_numpy()
        if flags.dtype == np.bool_:
            return flag_column(name, flags)
    if isinstance(dtype, (nw.Date, nw.Datetime, nw.Duration)):
        # The clock as it hangs in its zone.
        zoned = isinstance(dtype, nw.Datetime) and dtype.time_zone is not None
        return moment_column(name, (series.dt.replace_time_zone(None) if zoned else series).to_numpy())
    if dtype.is_nested() or isinstance(dtype, nw.Binary):
        raise ValueError(f"Column {name!r} holds values of type {dtype}; turn them into numbers or text first.")
    if (
        isinstance(dtype, nw.String)
        and _has_streams()
        and getattr(series.to_native(), "dtype", None) != np.dtype(object)
    ):
        return _from_texts(name, series)
    levels = ordered_categories(series, dtype)
    cells = series.to_list()
    if levels is not None:
        return with_levels(name, "ordinal", cells, levels)
    return from_cells(name, cells)


def _has_streams() -> bool:
    """Whether there is Arrow, and its arrays can be handed over as they are."""
    pyarrow = get_pyarrow()
    return pyarrow is not None and hasattr(pyarrow.ChunkedArray, "__arrow_c_stream__")


def _arrow_texts(X: Any) -> list[Any] | None:
    """The columns of a pandas frame that has but texts, all of them in Arrow arrays, as those arrays."""
    pandas = get_pandas()
    if pandas is None or not isinstance(X, pandas.DataFrame) or X.empty or not _has_streams():
        return None
    arrays = _frame_arrays(X)
    if not all(isinstance(array.dtype, pandas.StringDtype) and array.dtype.storage == "pyarrow" for array in arrays):
        return None
    return [array.__arrow_array__() for array in arrays]


def _frame_arrays(X: Any) -> list[Any]:
    """The arrays of a pandas frame; a series for each would take longer than all the rest of reading a small table."""
    return list(getattr(X, "_iter_column_arrays", lambda: (column.array for _, column in X.items()))())


def _number_matrix(X: Any) -> npt.NDArray[np.float64] | None:
    """A pandas frame of nothing but numbers; a series for each column would take longer."""
    pandas = get_pandas()
    if pandas is None or not isinstance(X, pandas.DataFrame) or X.empty:
        return None
    if not all(isinstance(array.dtype, np.dtype) and array.dtype.kind in "iuf" for array in _frame_arrays(X)):
        return None
    return cast(npt.NDArray[np.float64], X.to_numpy(dtype=np.float64))


def _from_pandas(X: Any, labels: Sequence[Any], kept: Sequence[int]) -> dict[int, Column]:
    """Those columns of a pandas frame that are plain numbers or texts in categories, by their places."""
    pandas = get_pandas()
    if pandas is None or not isinstance(X, pandas.DataFrame):
        return {}
    arrays = _frame_arrays(X)
    read = {}
    for place in kept:
        name, array = str(labels[place]), arrays[place]
        if isinstance(array.dtype, np.dtype) and array.dtype.kind in "iuf":
            read[place] = numeric_column(name, np.asarray(array, dtype=np.float64), suspicious=True)
        elif isinstance(array.dtype, pandas.CategoricalDtype) and not array.dtype.ordered:
            coded = _from_categories(name, array)
            if coded is not None:
                read[place] = coded
    return read


def _from_categories(name: str, array: Any) -> Column | None:
    """A pandas categorical without an order, by its own codes; None where it is not of texts."""
    categories, codes = array.categories.tolist(), np.asarray(array.codes)
    used = np.unique(codes[codes >= 0])
    if not len(used) or not all(isinstance(category, str) for category in categories):
        return None
    levels = sorted(categories[code] for code in used)
    place = np.full(len(categories) + 1, -1, dtype=np.int32)
    place[used] = [levels.index(categories[code]) for code in used]
    return Column(name, "nominal", place[codes], bool((codes < 0).any()), tuple(map(str, levels)))


def _from_texts(name: str, texts: Any) -> Column:
    """A column of texts, from anything that hands over Arrow arrays."""
    codes, levels, has_missing = _native.code_texts(texts.__arrow_c_stream__())
    if not levels:
        return Column(name, "numeric", np.full(len(codes), np.nan), True)
    return Column(name, "nominal", codes, has_missing, tuple(levels))


def ordered_categories(series: nw.Series[Any], dtype: Any) -> tuple[Any, ...] | None:
    """The categories of a series whose type says that they are ordered."""
    if isinstance(dtype, nw.Enum):
        native = series.to_native()
        # A pandas categorical may have categories that are not text.
        categories = native.cat.categories if hasattr(native, "cat") and hasattr(native.cat, "categories") else None
        return tuple(dtype.categories if categories is None else categories.tolist())
    arrow_type = getattr(series.to_native(), "type", None)
    if isinstance(dtype, nw.Categorical) and getattr(arrow_type, "ordered", False):
        return tuple(series.to_native().unify_dictionaries().chunk(0).dictionary.to_pylist())
    return None


def _unique_names(labels: Sequence[Any]) -> list[str]:
    names = [str(label) for label in labels]
    if len(set(names)) < len(names):
        name = next(name for name, times in Counter(names).items() if times > 1)
        raise ValueError(f"X has several columns named {name!r}; give each its own name.")
    return names
