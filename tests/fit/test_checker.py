"""The checker: it finds every kind of lie."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from helpers.random_models import not_a_tree, reader
from omtree.constraints import Recall, Samples
from omtree.errors import CertificateError
from omtree.fit.checker import check
from omtree.model.certificate import Certificate
from omtree.model.rules import RuleSet
from omtree.objectives.error import Error
from omtree.problem.graph import Condition
from omtree.sources.target import Target


class Case:
    """A correct model of the eight cells with its certificate, and the samples behind them."""

    def __init__(self) -> None:
        paths, problem = not_a_tree()
        self.rules = RuleSet.from_paths(paths, reader(problem, ["no", "yes"]))
        # One sample per cell and class, of the cell's weight; the class of weight zero takes no part.
        self.codes = np.repeat(problem.table.codes, 2, axis=1)
        self.target = Target(np.array(["no", "yes"]), np.tile([0, 1], 8), np.empty(0))
        self.weight = problem.table.statistics.ravel()
        value = sum(rule.loss for rule in self.rules)
        self.certificate = Certificate("optimal", value, value, float(self.weight.sum()), leaves=5, depth=3)
        self.limits: dict[str, Any] = {"max_depth": 3, "max_leaves": 5, "min_support": 1.0}

    def check(self, **more: Any) -> Any:
        """Run the checker."""
        return check(
            self.rules, self.certificate, self.codes, self.target, self.weight, Error(), **{**self.limits, **more}
        )

    def change_rule(self, r: int, **changes: Any) -> None:
        """Replace one rule by a changed one."""
        rules = list(self.rules)
        rules[r] = replace(rules[r], **changes)
        self.rules = RuleSet(rules, self.rules.features, self.rules.classes)


def test_a_true_certificate_passes() -> None:
    """Nothing is said about a correct model."""
    assert Case().check() == ()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"value": 1.0, "bound": 1.0}, "the value"),
        ({"bound": 1e6}, "bound"),
        ({"bound": 0.0}, "optimal"),
        ({"leaves": 4}, "5 rules"),
        ({"depth": 2}, "3 conditions"),
        ({"depth": 4}, "limit is 3"),
    ],
)
def test_a_wrong_certificate_is_found(changes: dict[str, Any], complaint: str) -> None:
    """A false value, bound, status, size or depth is named."""
    case = Case()
    case.certificate = replace(case.certificate, **changes)
    with pytest.raises(CertificateError, match=complaint):
        case.check()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"support": 1.0}, "support of rule 1"),
        ({"class_weights": (0.0, 0.0)}, "class weights of rule 1"),
        ({"loss": 0.0}, "loss of rule 1"),
        ({"conditions": ()}, "exactly one rule"),
        ({"conditions": (Condition(1, (0,)), Condition(1, (0,)), Condition(2, (1,)))}, "two conditions"),
    ],
)
def test_a_wrong_rule_is_found(changes: dict[str, Any], complaint: str) -> None:
    """A false weight or loss, overlap, and two conditions on one feature are named."""
    case = Case()
    case.change_rule(1, **changes)
    with pytest.raises(CertificateError, match=complaint):
        case.check()


@pytest.mark.parametrize(
    ("limits", "complaint"),
    [({"max_depth": 2}, "limit is 2"), ({"max_leaves": 4}, "limit is 4"), ({"min_support": 5.0}, "least support")],
)
def test_a_broken_limit_is_found(limits: dict[str, Any], complaint: str) -> None:
    """A model deeper, larger or thinner than allowed is named."""
    with pytest.raises(CertificateError, match=complaint):
        Case().check(**limits)


def test_an_uncovered_sample_is_found() -> None:
    """A sample that meets no rule is named, unless it has no weight."""
    case = Case()
    case.codes = case.codes.copy()
    case.codes[:, 1] = 7
    assert case.weight[1] == 0
    assert case.check() == ()
    case.codes[:, 2] = 7
    with pytest.raises(CertificateError, match="sample 2, which meets 0"):
        case.check()


def test_blocks_of_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples that are looked at in parts are all looked at: what is wrong with the last one is found."""
    monkeypatch.setattr("omtree.fit.checker._BLOCK", 3)
    case = Case()
    assert case.check() == ()
    last = int(np.flatnonzero(case.weight > 0)[-1])
    meets = [all(case.codes[c.feature, last] in c.codes for c in rule.conditions) for rule in case.rules]
    own = meets.index(True)
    rules = list(case.rules)
    case.rules = RuleSet([*rules[:own], *rules[own + 1 :]], case.rules.features, case.rules.classes)
    with pytest.raises(CertificateError, match="which meets 0"):
        case.check()
    case.rules = RuleSet([*rules, rules[own]], case.rules.features, case.rules.classes)
    with pytest.raises(CertificateError, match="which meets 2"):
        case.check()


@pytest.mark.parametrize("price", [0.0, 0.03, 0.1])
def test_the_price_of_leaves_is_recomputed(price: float) -> None:
    """A certificate has to have the price that was asked for, and to count it for every leaf."""
    case = Case()
    paid = price * float(case.weight.sum())
    value = case.certificate.value + 5 * paid
    case.certificate = replace(case.certificate, value=value, bound=value, leaf_price=paid)
    assert case.check(leaf_price=price) == ()
    with pytest.raises(CertificateError, match="the price of a leaf"):
        case.check(leaf_price=price + 0.01)
    case.certificate = replace(case.certificate, value=value + paid + 1.0, bound=value)
    with pytest.raises(CertificateError, match="the value"):
        case.check(leaf_price=price)


def test_constraints_are_recomputed() -> None:
    """The value of a constraint comes from what the rules predict; a violated one is named."""
    case = Case()
    yes = case.weight[case.target.labels == 1]
    samples = Samples(case.target.labels, case.weight)
    called = np.array([rule.label for rule in case.rules])[case.rules.assign(case.codes)]
    recall = yes[called[case.target.labels == 1] == 1].sum() / yes.sum()
    (row,) = case.check(constraints=[Recall("yes", at_least=recall)], samples=samples)
    assert (row.limit, row.met) == (recall, True)
    assert row.value == pytest.approx(recall)
    with pytest.raises(CertificateError, match=r"constraint Recall\('yes'"):
        case.check(constraints=[Recall("yes", at_least=recall + 0.01)], samples=samples)
