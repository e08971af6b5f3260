"""Trees that begin as they must: against all trees, in files, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers.forced_oracle import cheapest, tiny
from omtree import InfeasibleError, OptimalTreeClassifier, OptimalTreeRegressor
from omtree.constraints import F1, Exclude, Force, Recall, loads, to_toml

SPECS: list[dict[str, Any]] = [
    {},
    {"split": "f"},
    {"split": "c", "groups": [["p", "r"]]},
    {"split": "x", "at": [1.5]},
    {"split": "x", "at": [2], "below": [{"split": "f"}, {"leaf": True}]},
    {"split": "x", "at": [2], "below": [{"answer": 1}, {"split": "c"}]},
    {"split": "f", "at": [0.5], "below": [{"without": ["x"]}, {"without": ["c", "x"]}]},
    {"without": ["x"]},
    {"split": "c", "without": ["f"]},
    {"answer": 1},
    {"split": "c", "groups": [["q"], ["p", "r"]], "below": [{"split": "x", "at": [0.7]}, {"split": "f"}]},
    {"split": "x", "at": [1, 3], "below": [{}, {"split": "c", "groups": [["p"]]}]},
    {"split": "x", "at": [2], "below": [{"leaf": False}, {"leaf": False, "without": ["c"]}]},
]


@pytest.mark.parametrize("splits_", ["multiway", "binary"])
@pytest.mark.parametrize("place", range(len(SPECS)))
def test_equals_all_trees(place: int, splits_: str) -> None:
    """The best tree that begins as it must has the fewest errors of all that do; what is given is audited."""
    spec = SPECS[place]
    for seed in range(3):
        X, y = tiny(seed)
        for leaves in (3, 6):
            expected = cheapest(X, y, spec, frozenset(range(len(y))), 2, leaves, binary=splits_ == "binary")[leaves]
            model = OptimalTreeClassifier(
                max_depth=2,
                max_leaves=leaves,
                min_samples_leaf=1,
                splits=splits_,  # type: ignore[arg-type]
                binning="exact",
                constraints=[Force(spec)],
            )
            if math.isinf(expected):
                with pytest.raises((InfeasibleError, ValueError)):
                    model.fit(X, y)
                continue
            model.fit(X, y)
            assert model.certificate_.value == expected == (model.predict(X) != y).sum()
            assert model.certificate_.status == "optimal"
            (check,) = model.audit(X, y)
            assert check.value == 0


def test_the_audit_sees_what_differs() -> None:
    """A tree that begins otherwise breaks the constraint."""
    X, y = tiny(1)
    free = OptimalTreeClassifier(max_depth=2, constraints=[Exclude("x")]).fit(X, y)
    for spec in SPECS[3:7]:
        free._constraints = (Force(spec),)
        assert free.audit(X, y)[0].value > 0


def test_cuts_are_kept_as_given() -> None:
    """A cut between two values is that cut, at the root and where no row of the node is beside it."""
    X, y = tiny(2)
    spec = {"split": "f", "at": [0.3], "below": [{"split": "x", "at": [1.25]}, {"split": "x", "at": [2.9]}]}
    model = OptimalTreeClassifier(max_depth=2, min_samples_leaf=1, constraints=[Force(spec)]).fit(X, y)
    text = model.to_text()
    assert "f < 0.3" in text
    assert "x < 1.25" in text
    assert "x < 2.9" in text


def test_with_missing_cells_and_numbers() -> None:
    """Missing cells go where that is best unless said; a numeric target is as well."""
    X, y = tiny(3, 60)
    X.loc[::5, "x"] = np.nan
    least = []
    cut: dict[str, Any] = {"split": "x", "at": [2]}
    for spec in (cut, {**cut, "missing": 0}, {**cut, "missing": 1}):
        model = OptimalTreeClassifier(max_depth=1, max_leaves=2, min_samples_leaf=1, constraints=[Force(spec)])
        model.fit(X, y)
        assert model.audit(X, y)[0].value == 0
        least.append(model.certificate_.value)
    assert least[0] == min(least[1:])
    target = y * 2.0 + X.f
    number = OptimalTreeRegressor(max_depth=2, constraints=[Force({"split": "f", "at": [0.5]})]).fit(X, target)
    assert number.tree_.nodes[0].feature is not None
    assert "f < 0.5" in number.to_text()


def test_with_constraints_over_the_model() -> None:
    """Limits on the whole model are met by a tree that begins as it must, with the fewest errors of those."""
    X, y = tiny(4, 40)
    spec = {"split": "f", "at": [0.5], "below": [{}, {"leaf": True}]}
    free = OptimalTreeClassifier(max_depth=2, min_samples_leaf=1, constraints=[Force(spec)]).fit(X, y)
    for limit in (Recall(1, at_least=0.9), F1(1, at_least=0.7)):
        model = OptimalTreeClassifier(max_depth=2, min_samples_leaf=1, constraints=[Force(spec), limit]).fit(X, y)
        assert all(check.met for check in model.audit(X, y))
        assert model.certificate_.value >= free.certificate_.value
        assert model.certificate_.status == "optimal"


def test_in_files() -> None:
    """TOML holds every key, and a saved model keeps the constraint."""
    for spec in SPECS:
        (again,) = loads(to_toml([Force(spec)]))
        assert again == Force(spec)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"splt": "x"}, "does not know the key 'splt'"),
        ({"split": "x", "leaf": True}, "is no leaf"),
        ({"at": [1]}, "add 'split'"),
        ({"split": "x", "below": [{}]}, "add 'at' or 'groups'"),
        ({"split": "x", "at": [1, 1]}, "different cuts"),
        ({"split": "x", "at": ["soon"]}, "neither a number nor a date"),
        ({"split": "nobody"}, "'nobody'"),
        ({"split": "c", "at": [1]}, "give groups"),
        ({"split": "x", "groups": [["a"]]}, "give its cuts"),
        ({"split": "c", "groups": [["z"]]}, "has no value 'z'"),
        ({"split": "c", "groups": [["p"], ["p"]]}, "in two groups"),
        ({"answer": "maybe"}, "'maybe'"),
        ({"split": "x", "at": [1], "below": [{"split": "f", "at": [1], "below": [{"split": "c"}]}]}, "max_depth"),
    ],
)
def test_refusals(spec: dict[str, Any], said: str) -> None:
    """What makes no sense is said in a sentence."""
    X, y = tiny(0)
    with pytest.raises(ValueError, match=said):
        OptimalTreeClassifier(max_depth=2, constraints=[Force(spec)]).fit(X, y)
    with pytest.raises(ValueError, match="structure='tree'"):
        OptimalTreeClassifier(max_depth=2, structure="rules", constraints=[Force({"split": "x"})]).fit(X, y)


def test_a_child_of_too_few_rows_is_named() -> None:
    """A cut that leaves too few rows on one side, at the root or below it, is said with their number."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": np.arange(100.0), "b": rng.permutation(100)})
    y = (X["a"] > 30).astype(int) ^ (X["b"] > 60)
    fit = OptimalTreeClassifier(max_depth=2, min_samples_leaf=5)
    with pytest.raises(InfeasibleError, match=r"there are 3 rows where a >= 97, and a leaf needs 5"):
        fit.set_params(constraints=[Force({"split": "a", "at": [97]})]).fit(X, y)
    below = {"split": "a", "at": [50], "below": [{"split": "b", "at": [1000]}]}
    with pytest.raises(InfeasibleError, match=r"there are 0 rows where a < 50 and b >= 1000, and a leaf needs 5"):
        fit.set_params(constraints=[Force(below)]).fit(X, y)
    model = fit.set_params(constraints=()).fit(X, y)
    edit = model.edit().move(0, [1000])
    with pytest.raises(InfeasibleError, match=r"there are 0 rows where . >= 1000, and a leaf needs 5"):
        edit.refit()
