"""Regression through the public face."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score
from sklearn.tree import DecisionTreeRegressor

from omtree import OptimalTreeRegressor

X, Y = load_diabetes(return_X_y=True, as_frame=True)
FEW = X[["age", "bmi", "bp", "s5"]]


def test_predictions_are_the_certificate() -> None:
    """The loss in the certificate is that of the predictions on the training rows, and R2 follows from it."""
    model = OptimalTreeRegressor(max_depth=3).fit(FEW, Y)
    assert ((model.predict(FEW) - Y) ** 2).sum() == pytest.approx(model.certificate_.value)
    assert model.r2_by_leaves_[-1] == pytest.approx(r2_score(Y, model.predict(FEW)))
    assert (np.diff(model.loss_by_leaves_) <= 1e-9).all()
    assert "squared error" in str(model.certificate_)
    small = model.with_leaves(3)
    assert len(small.rules_) <= 3
    assert ((small.predict(FEW) - Y) ** 2).sum() == pytest.approx(model.loss_by_leaves_[2])


def test_never_worse_than_greedy_on_the_same_thresholds() -> None:
    """Where scikit-learn's thresholds are among the candidates, its tree of the same size is not better."""
    for depth in (1, 2, 3):
        model = OptimalTreeRegressor(max_depth=depth, binning="quantile", min_samples_leaf=5).fit(FEW, Y)
        bins = [np.searchsorted(f.thresholds, FEW.iloc[:, f.column], side="right") for f in model.rules_.features]
        greedy = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=5).fit(np.stack(bins, axis=1), Y)
        loss = ((greedy.predict(np.stack(bins, axis=1)) - Y) ** 2).sum()
        assert model.certificate_.status == "optimal"
        assert model.certificate_.value <= loss * (1 + 1e-12)


def test_adaptive_thresholds_are_never_worse() -> None:
    """Refined thresholds give a loss at most that of the quantiles they start from."""
    coarse = OptimalTreeRegressor(max_depth=2, binning="quantile").fit(FEW, Y)
    assert OptimalTreeRegressor(max_depth=2).fit(FEW, Y).certificate_.value <= coarse.certificate_.value
    supervised = OptimalTreeRegressor(max_depth=2, binning="supervised").fit(FEW, Y)
    assert supervised.certificate_.status == "optimal"


def test_weights_are_copies() -> None:
    """A row of weight two counts as two rows, one of weight zero as none."""
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, size=80)
    part, y = FEW.iloc[:80].round(2), Y.iloc[:80]
    options = {"max_depth": 2, "binning": "quantile", "min_samples_leaf": 4}
    weighted = OptimalTreeRegressor(**options).fit(part, y, weight)
    rows = np.repeat(np.arange(80), weight)
    repeated = OptimalTreeRegressor(**options).fit(part.iloc[rows], y.iloc[rows])
    assert weighted.certificate_.value == pytest.approx(repeated.certificate_.value)
    assert weighted.predict(part) == pytest.approx(repeated.predict(part))


def test_text_missing_cells_and_pickles() -> None:
    """Text and missing cells are features like any other; a model survives pickling and cloning."""
    frame = pd.DataFrame({"colour": ["red", "blue", None, "red"] * 25, "size": [1.0, np.nan, 3.0, 4.0] * 25})
    y = np.tile([1.0, 5.0, 9.0, 2.0], 25)
    model = OptimalTreeRegressor(max_depth=2).fit(frame, y)
    assert model.certificate_.value == pytest.approx(0.0, abs=1e-9)
    assert pickle.loads(pickle.dumps(model)).predict(frame) == pytest.approx(y)
    assert clone(model).fit(frame, y).predict(frame) == pytest.approx(y)
    assert {rule.targets.mean for rule in model.rules_} == {rule.prediction for rule in model.rules_}


@pytest.mark.parametrize("objective", ["squared", "absolute", "quantile", "huber", "poisson"])
def test_every_objective_fits(objective: str) -> None:
    """Every objective gives an optimal tree whose rules add up to its loss, no worse with more leaves."""
    model = OptimalTreeRegressor(max_depth=2, objective=objective, quantile=0.8, delta=20.0, binning="quantile")
    model.fit(FEW.iloc[:150], Y.iloc[:150])
    assert model.certificate_.status == "optimal"
    assert sum(rule.loss for rule in model.rules_) == pytest.approx(model.certificate_.value)
    assert (np.diff(model.loss_by_leaves_) <= 1e-9).all()


def test_own_function() -> None:
    """A function of a rule's targets is an objective: the spread of a rule, here."""

    def spread(rule: object) -> float:
        return float(rule.targets.max() - rule.targets.min())  # type: ignore[attr-defined]

    x = np.arange(8.0)[:, None]
    y = np.array([1.0, 2.0, 1.5, 8.0, 9.0, 8.5, 3.0, 3.0])
    model = OptimalTreeRegressor(max_depth=1, max_leaves=3, objective=spread, binning="exact", min_samples_leaf=1).fit(
        x, y
    )
    assert model.certificate_.value == 2.0
