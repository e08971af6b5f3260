"""What is refused before any work, and in which sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from omtree.constraints import (
    F1,
    MCC,
    Accuracy,
    Budget,
    ConditionalParity,
    Constraint,
    EqualOpportunity,
    Exclude,
    FairnessBudget,
    FalsePositiveRate,
    Forbid,
    Interactions,
    Linear,
    MaxSupport,
    MinClassCount,
    MinConfidence,
    MinSupport,
    Monotone,
    Once,
    Only,
    Order,
    Path,
    Precision,
    Recall,
    Requires,
    Root,
    RuleParity,
    Setting,
    Specificity,
    StatisticalParity,
    Together,
    UseAtMost,
    check_constraints,
)

SETTING = Setting(
    columns=("a", "b", "c", "size", "colour"),
    kinds=("numeric", "numeric", "numeric", "ordinal", "nominal"),
    levels={"size": ("S", "M", "L"), "colour": ("red", "green", "blue")},
    classes=("no", "yes"),
    groups={"sex": ("F", "M"), "alone": ("F",)},
    max_depth=3,
)
THREE = replace(SETTING, classes=("x", "y", "z"))
NUMBERS = replace(SETTING, classes=())


def refuse(constraint: Any, match: str, setting: Setting = SETTING) -> None:
    """The constraint is refused in one sentence."""
    with pytest.raises(ValueError, match=match) as caught:
        check_constraints([constraint], setting)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("constraint", "match"),
    [
        ("recall", "'recall' is no constraint"),
        (Recall("yes"), r"Recall\('yes'\) has no limit; set at_least or at_most"),
        (Recall("yes", at_least=1.2), "at_least=1.2 is not possible; use a number from 0 to 1"),
        (Recall("yes", at_most=-0.1), "at_most=-0.1 is not possible"),
        (Recall("yes", at_least=float("nan")), "at_least=nan is not possible"),
        (Recall("yes", at_least=True), "at_least=True is not possible"),
        (Recall("maybe", at_least=0.5), "names the class 'maybe', which y does not have; y has 'no', 'yes'"),
        (Precision("yes", at_least=0.9, at_most=0.8), "at_least is above at_most"),
        (MCC("yes", at_least=-1.5), "use a number from -1 to 1"),
        (F1(1, at_least=0.5), "names the class 1, which"),
        (Accuracy(at_least="high"), "at_least='high' is not possible"),
        (StatisticalParity("race", 0.1), "names the group column 'race', which neither X nor groups has"),
        (StatisticalParity("alone", 0.1), "'alone' has only one"),
        (StatisticalParity("sex", 1.5), "tolerance=1.5 is not possible"),
        (ConditionalParity("sex", 0.1, given="dept"), "names the group column 'dept'"),
        (ConditionalParity("sex", 0.1, given="sex"), "name another column as given"),
        (EqualOpportunity("sex", 0.1, class_="hired"), "names the class 'hired'"),
        (RuleParity("sex", -1), "tolerance=-1 is not possible"),
        (RuleParity("sex", 0.1, metric="mean"), "use 'positive_rate' or 'accuracy' or 'coverage'"),
        (FairnessBudget("sex", "little"), "limit='little' is not possible"),
        (MinSupport(0), "n=0 is not possible; use a whole number of at least 1"),
        (MaxSupport(1.5), "n=1.5 is not possible"),
        (MinConfidence(80), "p=80 is not possible; use a number from 0 to 1"),
        (MinClassCount("yes", -1), "n=-1 is not possible; use a number of at least 0"),
        (MinClassCount("x", 1), "names the class 'x'"),
        (Path(3), "allows=3 is not possible; use a function"),  # type: ignore[arg-type]
        (Path(bool, groups=["race"]), "names the group column 'race'"),
        (Linear(3, at_least=1), "use a function"),  # type: ignore[arg-type]
        (Linear(len, at_least=float("inf")), "at_least=inf is not possible; use a finite number"),
        (Linear(len), "has no limit"),
        (Budget({"z": 1}, 2), "names the column 'z', which X does not have; it has 'a', 'b'"),
        (Budget({"a": -1}, 2), "the price -1 of 'a' is not possible"),
        (Budget({"a": 1}), "neither a limit nor a weight"),
        (Budget({"a": 1}, -2), "limit=-2 is not possible"),
        (Budget({"a": 1}, weight=-2), "weight=-2 is not possible"),
        (Budget({"a": 1}, 2, {"a": ("g", 3)}), "'a' costs 3 once its group is paid, which has to be between 0 and"),
        (Budget({"a": 1}, 2, {"a": 3}), "the group 3 of 'a' is not possible"),
        (Budget({"a": 1}, 2, {"d": "g"}), "names the column 'd'"),
        (Forbid({"a", "z"}), "names the column 'z'"),
        (Forbid({"a"}), "use Exclude"),
        (Forbid([]), "forbids nothing"),
        (Interactions([{"a", "z"}]), "names the column 'z'"),
        (Together({"a"}), "name two or more"),
        (Together({"a", "z"}), "names the column 'z'"),
        (Requires("a", first="a"), "requires nothing, or itself"),
        (Requires("a", first="z"), "names the column 'z'"),
        (Order(["a", "z"]), "names the column 'z'"),
        (Order(["a", "a"]), "names a column twice"),
        (Order(["a"]), "fewer than two"),
        (Order(["a", "b"], strict=1), "strict=1 is not possible"),  # type: ignore[arg-type]
        (UseAtMost({"a", "b"}, 2), "limits nothing; name more than 2 columns"),
        (UseAtMost({"a", "b"}, 0), "n=0 is not possible"),
        (Once({"a"}), "name two or more"),
        (Exclude("z"), "names the column 'z'"),
        (Root("z"), "names the column 'z'"),
        (Monotone("a", 0), r"direction=0 is not possible; use \+1 or -1"),
        (Monotone("colour", 1), "'colour' have no order"),
        (Monotone("z", 1), "names the column 'z'"),
        (Only("z", [1]), "names the column 'z'"),
        (Only("a", []), "use Exclude"),
        (Only("a", ["high"]), "'high' is no cut point"),
        (Only("colour", ["teal"]), "names the value 'teal', which 'colour' does not have"),
        (Only("colour", [["red", "green"], ["red"]]), "in two groups"),
        (Only("size", [["S", "L"]]), "with gaps in an ordered column"),
    ],
)
def test_single_refusals(constraint: Any, match: str) -> None:
    """Unknown names and numbers that make no sense are refused in one sentence that says what to do."""
    refuse(constraint, match)


def test_three_classes_need_a_name() -> None:
    """With three classes a constraint on one has to say which."""
    refuse(Recall(at_least=0.5), "does not say which of the 3 classes it is about; set class_", THREE)
    check_constraints([Recall(at_least=0.5), StatisticalParity("sex", 0.1)], SETTING)


@pytest.mark.parametrize(
    "constraint",
    [
        Recall(at_least=0.5),
        Accuracy(at_least=0.5),
        MinConfidence(0.5),
        MinClassCount("a", 1),
        StatisticalParity("sex", 1),
    ],
)
def test_numbers_have_no_classes(constraint: Constraint) -> None:
    """Constraints on classes are refused where the target is a number; others are not."""
    refuse(constraint, "is about classes, which a numeric target does not have", NUMBERS)
    check_constraints([MinSupport(5), RuleParity("sex", 0.5, metric="mean"), Monotone("a", 1), Root("a")], NUMBERS)
    refuse(RuleParity("sex", 0.1, metric="accuracy"), "use 'coverage' or 'mean'", NUMBERS)
    refuse(FairnessBudget("sex", 0.1, metric="mean"), "use 'coverage'", NUMBERS)


@pytest.mark.parametrize(
    ("constraints", "match"),
    [
        (
            [Root("a"), Exclude("a")],
            r"Root\('a'\) and Exclude\(\{'a'\}\) contradict each other: every rule has to test",
        ),
        ([Root("a"), Budget({"a": 5}, 3)], r"Root\('a'\) and Budget\(limit=3\) contradict"),
        ([Together({"a", "b"}), Budget({"a": 2, "b": 2}, 3)], "'a' and 'b' cost more than the limit"),
        ([Together({"a", "b"}), Interactions([{"b", "c"}])], "contradict each other"),
        ([Root("a"), Root("b")], "a model has one root"),
        ([Forbid({"a", "b"}), Together({"a", "b"})], "'a' and 'b' have to be in one rule and must not be"),
        ([Forbid({"a", "b"}), Together({"a", "b", "c"})], "contradict each other"),
        ([Once({"a", "b"}), Requires("b", first="a")], "contradict each other"),
        ([Together({"a", "b"}), Exclude("b")], "'b' is needed in a rule and excluded from all"),
        ([Requires("a", first="b"), Exclude("b")], "'b' is needed"),
        ([Requires("a", first="b"), Requires("b", first="c"), Exclude("c")], "'c' is needed"),
        ([Root("a"), Together({"a", "b"}), Forbid({"a", "b"})], "contradict each other"),
        ([Root("a"), Forbid({"a", "c"}), Together({"b", "c"})], "contradict each other"),
        ([Order(["a", "b"], strict=True), Requires("a", first="b")], "'a' above 'b' above 'a' is a circle"),
        ([Order(["a", "b"], strict=True), Order(["b", "a"], strict=True)], "is a circle"),
        ([Requires("a", first="b"), Requires("b", first="a")], "is a circle"),
        ([Root("b"), Order(["a", "b"], strict=True)], "is a circle"),
        ([Root("a"), Requires("a", first="b")], "is a circle"),
        ([Order(["a", "b", "c"], strict=True), Order(["c", "a"], strict=True)], "is a circle"),
        ([Monotone("a", 1), Monotone("a", -1)], "both rise and fall along 'a'"),
        ([Recall("yes", at_least=0.9), Recall("yes", at_most=0.8)], "no value of the recall of class 'yes' meets both"),
        ([Recall("yes", at_least=0.9), Recall(at_most=0.8)], "contradict each other"),
        ([Specificity("yes", at_least=0.9), FalsePositiveRate("yes", at_least=0.2)], "contradict each other"),
        ([MinSupport(0.5), MaxSupport(0.4)], "no value of the support of a rule meets both"),
        ([MinSupport(20), MaxSupport(10)], "contradict each other"),
        ([Budget({"a": 1}, weight=1), Budget({"b": 1}, weight=1)], "Only one Budget may have a weight"),
    ],
)
def test_contradictions(constraints: list[Constraint], match: str) -> None:
    """Constraints that contradict each other are refused, whatever their order, and named."""
    for order in (constraints, constraints[::-1]):
        with pytest.raises(ValueError, match=match if order is constraints else None) as caught:
            check_constraints(order, SETTING)
        assert str(caught.value).endswith(".")


def test_too_much_for_the_depth() -> None:
    """A rule that has to test more features than its depth allows is refused."""
    with pytest.raises(ValueError, match=r"needs 'a' and 'b' and 'c' in one rule, more than max_depth=2"):
        check_constraints([Together({"a", "b", "c"})], replace(SETTING, max_depth=2))


@pytest.mark.parametrize(
    "constraints",
    [
        [Root("a"), Exclude("b"), Requires("b", first="c"), Order(["a", "b"], strict=True)],
        [Forbid({"a", "b", "c"}), Together({"a", "b"})],
        [UseAtMost({"a", "b", "c"}, 2), Requires("b", first="a")],
        [Recall("yes", at_least=0.9), Recall("no", at_most=0.8), Precision("yes", at_least=0.95)],
        [Specificity("yes", at_least=0.9), FalsePositiveRate("yes", at_most=0.2)],
        [MinSupport(20), MaxSupport(0.1), Budget({"a": 1}, weight=1), Budget({"b": 1}, 3)],
        [Monotone("a", 1), Monotone("size", -1), Order(["c", "b", "a"]), Order(["a", "b"])],
    ],
)
def test_what_goes_together(constraints: list[Constraint]) -> None:
    """Constraints that can be met together are let through."""
    assert check_constraints(constraints, SETTING) == tuple(constraints)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Forbid("age"), "Forbid needs a set"),
        (lambda: Forbid([{1, 2}]), "Forbid needs the names of columns"),
        (lambda: Interactions("a"), "Interactions needs a list of sets"),
        (lambda: Together(5), "Together needs the names of columns"),
        (lambda: Order({"a", "b"}), "Order needs a list"),
        (lambda: Only("a", 5), "Only needs a list of cut points or of groups for 'a'"),
        (lambda: Budget(5), "Budget: costs=5 is not possible; use a dict"),
    ],
)
def test_what_is_no_constraint_at_all(make: Any, match: str) -> None:
    """Objects that could not mean anything are refused when they are made."""
    with pytest.raises(ValueError, match=match):
        make()
