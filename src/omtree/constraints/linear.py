"""Any sum over the rules of a number of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from omtree.constraints.answers import RuleFacts
from omtree.constraints.audit import Answers, ConstraintCheck
from omtree.constraints.constraint import Setting, check_group, name_tuple
from omtree.constraints.demands import RuleSum
from omtree.constraints.path import facts_of
from omtree.constraints.sample import Bounded
from omtree.constraints.samples import Strata


@dataclass(frozen=True, repr=False)
class Linear(Bounded):
    """A number of each rule, summed over the rules of the model.

    Parameters
    ----------
    coefficient : callable
        Given the `RuleFacts` of a rule, returns its number.
    at_least, at_most : float, optional
    name : str, optional
        What the certificate calls it.
    groups : sequence of str, optional
        Group columns that the function asks about.

    Examples
    --------
    >>> def conditions(rule):
    ...     return len(rule.features)
    >>> Linear(conditions, at_most=8)
    Linear(conditions, at_most=8)
    """

    coefficient: Callable[[RuleFacts], float]
    name: str = field(default="", kw_only=True)
    groups: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", name_tuple(self.groups))

    @property
    def title(self) -> str:
        return self.name or repr(self)

    @property
    def group_columns(self) -> tuple[str, ...]:
        return self.groups

    def check(self, setting: Setting) -> None:
        if not callable(self.coefficient):
            raise ValueError(f"{self!r}: coefficient is not possible; use a function of a rule's facts.")
        self.check_limits(-math.inf, math.inf)
        for name in self.groups:
            check_group(self, name, setting)

    def on_model(self, strata: Strata, setting: Setting) -> Iterable[RuleSum]:
        for sense, limit in self.limits:
            sign = 1.0 if sense == "at least" else -1.0

            def number(facts: RuleFacts, sign: float = sign) -> float:
                return sign * float(self.coefficient(facts))

            yield RuleSum(self.name_of(sense), self, number, sign * limit)

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        return self.checks(math.fsum(float(self.coefficient(facts)) for facts in facts_of(answers, self.groups)))
