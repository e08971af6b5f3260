"""A score of the whole model, such as F1, on rows it was not fitted to, with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray
from omtree.model.expectation import Expectation, Figure
from omtree.model.intervals import wilson
from omtree.objectives import Score

#: By how much a cell is moved to see how the score follows.
_STEP = 1e-6


def confusion_of(actual: npt.NDArray[Any], said: npt.NDArray[Any], weight: FloatArray, n_classes: int) -> FloatArray:
    """The weight of rows by their class and what was said; classes that are not known (-1) are left out."""
    known = actual >= 0
    cells = (actual * n_classes + said)[known].astype(np.intp)
    flat = np.bincount(cells, weights=weight[known], minlength=n_classes * n_classes)
    return np.asarray(flat, dtype=np.float64).reshape(n_classes, n_classes)


def score_figure(score: Score, confusions: Sequence[FloatArray], worth: float, trained: float | None = None) -> Figure:
    """The score of all rows together, and how far chance can move it.

    The standard error is that of the delta method over the four cells; of folds it is widened as that of an accuracy is
    (`Expectation.of_folds`). The interval is Wilson's for a share with this standard error.

    Parameters
    ----------
    score : Score
    confusions : sequence of array
        The weights ``confusion[true, said]`` of each fold, or a single one.
    worth : float
        How many rows of equal weight these are.
    trained : float, optional
        How many rows the model of a fold was fitted to.

    Examples
    --------
    >>> from omtree.objectives.f1 import F1
    >>> figure = score_figure(F1(), [np.array([[80.0, 5.0], [5.0, 10.0]])], 100)
    >>> round(figure.value, 3), round(figure.low, 2), round(figure.high, 2)
    (0.667, 0.46, 0.82)
    """
    whole = np.sum(confusions, axis=0)
    shares = whole / whole.sum()
    value = score.score(shares)
    slopes = np.zeros_like(shares)
    for cell in np.ndindex(shares.shape):
        moved = shares.copy()
        moved[cell] += _STEP
        slopes[cell] = (score.score(moved) - value) / _STEP
    spread = max(0.0, float((shares * slopes**2).sum() - (shares * slopes).sum() ** 2))
    per_row = 1.0 / worth + (0.0 if trained is None else 1.0 / trained)
    variance = spread * per_row
    if trained is not None and len(confusions) > 1:
        folds = [score.score(confusion / confusion.sum()) for confusion in confusions]
        variance = max(variance, float(np.var(folds, ddof=1)) * per_row * worth / len(folds))
    # Wilson's interval is for shares: of the way from the lowest score to the highest.
    width = 1.0 - score.least
    share = (value - score.least) / width
    variance /= width**2
    # Where chance seems to move nothing, as at a score of one, the rarer class says how little was seen.
    most = float(shares.sum(axis=1).min()) / per_row
    rows = share * (1.0 - share) / variance if variance > 0 and 0 < share < 1 else most
    low, high = wilson(share, rows)
    return Figure(value, score.least + width * low, score.least + width * high)


def with_score(
    expected: Expectation, score: Score, confusions: Sequence[FloatArray], worth: float, trained: float | None = None
) -> Expectation:
    """The expectation with the score that the model was fitted for; parameters as above."""
    if not np.sum(confusions) > 0:
        return expected
    return replace(expected, score_name=score.name, score=score_figure(score, confusions, worth, trained))
