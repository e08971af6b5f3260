"""How a model does on given rows: a confusion matrix, or residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from omtree.data.table import FloatArray
from omtree.data.wording import shorten, text_of

#: Classes beyond this many are not shown in a matrix; the most frequent mistakes are listed instead.
MOST_CLASSES = 16
#: Bars of the histogram of residuals.
N_BARS = 31


@dataclass(frozen=True)
class Confusion:
    """Counts of (actual, predicted) classes."""

    name: str
    rows: int
    right: int
    actual: list[str]
    predicted: list[str]
    counts: list[list[int]]

    @property
    def accuracy(self) -> float:
        """Share of rows with the right answer."""
        return self.right / self.rows

    @property
    def recall(self) -> list[float | None]:
        """Share of each actual class that is found."""
        sums = [sum(line) for line in self.counts]
        right = [line[i] if i < len(line) else 0 for i, line in enumerate(self.counts)]
        return [hits / total if total else None for hits, total in zip(right, sums, strict=True)]

    @property
    def precision(self) -> list[float | None]:
        """Share of each predicted class that is right."""
        sums = [sum(line[j] for line in self.counts) for j in range(len(self.predicted))]
        return [self.counts[j][j] / total if total else None for j, total in enumerate(sums)]

    @property
    def mistakes(self) -> list[tuple[str, str, int]]:
        """The most frequent confusions, most frequent first."""
        every = [
            (self.actual[a], self.predicted[p], n)
            for a, line in enumerate(self.counts)
            for p, n in enumerate(line)
            if a != p and n
        ]
        return sorted(every, key=lambda m: -m[2])[:20]


@dataclass(frozen=True)
class Residuals:
    """Actual minus predicted, counted in bars."""

    name: str
    rows: int
    mean_absolute: float
    root_mean_square: float
    r2: float | None
    edges: list[float]
    counts: list[int]


def score(model: Any, name: str, X: Any, y: Any) -> Confusion | Residuals:
    """How the model does on these rows.

    Parameters
    ----------
    model : fitted model
    name : str
        What the rows are called.
    X : array or data frame
    y : array

    Returns
    -------
    Confusion or Residuals
    """
    predicted = np.asarray(model.predict(X))
    actual = np.asarray(y)
    if actual.ndim == 2 and actual.shape[1] == 1:
        actual = actual.ravel()
    if actual.shape != predicted.shape:
        raise ValueError(f"y of the {name} has shape {actual.shape}, but X has {len(predicted)} rows; give one each.")
    if model.rules_.classes:
        known = ["missing" if label is None or label != label else label for label in actual.tolist()]
        return _confusion(name, model.rules_.classes, known, predicted.tolist())
    return _residuals(name, actual.astype(np.float64), predicted.astype(np.float64))


def _confusion(name: str, classes: tuple[Any, ...], actual: list[Any], predicted: list[Any]) -> Confusion:
    at = {c: i for i, c in enumerate(classes)}
    # Classes that training did not have have a line of their own and no column.
    new = sorted({a for a in actual if a not in at}, key=str)
    lines = {**at, **{c: len(classes) + i for i, c in enumerate(new)}}
    counts = [[0] * len(classes) for _ in range(len(lines))]
    for a, p in zip(actual, predicted, strict=True):
        counts[lines[a]][at[p]] += 1
    right = sum(counts[i][i] for i in range(len(classes)))
    names = [shorten(text_of(c)) for c in classes]
    return Confusion(name, len(actual), right, [*names, *(f"{shorten(text_of(c))} (new)" for c in new)], names, counts)


def _residuals(name: str, actual: FloatArray, predicted: FloatArray) -> Residuals:
    off = actual - predicted
    if not np.isfinite(off).all():
        raise ValueError(f"y of the {name} has missing or infinite values; leave those rows out.")
    spread = float(((actual - actual.mean()) ** 2).sum())
    reach = float(np.abs(off).max()) or 1.0
    counts, edges = np.histogram(off, bins=N_BARS, range=(-reach, reach))
    return Residuals(
        name,
        len(off),
        float(np.abs(off).mean()),
        float(np.sqrt((off**2).mean())),
        1.0 - float((off**2).sum()) / spread if spread > 0 else None,
        edges.tolist(),
        counts.tolist(),
    )
