"""What to expect of a model on new rows: the figures that lead wherever a model is shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from omtree.model.intervals import Z95, wilson
from omtree.model.tally import Tally

#: What policies are judged by.
MEAN_REWARD = "mean reward"
#: What survival trees are judged by: the share of the deviance that they save.
EXPLAINED = "explained deviance"
#: The answer that needs no model, where it is not the most frequent class.
_ALWAYS = {MEAN_REWARD: "the best single action", EXPLAINED: "the same risk"}


@dataclass(frozen=True)
class Figure:
    """A figure with its 95 % interval.

    Attributes
    ----------
    value, low, high : float
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Expectation:
    """How a model does on rows it was not fitted to.

    Attributes
    ----------
    measure : str
        "accuracy" (with weighted classes "balanced accuracy" or "weighted accuracy"), "R2", "mean reward" or
        "explained deviance".
    value : Figure
        The measure on new rows.
    baseline : float
        The measure, on the same rows, of the answer that needs no model: the most frequent class, the mean, or the best
        single action.
    rmse : Figure or None
        Root mean squared error on new rows, where the target is a number.
    baseline_rmse : float or None
        That of the mean.
    gain : Figure
        By how much the model's mean loss (share of errors, squared error, reward missed) is below the baseline's.
    rows : int
        New rows that this is from.
    how : str
        Where those rows are from, such as "5-fold cross-validation".
    score_name : str
        What the model was fitted for where that is a score such as "F1"; else empty.
    score : Figure or None
        That score on the new rows.
    """

    measure: str
    value: Figure
    baseline: float
    rmse: Figure | None
    baseline_rmse: float | None
    gain: Figure
    rows: int
    how: str
    score_name: str = ""
    score: Figure | None = None

    @classmethod
    def of_rows(cls, tally: Tally, measure: str, how: str) -> Expectation:
        """From rows that one model has not seen."""
        return cls._of([tally], None, measure, how)

    @classmethod
    def of_folds(cls, tallies: Sequence[Tally], trained: Sequence[float], measure: str, how: str) -> Expectation:
        """From the folds of a cross-validation.

        Models of different folds share most of their rows, so their losses vary together. As Nadeau and Bengio (2003)
        propose, the variance is that of a mean over the rows, plus that of a mean over as many rows as a model was
        trained on; it is taken between rows or between folds, whichever gives more.

        Parameters
        ----------
        tallies : sequence of Tally
            One per fold.
        trained : sequence of float
            How many rows (of equal weight) the model of each fold was fitted to.
        measure, how : str
        """
        return cls._of(tallies, float(np.mean(trained)), measure, how)

    @classmethod
    def _of(cls, tallies: Sequence[Tally], trained: float | None, measure: str, how: str) -> Expectation:
        whole = reduce(add, tallies)

        def error(model: float, baseline: float) -> float:
            """Standard error of the mean of ``model * m + baseline * b``."""
            variance = whole.variance(model, baseline) / whole.effective
            if trained is not None:
                share = 1.0 / whole.effective + 1.0 / trained
                variance = whole.variance(model, baseline) * share
                means = [(model * each.model + baseline * each.baseline) / each.weight for each in tallies]
                if len(means) > 1:
                    variance = max(variance, float(np.var(means, ddof=1)) * share * whole.effective / len(means))
            return math.sqrt(variance)

        loss, least = whole.mean, whole.baseline_mean
        margin = Z95 * error(-1.0, 1.0)
        gain = Figure(least - loss, least - loss - margin, least - loss + margin)
        if measure == MEAN_REWARD:
            half = Z95 * error(1.0, 0.0)
            value = Figure(-loss, -loss - half, -loss + half)
            return cls(measure, value, -least, None, None, gain, whole.rows, how)
        if measure not in ("R2", EXPLAINED):
            own = error(1.0, 0.0)
            most = whole.effective if trained is None else 1.0 / (1.0 / whole.effective + 1.0 / trained)
            worth = min(most, loss * (1.0 - loss) / own**2) if own > 0 and 0 < loss < 1 else most
            right = 1.0 - loss
            value = Figure(right, *wilson(right, worth))
            return cls(measure, value, 1.0 - least, None, None, gain, whole.rows, how)
        ratio = loss / least if least > 0 else float(loss > 0)
        spread = Z95 * error(1.0, -ratio) / least if least > 0 else 0.0
        value = Figure(1.0 - ratio, 1.0 - ratio - spread, min(1.0, 1.0 - ratio + spread))
        if measure == EXPLAINED:
            return cls(measure, value, 0.0, None, None, gain, whole.rows, how)
        half = Z95 * error(1.0, 0.0)
        rmse = Figure(math.sqrt(loss), math.sqrt(max(0.0, loss - half)), math.sqrt(loss + half))
        return cls(measure, value, 0.0, rmse, math.sqrt(least), gain, whole.rows, how)

    @property
    def beats_baseline(self) -> bool:
        """Whether the model is better than the baseline on the new rows."""
        return self.gain.value > 0.0

    @property
    def warning(self) -> str:
        """A sentence where the model is not better than the baseline, or may not be; else nothing."""
        answer = "the mean" if self.rmse is not None else _ALWAYS.get(self.measure, "the most frequent class")
        if not self.beats_baseline:
            return f"The model does not beat the baseline: on new rows, answering {answer} every time is as good."
        if self.gain.low <= 0.0:
            return f"The model may be no better than the baseline, {answer} every time: the difference can be chance."
        return ""

    def __str__(self) -> str:
        lines = [f"on new rows   {self._words(self.value, self.rmse)}{self.score_words}, by {self.how}"]
        lines.append(f"baseline      {self.baseline_words}")
        if self.warning:
            lines.append(self.warning)
        return "\n".join(lines)

    @property
    def baseline_words(self) -> str:
        """How good the answer is that needs no model."""
        if self.baseline_rmse is None:
            always = _ALWAYS.get(self.measure, "the most frequent class")
            return f"{self.measure} {in_measure(self.measure, self.baseline)}, {always} every time"
        return f"R2 0, RMSE {short(self.baseline_rmse)}, the mean every time"

    @property
    def score_words(self) -> str:
        """The score with its interval, to go on with; nothing where there is none.

        >>> half = Figure(0.5, 0.5, 0.5)
        >>> Expectation("accuracy", half, 0.5, None, None, half, 9, "", "F1", Figure(0.7, 0.61, 0.78)).score_words
        '; F1 0.700 (0.610 to 0.780)'
        """
        if self.score is None:
            return ""
        return f"; {self.score_name} {self.score.value:.3f} ({self.score.low:.3f} to {self.score.high:.3f})"

    def _words(self, value: Figure, rmse: Figure | None) -> str:
        text = f"{self.measure} {in_measure(self.measure, value.value)} ({span(self.measure, value)})"
        if rmse is not None:
            text += f", RMSE {short(rmse.value)} ({short(rmse.low)} to {short(rmse.high)})"
        return text


def in_measure(measure: str, value: float) -> str:
    """A share in per cent, R2 as it is.

    >>> in_measure("accuracy", 0.8125), in_measure("R2", 0.8125)
    ('81.2 %', '0.812')
    """
    if measure == MEAN_REWARD:
        return short(value)
    return f"{value:.3f}" if measure == "R2" else f"{100 * value:.1f} %"


def span(measure: str, figure: Figure) -> str:
    """The interval in words.

    >>> span("accuracy", Figure(0.8, 0.7, 0.87))
    '70.0 to 87.0 %'
    """
    if measure in ("R2", MEAN_REWARD):
        return f"{in_measure(measure, figure.low)} to {in_measure(measure, figure.high)}"
    return f"{100 * figure.low:.1f} to {100 * figure.high:.1f} %"


def short(value: float) -> str:
    """A number of a target with four digits or all before the point.

    >>> short(1234.56), short(0.0123456), short(3.14159), short(-0.0)
    ('1,235', '0.01235', '3.142', '0')
    """
    # The zero of a sum may be negative.
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value + 0.0:.4g}"
