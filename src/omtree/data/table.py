"""The coded table: what every engine sees of the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Kind = Literal["numeric", "ordinal", "nominal"]
FloatArray = npt.NDArray[np.float64]
CodeArray = npt.NDArray[np.uint8]

#: Code of a value that the feature did not have in training; it satisfies no condition.
UNKNOWN = 255
#: A feature has at most this many codes, the code of "missing" included.
MAX_CODES = 254


@dataclass(frozen=True, eq=False)
class Feature:
    """One input column as a small set of values, coded ``0 .. n_codes - 1``.

    The codes of ordered features (numeric, ordinal) follow their order. When the training column had missing
    cells, "missing" is a value of its own and has the last code, ``n_values``.

    Attributes
    ----------
    name : str
        The column's name.
    column : int
        Its position in the input.
    kind : {"numeric", "ordinal", "nominal"}
    n_values : int
        Number of values, "missing" not counted.
    has_missing : bool
        Whether the training column had missing cells.
    thresholds : array of float or None
        Numeric features: the ``n_values - 1`` increasing cut points; code ``b`` holds
        ``thresholds[b - 1] <= x < thresholds[b]``.
    levels : tuple or None
        Ordinal and nominal features: the original value behind each code.
    target_order : tuple of int or None
        Nominal features: all codes ("missing" included) sorted along the target.
    """

    name: str
    column: int
    kind: Kind
    n_values: int
    has_missing: bool
    thresholds: FloatArray | None = None
    levels: tuple[Any, ...] | None = None
    target_order: tuple[int, ...] | None = None

    @property
    def n_codes(self) -> int:
        """Number of codes, "missing" included."""
        return self.n_values + self.has_missing

    @property
    def ordered(self) -> bool:
        """Whether conditions on this feature are intervals of its values."""
        return self.kind != "nominal"


@dataclass(frozen=True, eq=False)
class Table:
    """Training rows, coded; rows with equal codes are merged into one weighted row.

    Attributes
    ----------
    features : tuple of Feature
        The features that vary; constant columns are not among them.
    codes : array of uint8, shape (n_features, n_rows)
        One merged row per column.
    counts : array of float, shape (n_rows, n_classes)
        Sample weight of each class in each merged row.
    row_of : array of int, shape (n_samples,)
        The merged row of every training sample, -1 for a sample of weight zero.
    """

    features: tuple[Feature, ...]
    codes: CodeArray
    counts: FloatArray
    row_of: npt.NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        """Number of merged rows."""
        return int(self.codes.shape[1])

    @property
    def weight(self) -> FloatArray:
        """Sample weight of each merged row."""
        return np.asarray(self.counts.sum(axis=1))
