"""Constraints on trees for times to an event."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from omtree.constraints.audit import Answers, ConstraintCheck, worst
from omtree.constraints.constraint import Constraint, Level, Setting, check_number
from omtree.constraints.demands import RuleDemands


@dataclass(frozen=True, repr=False)
class MinEvents(Constraint):
    """In every rule at least this weight of rows had the event.

    Parameters
    ----------
    n : float

    Examples
    --------
    >>> MinEvents(10)
    MinEvents(10)
    """

    n: float
    level: ClassVar[Level] = "path"

    def check(self, setting: Setting) -> None:
        if setting.classes:
            raise ValueError(f"{self!r} is about times to an event; use MinClassCount for classes.")
        check_number(self, "n")

    def on_rule(self, demands: RuleDemands) -> None:
        seen = demands.samples.target
        assert seen is not None
        demands.at_least({demands.measure(("events",), demands.samples.weight * seen): 1.0}, self.n)

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        yield worst(self, answers.by_rule(answers.y > 0), self.n, "at least")
