"""Fairness between groups: over the whole model, in every rule, and summed over the rules.

A group column is a column of ``X`` or is passed as ``fit(..., groups=...)``, where no rule can test it. Every
constraint compares all pairs of groups that occur: the largest difference counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import Any, ClassVar, Literal

import numpy as np

from omtree.constraints.answers import RuleFacts
from omtree.constraints.audit import Answers, ConstraintCheck, share, worst
from omtree.constraints.constraint import Constraint, Level, Setting, check_group, check_number, class_position
from omtree.constraints.demands import RuleDemands, RuleSum
from omtree.constraints.parity import Mask, Parity
from omtree.constraints.samples import Strata
from omtree.data.table import FloatArray

RuleMetric = Literal["positive_rate", "accuracy", "coverage", "mean"]


@dataclass(frozen=True, repr=False)
class StatisticalParity(Parity):
    """The share of each group that is given the class differs by at most `tolerance`, between any two groups.

    Parameters
    ----------
    group : str
        The group column.
    tolerance : float
    class_ : object, optional
        The class whose prediction counts; by default the second of two.
    confidence : float, optional
        With which the limit has to hold for new rows; see `docs/constraints.md`.

    Examples
    --------
    >>> StatisticalParity("sex", 0.05)
    StatisticalParity('sex', 0.05)
    """

    def parts(self, label: Any, positive: int, groups: Any) -> Iterator[tuple[str, Mask]]:
        yield "", np.ones(len(label), dtype=bool)


@dataclass(frozen=True, repr=False)
class EqualOpportunity(Parity):
    """Among the samples that have the class, the share that is given it (the recall) is about equal in all groups.

    A group without such samples is not compared.

    Parameters
    ----------
    group : str
        The group column.
    tolerance : float
    class_ : object, optional
        By default the second of two classes.
    confidence : float, optional
        With which the limit has to hold for new rows; see `docs/constraints.md`.

    Examples
    --------
    >>> EqualOpportunity("sex", 0.05, class_="hired")
    EqualOpportunity('sex', 0.05, class_='hired')
    """

    def parts(self, label: Any, positive: int, groups: Any) -> Iterator[tuple[str, Mask]]:
        yield "", np.asarray(label == positive)


@dataclass(frozen=True, repr=False)
class PredictiveEquality(Parity):
    """Among the samples without the class, the share that is given it (false positives) is about equal in all groups.

    A group without such samples is not compared.

    Parameters
    ----------
    group : str
        The group column.
    tolerance : float
    class_ : object, optional
        By default the second of two classes.
    confidence : float, optional
        With which the limit has to hold for new rows; see `docs/constraints.md`.

    Examples
    --------
    >>> PredictiveEquality("sex", 0.05)
    PredictiveEquality('sex', 0.05)
    """

    def parts(self, label: Any, positive: int, groups: Any) -> Iterator[tuple[str, Mask]]:
        yield "", np.asarray(label != positive)


@dataclass(frozen=True, repr=False)
class EqualizedOdds(Parity):
    """Both `EqualOpportunity` and `PredictiveEquality`, with one tolerance.

    Parameters
    ----------
    group : str
        The group column.
    tolerance : float
    class_ : object, optional
        By default the second of two classes.
    confidence : float, optional
        With which the limit has to hold for new rows; see `docs/constraints.md`.

    Examples
    --------
    >>> EqualizedOdds("sex", 0.1)
    EqualizedOdds('sex', 0.1)
    """

    def parts(self, label: Any, positive: int, groups: Any) -> Iterator[tuple[str, Mask]]:
        yield " among the class", np.asarray(label == positive)
        yield " among the others", np.asarray(label != positive)


@dataclass(frozen=True, repr=False)
class ConditionalParity(Parity):
    """`StatisticalParity` within every level of another column, such as a department.

    Parameters
    ----------
    group : str
        The group column.
    tolerance : float
    given : str
        The column within whose levels the groups are compared; found where group columns are found.
    class_ : object, optional
        The class whose prediction counts; by default the second of two.
    confidence : float, optional
        With which the limit has to hold for new rows; see `docs/constraints.md`.

    Examples
    --------
    >>> ConditionalParity("sex", 0.05, given="department")
    ConditionalParity('sex', 0.05, given='department')
    """

    given: str = field(kw_only=True)

    @property
    def group_columns(self) -> tuple[str, ...]:
        return (self.group, self.given)

    def check(self, setting: Setting) -> None:
        super().check(setting)
        check_group(self, self.given, setting)
        if self.given == self.group:
            raise ValueError(f"{self!r} compares the groups within themselves; name another column as given.")

    def parts(self, label: Any, positive: int, groups: Any) -> Iterator[tuple[str, Mask]]:
        codes, levels = groups[self.given]
        for position, level in enumerate(levels):
            yield f" where {self.given} = {level}", codes == position


@dataclass(frozen=True, repr=False)
class _RuleFairness(Constraint, abstract=True):
    """Something of the groups within a rule."""

    group: str
    metric: RuleMetric = field(default="positive_rate", kw_only=True)
    class_: Any = field(default=None, kw_only=True)

    @property
    def group_columns(self) -> tuple[str, ...]:
        return (self.group,)

    def check(self, setting: Setting) -> None:
        check_group(self, self.group, setting)
        metrics = ("positive_rate", "accuracy", "coverage") if setting.classes else ("coverage", "mean")
        if self.metric not in metrics:
            known = " or ".join(map(repr, metrics))
            raise ValueError(f"{self!r}: metric={self.metric!r} is not possible for this target; use {known}.")
        if self.metric == "positive_rate":
            class_position(self, self.class_, setting)

    def difference(self, facts: RuleFacts, setting: Setting, totals: FloatArray) -> float:
        """The largest difference of the metric between two groups that have one; 0 where fewer than two do."""
        levels = range(len(setting.groups[self.group]))
        support = facts.group_sums(self.group)
        if self.metric == "coverage":
            values = [support[g] / totals[g] for g in levels if totals[g] > 0]
        else:
            label = facts.label if self.metric == "accuracy" else class_position(self, self.class_, setting)
            part = facts.group_sums(self.group, label)
            values = [part[g] / support[g] for g in levels if support[g] > 0]
        return float(max(values) - min(values)) if len(values) > 1 else 0.0

    def differences(self, answers: Answers) -> FloatArray:
        """The same, of every rule, from a model's answers; NaN where there is nothing to compare."""
        column = answers.groups[self.group]
        chosen = np.ones(len(answers.rule), dtype=bool)
        if self.metric == "positive_rate":
            chosen = answers.y == answers.position(self.class_)
        elif self.metric == "accuracy":
            chosen = answers.y == answers.predicted
        values = []
        for g in range(len(column.levels)):
            inside = column.codes == g
            support = answers.by_rule(inside)
            if self.metric == "coverage":
                values.append(share(support, np.full(len(support), float(answers.weight[inside].sum()))))
            elif self.metric == "mean":
                sums = np.bincount(answers.rule, answers.weight * inside * answers.y, len(answers.rules))
                values.append(share(sums.astype(np.float64), support))
            else:
                values.append(share(answers.by_rule(inside & chosen), support))
        table = np.array(values)
        absent = np.isnan(table)
        spread = np.where(absent, -np.inf, table).max(axis=0) - np.where(absent, np.inf, table).min(axis=0)
        return np.where((~absent).sum(axis=0) > 1, spread, math.nan)


@dataclass(frozen=True, repr=False)
class RuleParity(_RuleFairness):
    """In every rule, a metric of the groups differs by at most `tolerance`, between any two groups that are in it.

    Parameters
    ----------
    group : str
        The group column.
    tolerance : float
    metric : {"positive_rate", "accuracy", "coverage", "mean"}
        The share of the class among a group's samples in the rule; the share of the predicted class among them; the
        rule's share of all the samples of a group, which is 0 for a group that is not in it and counts as such; or,
        where the target is a number, its mean.
    class_ : object, optional
        What "positive_rate" counts; by default the second of two classes.

    Examples
    --------
    >>> RuleParity("sex", 0.1)
    RuleParity('sex', 0.1)
    """

    tolerance: float
    level: ClassVar[Level] = "path"

    def check(self, setting: Setting) -> None:
        super().check(setting)
        check_number(self, "tolerance")

    def on_rule(self, demands: RuleDemands) -> None:
        setting, samples = demands.setting, demands.samples
        codes = samples.groups[self.group].codes
        totals = np.bincount(codes, samples.weight, len(setting.groups[self.group])).astype(np.float64)
        present = np.flatnonzero(totals > 0).tolist()
        if self.metric == "coverage":
            for g, h in permutations(present, 2):
                unit = float(max(totals[g], totals[h]))
                terms = {self._support(demands, g): -unit / totals[g], self._support(demands, h): unit / totals[h]}
                demands.at_least(terms, -self.tolerance * unit)
        elif self.metric == "accuracy" and len(setting.classes) > 2:
            demands.predicate(lambda facts: self.difference(facts, setting, totals) <= self.tolerance + 1e-12)
        else:
            for g, h in combinations(present, 2):
                demands.ratio(
                    self._part(demands, g),
                    self._support(demands, g),
                    self._part(demands, h),
                    self._support(demands, h),
                    self.tolerance,
                )

    def _support(self, demands: RuleDemands, g: int) -> int:
        return demands.weight(group=(self.group, g))

    def _part(self, demands: RuleDemands, g: int) -> int:
        """The measure that a group's weight is compared with."""
        if self.metric == "mean":
            samples = demands.samples
            assert samples.target is not None
            inside = samples.groups[self.group].codes == g
            return demands.measure(("target", self.group, g), samples.weight * inside * samples.target)
        # With two classes the accuracies differ as much as the rates of either class, whatever is predicted.
        label = 1 if self.metric == "accuracy" else class_position(self, self.class_, demands.setting)
        return demands.weight(label=label, group=(self.group, g))

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        yield worst(self, self.differences(answers), self.tolerance, "at most")


@dataclass(frozen=True, repr=False)
class FairnessBudget(_RuleFairness):
    """Over all rules, the differences between the groups add up to at most `limit`.

    The difference of a rule is that of `RuleParity`: the largest between two groups that are in it, and 0 where fewer
    than two are; of coverage, the largest between any two groups.

    Parameters
    ----------
    group : str
        The group column.
    limit : float
    metric : {"positive_rate", "accuracy", "coverage"}
    class_ : object, optional
        What "positive_rate" counts; by default the second of two classes.

    Examples
    --------
    >>> FairnessBudget("sex", 0.5)
    FairnessBudget('sex', 0.5)
    """

    limit: float
    level: ClassVar[Level] = "sample"

    def check(self, setting: Setting) -> None:
        super().check(setting)
        if self.metric == "mean":
            raise ValueError(f"{self!r}: metric='mean' is not possible in a sum over rules; use 'coverage'.")
        check_number(self, "limit")

    def on_model(self, strata: Strata, setting: Setting) -> Iterable[RuleSum]:
        totals = np.bincount(strata.groups[self.group], strata.totals, len(setting.groups[self.group]))

        def number(facts: RuleFacts) -> float:
            return -self.difference(facts, setting, totals.astype(np.float64))

        yield RuleSum(self.title, self, number, -self.limit)

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        yield ConstraintCheck.of(self, float(np.nansum(self.differences(answers))), self.limit, "at most")
