"""Models fitted anew under other constraints, and what a constraint costs."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from omtree.constraints import Constraint, Force
from omtree.data.table import MAX_CODES, Feature
from omtree.data.wording import number
from omtree.deadline import Deadline
from omtree.fit.workbench import Workbench
from omtree.model.certificate import Certificate
from omtree.model.code_shares import code_shares
from omtree.model.tree import Tree

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


def over_cuts_of(model: OptimalTreeBase, bench: Workbench, tree: Tree, deadline: Deadline) -> OptimalTreeBase:
    """The model sought again over its own thresholds and those of another tree; itself where these are its own.

    Each fit chooses thresholds for itself, so that a tree found under stricter limits can have the better ones. Over
    the thresholds of both, the model is no worse than any tree over either that meets its constraints, and what its
    constraints cost is no less than it is worse than the other tree without them.
    """
    features = bench.features()
    more = _with_cuts_of(tree, features)
    if all(new is old for new, old in zip(more, features, strict=True)):
        return model
    found = refitted(model, bench, bench.plan.constraints, deadline, more)
    # What is as good but not proven over more cuts says less than what was known before.
    same = found.certificate_.value == model.certificate_.value and found.certificate_.status == "optimal"
    return found if same or found.certificate_.value < model.certificate_.value else model


def features_under(bench: Workbench, constraints: Sequence[Constraint], deadline: Deadline) -> tuple[Feature, ...]:
    """The features of a fit, with cuts that suit other constraints where it has kept those of its own tree alone."""
    tree = bench.tree_under(constraints, deadline) if bench.has_few_cuts else None
    return bench.features() if tree is None else _with_cuts_of(tree, bench.features())


def _with_cuts_of(tree: Tree, features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    cuts = _cuts_of(tree)
    return tuple(_with_cuts(feature, cuts.get(feature.name, set())) for feature in features)


def _cuts_of(tree: Tree) -> dict[str, set[float]]:
    """Where a tree cuts its numeric columns."""
    cuts: dict[str, set[float]] = {}
    for node in tree.nodes:
        if node.condition is None or (feature := tree.rules.features[node.condition.feature]).thresholds is None:
            continue
        inside = [code in node.condition.codes for code in range(feature.n_values)]
        ends = [place for place, (one, next_) in enumerate(pairwise(inside)) if one != next_]
        cuts.setdefault(feature.name, set()).update(float(feature.thresholds[place]) for place in ends)
    return cuts


def _with_cuts(feature: Feature, cuts: set[float]) -> Feature:
    if feature.thresholds is None or cuts <= set(feature.thresholds.tolist()):
        return feature
    thresholds = np.union1d(feature.thresholds, sorted(cuts))
    if len(thresholds) + 1 + feature.has_missing > MAX_CODES:
        return feature
    return replace(feature, thresholds=thresholds, n_values=len(thresholds) + 1)


def refitted(
    model: OptimalTreeBase,
    bench: Workbench,
    constraints: Sequence[Constraint],
    deadline: Deadline,
    features: tuple[Feature, ...] | None = None,
) -> OptimalTreeBase:
    """A copy of a model, fitted to the same rows under other constraints, over its thresholds or those given."""
    outcome, certificate = bench.fit(constraints, deadline, features)
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
