"""Limits on what a model answers, whatever is true: how often, at what cost, and where not at all."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from omtree.constraints.answers import RuleFacts
from omtree.constraints.audit import Answers, ConstraintCheck
from omtree.constraints.confidence import Trial, normal_trial, worth
from omtree.constraints.constraint import (
    Constraint,
    Level,
    Setting,
    check_classes,
    check_names,
    class_position,
    is_number,
)
from omtree.constraints.demands import MetricLimit, RuleDemands
from omtree.constraints.sample import BoundedSurely, ClassMetric, Mask
from omtree.constraints.samples import Strata
from omtree.data.table import MAX_CODES, Feature, FloatArray


@dataclass(frozen=True, repr=False)
class AnswerShare(ClassMetric):
    """The share of the samples that are given an answer, such as a treatment that is scarce.

    Parameters
    ----------
    class_ : object, optional
        A class of ``y``, or an action; by default the second of two.
    at_least, at_most : float, optional
    confidence : float, optional
        With which a limit has to hold for new rows; see `docs/constraints.md`.

    Examples
    --------
    >>> AnswerShare("treat", at_most=0.3)
    AnswerShare('treat', at_most=0.3)
    """

    def sums(self, strata: Strata, setting: Setting) -> tuple[FloatArray, FloatArray]:
        given = np.arange(setting.n_labels) == self.position(setting)
        return np.tile(given.astype(np.float64), (len(strata), 1)), np.ones((len(strata), setting.n_labels))

    def counted(self, answers: Answers) -> tuple[Mask, Mask]:
        return np.ones(len(answers.predicted), dtype=bool), answers.predicted == answers.position(self.class_)


@dataclass(frozen=True, repr=False)
class AnswerCost(BoundedSurely):
    """What the answers cost, on average over the samples: a budget for treatments.

    Parameters
    ----------
    costs : mapping
        What each answer costs; those that are not named cost nothing.
    at_least, at_most : float, optional
        Of the mean over the samples.
    confidence : float, optional
        With which a limit has to hold for new rows; see `docs/constraints.md`.

    Examples
    --------
    >>> AnswerCost({"operate": 900, "pill": 20}, at_most=100)
    AnswerCost({'operate': 900, 'pill': 20}, at_most=100)
    """

    costs: Mapping[Any, float] = field(default_factory=dict)
    high: ClassVar[float] = math.inf

    def __hash__(self) -> int:
        return hash(repr(self))

    def check(self, setting: Setting) -> None:
        check_classes(self, setting)
        if not isinstance(self.costs, Mapping) or not self.costs:
            raise ValueError(f"{self!r} has no costs; give what each answer costs, such as {{'treat': 10}}.")
        for answer, cost in self.costs.items():
            class_position(self, answer, setting)
            if not is_number(cost) or not 0 <= cost < math.inf:
                raise ValueError(f"{self!r}: the cost {cost!r} of {answer!r} is not possible; use zero or more.")
        self.check_limits(self.low, self.high)
        self.check_confidence()

    def on_model(self, strata: Strata, setting: Setting) -> Iterable[MetricLimit]:
        costs = np.tile([float(self.costs.get(label, 0.0)) for label in setting.classes], (len(strata), 1))
        total = float(strata.totals.sum())
        for sense, limit in self.limits:
            sign = 1.0 if sense == "at least" else -1.0
            yield MetricLimit(
                self.name_of(sense),
                sign * costs,
                sign * limit * total,
                self,
                "the mean cost of the answers",
                limit,
                sense,
                sign * total,
            )

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        return self.checks(self._mean_and_deviation(answers)[0])

    def trials(self, answers: Answers) -> Iterable[Trial]:
        rows = worth(answers.weight)
        mean, deviation = self._mean_and_deviation(answers)
        error = deviation / math.sqrt(rows) if rows > 0 else math.inf
        for sense, limit in self.limits:
            yield normal_trial(sense, limit, mean, rows, error, error)

    def _mean_and_deviation(self, answers: Answers) -> tuple[float, float]:
        """Of the costs of the answers."""
        costs = np.array([float(self.costs.get(label, 0.0)) for label in answers.classes])[answers.predicted]
        total = float(answers.weight.sum())
        if total <= 0:
            return math.nan, math.nan
        mean = float(answers.weight @ costs) / total
        return mean, math.sqrt(float(answers.weight @ (costs - mean) ** 2) / total)


@dataclass(frozen=True, repr=False)
class ForbidAnswer(Constraint):
    """An answer is never given where a column has certain values, for new rows either.

    Parameters
    ----------
    class_ : object
        A class of ``y``, or an action.
    feature : str
        A column that is numeric, ordered, or has two values.
    values : set, or pair of numbers
        Of a numeric column the interval ``low <= cell < high``, None where it has no end; else the values.

    Examples
    --------
    >>> ForbidAnswer("operate", "age", (80, None)), ForbidAnswer("pill", "pregnant", {"yes"})
    (ForbidAnswer('operate', 'age', (80, inf)), ForbidAnswer('pill', 'pregnant', {'yes'}))
    """

    class_: Any
    feature: str
    values: Any
    level: ClassVar[Level] = "path"

    def __post_init__(self) -> None:
        given = self.values
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise ValueError(f"ForbidAnswer needs an interval or a set of values of {self.feature!r}, got {given!r}.")
        ends = tuple(given)
        if not isinstance(given, (set, frozenset)) and len(ends) == 2 and all(e is None or is_number(e) for e in ends):
            low, high = ends
            object.__setattr__(self, "values", (-math.inf if low is None else low, math.inf if high is None else high))
        else:
            object.__setattr__(self, "values", frozenset(ends))

    def check(self, setting: Setting) -> None:
        check_names(self, [self.feature], setting)
        class_position(self, self.class_, setting)
        if setting.structure == "rules":
            raise ValueError(
                f"{self!r} needs a tree: rows that meet no rule of a set are answered by the nearest one, whatever it "
                "says; use structure='tree'."
            )
        kind = setting.kinds[setting.columns.index(self.feature)]
        if kind == "numeric":
            if not isinstance(self.values, tuple):
                raise ValueError(f"{self!r}: the column is numeric; give an interval, such as (80, None).")
            low, high = self.values
            if not low < high or (low == -math.inf and high == math.inf):
                raise ValueError(f"{self!r} has an interval with nothing in it, or everything; give other ends.")
            return
        levels = setting.levels[self.feature]
        if not isinstance(self.values, frozenset) or not self.values:
            raise ValueError(f"{self!r}: give a set of values of {self.feature!r}, such as {{{levels[0]!r}}}.")
        for value in sorted(self.values, key=str):
            if value not in levels:
                raise ValueError(f"{self!r} names the value {value!r}, which {self.feature!r} does not have.")
        if kind == "nominal" and len(levels) > 2:
            raise ValueError(
                f"{self!r} needs a column of two values: rows with values that a node never saw follow its heaviest "
                "branch; make a column that is yes where the answer is forbidden."
            )

    def restrict(self, feature: Feature) -> Feature:
        """With the ends of the interval among the thresholds."""
        if feature.name != self.feature or feature.thresholds is None:
            return feature
        ends = [float(end) for end in self.values if math.isfinite(end)]
        cuts = np.union1d(feature.thresholds, ends)
        if len(cuts) + 1 + feature.has_missing > MAX_CODES:
            others = np.setdiff1d(feature.thresholds, ends)
            room = MAX_CODES - 1 - feature.has_missing - len(ends)
            cuts = np.union1d(others[np.linspace(0, len(others) - 1, room).astype(int)], ends)
        return dataclasses.replace(feature, thresholds=cuts, n_values=len(cuts) + 1, pair=None)

    def forbidden(self, feature: Feature) -> frozenset[int]:
        """The codes of the column where the answer may not be given."""
        if feature.thresholds is not None:
            low, high = self.values
            edges = [-math.inf, *feature.thresholds.tolist(), math.inf]
            return frozenset(code for code in range(feature.n_values) if edges[code] < high and edges[code + 1] > low)
        assert feature.levels is not None
        return frozenset(code for code, level in enumerate(feature.levels) if level in self.values)

    def on_rule(self, demands: RuleDemands) -> None:
        label = class_position(self, self.class_, demands.setting)
        demands.predicate(lambda rule: rule.label != label or not self._meets(rule))

    def _meets(self, rule: RuleFacts) -> bool:
        """Whether rows of the forbidden values get to the rule."""
        return rule.reaches(self.feature, self.forbidden)

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        label = answers.position(self.class_)
        place = next((i for i, feature in enumerate(answers.features) if feature.name == self.feature), None)
        broken = []
        for r, rule in enumerate(answers.rules):
            if rule.label != label:
                continue
            inside: Iterable[int] | None = None
            if answers.regions is not None:
                inside = None if place is None else answers.regions[r].get(place)
            else:
                inside = next((c.codes for c in rule.conditions if c.feature == place), None)
            if place is None or inside is None or self.forbidden(answers.features[place]).intersection(inside):
                broken.append(r)
        first = broken[0] if broken else None
        yield ConstraintCheck.of(self, len(broken), 0, "at most", part="rules that break it", rule=first)
