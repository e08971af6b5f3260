"""Importances, Shapley values, sizes, and what cannot be changed."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

from omtree import OptimalTreeClassifier, OptimalTreeRegressor
from omtree.model.tree import Tree


def by_orders(tree: Tree, codes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Shapley values of one row from their definition: every order of the features, every set by walking the tree."""

    def worth(node: int, known: set[int]) -> np.ndarray:
        here = tree.nodes[node]
        if here.rule is not None:
            return values[here.rule]
        if here.feature in known:
            met = [kid for kid in here.children if int(codes[here.feature]) in tree.nodes[kid].condition.codes]
            return worth(met[0] if met else here.default, known)
        shares = [tree.nodes[kid].support / here.support for kid in here.children]
        return sum(share * worth(kid, known) for share, kid in zip(shares, here.children, strict=True))

    n = len(codes)
    found = np.zeros((n, values.shape[1]))
    for order in itertools.permutations(range(n)):
        known: set[int] = set()
        for feature in order:
            before = worth(0, known)
            known.add(feature)
            found[feature] += worth(0, known) - before
    return found / math.factorial(n)


@pytest.mark.parametrize("splits", ["multiway", "binary"])
def test_shapley_values_are_those_of_the_definition(splits: Any) -> None:
    """Every value is the average gain over all orders in which the columns become known; unseen values included."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 4, size=(300, 4)), columns=list("abcd"))
    y = (X["a"] * X["b"] + X["c"] + (X["d"] > 1) > 4).map({True: "yes", False: "no"})
    model = OptimalTreeClassifier(max_depth=3, max_leaves=8, splits=splits, feature_kinds={"d": "nominal"}).fit(X, y)
    rows = X.iloc[:12].copy()
    rows.iloc[0, 3] = 99
    found = model.shap_values(rows)
    assert found.shape == (12, 4, 2)
    codes = model._encode(rows)
    for row in range(len(rows)):
        wanted = by_orders(model.tree_, codes[:, row], model._leaf_values())
        np.testing.assert_allclose(found[row], wanted, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1) + model.expected_value_, model.predict_proba(rows))


def test_shapley_values_of_numbers_add_up() -> None:
    """Base value and contributions are the prediction; columns that are not asked for contribute nothing."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = OptimalTreeRegressor(max_depth=2, n_bins=5).fit(X, y)
    found = model.shap_values(X)
    assert found.shape == X.shape
    np.testing.assert_allclose(found.sum(axis=1) + model.expected_value_, model.predict(X))
    used = {model.rules_.features[c.feature].name for rule in model.rules_ for c in rule.conditions}
    for place, name in enumerate(X.columns):
        assert (name in used) == bool(np.abs(found[:, place]).max() > 0)


@pytest.mark.parametrize("objective", ["error", "gini", "entropy", "f1"])
def test_importances(objective: str) -> None:
    """The shares add up to one, and columns that are not asked for have none."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = OptimalTreeClassifier(max_depth=2, objective=objective).fit(X, (y == 1).astype(int))
    shares = model.feature_importances_
    assert shares.sum() == pytest.approx(1.0)
    used = {model.rules_.features[c.feature].name for rule in model.rules_ for c in rule.conditions}
    assert {name for name, share in zip(X.columns, shares, strict=True) if share > 0} <= used


def test_importances_by_hand() -> None:
    """Of two splits, one saves thirty errors and the other ten: three quarters and one quarter."""
    X = pd.DataFrame({"a": [0] * 60 + [1] * 40, "b": [0] * 60 + [0] * 30 + [1] * 10})
    y = np.array(["x"] * 60 + ["y"] * 30 + ["x"] * 10)
    model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    assert model.certificate_.value == 0
    # 30 errors as one leaf; split on a: 0 + 10; split on b below: 0. Or b first, which saves nothing, then a.
    shares = dict(zip(X.columns, model.feature_importances_, strict=True))
    assert sorted(shares.values()) in ([pytest.approx(1 / 3), pytest.approx(2 / 3)], [0.0, pytest.approx(1.0)])


def test_sizes() -> None:
    """Depth and leaves as scikit-learn's trees name them."""
    X, y = load_iris(return_X_y=True)
    model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    assert (model.get_depth(), model.get_n_leaves()) == (model.tree_.depth, len(model.rules_))


def test_rules_have_no_shapley_values() -> None:
    """Rules that overlap have no path to take them from, and say so."""
    X, y = load_iris(return_X_y=True)
    model = OptimalTreeClassifier(structure="rules", max_depth=1).fit(X, y)
    with pytest.raises(ValueError, match="structure='tree'"):
        model.shap_values(X)


def test_what_cannot_change() -> None:
    """A change that is suggested does without the columns that are fixed; one that is unknown is named."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = OptimalTreeClassifier(max_depth=2, max_leaves=4).fit(X, y)
    used = {model.rules_.features[c.feature].name for rule in model.rules_ for c in rule.conditions}
    first = model.explain(X.iloc[:1])[0].change
    assert first is not None
    names = {model.rules_.features[c.feature].name for c in first.conditions}
    other = model.explain(X.iloc[:1], fixed=sorted(names))[0].change
    if other is not None:
        assert not names & {model.rules_.features[c.feature].name for c in other.conditions}
    assert model.explain(X.iloc[:1], fixed=sorted(used))[0].change is None
    with pytest.raises(ValueError, match="fixed names the column 'nothing'"):
        model.explain(X.iloc[:1], fixed=["nothing"])


def test_few_rows_make_no_certainty() -> None:
    """Seven rows of one class make 8/9 by default, seven in seven without smoothing; the answer stays the same."""
    X = np.array([[0]] * 7 + [[1]] * 60)
    y = np.array(["x"] * 7 + ["y"] * 60)
    model = OptimalTreeClassifier(max_depth=1, min_samples_leaf=2).fit(X, y)
    assert model.predict_proba([[0]])[0] == pytest.approx([8 / 9, 1 / 9])
    assert (model.classes_[model.predict_proba(X).argmax(axis=1)] == model.predict(X)).all()
    model.set_params(smoothing=0.0)
    assert model.predict_proba([[0]])[0].tolist() == [1.0, 0.0]


def test_the_unit_of_weights_does_not_matter_for_probabilities() -> None:
    """Weights that are no counts mean the same in any unit."""
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    first = OptimalTreeClassifier(max_depth=2).fit(X, y, weight)
    second = OptimalTreeClassifier(max_depth=2).fit(X, y, weight * 1e-6)
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(X), rtol=1e-6)


def test_notebooks_show_results() -> None:
    """Certificate, rules and explanations are tables and lists, whatever texts they hold."""
    X = pd.DataFrame({"<b>": [0, 0, 1, 1] * 5})
    y = np.where(X["<b>"] == 0, "<i>no</i>", "yes")
    model = OptimalTreeClassifier(max_depth=1).fit(X, y)
    shown = [model.certificate_._repr_html_(), model.rules_._repr_html_(), model.explain(X[:2])._repr_html_()]
    assert str(model.explain(X[:2])).count("prediction: ") == 2
    assert all("<b>" not in text.replace("<p><b>", "") and "<i>" not in text for text in shown)
    assert "lower bound" in shown[0]
    assert "&lt;i&gt;no" in shown[1]
    assert "<ol>" in shown[2]
    assert "Expected on new rows" in model._repr_mimebundle_()["text/html"]
