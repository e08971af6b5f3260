"""The audit's fairness numbers against the definitions, sample by sample in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from helpers.constraint_cases import Case, random_case
from omtree.constraints import (
    ConditionalParity,
    Constraint,
    EqualizedOdds,
    EqualOpportunity,
    FairnessBudget,
    PredictiveEquality,
    RuleParity,
    StatisticalParity,
)

Sample = dict[str, Any]


def samples(case: Case) -> list[Sample]:
    """Every sample as a person would write it down."""
    owner = case.tree.apply(case.codes)
    return [
        {
            "weight": float(case.weight[i]),
            "class": case.classes[case.y[i]],
            "given": case.tree.rules[owner[i]].prediction,
            "rule": int(owner[i]),
            "sex": case.groups["sex"].levels[case.groups["sex"].codes[i]],
            "dept": case.groups["dept"].levels[case.groups["dept"].codes[i]],
        }
        for i in range(len(case.y))
    ]


def spread(chosen: list[Sample], group: str, counts: Callable[[Sample], bool]) -> float:
    """The largest difference between two groups in the share of the samples that count; NaN with fewer than two."""
    rates = []
    for level in {sample[group] for sample in chosen}:
        members = [sample for sample in chosen if sample[group] == level and sample["weight"] > 0]
        if members:
            total = sum(sample["weight"] for sample in members)
            rates.append(sum(sample["weight"] for sample in members if counts(sample)) / total)
    return max(rates) - min(rates) if len(rates) > 1 else math.nan


def yes(sample: Sample) -> bool:
    """Whether the sample is given the class."""
    return bool(sample["given"] == "yes")


@pytest.mark.parametrize("seed", range(12))
def test_definitions(seed: int) -> None:
    """Each number is the largest difference of the rates that its definition names."""
    case = random_case(seed, n_classes=2 + seed % 2)
    every = samples(case)
    has = [sample for sample in every if sample["class"] == "yes"]
    lacks = [sample for sample in every if sample["class"] != "yes"]
    by_dept = [[sample for sample in every if sample["dept"] == dept] for dept in ("A", "B")]
    by_rule = [[sample for sample in every if sample["rule"] == r] for r in range(len(case.tree.rules))]
    in_rules = [spread(inside, "sex", lambda s: s["class"] == "yes") for inside in by_rule]
    right = [spread(inside, "dept", lambda s: s["class"] == s["given"]) for inside in by_rule]
    known = [value for value in in_rules if not math.isnan(value)]
    expected: list[tuple[Constraint, list[float]]] = [
        (StatisticalParity("sex", 0.1, class_="yes"), [spread(every, "sex", yes)]),
        (EqualOpportunity("sex", 0.1, class_="yes"), [spread(has, "sex", yes)]),
        (PredictiveEquality("sex", 0.1, class_="yes"), [spread(lacks, "sex", yes)]),
        (EqualizedOdds("dept", 0.1, class_="yes"), [spread(has, "dept", yes), spread(lacks, "dept", yes)]),
        (
            ConditionalParity("sex", 0.1, given="dept", class_="yes"),
            [spread(part, "sex", yes) for part in by_dept],
        ),
        (RuleParity("sex", 0.1, class_="yes"), [max(known, default=math.nan)]),
        (FairnessBudget("sex", 0.1, class_="yes"), [sum(known)]),
        (
            RuleParity("dept", 0.1, metric="accuracy"),
            [max((value for value in right if not math.isnan(value)), default=math.nan)],
        ),
    ]
    for constraint, values in expected:
        found = [check.value for check in constraint.audit(case.answers())]
        assert found == pytest.approx(values, nan_ok=True), constraint
