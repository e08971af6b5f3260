"""A constraint of one's own is one class: it is checked, compiled, audited and read from TOML like the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from constraints.test_sample_level import value_of
from helpers.constraint_cases import random_case
from omtree.constraints import Answers, Constraint, ConstraintCheck, RuleDemands, Setting, Strata, audit, loads, to_toml
from omtree.problem.problem import ModelLimit


@dataclass(frozen=True, repr=False)
class AlarmRate(Constraint):
    """At most this share of the samples is predicted as the class."""

    class_: str
    at_most: float
    level: ClassVar = "sample"

    def check(self, setting: Setting) -> None:
        """The class has to exist."""
        if self.class_ not in setting.classes:
            raise ValueError(f"{self.title}: there is no such class.")

    def on_model(self, strata: Strata, setting: Setting) -> Iterable[ModelLimit]:
        """One row: minus the weight of the alarms is at least minus the limit."""
        coefficient = np.zeros((len(strata), setting.n_labels))
        coefficient[:, setting.classes.index(self.class_)] = -1.0
        return [ModelLimit(self.title, coefficient, -self.at_most * float(strata.totals.sum()))]

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        """The share of the alarms."""
        alarms = answers.weight[answers.predicted == answers.position(self.class_)].sum()
        return [ConstraintCheck.of(self, alarms / answers.weight.sum(), self.at_most, "at most")]


@dataclass(frozen=True, repr=False)
class MinMen(Constraint):
    """Every rule has at least this weight of men."""

    n: float
    level: ClassVar = "path"

    @property
    def group_columns(self) -> tuple[str, ...]:
        """It looks at the sexes."""
        return ("sex",)

    def on_rule(self, demands: RuleDemands) -> None:
        """One linear limit."""
        men = demands.setting.groups["sex"].index("M")
        demands.at_least({demands.weight(group=("sex", men)): 1.0}, self.n)

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        """The rule with the fewest men."""
        sex = answers.groups["sex"]
        return [ConstraintCheck.of(self, answers.by_rule(sex.codes == sex.levels.index("M")).min(), self.n, "at least")]


def test_a_row_of_your_own() -> None:
    """Compiled and audited agree."""
    outcomes = set()
    for seed in range(30):
        case = random_case(seed, scaled=seed % 2 == 0)
        constraint = AlarmRate("yes", 0.4)
        (row,) = case.compiled(constraint).model_limits
        fine = value_of(case, row.coefficient) >= row.at_least - 1e-9
        (check,) = audit([constraint], case.answers())
        assert fine == check.met
        outcomes.add(fine)
    assert outcomes == {True, False}


def test_a_limit_of_your_own() -> None:
    """The measures of the merged rows add up to those of the samples."""
    case = random_case(3)
    limits = case.compiled(MinMen(2.0)).limits(case.table)
    assert limits.measures is not None
    assert limits.measures.shape == (case.table.n_rows, 1)
    assert limits.measures.sum() == pytest.approx(case.weight[case.groups["sex"].codes == 1].sum())
    assert limits.linear[0].at_least == 2.0


def test_your_own_in_toml() -> None:
    """The name of the class in snake case is its type."""
    constraints = (AlarmRate("yes", 0.3), MinMen(2))
    assert loads(to_toml(constraints)) == constraints
    with pytest.raises(ValueError, match=r"AlarmRate\('ill', 0.3\): there is no such class"):
        AlarmRate("ill", 0.3).check(random_case(1).setting)
