"""Trees of scikit-learn made from models."""

from __future__ import annotations

from typing import Any

import m2cgen
import numpy as np
import pytest
from sklearn.tree import export_text

from omtree import OptimalTreeClassifier, OptimalTreeRegressor
from omtree.constraints import Root


def table(seed: int, missing: bool) -> tuple[np.ndarray, np.ndarray]:
    """Numbers that 32 bits can carry, some of few values, some missing."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 60, 200), rng.normal(size=200), rng.integers(0, 2, 200)])
    X = X.astype(np.float32).astype(np.float64)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) % 30 + 5 * np.nan_to_num(X[:, 1]) + rng.normal(size=200)
    return X, y


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("splits", ["binary", "multiway"])
@pytest.mark.parametrize("seed", range(4))
def test_answers_are_the_same(seed: int, splits: str, missing: bool) -> None:
    """Classes, probabilities and numbers are those of the model, in rows of training, new rows and missing cells."""
    X, y = table(seed, missing)
    new, _ = table(seed + 100, missing)
    labels = np.array(["low", "mid", "high"])[np.digitize(y, [8.0, 20.0])]
    classifier = OptimalTreeClassifier(max_depth=3, splits=splits, n_bins=4, time_limit=5).fit(X, labels)
    regressor = OptimalTreeRegressor(max_depth=3, splits=splits, n_bins=4, time_limit=5).fit(X, y)
    as_sklearn, numbers = classifier.to_sklearn(), regressor.to_sklearn()
    for rows in (X, new, np.vstack([X, new]) * 3):
        assert as_sklearn.predict(rows).tolist() == classifier.predict(rows).tolist()
        assert as_sklearn.predict_proba(rows) == pytest.approx(classifier.predict_proba(rows), abs=1e-15)
        assert numbers.predict(rows).tolist() == regressor.predict(rows).tolist()


def test_what_it_tells_of_its_nodes() -> None:
    """Weights, impurities and values of all nodes are those of scikit-learn's tree with the same splits."""
    X, y = table(0, False)
    labels = (y > 14).astype(int)
    model = OptimalTreeClassifier(max_depth=2, splits="binary", smoothing=0).fit(X, labels)
    tree = model.to_sklearn()
    rows = tree.decision_path(X).toarray().astype(bool)
    for node in range(tree.tree_.node_count):
        inside = labels[rows[:, node]]
        share = np.bincount(inside, minlength=2) / len(inside)
        assert tree.tree_.n_node_samples[node] == len(inside)
        assert tree.tree_.value[node, 0] == pytest.approx(share)
        assert tree.tree_.impurity[node] == pytest.approx(1 - np.sum(share**2))
    assert tree.get_depth() == 2
    assert "feature_" in export_text(tree)
    number = OptimalTreeRegressor(max_depth=2, splits="binary").fit(X, y).to_sklearn()
    rows = number.decision_path(X).toarray().astype(bool)
    for node in range(number.tree_.node_count):
        inside = y[rows[:, node]]
        assert number.tree_.value[node, 0, 0] == pytest.approx(inside.mean())
        assert number.tree_.impurity[node] == pytest.approx(inside.var())


def test_what_it_cannot_carry_is_refused() -> None:
    """Texts, rules and answers that are not the most frequent class end in one sentence."""
    X, y = table(0, False)
    words = np.where(X[:, [2]] > 0, "yes", "no").astype(object)
    with pytest.raises(ValueError, match="to_sklearn needs numbers, and column"):
        OptimalTreeClassifier(max_depth=1, constraints=[Root("x0")]).fit(words, words[:, 0]).to_sklearn()
    with pytest.raises(ValueError, match="needs a tree"):
        OptimalTreeClassifier(max_depth=2, structure="rules", time_limit=2).fit(X, y > 14).to_sklearn()
    dear = OptimalTreeClassifier(max_depth=1, costs=[[0, 1], [50, 0]]).fit(X, (y > 22).astype(int))
    with pytest.raises(ValueError, match="most frequent"):
        dear.to_sklearn()


def test_code_made_from_it_answers_the_same() -> None:
    """A tool for scikit-learn's trees reads it: the code that m2cgen writes gives the model's shares."""
    X, y = table(1, False)
    model = OptimalTreeClassifier(max_depth=3, n_bins=4).fit(X, y > 14)
    alone: dict[str, Any] = {}
    exec(m2cgen.export_to_python(model.to_sklearn()), alone)
    said = np.array([alone["score"](row) for row in X.tolist()])
    assert said == pytest.approx(model.predict_proba(X))
