"""Rows without a target, which no model can learn from, are left out before anything is read."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from omtree.errors import warn


def answered(X: Any, y: Any, *beside: Any, cv: Any = None) -> tuple[tuple[Any, ...], str]:
    """What was given to a fit without the rows whose target is missing, and a note that says how many these are.

    Parameters
    ----------
    X : array, list of rows, or data frame
    y : array, list or series
    beside : array, series, data frame or None
        What else there is by row.
    cv : any
        As in `fit`; pairs of row numbers would no longer be those of the rows.

    Returns
    -------
    given : tuple
        ``(X, y, *beside)``; the very same objects where no target is missing.
    note : str
        Empty then.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     (X, y), note = answered([[1.0], [2.0], [3.0]], ["a", None, "b"])
    >>> X, y, note
    ([[1.0], [3.0]], ['a', 'b'], '1 row has no target and is left out')
    """
    missing = _missing(y)
    if missing is None or not missing.any() or missing.all() or _length(X) != len(missing):
        # What is wrong with it is said where it is read.
        return (X, y, *beside), ""
    if cv is not None and not isinstance(cv, int) and not hasattr(cv, "split"):
        raise ValueError("cv has numbers of rows, and some rows have no target; leave those rows out first.")
    count = int(missing.sum())
    note = f"{count:,} rows have no target and are left out" if count > 1 else "1 row has no target and is left out"
    warn(f"{note}.")
    return tuple(_kept(given, ~missing) for given in (X, y, *beside)), note


def _missing(y: Any) -> npt.NDArray[np.bool_] | None:
    """Which targets are missing; None where that makes no sense."""
    if y is None or isinstance(y, str):
        return None
    values = y.to_numpy() if hasattr(y, "to_numpy") else y if isinstance(y, np.ndarray) else None
    if values is None:
        if not isinstance(y, (list, tuple)):
            return None
        values = np.empty(len(y), dtype=object)
        values[:] = [cell if np.ndim(cell) == 0 else "" for cell in y]
    if values.ndim != 1:
        return None
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind == "M":
        return np.asarray(np.isnat(values))
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    cells = values.tolist()
    if set(map(type, cells)) <= {str, int, bool}:
        return np.zeros(len(cells), dtype=bool)
    return np.array([_is_missing(cell) for cell in cells], dtype=bool)


def _is_missing(cell: Any) -> bool:
    # NaN differs from itself; pandas' own signs of a missing cell cannot always say whether they do.
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return bool(isinstance(cell, (float, np.floating, np.datetime64)) and cell != cell)


def _length(given: Any) -> int:
    return given.shape[0] if hasattr(given, "shape") else len(given) if hasattr(given, "__len__") else -1


def _kept(given: Any, rows: npt.NDArray[np.bool_]) -> Any:
    """Some rows of what was given, as what it was."""
    if given is None or _length(given) != len(rows):
        return given
    native = nw.from_native(given, pass_through=True, allow_series=True)
    if isinstance(native, (nw.DataFrame, nw.Series)):
        return native.filter(rows.tolist()).to_native()
    if isinstance(given, (list, tuple)):
        return [cell for cell, kept in zip(given, rows.tolist(), strict=True) if kept]
    return given[rows]
