"""Constraints on every rule: the kernel's judge, told what was compiled, against the audit on random models."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path as FilePath

import numpy as np
import pytest

from helpers.constraint_cases import Case, random_case
from omtree.constraints import (
    Budget,
    Constraint,
    MaxSupport,
    MinClassCount,
    MinConfidence,
    MinSupport,
    Path,
    RuleFacts,
    RuleParity,
    restrict_features,
)
from omtree.problem.graph import FeatureGraph
from omtree.problem.judge import make_judge
from omtree.problem.losses import LinearLoss, MomentLoss
from omtree.problem.problem import Problem


@functools.cache
def cases(n_classes: int) -> list[Case]:
    """Random cases in which every rule has samples; some with class weights."""
    made = (
        random_case(seed, n_classes=n_classes, n_leaves=4, scaled=n_classes > 0 and seed % 3 == 0) for seed in range(60)
    )
    return [case for case in made if all(rule.support > 0 for rule in case.tree.rules)][:24]


def judged(case: Case, *constraints: Constraint) -> bool:
    """Whether the judge allows every rule of the model with the label it has."""
    compiled = case.compiled(*constraints)
    limits = compiled.limits(case.table)
    for rule in case.tree.rules:
        inside = np.ones(case.table.n_rows, dtype=bool)
        for condition in rule.conditions:
            inside &= np.isin(case.table.codes[condition.feature], condition.codes)
        table = case.table
        loss: LinearLoss | MomentLoss
        if case.classes:
            # The rule's own label is the cheapest: it is chosen exactly when it is allowed.
            costs = np.ones((len(case.classes), len(case.classes)))
            costs[:, rule.label] = 0.0
            loss = LinearLoss(costs)
        else:
            loss = MomentLoss("squared")
            table = replace(table, statistics=np.ones((table.n_rows, 3)), row_weight=table.weight)
        problem = Problem(table, FeatureGraph(table.features), loss, 3, 8, compiled.min_support, limits=limits)
        conditions = [(condition.feature, list(condition.codes)) for condition in rule.conditions]
        found, label = make_judge(problem).judge(np.flatnonzero(inside).astype(np.uint32), conditions)
        if math.isinf(found) or label != rule.label:
            return False
    return True


def compare(make: Callable[[float], Constraint], n_classes: int, spread: tuple[float, float]) -> None:
    """Judge and audit agree at the model's own value, beside it and anywhere in the spread."""
    rng = np.random.default_rng(7)
    outcomes = set()
    for case in cases(n_classes):
        check = next(iter(make(spread[1]).audit(case.answers())))
        limits = [float(rng.uniform(*spread)), spread[1]]
        if not math.isnan(check.value):
            limits += [check.value, check.value + 0.01, max(0.001, check.value - 0.01)]
        for limit in limits:
            constraint = make(limit)
            met = case.met(constraint)
            assert judged(case, constraint) == met, (constraint, check)
            outcomes.add(met)
    assert outcomes == {True, False}


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_support(n_classes: int) -> None:
    """Least and largest support, as a share and as a weight."""
    clip = lambda share: float(np.clip(share, 1e-6, 1.0))  # noqa: E731
    compare(lambda share: MinSupport(clip(share)), n_classes, (0.01, 1.0))
    compare(lambda share: MaxSupport(clip(share)), n_classes, (0.01, 1.0))
    compare(lambda n: MinSupport(max(1, round(n))), n_classes, (1, 12))
    compare(lambda n: MaxSupport(max(1, round(n))), n_classes, (1, 30))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_confidence_and_class_counts(n_classes: int) -> None:
    """The share of the predicted class, and the weight of a class, in every rule."""
    compare(lambda p: MinConfidence(float(np.clip(p, 0.0, 1.0))), n_classes, (0.0, 1.0))
    compare(lambda n: MinClassCount("yes", n), n_classes, (0.0, 8.0))
    compare(lambda n: MinClassCount("no" if n_classes == 2 else "perhaps", n), n_classes, (0.0, 8.0))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("group", ["sex", "dept"])
@pytest.mark.parametrize("metric", ["positive_rate", "accuracy", "coverage"])
def test_rule_parity(n_classes: int, group: str, metric: str) -> None:
    """Differences between groups within every rule."""
    compare(lambda t: RuleParity(group, t, metric=metric, class_="yes"), n_classes, (0.0, 1.0))


@pytest.mark.parametrize("metric", ["mean", "coverage"])
def test_rule_parity_of_numbers(metric: str) -> None:
    """Differences of the groups' mean target, or of their coverage, within every rule."""
    compare(lambda t: RuleParity("sex", t, metric=metric), 0, (0.0, 3.0))


COSTS = {"x0": 5.0, "x1": 3.0, "x2": 4.0}


@pytest.mark.parametrize("groups", [None, {"x0": "lab", "x2": "lab"}, {"x0": ("lab", 1.0), "x2": ("lab", 2.5)}])
def test_budget(groups: dict[str, object] | None) -> None:
    """Prices of rules, with and without discounts within a group."""
    compare(lambda limit: Budget(COSTS, limit, groups), 2, (0.0, 12.0))


def test_two_budgets() -> None:
    """Several budgets are all kept, by the kernel's prices and by a predicate."""
    outcomes = set()
    for case in cases(2):
        for money, time in [(8.0, 1.0), (5.0, 9.0), (20.0, 20.0)]:
            both = Budget(COSTS, money), Budget({"x1": 2.0}, time, weight=0.1)
            assert judged(case, *both) == case.met(*both)
            outcomes.add(case.met(*both))
    assert outcomes == {True, False}


def test_tests_beyond_the_budget_are_left_out() -> None:
    """A feature that alone costs more than the limit is not among those that rules may test."""
    case = next(case for case in cases(2) if len(case.features) == 3)
    kept = restrict_features([Budget(COSTS, 4.0)], case.features, case.setting)
    assert [feature.name for feature in kept] == ["x1", "x2"]
    assert restrict_features([Budget(COSTS, weight=1.0)], case.features, case.setting) == case.features


def test_support_alone_is_no_limit() -> None:
    """A least support is left to the engines, which prune by it: the problem stays a plain one."""
    case = next(case for case in cases(2) if case.class_scale is None)
    compiled = case.compiled(MinSupport(0.1), MinSupport(2))
    assert compiled.limits(case.table).empty
    assert compiled.min_support == pytest.approx(max(2.0, 0.1 * case.weight.sum()))


def test_budget_reports_the_expected_price() -> None:
    """The second check of a budget is what a sample pays on average."""
    case = cases(2)[0]
    budget = Budget(COSTS, 50.0)
    dearest, average = budget.audit(case.answers())
    names = [feature.name for feature in case.features]
    price = np.array([sum(COSTS[names[c.feature]] for c in rule.conditions) for rule in case.tree.rules])
    paid = price[case.tree.apply(case.codes)]
    assert dearest.value == price.max()
    assert average.value == pytest.approx(np.average(paid, weights=case.weight))
    assert math.isinf(average.slack)


def test_budget_from_csv(tmp_path: FilePath) -> None:
    """A file of prices becomes a budget; one that is no such file is refused."""
    path = tmp_path / "costs.csv"
    path.write_text("feature,cost,cost_once_group_paid,group\nage,1.00,1.00,\nchol,7.27,5.17,A\nfbs,5.20,3.10,A\n")
    budget = Budget.from_csv(path, 10.0, weight=0.01)
    assert budget == Budget(
        {"age": 1.0, "chol": 7.27, "fbs": 5.2}, 10.0, {"chol": ("A", 5.17), "fbs": ("A", 3.1)}, weight=0.01
    )
    assert budget.price(["age", "chol", "fbs"]) == pytest.approx(1.0 + 7.27 + 3.10)
    path.write_text("feature,cost\nage,cheap\n")
    with pytest.raises(ValueError, match=r"line 2: a price is not a number"):
        Budget.from_csv(path)
    path.write_text("name,cost\nage,1\n")
    with pytest.raises(ValueError, match="no column 'feature'"):
        Budget.from_csv(path)


def sure_or_short(rule: RuleFacts) -> bool:
    """A rule of several conditions has to be sure."""
    return len(rule.features) < 2 or rule.confidence >= 0.6


def fair_to_women(rule: RuleFacts) -> bool:
    """A rule that says no holds for no more women than men of the class."""
    return rule.prediction != "no" or rule.weight("yes", sex="F") <= rule.weight("yes", sex="M")


def middling(rule: RuleFacts) -> bool:
    """Of numbers: a rule is not all over the place."""
    return rule.deviation < 1.3 and not rule.class_weights and rule.prediction is None


@pytest.mark.parametrize(
    ("path", "n_classes"), [(Path(sure_or_short), 3), (Path(fair_to_women, groups="sex"), 2), (Path(middling), 0)]
)
def test_any_function(path: Path, n_classes: int) -> None:
    """The judge asks a function of the user's as the audit does."""
    outcomes = set()
    for case in cases(n_classes):
        assert judged(case, path) == case.met(path)
        outcomes.add(case.met(path))
    assert outcomes == {True, False}


def test_facts_are_those_of_the_samples() -> None:
    """Support, share, class weights, weights of groups and conditions in words, from the raw samples."""
    for case in cases(2)[:8]:
        seen: list[RuleFacts] = []
        constraint = Path(seen.append, groups=("sex", "dept"))
        list(constraint.audit(case.answers()))
        owner = case.tree.apply(case.codes)
        for r, facts in enumerate(seen):
            inside = owner == r
            assert facts.support == pytest.approx(case.weight[inside].sum())
            assert facts.share == pytest.approx(case.weight[inside].sum() / case.weight.sum())
            for c, name in enumerate(case.classes):
                assert facts.class_weights[name] == pytest.approx(case.weight[inside & (case.y == c)].sum())
            sex, dept = case.groups["sex"], case.groups["dept"]
            chosen = inside & (case.y == 1) & (sex.codes == 1) & (dept.codes == 0)
            assert facts.weight("yes", sex="M", dept="A") == pytest.approx(case.weight[chosen].sum())
            assert [str(c) for c in facts.conditions] == [str(c) for c in case.tree.rules[r].conditions]
            assert facts.weight(sex="X") == 0.0
            with pytest.raises(ValueError, match="'race' is not known here"):
                facts.weight(race="x")
            with pytest.raises(ValueError, match="The class 'ill' is not known; y has 'no', 'yes'"):
                facts.weight("ill")


def test_the_worst_rule_is_named() -> None:
    """A check of rules says which of them is the worst."""
    case = next(case for case in cases(2) if len(case.tree.rules) > 2)
    (check,) = MinSupport(0.5).audit(case.answers())
    supports = [case.weight[case.tree.apply(case.codes) == r].sum() for r in range(len(case.tree.rules))]
    assert check.rule == int(np.argmin(supports))
    assert check.level == "path"
