"""What a leaf says that answers by a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from omtree.data.column import Columns
from omtree.data.table import FloatArray, numbers_of
from omtree.data.wording import number


@dataclass(frozen=True)
class Slope:
    """How the answer of a leaf rises with a column.

    Attributes
    ----------
    column : int
        Position among the columns of the training table.
    name : str
    slope : float
    at : float
        Mean of the column in the leaf, where the answer is the mean of the target.
    missing : float
        What a missing cell counts as: the mean of the column over all training rows.
    """

    column: int
    name: str
    slope: float
    at: float
    missing: float


@dataclass(frozen=True)
class Line:
    """The answer of a leaf that is a line along a column, or a plane over a few.

    Attributes
    ----------
    mean : float
        Of the target in the leaf, which the line goes through; ``float()`` of a line is this.
    deviation : float
        Root of the mean squared distance of the leaf's training rows from the line.
    slopes : tuple of Slope
        Empty where no column tells anything about the target in the leaf.

    Examples
    --------
    >>> line = Line(20.0, 1.5, (Slope(0, "age", 0.5, 30.0, 41.0), Slope(2, "bmi", -2.0, 25.0, 24.0)))
    >>> print(line)
    55 + 0.5 * age - 2 * bmi
    """

    mean: float
    deviation: float
    slopes: tuple[Slope, ...]

    def __float__(self) -> float:
        return self.mean

    @property
    def intercept(self) -> float:
        """The answer where every column is zero."""
        return self.mean - sum(part.slope * part.at for part in self.slopes)

    def __str__(self) -> str:
        text = number(self.intercept)
        for part in self.slopes:
            text += f" {'-' if part.slope < 0 else '+'} {number(abs(part.slope))} * {part.name}"
        return text

    def at(self, cells: Sequence[FloatArray]) -> FloatArray:
        """The answers for rows with these cells, an array for every slope; NaN is missing."""
        answers = np.full(len(cells[0]) if cells else 1, self.mean)
        for part, cell in zip(self.slopes, cells, strict=True):
            answers = answers + part.slope * (np.where(np.isnan(cell), part.missing, cell) - part.at)
        return answers


def line_columns(predictions: Sequence[object]) -> set[int]:
    """Positions of the columns that lines among these answers go along."""
    return {part.column for said in predictions if isinstance(said, Line) for part in said.slopes}


def line_answers(predictions: Sequence[object], owner: npt.NDArray[np.intp], columns: Columns) -> FloatArray:
    """What the rules that answer for some rows say of them, where the answers are lines."""
    answers = np.empty(len(owner))
    for rule, said in enumerate(predictions):
        assert isinstance(said, Line)
        rows = np.flatnonzero(owner == rule)
        cells = [numbers_of(columns[part.column])[rows] for part in said.slopes]
        answers[rows] = said.at(cells)
    return answers
