"""The coded table: what every engine sees of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data import wording
from omtree.data.parsing.missing import missing_words
from omtree.later import HasLater, Later

if TYPE_CHECKING:
    from omtree.data.column import Column

Kind = Literal["numeric", "ordinal", "nominal"]
#: What the numbers of a column count where they are dates or times: days since 1970-01-01, or hours since midnight.
Unit = Literal["", "date", "time"]
FloatArray = npt.NDArray[np.float64]
CodeArray = npt.NDArray[np.uint8]

#: Code of a value that the feature did not have in training; it satisfies no condition.
UNKNOWN = 255
#: A feature has at most this many codes, the code of "missing" included.
MAX_CODES = 254


def weighted_sum(weights: FloatArray, values: FloatArray) -> float:
    """The sum of products; that of the linear algebra starts threads for as few as ten thousand numbers.

    >>> weighted_sum(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float((weights * values).sum())


@dataclass(frozen=True)
class Pooled:
    """One level that stands for several of a column with too many: the rare ones, or some with similar targets.

    Attributes
    ----------
    members : frozenset
        Empty where nobody needs to know them: what no other level has is a member of the rest.
    text : str
    rest : bool
        Whether every value that no other level has, also one that training did not have, is a member.
    """

    members: frozenset[Any]
    text: str = "(other)"
    rest: bool = False

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class Feature(HasLater):
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
        Ordinal and nominal features: the original value behind each code, or a `Pooled` for several.
    target_order : tuple of int or None
        Nominal features: all codes ("missing" included) sorted along the target.
    unit : {"", "date", "time"}
        Whether the thresholds of a numeric feature are dates or times.
    pair : tuple of two floats or None
        The values of a numeric feature that had but these two whole numbers in training: codes rather than amounts.
    """

    name: str
    column: int
    kind: Kind
    n_values: int
    has_missing: bool
    thresholds: FloatArray | None = None
    levels: tuple[Any, ...] | None = None
    # Most features have so few codes that all their subsets are conditions, and need no order.
    target_order: Later[tuple[int, ...]] = Later()
    unit: Unit = ""
    pair: tuple[float, float] | None = None

    @property
    def n_codes(self) -> int:
        """Number of codes, "missing" included."""
        return self.n_values + self.has_missing

    @property
    def missing_code(self) -> int:
        """The code of a missing cell."""
        return self.n_values if self.has_missing else UNKNOWN

    @property
    def ordered(self) -> bool:
        """Whether conditions on this feature are intervals of its values."""
        return self.kind != "nominal"

    def describe(self, codes: Sequence[int]) -> str:
        """The condition that this feature has one of `codes`, in words and original units.

        >>> import numpy as np
        >>> age = Feature("age", 0, "numeric", 3, True, thresholds=np.array([18.0, 35.0]))
        >>> age.describe((1,)), age.describe((0, 3))
        ('18 <= age < 35', 'age < 18 or missing')
        """
        return wording.describe(self, codes)

    def encode(self, column: Column, out: CodeArray | None = None) -> CodeArray:
        """Codes of a raw column; `UNKNOWN` for levels, and missing cells, that training did not have.

        Parameters
        ----------
        column : Column
            The column, of the training data or of new data. It need not have the training column's kind: levels are
            found by their value, and numbers and booleans are read as numbers where training had numbers.
        out : array of uint8, optional
            Where to write the codes.
        """
        if out is None:
            out = np.empty(len(column.values), dtype=np.uint8)
        missing = self.missing_code
        if self.kind == "numeric":
            assert self.thresholds is not None
            _native.bin_codes(numbers_of(column), self.thresholds, missing, out)
        elif column.levels == self.levels and not (column.has_missing and self.has_missing):
            # Positions of levels are codes already, and that of a missing cell becomes `UNKNOWN`.
            np.copyto(out, column.values, casting="unsafe")
        elif column.levels is not None:
            # The last entry is the one that position -1, a missing cell, refers to.
            of_level = np.array([*self._codes_of(column.levels), missing], dtype=np.uint8)
            np.take(of_level, column.values, out=out, mode="wrap")
        else:
            values, position = np.unique(column.values, return_inverse=True)
            present = values[~np.isnan(values)]
            of_value = np.array([*self._codes_of(present.tolist()), missing], dtype=np.uint8)
            out[:] = of_value[position]
        return out

    def _codes_of(self, levels: Sequence[Any]) -> list[int]:
        assert self.levels is not None
        if levels == self.levels:
            return list(range(len(levels)))
        code_of: dict[Any, int] = {}
        other = UNKNOWN
        for code, level in enumerate(self.levels):
            code_of.update((member, code) for member in (level.members if isinstance(level, Pooled) else (level,)))
            if isinstance(level, Pooled) and level.rest:
                other = code
        # A level that is no text here may have been one in training, where texts shared the column with numbers; and a
        # text may have been a boolean.
        flags = {"true": True, "false": False} if set(code_of) == {True, False} else {}
        return [
            code_of[level]
            if level in code_of
            else code_of.get(flags.get(str(level).lower(), wording.text_of(level)), other)
            for level in levels
        ]


@dataclass(frozen=True, eq=False)
class Table:
    """Training rows, coded; rows with equal codes are merged into one weighted row.

    Attributes
    ----------
    features : tuple of Feature
        The features that vary; constant columns are not among them.
    codes : array of uint8, shape (n_features, n_rows)
        One merged row per column.
    statistics : array of float, shape (n_rows, n_statistics)
        What adds up over the rows of a rule and decides its loss: for classes, the sample weight of each class.
    row_of : array of int, shape (n_samples,)
        The merged row of every training sample, -1 for a sample of weight zero.
    row_weight : array of float, shape (n_rows,), optional
        Sample weight of each merged row; by default the sum of its statistics.
    """

    features: tuple[Feature, ...]
    codes: CodeArray
    statistics: FloatArray
    row_of: npt.NDArray[np.int64]
    row_weight: FloatArray | None = None

    @property
    def n_rows(self) -> int:
        """Number of merged rows."""
        return int(self.codes.shape[1])

    @cached_property
    def weight(self) -> FloatArray:
        """Sample weight of each merged row."""
        return np.asarray(self.statistics.sum(axis=1)) if self.row_weight is None else self.row_weight


def numbers_of(column: Column) -> FloatArray:
    """The column as numbers, if it holds numbers, booleans or texts that are plain numbers or mean missing."""
    if column.levels is None:
        return np.asarray(column.values)
    absent = missing_words([level for level in column.levels if isinstance(level, str)])
    numbers = []
    for level in column.levels:
        try:
            numbers.append(np.nan if level in absent else float(level))
        except ValueError:
            raise ValueError(
                f"Column {column.name!r} was numeric in training but is {column.kind} now, with the cell {level!r}; "
                "give numbers."
            ) from None
    return np.asarray(np.array([*numbers, np.nan], dtype=np.float64)[column.values])


def are_whole(numbers: FloatArray) -> bool:
    """Whether all of these are whole numbers, whose sums are exact in any order.

    >>> are_whole(np.array([1.0, 2.0])), are_whole(np.array([0.5]))
    (True, False)
    """
    return bool((numbers == np.floor(numbers)).all())
