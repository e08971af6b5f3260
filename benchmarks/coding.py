"""Frames as the matrices that other methods want. Everything is learned from the training rows alone."""

from __future__ import annotations

import numpy as np
import pandas as pd


def is_number(column: pd.Series) -> bool:
    """Whether a column is neither an ordered nor a plain category."""
    return not isinstance(column.dtype, pd.CategoricalDtype)


def has_numbers(X: pd.DataFrame) -> bool:
    """Whether any column needs thresholds."""
    return any(is_number(X[name]) and X[name].nunique() > 2 for name in X)


class Numbers:
    """Numbers as they are, ordered categories as positions, plain ones one column a value (one in all for two)."""

    def __init__(self, X: pd.DataFrame) -> None:
        self._parts: list[tuple[str, object]] = []
        for name in X:
            column = X[name]
            if is_number(column):
                self._parts.append((name, None))
            elif column.cat.ordered:
                self._parts.append((name, "position"))
            else:
                values = [value for value in column.cat.categories if (column == value).any()]
                self._parts += [(name, (value,)) for value in (values[1:] if len(values) == 2 else values)]

    def __call__(self, X: pd.DataFrame) -> np.ndarray:
        """The matrix of these rows."""
        return np.column_stack([self._column(X[name], what) for name, what in self._parts]).astype(float)

    @staticmethod
    def _column(column: pd.Series, what: object) -> np.ndarray:
        if what is None:
            return column.to_numpy(dtype=float)
        if what == "position":
            return column.cat.codes.to_numpy()
        assert isinstance(what, tuple)
        return (column == what[0]).to_numpy()


class ZeroOne:
    """The same columns cut into 0/1 conditions `value <= cut`, numbers at quantiles."""

    def __init__(self, X: pd.DataFrame, n_bins: int = 8) -> None:
        self._numbers = Numbers(X)
        matrix = self._numbers(X)
        self._cuts: list[tuple[int, float]] = []
        for j in range(matrix.shape[1]):
            values = np.unique(matrix[:, j])
            middles = (values[1:] + values[:-1]) / 2
            if len(middles) >= n_bins and is_number(X[self._numbers._parts[j][0]]):
                wanted = np.quantile(matrix[:, j], np.arange(1, n_bins) / n_bins, method="inverted_cdf")
                middles = np.unique(middles[np.minimum(np.searchsorted(values, wanted), len(middles) - 1)])
            self._cuts += [(j, float(cut)) for cut in middles]

    def __call__(self, X: pd.DataFrame) -> np.ndarray:
        """The 0/1 matrix of these rows."""
        matrix = self._numbers(X)
        if not self._cuts:
            return np.zeros((len(X), 1), dtype=np.int32)
        columns, cuts = zip(*self._cuts, strict=True)
        return (matrix[:, columns] <= np.array(cuts)).astype(np.int32)
