"""What compiled constraints are made of: demands on every rule, and demands on the whole model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from omtree.constraints.answers import RuleFacts
from omtree.constraints.constraint import Constraint, Setting
from omtree.constraints.samples import Samples
from omtree.data.table import FloatArray
from omtree.problem.limits import LinearLimit, RatioLimit
from omtree.problem.problem import ModelLimit

if TYPE_CHECKING:
    from omtree.constraints.budget import Budget


@dataclass(frozen=True, eq=False)
class MetricLimit(ModelLimit):
    """A linear row that knows what it is about.

    Attributes
    ----------
    constraint : Constraint
    metric : str
        In words, such as "the recall of class 'yes'".
    limit : float
        The user's limit on the metric.
    sense : {"at least", "at most"}
    per_unit : float or None
        What a unit of the metric adds to the row's value (negative where less is better), so that a value ``v`` of the
        row means a metric of ``limit + (v - at_least) / per_unit``; None where the metric is a ratio of two sums.
    """

    constraint: Constraint
    metric: str
    limit: float
    sense: str
    per_unit: float | None = None

    def reached(self, value: float) -> float | None:
        """The metric behind a value of the row, where that is known."""
        return None if self.per_unit is None else self.limit + (value - self.at_least) / self.per_unit


@dataclass(frozen=True, eq=False)
class CurvedLimit:
    """A demand on two sums over the model, "hits" and "called", that no finite number of rows expresses.

    Attributes
    ----------
    name : str
    constraint : Constraint
    hits, called : array of float, shape (n_strata, n_labels)
        Coefficients of the two sums, as in a `ModelLimit`: the weight rightly given the class, and all weight given it.
    holds : callable
        Whether these values of hits and called are allowed: the demand itself.
    within : callable
        Linear rows that every allowed model with ``low <= called <= high`` satisfies. The narrower the interval, the
        closer they are; where it is a single point they are the demand itself, so that branching on `called` is exact.
    largest : float
        Largest value that `called` can have.
    """

    name: str
    constraint: Constraint
    hits: FloatArray
    called: FloatArray
    holds: Callable[[float, float], bool]
    within: Callable[[float, float], tuple[ModelLimit, ...]]
    largest: float

    @property
    def rows(self) -> tuple[ModelLimit, ...]:
        """The rows that every allowed model satisfies."""
        return self.within(0.0, self.largest)


@dataclass(frozen=True, eq=False)
class RuleSum:
    """The sum over the rules of a number of each has to be at least this.

    Attributes
    ----------
    name : str
    constraint : Constraint
    number : callable
        Of the facts of a rule.
    at_least : float
    """

    name: str
    constraint: Constraint
    number: Callable[[RuleFacts], float]
    at_least: float


class RuleDemands:
    """Collects what constraints demand of every rule.

    Parameters
    ----------
    samples : Samples
    setting : Setting
    """

    def __init__(self, samples: Samples, setting: Setting) -> None:
        self.samples = samples
        self.setting = setting
        self.min_support = 0.0
        self.budgets: list[Budget] = []
        self.predicates: list[Callable[[RuleFacts], bool]] = []
        self._measures: dict[tuple[Any, ...], FloatArray] = {}
        self._linear: list[tuple[Mapping[int, Any], float]] = []
        self._ratios: list[RatioLimit] = []

    def measure(self, key: tuple[Any, ...], values: FloatArray) -> int:
        """The number of a measure: something of the samples that adds up over a rule. Equal keys, one measure."""
        self._measures.setdefault(key, values)
        return list(self._measures).index(key)

    def weight(self, *, label: int | None = None, group: tuple[str, int] | None = None) -> int:
        """The measure that counts the weight of samples, of one class and of one group where given."""
        values = self.samples.weight
        if label is not None:
            values = values * (self.samples.labels == label)
        if group is not None:
            values = values * (self.samples.groups[group[0]].codes == group[1])
        return self.measure(("weight", label, group), values)

    def at_least(self, terms: Mapping[int, float | FloatArray], limit: float) -> None:
        """Demand that a sum of measures, each times a number (or one per label), be at least this."""
        self._linear.append((terms, limit))

    def support(self, limit: float) -> None:
        """Demand that a rule weigh at least this."""
        if self.samples.class_scale is None:
            self.min_support = max(self.min_support, limit)
        else:
            # The table's weights are not those of the samples.
            self.at_least({self.weight(): 1.0}, limit)

    def ratio(self, a: int, b: int, c: int, d: int, tolerance: float) -> None:
        """Demand that ``a / b`` and ``c / d`` differ by at most this."""
        self._ratios.append(RatioLimit(a, b, c, d, tolerance))

    def price(self, budget: Budget) -> None:
        """Demand that tests stay within a budget."""
        self.budgets.append(budget)

    def predicate(self, allows: Callable[[RuleFacts], bool]) -> None:
        """Demand anything of the facts of a rule."""
        self.predicates.append(allows)

    @property
    def measures(self) -> tuple[FloatArray, ...]:
        """The measures, each of every sample."""
        return tuple(self._measures.values())

    @property
    def linear(self) -> tuple[LinearLimit, ...]:
        """The linear limits over all the measures."""
        limits = []
        for terms, limit in self._linear:
            width = max(np.size(number) for number in terms.values())
            coefficient = np.zeros((len(self._measures), width))
            for measure, number in terms.items():
                coefficient[measure] += number
            limits.append(LinearLimit(coefficient, float(limit)))
        return tuple(limits)

    @property
    def ratios(self) -> tuple[RatioLimit, ...]:
        """The limits on differences of ratios."""
        return tuple(self._ratios)
