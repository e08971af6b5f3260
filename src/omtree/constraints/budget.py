"""What the tests of a rule cost."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from omtree.constraints.audit import Answers, ConstraintCheck, worst
from omtree.constraints.constraint import Constraint, Level, Setting, Shape, check_names, is_number
from omtree.constraints.demands import RuleDemands
from omtree.data.table import Feature
from omtree.data.wording import number
from omtree.problem.limits import TestPrices


@dataclass(frozen=True, repr=False)
class Budget(Constraint):
    """The tests of every rule cost at most a limit; what they cost on average may also be part of the loss.

    A rule pays for each feature that it tests, once, however often a tree splits it. The certificate shows the dearest
    rule and what a sample costs on average.

    Parameters
    ----------
    costs : mapping of str to float
        The price of testing a column; columns that are not named cost nothing.
    limit : float, optional
        Most that the tests of one rule may cost.
    groups : mapping of str to str, or of str to (str, float), optional
        The group of a column, and what its test costs once another of the group is paid (nothing, where no price is
        given). In a group one test has its full price, the one with the largest discount, so that the order of the
        tests does not matter.
    weight : float, default=0
        What a unit of price, paid by a unit of sample weight, adds to the loss.

    Examples
    --------
    >>> budget = Budget({"chol": 7.27, "fbs": 5.20}, 10, {"chol": ("blood", 5.17), "fbs": ("blood", 3.10)})
    >>> round(budget.price(["chol"]), 2), round(budget.price(["chol", "fbs"]), 2)
    (7.27, 10.37)
    """

    costs: Mapping[str, float]
    limit: float | None = None
    groups: Mapping[str, Any] | None = None
    weight: float = field(default=0.0, kw_only=True)
    level: ClassVar[Level] = "path"

    def __post_init__(self) -> None:
        for name in ("costs", "groups"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Mapping):
                raise ValueError(f"Budget: {name}={value!r} is not possible; use a dict with column names as keys.")
        object.__setattr__(self, "costs", dict(self.costs))
        if self.groups is not None:
            groups = {name: tuple(g) if isinstance(g, (list, tuple)) else g for name, g in self.groups.items()}
            object.__setattr__(self, "groups", groups)

    def __hash__(self) -> int:
        return hash(repr(self))

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str], limit: float | None = None, *, weight: float = 0.0) -> Budget:
        """Prices from a file with the columns ``feature``, ``cost``, ``cost_once_group_paid`` and ``group``.

        The last two may be missing or empty.
        """
        costs: dict[str, float] = {}
        groups: dict[str, tuple[str, float]] = {}
        with open(path, encoding="utf-8", newline="") as file:
            for line, row in enumerate(csv.DictReader(file), start=2):
                try:
                    name, costs[row["feature"]] = row["feature"], float(row["cost"])
                    if row.get("group"):
                        groups[name] = (row["group"], float(row.get("cost_once_group_paid") or 0.0))
                except KeyError as missing:
                    raise ValueError(f"{os.fspath(path)} has no column {missing}; it needs feature and cost.") from None
                except (TypeError, ValueError):
                    raise ValueError(f"{os.fspath(path)}, line {line}: a price is not a number.") from None
        return cls(costs, limit, groups or None, weight=weight)

    def group_of(self, name: str) -> tuple[str | None, float]:
        """The group of a column, and what its test costs once another of the group is paid."""
        entry = (self.groups or {}).get(name)
        if entry is None:
            return None, self.costs.get(name, 0.0)
        return (entry, 0.0) if isinstance(entry, str) else (entry[0], entry[1])

    def price(self, names: Iterable[str]) -> float:
        """What testing these columns costs."""
        total = 0.0
        discounts: dict[str, list[float]] = {}
        for name in set(names):
            group, again = self.group_of(name)
            total += self.costs.get(name, 0.0)
            if group is not None:
                discounts.setdefault(group, []).append(self.costs.get(name, 0.0) - again)
        return total - sum(sum(given) - max(given) for given in discounts.values())

    def affords(self, names: Iterable[str]) -> bool:
        """Whether these tests are within the limit."""
        return self.limit is None or self.price(names) <= self.limit * (1 + 1e-12) + 1e-12

    @property
    def asks(self) -> str:
        return "Budget of tests" + (f" (weight {number(self.weight)})" if self.weight else "")

    @property
    def title(self) -> str:
        return f"Budget(limit={self.limit!r})" if self.limit is not None else f"Budget(weight={self.weight!r})"

    def check(self, setting: Setting) -> None:
        check_names(self, {*self.costs, *(self.groups or {})}, setting)
        for name, cost in self.costs.items():
            if not is_number(cost) or not 0 <= cost < math.inf:
                raise ValueError(f"Budget: the price {cost!r} of {name!r} is not possible; use a number of at least 0.")
        for name, entry in (self.groups or {}).items():
            pair = isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str) and is_number(entry[1])
            if not isinstance(entry, str) and not pair:
                raise ValueError(
                    f"Budget: the group {entry!r} of {name!r} is not possible; use a name, or a name and a price."
                )
            if not 0 <= self.group_of(name)[1] <= self.costs.get(name, 0.0):
                raise ValueError(
                    f"Budget: {name!r} costs {self.group_of(name)[1]:g} once its group is paid, which has to be "
                    f"between 0 and its full price, {self.costs.get(name, 0.0):g}."
                )
        if self.limit is not None and (not is_number(self.limit) or self.limit < 0):
            raise ValueError(f"Budget: limit={self.limit!r} is not possible; use a number of at least 0, or None.")
        if not is_number(self.weight) or not 0 <= self.weight < math.inf:
            raise ValueError(f"Budget: weight={self.weight!r} is not possible; use a number of at least 0.")
        if self.limit is None and self.weight == 0:
            raise ValueError("Budget has neither a limit nor a weight; set one of them.")

    def shape(self, setting: Setting) -> Shape:
        # A test that alone costs too much is in no rule: others never make it cheaper.
        return Shape(exclude=frozenset(name for name in self.costs if not self.affords([name])))

    def on_rule(self, demands: RuleDemands) -> None:
        demands.price(self)

    def compile(self, features: Iterable[Feature]) -> TestPrices:
        """The prices by position of the feature."""
        names = [feature.name for feature in features]
        groups = [self.group_of(name) for name in names]
        numbers = {group: i for i, group in enumerate(dict.fromkeys(g for g, _ in groups if g is not None))}
        return TestPrices(
            tuple(float(self.costs.get(name, 0.0)) for name in names),
            tuple(float(again) for _, again in groups),
            tuple(-1 if group is None else numbers[group] for group, _ in groups),
            math.inf if self.limit is None else float(self.limit),
            float(self.weight),
        )

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        prices = np.array([self.price(answers.names(rule)) for rule in range(len(answers.rules))])
        limit = math.inf if self.limit is None else self.limit
        yield worst(self, prices, limit, "at most", part="price of the dearest rule")
        total = float(answers.weight.sum())
        expected = float(answers.by_rule() @ prices) / total if total > 0 else math.nan
        yield ConstraintCheck.of(self, expected, math.inf, "at most", part="price of a sample on average")
