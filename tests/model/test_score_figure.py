"""Scores on new rows, and their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import f1_score, matthews_corrcoef
from sklearn.model_selection import KFold

from omtree import OptimalTreeClassifier, load
from omtree.model.leading import leads
from omtree.model.score_figure import confusion_of, score_figure
from omtree.objectives.f1 import F1
from omtree.objectives.mcc import MCC


@pytest.mark.parametrize("score", [F1(), MCC()], ids=["F1", "MCC"])
@pytest.mark.parametrize("rows", [100, 1000])
def test_the_interval_holds_the_truth(score: Any, rows: int) -> None:
    """Of samples from a known population about 95 % have the true score within their interval."""
    truth = np.array([[0.62, 0.08], [0.1, 0.2]])
    wanted, rng = score.score(truth), np.random.default_rng(0)
    draws = rng.multinomial(rows, truth.ravel(), size=2000).reshape(-1, 2, 2).astype(float)
    figures = [score_figure(score, [draw], rows) for draw in draws]
    inside = np.mean([figure.low <= wanted <= figure.high for figure in figures])
    assert 0.93 <= inside <= 0.98
    assert np.mean([figure.high - figure.low for figure in figures]) < 7 / np.sqrt(rows)


def test_perfect_and_useless_answers() -> None:
    """A score of one, or of nothing, is no certainty: the rarer class says how little was seen."""
    perfect = score_figure(F1(), [np.diag([95.0, 5.0])], 100)
    assert perfect.value == perfect.high == 1.0
    assert perfect.low < 0.7
    none = score_figure(F1(), [np.array([[95.0, 0.0], [5.0, 0.0]])], 100)
    assert none.value == none.low == 0.0
    assert none.high > 0.3


@pytest.mark.parametrize(("objective", "metric"), [("f1", f1_score), ("mcc", matthews_corrcoef)])
def test_figures_are_those_of_scikit_learn(objective: str, metric: Any, tmp_path: Any) -> None:
    """What is expected of a model on new rows, held out or in folds, is scikit-learn's score; it is shown and saved."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :4]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    fixed: dict[str, Any] = {"max_depth": 2, "binning": "quantile", "n_bins": 4, "objective": objective}
    model = OptimalTreeClassifier(**fixed).fit(X[:300], y[:300])
    found = model.expect(X[300:], y[300:], sample_weight=weight[300:])
    assert found.score.value == pytest.approx(metric(y[300:], model.predict(X[300:]), sample_weight=weight[300:]))
    folds = list(KFold(3).split(X))
    model = OptimalTreeClassifier(max_leaves=3, cv=folds, **fixed).fit(X, y)
    parts = [OptimalTreeClassifier(max_leaves=3, **fixed).fit(X[train], y[train]) for train, _ in folds]
    said = np.concatenate([part.predict(X[test]) for part, (_, test) in zip(parts, folds, strict=True)])
    assert model.expectation_.score.value == pytest.approx(metric(y, said))
    assert model.expectation_.score_words in str(model.expectation_)
    assert model.expectation_.score_words in leads(model)[0].words
    assert f"{metric(y, model.predict(X)):.3f}" in leads(model)[1].words
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").expectation_ == model.expectation_


def test_unknown_classes_are_left_out() -> None:
    """A class that training did not have is in no cell."""
    found = confusion_of(np.array([0, 1, -1, 1]), np.array([0, 1, 1, 0]), np.ones(4), 2)
    np.testing.assert_array_equal(found, [[1, 0], [1, 1]])
