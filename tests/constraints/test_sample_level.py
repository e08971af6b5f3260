"""Constraints over the whole model: what is compiled against what the audit finds on random models."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    f1_score,
    matthews_corrcoef,
    precision_score,
    recall_score,
)

from helpers.constraint_cases import Case, random_case
from omtree.constraints import (
    F1,
    MCC,
    Accuracy,
    ConditionalParity,
    Constraint,
    EqualizedOdds,
    EqualOpportunity,
    FairnessBudget,
    FalsePositiveRate,
    FowlkesMallows,
    Linear,
    MetricLimit,
    Precision,
    PredictiveEquality,
    Recall,
    RuleFacts,
    Specificity,
    StatisticalParity,
    audit,
)

CLASS_METRICS = [Recall, Precision, Specificity, FalsePositiveRate, F1]
CURVED = [MCC, FowlkesMallows]
FAIRNESS: list[Callable[[float], Constraint]] = [
    lambda t: StatisticalParity("sex", t, class_="yes"),
    lambda t: StatisticalParity("dept", t, class_="no"),
    lambda t: EqualOpportunity("sex", t, class_="yes"),
    lambda t: PredictiveEquality("dept", t, class_="yes"),
    lambda t: EqualizedOdds("sex", t, class_="yes"),
    lambda t: ConditionalParity("sex", t, given="dept", class_="yes"),
]


def value_of(case: Case, coefficient: np.ndarray) -> float:
    """What a row's coefficients add up to over the samples, as the engine's table weighs them."""
    weight = case.weight if case.class_scale is None else case.weight * case.class_scale[case.y]
    return float((weight * coefficient[case.samples.strata().of_sample, case.predicted]).sum())


def rows_hold(case: Case, rows: Any, tolerance: float = 1e-9) -> bool:
    """Whether a model satisfies all of the rows."""
    return all(
        value_of(case, row.coefficient) >= row.at_least - tolerance * max(1.0, np.abs(row.coefficient).max()) * 100
        for row in rows
    )


def limits_around(value: float, low: float, rng: np.random.Generator) -> list[float]:
    """The value itself, values beside it, and any."""
    numbers = [rng.uniform(low, 1.0), 0.0, 1.0]
    if not math.isnan(value):
        numbers += [value, value - 0.01, value + 0.01]
    return [float(np.clip(number, low, 1.0)) for number in numbers]


@functools.cache
def cases() -> list[Case]:
    """Two and three classes, with and without class weights."""
    return [random_case(seed, n_classes=2 + seed % 2, scaled=seed % 3 == 0) for seed in range(24)]


@pytest.mark.parametrize("metric", [*CLASS_METRICS, Accuracy])
def test_metric_rows_are_the_audit(metric: Any) -> None:
    """A model satisfies the rows of a metric exactly when the audit finds its limits met."""
    rng = np.random.default_rng(1)
    outcomes = set()
    for case in cases():
        names = {} if metric is Accuracy else {"class_": rng.choice(case.classes)}
        value = metric(**names, at_least=0.5).value(case.answers())
        for limit in limits_around(value, 0.0, rng):
            for sense in ("at_least", "at_most"):
                constraint = metric(**names, **{sense: limit})
                met = case.met(constraint)
                compiled = case.compiled(constraint)
                assert rows_hold(case, compiled.model_limits) == met, (constraint, value)
                outcomes.add(met)
                for row in compiled.model_limits:
                    assert isinstance(row, MetricLimit)
                    reached = row.reached(value_of(case, row.coefficient))
                    assert reached is None or reached == pytest.approx(value)
                    assert (reached is None) == (metric in (Precision, F1))
    assert outcomes == {True, False}


@pytest.mark.parametrize("make", FAIRNESS)
def test_parity_rows_are_the_audit(make: Callable[[float], Constraint]) -> None:
    """A model satisfies the rows of a parity exactly when the largest difference between two groups is small enough."""
    rng = np.random.default_rng(2)
    outcomes = set()
    for case in cases():
        value = max((check.value for check in make(0.5).audit(case.answers())), default=math.nan)
        for tolerance in limits_around(value, 0.0, rng):
            constraint = make(tolerance)
            met = case.met(constraint)
            assert rows_hold(case, case.compiled(constraint).model_limits) == met, constraint
            outcomes.add(met)
    assert outcomes == {True, False}


@pytest.mark.parametrize("metric", CURVED)
def test_curved_limits_are_the_audit(metric: Any) -> None:
    """The demand itself decides as the audit does, and its rows hold for every model that meets it.

    Over a single number of calls the rows decide as well.
    """
    rng = np.random.default_rng(3)
    outcomes = set()
    for case in cases():
        class_ = rng.choice(case.classes)
        value = metric(class_, at_least=0.5).value(case.answers())
        for limit in limits_around(value, metric.low, rng):
            for sense in ("at_least", "at_most"):
                constraint = metric(class_, **{sense: limit})
                (part,) = case.compiled(constraint).curved
                hits, called = value_of(case, part.hits), value_of(case, part.called)
                met = case.met(constraint)
                assert part.holds(hits, called) == met
                outcomes.add(met)
                low, high = called * rng.random(), called + (part.largest - called) * rng.random()
                if met:
                    assert rows_hold(case, part.rows)
                    assert rows_hold(case, part.within(low, high))
                    assert rows_hold(case, part.within(called, called))
                elif abs(value - limit) > 1e-6:
                    assert not rows_hold(case, part.within(called, called)), (constraint, hits, called)
    assert outcomes == {True, False}


@pytest.mark.parametrize("metric", CURVED)
@pytest.mark.parametrize("sense", ["at_least", "at_most"])
@pytest.mark.parametrize("limit", [-0.9, -0.3, 0.0, 0.2, 0.7, 1.0])
def test_curved_rows_cut_nothing_off(metric: Any, sense: str, limit: float) -> None:
    """Every pair of hits and calls that meets the limit satisfies the rows, whatever the interval of calls."""
    if limit < metric.low:
        limit = abs(limit)
    case = random_case(8)
    strata = case.samples.strata()
    (part,) = case.compiled(metric("yes", **{sense: limit})).curved
    positive = float(strata.totals[strata.label == 1].sum())
    rng = np.random.default_rng(4)
    for _ in range(300):
        h = positive * rng.choice([0.0, 1.0, rng.random()])
        q = h + (part.largest - positive) * rng.choice([0.0, 1.0, rng.random()])
        if not part.holds(h, q):
            continue
        for low, high in [(0.0, part.largest), (q * rng.random(), q + (part.largest - q) * rng.random()), (q, q)]:
            for row in part.within(low, high):
                # In the row, hits have the label's coefficient on the class, misses that on another.
                on_hit = row.coefficient[strata.label == 1, 1][0]
                on_miss = row.coefficient[strata.label == 0, 1][0]
                assert on_hit * h + on_miss * (q - h) >= row.at_least - 1e-7


def test_metrics_agree_with_scikit_learn() -> None:
    """The audit's values are those of scikit-learn, one class against the others."""
    for case in cases()[:8]:
        answers = case.answers()
        w, kept = case.weight, case.weight > 0
        for position, class_ in enumerate(case.classes):
            has, given = case.y == position, case.predicted == position
            both = {"y_true": has[kept], "y_pred": given[kept], "sample_weight": w[kept]}
            expected = {
                Recall(class_, at_least=0.5): recall_score(**both),
                Specificity(class_, at_least=0.5): recall_score(~has[kept], ~given[kept], sample_weight=w[kept]),
                F1(class_, at_least=0.5): f1_score(**both),
                MCC(class_, at_least=0.5): matthews_corrcoef(**both),
                Accuracy(at_least=0.5): accuracy_score(case.y[kept], case.predicted[kept], sample_weight=w[kept]),
            }
            if w[given].any():
                expected[Precision(class_, at_least=0.5)] = precision_score(**both)
                expected[FowlkesMallows(class_, at_least=0.5)] = math.sqrt(
                    precision_score(**both) * recall_score(**both)
                )
            for constraint, value in expected.items():
                (check,) = constraint.audit(answers)
                assert check.value == pytest.approx(value), constraint


def constant(label: int) -> Case:
    """A case whose model predicts one class for all."""
    seeds = (seed for seed in range(300) if len(random_case(seed).tree.rules) == 1)
    return next(case for case in map(random_case, seeds) if case.tree.rules[0].label == label)


def test_without_predicted_positives() -> None:
    """A class that is never predicted has no precision, which counts as met, an F1 and a correlation of 0."""
    case = constant(0)
    for constraint in (Precision("yes", at_least=0.9), Precision("yes", at_most=0.1)):
        (check,) = constraint.audit(case.answers())
        assert math.isnan(check.value)
        assert check.slack == 0.0
        assert check.met
        assert rows_hold(case, case.compiled(constraint).model_limits)
    for metric in (F1, MCC, FowlkesMallows, Recall):
        (check,) = metric("yes", at_least=0.1).audit(case.answers())
        assert check.value == 0.0
        assert not check.met


def test_groups_without_the_class_are_not_compared() -> None:
    """Where a group has no sample of the class there is no rate, neither in the rows nor in the audit."""
    case = random_case(5)
    case.groups["sex"].codes[:] = np.where(case.y == 1, 0, 1)
    constraint = EqualOpportunity("sex", 0.0)
    assert case.compiled(constraint).model_limits == ()
    (check,) = constraint.audit(case.answers())
    assert math.isnan(check.value)
    assert check.met


def n_conditions(rule: RuleFacts) -> float:
    """How many conditions a rule has."""
    return float(len(rule.conditions))


def women_missed(rule: RuleFacts) -> float:
    """Weight of the women of a class that the rule does not predict."""
    return rule.weight("yes", sex="F") if rule.prediction != "yes" else 0.0


@pytest.mark.parametrize(
    "make",
    [
        lambda t: FairnessBudget("sex", t, class_="yes"),
        lambda t: FairnessBudget("dept", t, metric="accuracy"),
        lambda t: FairnessBudget("sex", t, metric="coverage"),
        lambda t: Linear(n_conditions, at_most=t),
        lambda t: Linear(n_conditions, at_least=t),
        lambda t: Linear(women_missed, at_most=t, groups=["sex"]),
    ],
)
def test_rule_sums_are_the_audit(make: Callable[[float], Constraint]) -> None:
    """The numbers of the rules of a model add up to what the audit finds."""
    rng = np.random.default_rng(6)
    outcomes = set()
    for case in cases():
        (check,) = make(1.0).audit(case.answers())
        for limit in [check.value, check.value + 0.1, max(0.0, check.value - 0.1), float(rng.uniform(0, 3))]:
            constraint = make(limit)
            (rule_sum,) = case.compiled(constraint).sums(case.table)
            total = 0.0
            for rule in case.tree.rules:
                inside = np.ones(case.table.n_rows, dtype=bool)
                for condition in rule.conditions:
                    inside &= np.isin(case.table.codes[condition.feature], condition.codes)
                raw = [(condition.feature, condition.codes) for condition in rule.conditions]
                total += rule_sum.number(raw, np.flatnonzero(inside).astype(np.uint32), rule.label)
            assert (total >= rule_sum.at_least - 1e-9) == case.met(constraint)
            assert abs(total) == pytest.approx(abs(check.value))
            outcomes.add(case.met(constraint))
    assert outcomes == {True, False}


def test_two_limits_give_two_checks() -> None:
    """A least and a largest value are two rows and two checks, each with its own slack."""
    case = random_case(4)
    constraint = Recall("yes", at_least=0.2, at_most=0.6)
    assert len(case.compiled(constraint).model_limits) == 2
    least, most = audit([constraint], case.answers())
    assert least.slack == pytest.approx(least.value - 0.2)
    assert most.slack == pytest.approx(0.6 - most.value)
    assert (least.sense, most.sense) == ("at least", "at most")
