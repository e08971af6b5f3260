"""Coded rows that come in parts, equal ones as one: what fits into memory of data that do not."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data.table import CodeArray, FloatArray

#: Parts are collected up to so many rows before they are merged.
_FIRST_MERGE = 1 << 18


class Merger:
    """Merges rows of bytes as they come, in order of first appearance.

    The weights of equal rows are added one after the other, as if all rows were there at once, so that the sums do
    not depend on the parts.

    Parameters
    ----------
    width : int
        Bytes of a row.
    n_weights : int
        Weights of a row; 0 where rows are counted, and then there is one weight, their number.
    most_rows : int
        More different rows than this are too many.

    Examples
    --------
    >>> merger = Merger(width=1, n_weights=0, most_rows=10)
    >>> merger.add(np.array([[3, 5, 3]], np.uint8))
    True
    >>> rows, weights = merger.result()
    >>> rows.tolist(), weights.tolist()
    ([[3, 5]], [[2.0, 1.0]])
    """

    def __init__(self, width: int, n_weights: int, most_rows: int) -> None:
        self._rows: CodeArray = np.empty((width, 0), dtype=np.uint8)
        self._weights: FloatArray = np.empty((max(1, n_weights), 0))
        self._n_weights = n_weights
        self._most_rows = most_rows
        self._waiting: list[tuple[CodeArray, FloatArray | None]] = []
        self._n_waiting = 0

    def add(self, rows: CodeArray, weights: FloatArray | None = None) -> bool:
        """Take in some rows; False where they turn out to be too many.

        Parameters
        ----------
        rows : array of uint8, shape (width, n_rows)
        weights : array of float, shape (n_weights, n_rows), optional
        """
        self._waiting.append((rows, weights))
        self._n_waiting += rows.shape[1]
        if self._n_waiting >= max(_FIRST_MERGE, self._rows.shape[1]):
            self._merge()
        return bool(self._rows.shape[1] <= self._most_rows)

    def result(self) -> tuple[CodeArray, FloatArray]:
        """The different rows, shape (width, n_merged), and their weights, shape (n_weights or 1, n_merged)."""
        self._merge()
        return self._rows, self._weights

    def _merge(self) -> None:
        if not self._waiting:
            return
        before = self._rows.shape[1]
        together = np.concatenate([self._rows, *(rows for rows, _ in self._waiting)], axis=1)
        weights = [weights for _, weights in self._waiting if weights is not None]
        self._waiting, self._n_waiting = [], 0
        row_of = np.arange(together.shape[1], dtype=np.int64)
        first = _native.merge_rows(together, row_of)
        row_of = row_of[before:]
        zeros: npt.NDArray[np.int64] = np.zeros(len(row_of), dtype=np.int64)
        added = np.concatenate(weights, axis=1) if weights else None
        sums = np.zeros((len(self._weights), len(first)))
        sums[:, :before] = self._weights
        for place, own in enumerate(sums):
            given = np.empty(0) if added is None else np.ascontiguousarray(added[place])
            column = own[:, None].copy()
            _native.count_classes(row_of, zeros, given, column)
            own[:] = column[:, 0]
        self._rows = together if len(first) == together.shape[1] else np.take(together, first, axis=1)
        self._weights = sums
