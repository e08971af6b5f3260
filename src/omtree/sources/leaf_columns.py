"""The columns that the lines of leaves go along."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from omtree.data.column import Column, Columns
from omtree.data.table import FloatArray
from omtree.sources.samples import Training

#: Most columns that leaves may choose one of, and most that all leaves take together.
MOST_CHOICES, MOST_TOGETHER = 40, 6
#: So many are chosen where none are named.
CHOSEN = 8


@dataclass(frozen=True)
class LeafColumns:
    """Numeric columns, seen from their means and in units of their deviations.

    Attributes
    ----------
    columns : tuple of int
        Positions among the columns of the training table.
    names : tuple of str
    centres, scales : tuple of float
        Mean and standard deviation over the training rows.
    ridge : float
        What a slope costs for every unit of weight, as a share of its square in those units.
    together : bool
        Whether every leaf takes all of them, or the best one.
    """

    columns: tuple[int, ...]
    names: tuple[str, ...]
    centres: tuple[float, ...]
    scales: tuple[float, ...]
    ridge: float
    together: bool

    def regressors(self, columns: Columns) -> FloatArray:
        """The columns of some rows in these units, shape (n_rows, n_columns); a missing cell counts as the mean."""
        found = np.empty((columns.n_samples, len(self.columns)))
        for place, position in enumerate(self.columns):
            cells = np.asarray(columns[position].values, dtype=np.float64)
            found[:, place] = np.nan_to_num((cells - self.centres[place]) / self.scales[place], nan=0.0)
        return found

    @property
    def words(self) -> str:
        """What the leaves answer, for people."""
        return f"a line along {'all' if self.together else 'one'} of {', '.join(self.names)} in every leaf"


def gathered_columns(frame: Any, names: Sequence[str]) -> Columns:
    """Columns of these names, of which a frame of pandas holds some that are numeric; the others are of no use here.

    >>> import pandas as pd
    >>> columns = gathered_columns(pd.DataFrame({"age": [30, 40]}), ["city", "age"])
    >>> [(column.name, column.kind, column.values.tolist()) for column in columns]
    [('city', 'nominal', []), ('age', 'numeric', [30.0, 40.0])]
    """

    def column(name: str) -> Column:
        if name not in frame:
            return Column(name, "nominal", np.empty(0, dtype=np.int32), False, ())
        return Column(name, "numeric", frame[name].to_numpy(dtype=np.float64, na_value=np.nan), False)

    return Columns(tuple(column(name) for name in names), len(frame))


def with_lines(training: Training, wanted: Sequence[str] | None, together: bool, ridge: float) -> Training:
    """The samples with the columns that lines may go along; by default those that alone explain most of the target."""
    columns = training.columns
    if wanted is not None:
        places = [_named(columns, name) for name in wanted]
        if len(set(places)) < len(places) or not places:
            raise ValueError("leaf_columns must name different columns, and at least one of them.")
    else:
        places = [place for place, column in enumerate(columns) if column.kind == "numeric" and not column.unit]
    moments = {place: _moments(columns[place], training.weight) for place in places}
    varied = [place for place in places if moments[place][1] > 0]
    if not varied:
        rows = f"{len(training):,} sample{'s' if len(training) != 1 else ''}"
        raise ValueError(
            f"leaves='linear' needs a numeric column that varies, and in the {rows} none does; use leaves='constant'."
        )
    if wanted is None and len(varied) > (most := MOST_TOGETHER if together else CHOSEN):
        told = {place: _correlation(columns[place], moments[place], training) for place in varied}
        varied = sorted(sorted(varied, key=lambda place: -told[place])[:most])
    if len(varied) > (most := MOST_TOGETHER if together else MOST_CHOICES):
        raise ValueError(
            f"leaf_columns names {len(varied)} columns, and at most {most} are possible with leaf_slopes="
            f"{'all' if together else 'best'!r}; name fewer."
        )
    chosen = LeafColumns(
        tuple(varied),
        tuple(columns[place].name for place in varied),
        tuple(moments[place][0] for place in varied),
        tuple(moments[place][1] for place in varied),
        float(ridge),
        together,
    )
    target = replace(training.target, regressors=chosen.regressors(columns), leaf_columns=chosen)
    return replace(training, target=target)


def _named(columns: Columns, name: Any) -> int:
    if name not in columns.names:
        raise ValueError(f"leaf_columns names {name!r}, which X does not have; its columns are {list(columns.names)}.")
    place = columns.names.index(name)
    column = columns[place]
    if column.kind != "numeric" or column.unit:
        kind = f"a {column.unit}" if column.unit else column.kind
        raise ValueError(f"leaf_columns names {name!r}, which is {kind}; a line goes along a column of numbers.")
    return place


def _moments(column: Column, weight: FloatArray) -> tuple[float, float]:
    """Weighted mean and standard deviation of the cells that are there, whatever their size."""
    cells = np.asarray(column.values, dtype=np.float64)
    there = ~np.isnan(cells) & (weight > 0)
    if not there.any():
        return 0.0, 0.0
    cells, weight = cells[there], weight[there] / weight[there].max()
    first, reach = float(cells[0]), float(np.abs(cells).max())
    unit = 2.0 ** math.floor(math.log2(reach)) if reach > 0 else 1.0
    away = cells / unit - first / unit
    mean = float(np.average(away, weights=weight))
    spread = math.sqrt(float(np.average((away - mean) ** 2, weights=weight)))
    # What is left of equal cells after rounding is no spread.
    return first + mean * unit, spread * unit if spread > 1e-12 * float(np.abs(away).max(initial=0.0)) else 0.0


def _correlation(column: Column, moments: tuple[float, float], training: Training) -> float:
    """How closely a column follows the target, either way; missing cells count as the mean."""
    weight, values = training.weight, training.target.values
    cells = np.nan_to_num((np.asarray(column.values, dtype=np.float64) - moments[0]) / moments[1], nan=0.0)
    spread = float(np.abs(values - values[0]).max()) or 1.0
    away = (values - values[0]) / spread
    return abs(float(weight @ (cells * (away - np.average(away, weights=weight)))))
