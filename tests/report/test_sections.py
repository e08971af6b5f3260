"""Figures that lead, test rows, other sizes, probabilities: what the report says beyond the training rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import brier_score_loss, roc_auc_score, roc_curve

from helpers import shown_models
from omtree import OptimalTreeClassifier, OptimalTreeRegressor
from omtree.constraints import Exclude, Recall, StatisticalParity
from omtree.constraints.words import in_words
from omtree.report.page import render_report
from omtree.report.probabilities import judge_probabilities
from omtree.report.sections import on_test_rows, other_sizes


@given(st.integers(0, 10**6), st.integers(2, 60))
def test_ranking_is_that_of_scikit_learn(seed: int, n: int) -> None:
    """AUC, Brier score and the ROC curve are those of scikit-learn, ties included."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.4
    said = rng.choice([0.1, 0.3, 0.5, 0.9], n)
    found = judge_probabilities("yes", "rows", said, truth)
    if truth.all() or not truth.any():
        assert found is None
        return
    assert found is not None
    assert found.auc == pytest.approx(roc_auc_score(truth, said))
    assert found.brier == pytest.approx(brier_score_loss(truth, said))
    alarms, hits, _ = roc_curve(truth, said, drop_intermediate=False)
    np.testing.assert_allclose(found.curve, np.stack([alarms, hits], axis=1))
    assert sum(band.rows for band in found.bands) == n
    assert all(band.low <= band.seen <= band.high for band in found.bands)


def test_decisions_by_hand() -> None:
    """Net benefit: true positives less false ones at the odds of the threshold, per row."""
    truth = np.array([True, True, False, False, False])
    found = judge_probabilities("yes", "rows", np.array([0.9, 0.2, 0.9, 0.2, 0.2]), truth)
    assert found is not None
    at_half = next(row for row in found.decisions if row[0] == pytest.approx(0.5))
    assert at_half[1] == pytest.approx((1 - 1) / 5)
    assert at_half[2] == pytest.approx((2 - 3) / 5)
    at_fifth = next(row for row in found.decisions if row[0] == pytest.approx(0.1))
    assert at_fifth[1] == pytest.approx((2 - 3 / 9) / 5)


def test_figures_lead() -> None:
    """The four figures come before the tree, and the warning where the baseline is not beaten."""
    model, X, y = shown_models.judged()
    page = render_report(model, X, y)
    assert page.index("Expected on new rows") < page.index('id="stage"')
    assert "by 3-fold cross-validation" in page
    rng = np.random.default_rng(0)
    noise = OptimalTreeClassifier(max_depth=1, cv=2).fit(rng.normal(size=(60, 2)), rng.integers(0, 2, 60))
    if not noise.expectation_.beats_baseline:
        assert "does not beat the baseline" in render_report(noise)
    noise.expectation_ = noise.expect(rng.normal(size=(60, 2)), 1 - noise.predict(rng.normal(size=(60, 2))))
    assert noise.expectation_.warning in render_report(noise)


def test_leaves_on_test_rows() -> None:
    """Every leaf says how many test rows it answers for, and how many of them are right; or how far off it is."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = OptimalTreeClassifier(max_depth=2, n_bins=4).fit(X.iloc[:300, :5], y[:300])
    new, truth = X.iloc[300:, :5], y[300:].to_numpy()
    found = on_test_rows(model, new, truth)
    leaf, said = model.apply(new), model.predict(new)
    for place, (rows, share) in enumerate(found):
        assert rows == (leaf == place).sum()
        if rows:
            assert share.strip("<> %") == f"{100 * min(max(np.mean((said == truth)[leaf == place]), 0), 1):.0f}"
    X, y = load_diabetes(return_X_y=True)
    numbers = OptimalTreeRegressor(max_depth=1, n_bins=4).fit(X[:300, :3], y[:300])
    assert sum(rows for rows, _ in on_test_rows(numbers, X[300:, :3], y[300:])) == 142


def test_few_rows_are_marked() -> None:
    """A leaf of seven rows has the interval of seven rows, and a mark."""
    X = pd.DataFrame({"a": [0] * 7 + [1] * 60})
    y = np.array(["x"] * 7 + ["y"] * 60)
    page = render_report(OptimalTreeClassifier(max_depth=1, min_samples_leaf=2).fit(X, y))
    assert "(65 to 100 %)" in page
    assert page.count('title="fewer than 10 training rows decided"') == 1


def test_other_sizes_are_complete() -> None:
    """Each other size brings its own model, picture and table; equal trees come once."""
    model, _, _ = shown_models.judged()
    choices, shown = other_sizes(model, lambda other: f"{len(other.rules_)} lines")
    assert [choice["size"] for choice in choices if choice["chosen"]] == [len(model.rules_)]
    assert set(shown) == {str(choice["size"]) for choice in choices if not choice["chosen"]}
    for size, data in shown.items():
        assert len(data["rules"]) == int(size)
        assert data["picture"].startswith("<svg")
        assert data["lines"] == f"{size} lines"


def test_constraints_on_new_rows_in_words() -> None:
    """What is met in training and not on the test rows is said in a sentence, with the constraint in words."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = y.map({0: "malignant", 1: "benign"})
    floor = Recall("malignant", at_least=0.98)
    model = OptimalTreeClassifier(max_depth=1, n_bins=4, constraints=[floor]).fit(X.iloc[:200, :5], y[:200])
    missed = y[200:].where(model.predict(X.iloc[200:, :5]) == "malignant", "malignant")
    page = render_report(model, None, None, X.iloc[200:, :5], missed)
    assert "Recall (class malignant): met in training" in page
    assert "not met on the test rows" in page
    assert "Recall(&#39;malignant&#39;" not in page.split("Settings of the fit")[0]


def test_groups_that_are_not_at_hand() -> None:
    """Constraints on groups are judged on test rows where the groups are given, and else not at all."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200)})
    sex = pd.DataFrame({"sex": rng.choice(["f", "m"], 200)})
    y = np.where(X["a"] > 0, "yes", "no")
    model = OptimalTreeClassifier(max_depth=1, n_bins=4, constraints=[StatisticalParity("sex", 0.3)])
    model.fit(X[:100], y[:100], groups=sex[:100])
    assert "Met there" not in render_report(model, None, None, X[100:], y[100:])
    assert "Met there" in render_report(model, None, None, X[100:], y[100:], groups_test=sex[100:])


def test_constraints_in_words() -> None:
    """Names without parentheses of Python."""
    assert in_words(Exclude(["age", "sex"])) == "Exclude (features age, sex)"
    assert in_words(Recall("ill", at_least=0.9)) == "Recall (class ill)"


def test_what_it_is_from(tmp_path: Path) -> None:
    """Title, target, data file, its hash, date and version are at the top."""
    model, X, y = shown_models.flowers()
    import copy

    named = copy.copy(model)
    named.target_name_, named.origin_ = "species", {"file": "iris.csv", "sha256": "0123456789abcdef" * 4}
    page = named.report(tmp_path / "r.html", X, y).read_text(encoding="utf-8")
    for words in ("Decision tree for species", "data iris.csv", "SHA-256 0123456789abcdef…", "omtree 0."):
        assert words in page
