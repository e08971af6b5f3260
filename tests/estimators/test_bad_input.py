"""What bad input gets: one sentence that names the culprit, and an estimator that is as it was."""

from __future__ import annotations

import copy
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from omtree import InfeasibleError, OptimalTreeClassifier
from omtree.constraints import Accuracy, Recall

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("max_depth", 0, "at least 1"),
        ("max_depth", 2.5, "at least 1"),
        ("max_depth", True, "at least 1"),
        ("max_leaves", 0, "at least 1"),
        ("max_leaves", 151, "150 rows"),
        ("min_samples_leaf", 0, "share"),
        ("min_samples_leaf", -0.1, "share"),
        ("min_samples_leaf", 1.5, "share"),
        ("min_samples_leaf", 151, "smaller"),
        ("structure", "forest", "'tree' or 'rules'"),
        ("objective", "beauty", "'error'"),
        ("constraints", ["short"], "constraint objects"),
        ("n_bins", 1, "from 2"),
        ("n_bins", 1000, "from 2"),
        ("categories", "all", "'groups' or 'values'"),
        ("feature_order", ["x9"], "remove"),
        ("feature_order", ["x1", "x1"], "at most once"),
        ("feature_order", "beauty", "'importance'"),
        ("class_weight", "heavy", "'balanced'"),
        ("class_weight", {7: 1.0}, "which y does not have"),
        ("class_weight", {1: -1.0}, "positive"),
        ("time_limit", 0, "positive"),
        ("time_limit", -1.0, "positive"),
        ("time_limit", float("nan"), "positive"),
        ("gap", -0.1, "at least 0"),
        ("gap", 1.0, "below 1"),
        ("preset", "fast", "None, 'paper' or an omtree.Paper"),
        ("splits", "ternary", "'multiway' or 'binary'"),
        ("max_children", 1, "at least 2"),
        ("binning", "magic", "'adaptive', 'quantile', 'supervised' or 'exact'"),
        ("cache_mb", 0, "positive"),
        ("feature_kinds", "numeric", "a dict"),
        ("feature_order", 3, "a list"),
        ("n_jobs", 0, "-1 for all"),
        ("n_jobs", 1.5, "-1 for all"),
        ("n_jobs", "2", "-1 for all"),
    ],
)
def test_parameters(name: str, value: Any, advice: str) -> None:
    """Each impossible parameter is named in one sentence that says what to do."""
    with pytest.raises(ValueError, match=name) as caught:
        OptimalTreeClassifier(**{name: value}).fit(X, Y)
    message = str(caught.value)
    assert advice in message
    assert message.endswith(".")
    assert message.count(". ") == 0
    assert "\n" not in message


@pytest.mark.parametrize(
    ("weight", "advice"),
    [
        (-np.ones(150), "negative"),
        (np.zeros(150), "zero"),
        (np.ones(149), "150 rows"),
        (np.full(150, np.nan), "finite"),
        (np.array(["heavy"] * 150), "not numbers"),
    ],
)
def test_weights(weight: np.ndarray, advice: str) -> None:
    """Bad weights are named."""
    with pytest.raises(ValueError, match=f"sample_weight.*{advice}"):
        OptimalTreeClassifier().fit(X, Y, weight)


@pytest.mark.parametrize(
    ("x", "y", "complaint"),
    [
        (X, np.zeros(150), "only one class"),
        (X, Y[:-1], "150 rows and y has 149"),
        (np.empty((0, 3)), np.empty(0), "0 sample"),
        (pd.DataFrame({"a": []}), [], "0 sample"),
        (X, None, "y is None"),
        (X, [None] * 150, "y has 150 missing"),
        (X, np.where(Y == 1, np.inf, Y), "y has missing or infinite"),
        (X, Y + 0.5, "Unknown label type"),
        (X, np.array(["a", 1] * 75, dtype=object), "cannot be sorted"),
        (pd.DataFrame(X, columns=list("abca")), Y, "several columns named 'a'; give each its own name"),
        (np.where(X > 7, np.inf, X), Y, "'x0' has infinite"),
        (pd.DataFrame({"age": np.where(Y, np.inf, 1.0)}), Y, "'age' has infinite"),
    ],
)
def test_data(x: Any, y: Any, complaint: str) -> None:
    """Bad data are refused with a sentence that says what is wrong."""
    with pytest.raises(ValueError, match=complaint):
        OptimalTreeClassifier().fit(x, y)


def test_columns_at_prediction() -> None:
    """Columns are found by name, whatever else there is; one that the model asks about has to be there."""
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = OptimalTreeClassifier(max_depth=1).fit(frame, Y)
    (asked,) = {frame.columns[model.rules_.features[rule.conditions[0].feature].column] for rule in model.rules_}
    expected = model.predict(frame).tolist()
    assert model.predict(frame[["d", "c", "b", "a"]].assign(e="more")).tolist() == expected
    assert model.predict(frame[[asked]]).tolist() == expected
    assert model.predict(frame.iloc[70]).tolist() == model.predict(dict(frame.iloc[70])).tolist() == [expected[70]]
    for lacking in (frame.drop(columns=asked), {"z": 1.0}, frame.iloc[0].drop(asked)):
        with pytest.raises(ValueError, match=f"X lacks the column '{asked}', which the model asks about"):
            model.predict(lacking)
    model = OptimalTreeClassifier(max_depth=1).fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features, but OptimalTreeClassifier is expecting 4"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="columns without names"):
        model.predict({"x0": 1.0})


def test_a_failing_fit_leaves_the_model_as_it_was() -> None:
    """After a failed refit the estimator still has its first model, and a failed first fit leaves nothing."""
    model = OptimalTreeClassifier(max_depth=1).fit(X, Y)
    before = copy.copy(vars(model))
    with pytest.raises(ValueError, match="one class"):
        model.fit(X[:, :2], np.zeros(150))
    assert vars(model) == before
    fresh = OptimalTreeClassifier()
    with pytest.raises(ValueError, match="infinite"):
        fresh.fit(np.full((150, 2), np.inf), Y)
    assert vars(fresh) == OptimalTreeClassifier().get_params()


def test_infeasible_problems_say_why() -> None:
    """The reason names the constraint and how near to it a model comes, and the estimator is left as it was."""
    frame, y = pd.DataFrame({"a": [0, 0, 1, 1] * 5}), np.array([0, 1, 0, 1] * 5)
    for structure, objective in product(("tree", "rules"), ("error", "f1", "mcc")):
        model = OptimalTreeClassifier(
            structure=structure, objective=objective, max_depth=1, constraints=[Accuracy(at_least=0.8)]
        )
        with pytest.raises(InfeasibleError, match=r"Accuracy\(at_least=0.8\): the accuracy reaches at most 0.5 with 2"):
            model.fit(frame, y)
        assert not hasattr(model, "certificate_")
    both = [Recall(0, at_least=0.9), Recall(1, at_least=0.9), Accuracy(at_least=0.1)]
    with pytest.raises(
        InfeasibleError, match=r"meets Recall\(0, at_least=0.9\) and Recall\(1, at_least=0.9\) together"
    ):
        OptimalTreeClassifier(max_depth=1, constraints=both).fit(frame, y)


@pytest.mark.parametrize("structure", ["tree", "rules"])
def test_constraints_are_in_the_certificate(structure: str) -> None:
    """The certificate says how the model meets its constraints, and so does an audit on the same data."""
    options = {"max_depth": 2, "structure": structure, "binning": "quantile"}
    free = OptimalTreeClassifier(**options).fit(X, Y)
    model = OptimalTreeClassifier(constraints=[Recall(2, at_least=0.99)], **options).fit(X, Y)
    (row,) = model.certificate_.constraints
    assert row.value == pytest.approx((model.predict(X) == 2)[Y == 2].mean())
    assert row.value >= row.limit == 0.99
    assert model.certificate_.value >= free.certificate_.value
    assert model.audit(X, Y) == (row,)
    assert "Recall(2, at_least=0.99)" in str(model.certificate_)


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_depth": 10**20},
        {"max_depth": 10**20, "structure": "rules"},
        {"max_depth": 10**20, "splits": "binary"},
        {"max_children": 10**20},
        {"n_jobs": 10**20},
        {"cache_mb": 1e30},
    ],
    ids=str,
)
def test_numbers_beyond_those_of_the_kernel(parameters):
    """A number that is larger than can matter means what the largest that can means."""
    X = pd.DataFrame({"a": [0, 1, 2, 3] * 3, "b": [0, 1] * 6})
    model = OptimalTreeClassifier(**{"max_depth": 2, "min_samples_leaf": 1, **parameters}).fit(X, [0, 1, 1, 0] * 3)
    assert (model.certificate_.status, model.certificate_.value) == ("optimal", 0)
