"""How well shares of a class serve as probabilities: ranking, calibration, and what decisions gain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray
from omtree.model.intervals import wilson


@dataclass(frozen=True)
class Band:
    """Rows that were given about the same probability.

    Attributes
    ----------
    said : float
        Their mean probability.
    seen, low, high : float
        The share that is of the class, with Wilson's interval.
    rows : int
    """

    said: float
    seen: float
    low: float
    high: float
    rows: int


@dataclass(frozen=True)
class Probabilities:
    """Probabilities of one class beside what came about.

    Attributes
    ----------
    positive : str
        The class.
    name : str
        What the rows are called.
    auc : float
        Chance that a row of the class is ranked above another one, ties by half.
    brier : float
        Mean squared distance of the probability from what came about.
    curve : tuple of (float, float)
        Points of the ROC curve: false positive rate and true positive rate.
    bands : tuple of Band
        The rows of equal probability, the smallest first.
    decisions : tuple of (float, float, float)
        Threshold, net benefit of acting on the model's answers, and that of acting on every row.
    """

    positive: str
    name: str
    auc: float
    brier: float
    curve: tuple[tuple[float, float], ...]
    bands: tuple[Band, ...]
    decisions: tuple[tuple[float, float, float], ...]


def judge_probabilities(
    positive: str, name: str, said: FloatArray, is_positive: npt.NDArray[np.bool_]
) -> Probabilities | None:
    """Compare probabilities of a class with what came about; None where all rows are of one class.

    Parameters
    ----------
    positive, name : str
    said : array of float
        The probability of the class for each row.
    is_positive : array of bool
        Whether the row is of the class.

    Examples
    --------
    >>> found = judge_probabilities("yes", "data", np.array([0.2, 0.2, 0.8, 0.8]), np.array([False, True, True, True]))
    >>> round(found.auc, 3), [band.seen for band in found.bands]
    (0.833, [0.5, 1.0])
    """
    n_positive, n_rows = int(is_positive.sum()), len(said)
    if not 0 < n_positive < n_rows:
        return None
    values, place = np.unique(said, return_inverse=True)
    hits = np.bincount(place, weights=is_positive, minlength=len(values))
    rows = np.bincount(place, minlength=len(values))
    # From the highest probability down: what is called positive grows.
    found = np.concatenate([[0.0], np.cumsum(hits[::-1])]) / n_positive
    alarms = np.concatenate([[0.0], np.cumsum((rows - hits)[::-1])]) / (n_rows - n_positive)
    auc = float(((found[1:] + found[:-1]) / 2 * np.diff(alarms)).sum())
    bands = [
        Band(float(value), float(hit / n), *wilson(float(hit / n), float(n)), int(n))
        for value, hit, n in zip(values, hits, rows, strict=True)
    ]
    decisions = []
    for threshold in np.arange(0.02, 0.99, 0.02):
        called = values >= threshold
        odds = threshold / (1 - threshold)
        benefit = (hits[called].sum() - odds * (rows - hits)[called].sum()) / n_rows
        everyone = (n_positive - odds * (n_rows - n_positive)) / n_rows
        decisions.append((float(threshold), float(benefit), float(everyone)))
    return Probabilities(
        positive,
        name,
        auc,
        float(((said - is_positive) ** 2).mean()),
        tuple(zip(alarms.tolist(), found.tolist(), strict=True)),
        tuple(bands),
        tuple(decisions),
    )
