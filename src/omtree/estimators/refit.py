"""Models fitted anew under other constraints, and what a constraint costs."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from omtree.constraints import Constraint, Force
from omtree.data.wording import number
from omtree.deadline import Deadline
from omtree.fit.workbench import Workbench
from omtree.model.certificate import Certificate
from omtree.model.code_shares import code_shares

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase


@dataclass(frozen=True)
class Price:
    """What a constraint or wish costs: the best loss with it, and that of the best model without it.

    Attributes
    ----------
    wish : str
    value, without : float
        Losses of the two models.
    least, most : float
        What it costs at least and at most, by what is proven of the two.
    unit : str
    """

    wish: str
    value: float
    without: float
    least: float
    most: float
    unit: str = "errors"

    @property
    def price(self) -> float:
        """The difference of the two losses."""
        return self.value - self.without

    @property
    def proven(self) -> bool:
        """Whether both models are proven to be the best, so that the price is exact."""
        return self.most - self.least <= 1e-9 * max(1.0, abs(self.value))

    def __str__(self) -> str:
        sides = f"without it {number(self.without)}, with it {number(self.value)}."
        if not self.proven:
            span = f"at least {number(max(0.0, self.least))} and at most {number(self.most)} {self.unit}"
            return f"{self.wish} costs {span}: {sides}"
        if self.price <= 1e-9 * max(1.0, abs(self.value)):
            return f"{self.wish} costs nothing: {sides}"
        unit = self.unit.removesuffix("s") if self.price == 1 and self.unit == "errors" else self.unit
        return f"{self.wish} costs {number(self.price)} {unit}: {sides}"


def refitted(
    model: OptimalTreeBase, bench: Workbench, constraints: Sequence[Constraint], deadline: Deadline
) -> OptimalTreeBase:
    """A copy of a model, fitted to the same rows under other constraints, over its thresholds."""
    outcome, certificate = bench.fit(constraints, deadline)
    other = copy.copy(model)
    for name in ("expectation_", "_family", "_expected_by_size", "cv_results_", "leaf_price_", "_wishes", "_prices"):
        other.__dict__.pop(name, None)
    other.constraints = other._constraints = tuple(constraints)
    other.graph_, other.rules_, other.tree_ = outcome.problem.graph, outcome.rules, outcome.tree
    other.certificate_ = certificate
    if outcome.family is not None:
        other._family = outcome.family
    tested = {node.feature for node in outcome.tree.nodes if node.feature is not None} if outcome.tree else set()
    other._code_shares = code_shares(outcome.problem.table, sorted(tested))
    other._bench = bench.under(constraints, outcome.problem)
    return other


def prices_of(model: OptimalTreeBase, bench: Workbench, time_limit: float | None) -> tuple[Price, ...]:
    """What every wish and every constraint of a model costs: the model is solved without it."""
    certificate = model.certificate_
    given = tuple(bench.plan.constraints)
    wishes = vars(model).get("_wishes", ())
    left_out = list(wishes)
    for place, constraint in enumerate(given):
        others = (*given[:place], *given[place + 1 :])
        if not isinstance(constraint, Force):
            left_out.append((constraint.title, others))
        elif not wishes:
            left_out += [(words, (*others, rest) if rest else others) for words, rest in constraint.one_by_one()]
    prices = []
    for text, rest in left_out:
        _, free = bench.fit(rest, Deadline(time_limit))
        prices.append(_price(text, certificate, free))
    return tuple(prices)


def _price(text: str, held: Certificate, free: Certificate) -> Price:
    return Price(text, held.value, free.value, held.bound - free.value, held.value - free.bound, held.unit)
