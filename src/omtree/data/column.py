"""What a table is read into: columns with a type, not yet coded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from omtree import _native
from omtree.data.table import CodeArray, Feature, Kind, Unit

if TYPE_CHECKING:
    from omtree.data.parsing.reading import ColumnReading


@dataclass(frozen=True, eq=False)
class Column:
    """One input column, typed but not yet coded.

    Attributes
    ----------
    name : str
    kind : {"numeric", "ordinal", "nominal"}
    values : array
        Numeric columns: float64, NaN where a cell is missing; possibly a view of the caller's data. Otherwise int32:
        the position of each cell in `levels`, -1 where it is missing.
    has_missing : bool
        Whether any cell is missing.
    levels : tuple or None
        The distinct values of an ordinal or nominal column; those of an ordinal one in their order.
    unit : {"", "date", "time"}
        What the numbers of a numeric column stand for: days since 1970-01-01 are dates, hours since midnight times.
    """

    name: str
    kind: Kind
    values: npt.NDArray[Any]
    has_missing: bool
    levels: tuple[Any, ...] | None = None
    unit: Unit = ""


@dataclass(frozen=True, eq=False)
class Columns:
    """All columns of one input.

    Attributes
    ----------
    columns : tuple of Column
    n_samples : int
    readings : tuple of ColumnReading
        How the columns of the input were read; empty where they are what their types say.
    """

    columns: tuple[Column, ...]
    n_samples: int
    readings: tuple[ColumnReading, ...] = field(default=(), kw_only=True)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def first_values(self) -> Mapping[int, Sequence[float]]:
        """All different numbers in order where these are at most two, else three of them, by numeric column."""
        numeric = [place for place, column in enumerate(self.columns) if column.levels is None]
        found = _native.first_values([self.columns[place].values for place in numeric])
        return dict(zip(numeric, found, strict=True))

    @cached_property
    def two_valued(self) -> bool:
        """Whether no column has more than two values, "missing" not counted."""
        few = all(column.levels is None or len(column.levels) <= 2 for column in self.columns)
        return few and max(map(len, self.first_values.values()), default=0) <= 2

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The columns' kinds, in order."""
        return tuple(column.kind for column in self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, position: int) -> Column:
        return self.columns[position]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)


@dataclass(frozen=True, eq=False)
class CodedColumns(Columns):
    """Columns of which only the codes are in memory; the values of the columns are empty.

    Attributes
    ----------
    features : tuple of Feature
    codes : array of uint8, shape (n_features, n_samples)
        The codes of these features.
    """

    features: tuple[Feature, ...]
    codes: CodeArray

    def codes_of(self, features: Sequence[Feature]) -> CodeArray:
        """The codes of some of the features."""
        if tuple(features) == self.features:
            return self.codes
        return self.codes[[self.features.index(feature) for feature in features]]
