"""Constraints on every single rule: support, confidence, and anything a function can say.

They mean the same for a tree and for a rule set: a leaf is a rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from omtree.constraints.answers import RuleFacts
from omtree.constraints.audit import Answers, ConstraintCheck, share, worst
from omtree.constraints.constraint import (
    Constraint,
    Interval,
    Level,
    Setting,
    check_classes,
    check_group,
    check_number,
    class_position,
    is_number,
    is_whole,
    name_tuple,
)
from omtree.constraints.demands import RuleDemands
from omtree.constraints.samples import strata_of


@dataclass(frozen=True, repr=False)
class _Support(Constraint, abstract=True):
    """A limit on the weight of every rule."""

    n: float
    level: ClassVar[Level] = "path"

    def check(self, setting: Setting) -> None:
        fine = self.n >= 1 if is_whole(self.n) else is_number(self.n) and 0 < self.n <= 1
        if not fine:
            raise ValueError(
                f"{self!r}: n={self.n!r} is not possible; "
                "use a whole number of at least 1 (rows) or a fraction above 0 and at most 1 (a share)."
            )

    def _unit(self, total: float) -> float:
        """The weight that a unit of `n` stands for."""
        return 1.0 if is_whole(self.n) else total


@dataclass(frozen=True, repr=False)
class MinSupport(_Support):
    """Every rule has at least this sample weight.

    Parameters
    ----------
    n : int or float
        A whole number is a weight, a fraction is a share of all the weight.

    Examples
    --------
    >>> MinSupport(20), MinSupport(0.05)
    (MinSupport(20), MinSupport(0.05))
    """

    def bounds(self, setting: Setting) -> Iterable[Interval]:
        yield ("support", is_whole(self.n)), "the support of a rule", float(self.n), math.inf

    def on_rule(self, demands: RuleDemands) -> None:
        demands.support(self.n * self._unit(float(demands.samples.weight.sum())))

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        yield worst(self, answers.by_rule() / self._unit(float(answers.weight.sum())), self.n, "at least")


@dataclass(frozen=True, repr=False)
class MaxSupport(_Support):
    """Every rule has at most this sample weight.

    Parameters
    ----------
    n : int or float
        A whole number is a weight, a fraction is a share of all the weight.

    Examples
    --------
    >>> MaxSupport(0.5)
    MaxSupport(0.5)
    """

    def bounds(self, setting: Setting) -> Iterable[Interval]:
        yield ("support", is_whole(self.n)), "the support of a rule", -math.inf, float(self.n)

    def on_rule(self, demands: RuleDemands) -> None:
        demands.at_least({demands.weight(): -1.0}, -self.n * self._unit(float(demands.samples.weight.sum())))

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        yield worst(self, answers.by_rule() / self._unit(float(answers.weight.sum())), self.n, "at most")


@dataclass(frozen=True, repr=False)
class MinConfidence(Constraint):
    """In every rule the predicted class has at least this share of the weight.

    A rule without samples (on new data) has no confidence and counts as fine.

    Parameters
    ----------
    p : float

    Examples
    --------
    >>> MinConfidence(0.8)
    MinConfidence(0.8)
    """

    p: float
    level: ClassVar[Level] = "path"

    def check(self, setting: Setting) -> None:
        check_classes(self, setting)
        check_number(self, "p", 0.0, 1.0)

    def on_rule(self, demands: RuleDemands) -> None:
        classes = range(demands.setting.n_labels)
        right = np.eye(len(classes))
        demands.at_least({demands.weight(label=c): right[c] - self.p for c in classes}, 0.0)

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        right = answers.by_rule(answers.predicted == answers.y)
        yield worst(self, share(right, answers.by_rule()), self.p, "at least")


@dataclass(frozen=True, repr=False)
class MinClassCount(Constraint):
    """Every rule has at least this weight of a class.

    Parameters
    ----------
    class_ : object
        A class of ``y``; None means the second of two.
    n : float

    Examples
    --------
    >>> MinClassCount("ill", 5)
    MinClassCount('ill', 5)
    """

    class_: Any
    n: float
    level: ClassVar[Level] = "path"

    def check(self, setting: Setting) -> None:
        class_position(self, self.class_, setting)
        check_number(self, "n")

    def on_rule(self, demands: RuleDemands) -> None:
        label = class_position(self, self.class_, demands.setting)
        demands.at_least({demands.weight(label=label): 1.0}, self.n)

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        yield worst(self, answers.by_rule(answers.y == answers.position(self.class_)), self.n, "at least")


@dataclass(frozen=True, repr=False)
class Path(Constraint):
    """Every rule satisfies a function of yours.

    Parameters
    ----------
    allows : callable
        Given the `RuleFacts` of a rule (features, conditions in words, support, class weights, prediction, ...), says
        whether the rule is allowed. It is asked for each prediction that a rule could make, very often: keep it
        fast, and without side effects. To be pickled with the model it has to be a named function.
    name : str, optional
        What the certificate calls it.
    groups : sequence of str, optional
        Group columns that the function asks about.

    Examples
    --------
    >>> def short_or_sure(rule):
    ...     return len(rule.features) <= 2 or rule.confidence >= 0.9
    >>> Path(short_or_sure)
    Path(short_or_sure)
    """

    allows: Callable[[RuleFacts], bool]
    name: str = field(default="", kw_only=True)
    groups: tuple[str, ...] = field(default=(), kw_only=True)
    level: ClassVar[Level] = "path"

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", name_tuple(self.groups))

    @property
    def title(self) -> str:
        return self.name or repr(self)

    @property
    def group_columns(self) -> tuple[str, ...]:
        return self.groups

    def check(self, setting: Setting) -> None:
        if not callable(self.allows):
            raise ValueError(f"{self!r}: allows={self.allows!r} is not possible; use a function of a rule's facts.")
        for name in self.groups:
            check_group(self, name, setting)

    def on_rule(self, demands: RuleDemands) -> None:
        demands.predicate(self.allows)

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        refused = [i for i, facts in enumerate(facts_of(answers, self.groups)) if not self.allows(facts)]
        rule = refused[0] if refused else None
        yield ConstraintCheck.of(self, len(refused), 0, "at most", part="rules refused", rule=rule)


def facts_of(answers: Answers, groups: Iterable[str] = ()) -> list[RuleFacts]:
    """The facts of every rule on the samples answered for."""
    numeric = not answers.classes
    # Samples of a class that the model does not know take part under no class: they are left out.
    known = np.ones(len(answers.y), dtype=bool) if numeric else np.asarray(answers.y >= 0)
    weight = answers.weight[known]
    labels = np.zeros(len(weight), dtype=np.intp) if numeric else answers.y[known]
    rows = np.flatnonzero(known)
    strata = strata_of(labels, {name: answers.groups[name].part(rows) for name in groups}, weight)
    rule = answers.rule[known]
    found = []
    for i, item in enumerate(answers.rules):
        inside = rule == i
        weights = np.bincount(strata.of_sample[inside], weights=weight[inside], minlength=len(strata))
        moments = None
        if numeric:
            target = answers.y[known][inside].astype(np.float64)
            moments = np.array([(weight[inside] * power).sum() for power in (target**0, target, target**2)])
        raw = [(condition.feature, condition.codes) for condition in item.conditions]
        found.append(
            RuleFacts(raw, answers.features, weights.astype(np.float64), strata, answers.classes, item.label, moments)
        )
    return found
