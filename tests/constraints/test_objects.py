"""Constraints as objects: printed as code, compared, copied, pickled, written as TOML."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import omtree.constraints as every
from omtree import OptimalTreeClassifier
from omtree.constraints import (
    F1,
    MCC,
    Accuracy,
    AnswerCost,
    AnswerShare,
    Budget,
    ConditionalParity,
    Constraint,
    EqualizedOdds,
    EqualOpportunity,
    Exclude,
    FairnessBudget,
    FalsePositiveRate,
    Forbid,
    ForbidAnswer,
    Force,
    FowlkesMallows,
    Interactions,
    Linear,
    MaxSupport,
    MinClassCount,
    MinConfidence,
    MinEvents,
    MinSupport,
    Monotone,
    Once,
    Only,
    Order,
    Path,
    Precision,
    PredictiveEquality,
    Recall,
    Requires,
    Root,
    RuleParity,
    Specificity,
    StatisticalParity,
    Together,
    UseAtMost,
    load_toml,
    loads,
    to_toml,
)
from omtree.constraints.audit import Checks, ConstraintCheck

ALL: list[Constraint] = [
    Budget({"a": 1.5, "b": 2}, 3, {"a": ("g", 0.5), "b": "g"}, weight=0.1),
    MinSupport(5),
    MaxSupport(0.5),
    MinConfidence(0.7),
    MinClassCount("yes", 3),
    RuleParity("sex", 0.1, metric="accuracy"),
    Forbid({"a", "b"}),
    Forbid([{"a", "b"}, {"c", "d", "e"}]),
    Interactions([{"a", "b"}, {"b", "c"}]),
    Together({"a", "b"}),
    Requires("mri", first={"blood", "age"}),
    Order(["a", "b"]),
    Order(strict=True),
    UseAtMost({"a", "b", "c"}, 2),
    Once({"a", "b"}),
    Exclude({"a", "b"}),
    Root("a"),
    Monotone("a", -1),
    Only("a", [1, 2.5]),
    Only("b", ["x", {"y", "z"}, True]),
    Recall("yes", at_least=0.8),
    Precision(1, at_least=0.5, at_most=0.9),
    Specificity(True, at_least=0.5),
    FalsePositiveRate(2.5, at_most=0.1),
    F1(at_least=0.5),
    Accuracy(at_most=1),
    MCC("a\"b\\ü\n\x7f'😀", at_least=-0.5),
    FowlkesMallows("yes", at_least=0.5),
    StatisticalParity("sex", 0.05),
    EqualOpportunity("sex", 0.05, class_="yes"),
    EqualizedOdds("sex", 0.05),
    PredictiveEquality("sex", 0.05),
    ConditionalParity("sex", 0.05, given="dept"),
    FairnessBudget("sex", 0.5, metric="coverage"),
    AnswerShare("yes", at_most=0.3),
    AnswerCost({"yes": 2.5, "no": 1}, at_most=1.5),
    ForbidAnswer("yes", "a", (18, 65.5)),
    ForbidAnswer("yes", "b", {"x", "y"}),
    MinEvents(10),
    Force({"split": "a", "at": [40], "below": [{"leaf": True}, {"without": ["b"]}]}),
]


def short(rule: Any) -> bool:
    """Whether a rule is short."""
    return len(rule.features) < 3


@pytest.mark.parametrize("constraint", ALL, ids=lambda c: type(c).__name__)
def test_printed_as_code(constraint: Constraint) -> None:
    """The text of a constraint is the code that makes it."""
    assert eval(repr(constraint), vars(every)) == constraint


@pytest.mark.parametrize("constraint", [*ALL, Path(short, name="short"), Linear(short, at_most=3)], ids=repr)
def test_copies_are_equal(constraint: Constraint) -> None:
    """Copies, pickles and hashes agree; constraints of other numbers or kinds differ."""
    again = pickle.loads(pickle.dumps(constraint))
    assert again == constraint == copy.deepcopy(constraint)
    assert hash(again) == hash(constraint)
    assert sum(constraint == other for other in ALL) == (constraint in ALL)


def test_clones_of_an_estimator_keep_them() -> None:
    """scikit-learn's clone carries constraints along."""
    model = OptimalTreeClassifier(constraints=tuple(ALL))
    assert clone(model).constraints == tuple(ALL)


def test_every_constraint_is_listed() -> None:
    """Every public constraint is tried here, exported, and says its level."""
    here = {cls for cls in Constraint.known.values() if cls.__module__.startswith("omtree.")}
    assert {type(constraint) for constraint in ALL} | {Path, Linear} == here
    assert all(vars(every)[cls.__name__] is cls and cls.__name__ in every.__all__ for cls in here)
    assert {cls.level for cls in here} == {"path", "attribute", "sample"}


def test_toml_round_trip(tmp_path: FilePath) -> None:
    """What is written as TOML is read as equal constraints, in their order."""
    text = to_toml(ALL)
    assert loads(text) == tuple(ALL)
    path = tmp_path / "constraints.toml"
    path.write_text(text, encoding="utf-8")
    assert load_toml(path) == tuple(ALL)
    assert to_toml([]) == ""
    assert loads("") == ()


def test_toml_of_numpy_scalars() -> None:
    """Classes taken from an array of labels can be written."""
    constraint = Recall(np.int64(1), at_least=np.float64(0.5))
    assert loads(to_toml([constraint])) == (Recall(1, at_least=0.5),)
    assert repr(constraint) == "Recall(1, at_least=0.5)"


def test_toml_reads_well() -> None:
    """A file as a person writes it."""
    text = """
    [[constraint]]
    type = "budget"
    limit = 100
    costs = { chol = 7.27, fbs = 5.20, ca = 100.90 }
    groups = { chol = ["A", 5.17], fbs = ["A", 3.10] }

    [[constraint]]
    type = "monotone"
    feature = "age"
    direction = 1
    """
    budget, monotone = loads(text)
    expected = Budget({"chol": 7.27, "fbs": 5.2, "ca": 100.9}, 100, {"chol": ("A", 5.17), "fbs": ("A", 3.1)})
    assert budget == expected
    assert monotone == Monotone("age", 1)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("[[constraint", "not TOML"),
        ("[other]", "key 'other' is not known"),
        ("constraint = 3", "key 'constraint' is no array of tables"),
        ("[[constraint]]\nclass = 1", "Constraint 1 has no key 'type'; use one of"),
        ('[[constraint]]\ntype = "recal"', "Constraint 1 has the unknown type 'recal'; use one of .*recall"),
        ('[[constraint]]\ntype = "recall"\natleast = 1', "unknown key 'atleast'; it takes class, at_least, at_most"),
        ('[[constraint]]\ntype = "root"', r"Constraint 1 \(root\) lacks the key 'feature'"),
        ('[[constraint]]\ntype = "path"\nallows = 1', "holds a function as 'allows'"),
        ('[[constraint]]\ntype = "budget"\ncosts = 5', r"Constraint 1 \(budget\): Budget: costs=5"),
        ('[[constraint]]\ntype = "forbid"\nfeatures = 5', r"Constraint 1 \(forbid\): Forbid needs a set"),
    ],
)
def test_toml_errors_name_the_key(text: str, match: str, tmp_path: FilePath) -> None:
    """A mistake in a file is named by constraint and key; reading from a file names the file as well."""
    with pytest.raises(ValueError, match=match):
        loads(text)
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"bad.toml: .*{match}"):
        load_toml(path)


def test_functions_have_no_toml() -> None:
    """A constraint with a function is refused when written."""
    with pytest.raises(ValueError, match="holds short as 'allows', which a TOML file cannot"):
        to_toml([Path(short)])


def test_an_audit_in_a_notebook() -> None:
    """What an audit returns is a tuple still, and a table in a notebook that says whether all is met."""
    missed, met = ConstraintCheck("recall of <b>", 0.5, 0.75, -0.25), ConstraintCheck("depth", 2.0, 3.0, 1.0, "at most")
    checks = Checks([missed, met])
    shown = checks._repr_html_()
    assert "1 of 2 constraints are not met" in shown
    assert "recall of &lt;b&gt;" in shown
    assert "at least 0.75" in shown
    assert "all constraints are met" in Checks(checks[1:])._repr_html_()
    assert tuple(checks) == checks
