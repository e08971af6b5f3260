"""Metrics of the whole model that are linear once a limit is set: recall, precision, F1 and their relatives.

With more than two classes each is about one class against all the others. They count sample weights, as given to
``fit``; what `class_weight` says changes the loss, not these. A rule may predict a class that is not the most
frequent one in it, where that helps to meet a limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from omtree.constraints.audit import Answers, ConstraintCheck, Sense
from omtree.constraints.confidence import Confident, Trial, share_trial
from omtree.constraints.constraint import (
    Constraint,
    Interval,
    Level,
    Setting,
    check_classes,
    check_number,
    class_position,
    code_of,
)
from omtree.constraints.demands import CurvedLimit, MetricLimit
from omtree.constraints.samples import Strata
from omtree.data.table import FloatArray

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class Bounded(Constraint, abstract=True):
    """A number of the whole model with a least or a largest value, or both."""

    at_least: float | None = field(default=None, kw_only=True)
    at_most: float | None = field(default=None, kw_only=True)
    level: ClassVar[Level] = "sample"

    @property
    def limits(self) -> list[tuple[Sense, float]]:
        """The limits that are set."""
        pairs: list[tuple[Sense, float | None]] = [("at least", self.at_least), ("at most", self.at_most)]
        return [(sense, limit) for sense, limit in pairs if limit is not None]

    def name_of(self, sense: str) -> str:
        """What its limit of this sense is called."""
        return f"{self.title} {sense}" if len(self.limits) > 1 else self.title

    def check_limits(self, low: float, high: float) -> None:
        """Complain about limits that no model, or every model, has to do with."""
        if not self.limits:
            raise ValueError(f"{self!r} has no limit; set at_least or at_most.")
        for sense, _ in self.limits:
            check_number(self, sense.replace(" ", "_"), low, high)
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"{self!r}: at_least is above at_most; no value is between them.")

    def checks(self, value: float) -> Iterable[ConstraintCheck]:
        """The checks that a value gives."""
        for sense, limit in self.limits:
            yield ConstraintCheck.of(self, value, limit, sense, part=sense if len(self.limits) > 1 else "")


@dataclass(frozen=True, repr=False)
class BoundedSurely(Confident, Bounded, abstract=True):
    """A number of the whole model whose limits can be asked for with a confidence."""

    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0

    def tightened(self, margins: Iterable[tuple[Sense, float]]) -> Self:
        limits = {"at_least": self.at_least, "at_most": self.at_most}
        for sense, margin in margins:
            name = sense.replace(" ", "_")
            limit = limits[name]
            assert limit is not None
            moved = min(self.high, limit + margin) if sense == "at least" else max(self.low, limit - margin)
            limits[name] = round(moved, 10)
        return replace(self, confidence=None, **limits)


@dataclass(frozen=True, repr=False)
class _Metric(BoundedSurely, abstract=True):
    """A ratio of two sums: ``numerator >= limit * denominator`` is linear, whatever the denominator."""

    @property
    def words(self) -> str:
        """What it is called in a sentence."""
        return f"the {self.kind().replace('_', ' ')}"

    def position(self, setting: Setting) -> int:
        """Position of the class it is about."""
        return 0

    def check(self, setting: Setting) -> None:
        check_classes(self, setting)
        self.position(setting)
        self.check_limits(self.low, self.high)
        self.check_confidence()

    def bounds(self, setting: Setting) -> Iterable[Interval]:
        low = -math.inf if self.at_least is None else float(self.at_least)
        high = math.inf if self.at_most is None else float(self.at_most)
        yield (type(self).__name__, self.position(setting)), self.words, low, high

    def sums(self, strata: Strata, setting: Setting) -> tuple[FloatArray, FloatArray]:
        """Coefficients of the numerator and of the denominator, shape (n_strata, n_labels).

        A denominator that does not depend on the predictions has equal columns.
        """
        raise NotImplementedError

    def counted(self, answers: Answers) -> tuple[Mask, Mask]:
        """Which samples the metric is a share of, and which of those count."""
        raise NotImplementedError

    def value(self, answers: Answers) -> float:
        """The metric of a model's answers; NaN where it is not defined."""
        among, hits = self.counted(answers)
        return ratio(float(answers.weight[among & hits].sum()), float(answers.weight[among].sum()))

    def trials(self, answers: Answers) -> Iterable[Trial]:
        among, hits = self.counted(answers)
        for sense, limit in self.limits:
            yield share_trial(sense, limit, hits, among, answers.weight)

    def on_model(self, strata: Strata, setting: Setting) -> Iterable[MetricLimit | CurvedLimit]:
        top, bottom = self.sums(strata, setting)
        fixed = bool((bottom == bottom[:, :1]).all())
        total = float(bottom[:, 0] @ strata.totals)
        for sense, limit in self.limits:
            sign = 1.0 if sense == "at least" else -1.0
            if fixed:
                # The denominator is a number: it goes to the right-hand side.
                coefficient, at_least, per_unit = sign * top, sign * limit * total, sign * total
            else:
                coefficient, at_least, per_unit = sign * (top - limit * bottom), 0.0, None
            name = self.name_of(sense)
            yield MetricLimit(name, coefficient, at_least, self, self.words, limit, sense, per_unit)

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        return self.checks(self.value(answers))


@dataclass(frozen=True, repr=False)
class ClassMetric(_Metric, abstract=True):
    """A metric of one class against the others."""

    class_: Any = None

    @property
    def words(self) -> str:
        of = "" if self.class_ is None else f" of class {code_of(self.class_)}"
        return f"{super().words}{of}"

    def position(self, setting: Setting) -> int:
        return class_position(self, self.class_, setting)


def masks(strata: Strata, setting: Setting, label: int) -> tuple[FloatArray, FloatArray]:
    """Which strata have the class, as a column, and which label it is, as a row."""
    has = (strata.label == label).astype(np.float64)[:, None]
    given = (np.arange(setting.n_labels) == label).astype(np.float64)[None, :]
    return has, given


def confusion(answers: Answers, class_: Any) -> tuple[float, float, float, float]:
    """True positives, false positives, false negatives and true negatives of a class, in sample weight."""
    has, given = has_and_given(answers, class_)
    w = answers.weight
    return (
        float(w[has & given].sum()),
        float(w[~has & given].sum()),
        float(w[has & ~given].sum()),
        float(w[~has & ~given].sum()),
    )


def has_and_given(answers: Answers, class_: Any) -> tuple[Mask, Mask]:
    """Which samples have a class, and which are given it."""
    label = answers.position(class_)
    return np.asarray(answers.y == label), np.asarray(answers.predicted == label)


def ratio(top: float, bottom: float) -> float:
    """``top / bottom``, NaN where there is nothing."""
    return top / bottom if bottom > 0 else math.nan


@dataclass(frozen=True, repr=False)
class Recall(ClassMetric):
    """The share of a class that is predicted as such: ``TP / (TP + FN)``.

    Parameters
    ----------
    class_ : object, optional
        A class of ``y``; by default the second of two.
    at_least, at_most : float, optional
    confidence : float, optional
        With which a limit has to hold for new rows; see `docs/constraints.md`.

    Examples
    --------
    >>> Recall("yes", at_least=0.8)
    Recall('yes', at_least=0.8)
    """

    def sums(self, strata: Strata, setting: Setting) -> tuple[FloatArray, FloatArray]:
        has, given = masks(strata, setting, self.position(setting))
        return has * given, has * np.ones_like(given)

    def counted(self, answers: Answers) -> tuple[Mask, Mask]:
        has, given = has_and_given(answers, self.class_)
        return has, given


@dataclass(frozen=True, repr=False)
class Precision(ClassMetric):
    """The share of what is predicted as a class that is of it: ``TP / (TP + FP)``.

    A model that never predicts the class has no precision (NaN) and meets every limit on it; add a limit on the recall
    where that is no answer.

    Parameters
    ----------
    class_ : object, optional
        A class of ``y``; by default the second of two.
    at_least, at_most : float, optional
    confidence : float, optional
        With which a limit has to hold for new rows; see `docs/constraints.md`.

    Examples
    --------
    >>> Precision("yes", at_least=0.9)
    Precision('yes', at_least=0.9)
    """

    def sums(self, strata: Strata, setting: Setting) -> tuple[FloatArray, FloatArray]:
        has, given = masks(strata, setting, self.position(setting))
        return has * given, np.ones_like(has) * given

    def counted(self, answers: Answers) -> tuple[Mask, Mask]:
        has, given = has_and_given(answers, self.class_)
        return given, has


@dataclass(frozen=True, repr=False)
class Specificity(ClassMetric):
    """The share of the other classes that is not predicted as this one: ``TN / (TN + FP)``.

    Parameters
    ----------
    class_ : object, optional
        A class of ``y``; by default the second of two.
    at_least, at_most : float, optional
    confidence : float, optional
        With which a limit has to hold for new rows; see `docs/constraints.md`.

    Examples
    --------
    >>> Specificity("ill", at_least=0.7)
    Specificity('ill', at_least=0.7)
    """

    def sums(self, strata: Strata, setting: Setting) -> tuple[FloatArray, FloatArray]:
        has, given = masks(strata, setting, self.position(setting))
        return (1 - has) * (1 - given), (1 - has) * np.ones_like(given)

    def counted(self, answers: Answers) -> tuple[Mask, Mask]:
        has, given = has_and_given(answers, self.class_)
        return ~has, ~given


@dataclass(frozen=True, repr=False)
class FalsePositiveRate(ClassMetric):
    """The share of the other classes that is predicted as this one: ``FP / (FP + TN)``.

    Parameters
    ----------
    class_ : object, optional
        A class of ``y``; by default the second of two.
    at_least, at_most : float, optional
    confidence : float, optional
        With which a limit has to hold for new rows; see `docs/constraints.md`.

    Examples
    --------
    >>> FalsePositiveRate("spam", at_most=0.01)
    FalsePositiveRate('spam', at_most=0.01)
    """

    def bounds(self, setting: Setting) -> Iterable[Interval]:
        low = -math.inf if self.at_most is None else 1.0 - self.at_most
        high = math.inf if self.at_least is None else 1.0 - self.at_least
        yield (Specificity.__name__, self.position(setting)), self.words, low, high

    def sums(self, strata: Strata, setting: Setting) -> tuple[FloatArray, FloatArray]:
        has, given = masks(strata, setting, self.position(setting))
        return (1 - has) * given, (1 - has) * np.ones_like(given)

    def counted(self, answers: Answers) -> tuple[Mask, Mask]:
        has, given = has_and_given(answers, self.class_)
        return ~has, given


@dataclass(frozen=True, repr=False)
class F1(ClassMetric):
    """The harmonic mean of precision and recall: ``TP / (TP + (FP + FN) / 2)``.

    A model that never predicts the class has an F1 of 0, as long as samples have the class.

    Parameters
    ----------
    class_ : object, optional
        A class of ``y``; by default the second of two.
    at_least, at_most : float, optional
    confidence : float, optional
        With which a limit has to hold for new rows; see `docs/constraints.md`.

    Examples
    --------
    >>> F1("yes", at_least=0.6)
    F1('yes', at_least=0.6)
    """

    def sums(self, strata: Strata, setting: Setting) -> tuple[FloatArray, FloatArray]:
        has, given = masks(strata, setting, self.position(setting))
        # TP + (FP + FN) / 2 is half of all that has the class plus half of all that is given it.
        return has * given, 0.5 * (has + given)

    def value(self, answers: Answers) -> float:
        tp, fp, fn, _ = confusion(answers, self.class_)
        return ratio(tp, tp + 0.5 * (fp + fn))

    def trials(self, answers: Answers) -> Iterable[Trial]:
        has, given = has_and_given(answers, self.class_)
        for sense, limit in self.limits:
            # It grows with the share of hits among all that have the class or are given it.
            yield share_trial(
                sense,
                limit,
                has & given,
                has | given,
                answers.weight,
                scale=lambda share: 2.0 * share / (1.0 + share),
                unscale=lambda score: score / (2.0 - score),
            )


@dataclass(frozen=True, repr=False)
class Accuracy(_Metric):
    """The share of the samples that get their own class.

    Parameters
    ----------
    at_least, at_most : float, optional
    confidence : float, optional
        With which a limit has to hold for new rows; see `docs/constraints.md`.

    Examples
    --------
    >>> Accuracy(at_least=0.9)
    Accuracy(at_least=0.9)
    """

    def sums(self, strata: Strata, setting: Setting) -> tuple[FloatArray, FloatArray]:
        right = (strata.label[:, None] == np.arange(setting.n_labels)[None, :]).astype(np.float64)
        return right, np.ones_like(right)

    def counted(self, answers: Answers) -> tuple[Mask, Mask]:
        return np.ones(len(answers.y), dtype=bool), np.asarray(answers.y == answers.predicted)
