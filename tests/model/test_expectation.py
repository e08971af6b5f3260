"""Figures on new rows and their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics import balanced_accuracy_score, r2_score, root_mean_squared_error

from omtree import OptimalTreeClassifier, OptimalTreeRegressor
from omtree.model.expectation import Expectation
from omtree.model.intervals import wilson
from omtree.model.leading import leads, training_figure
from omtree.model.tally import Tally


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_that_of_scipy(seen: tuple[int, int]) -> None:
    """The interval of a share is the one that scipy computes."""
    right, rows = seen
    wanted = binomtest(right, rows).proportion_ci(method="wilson")
    low, high = wilson(right / rows, rows)
    assert (low, high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_rows_of_one_model() -> None:
    """On new rows of one model accuracy has Wilson's interval for that many rows."""
    wrong = np.array([0.0] * 45 + [1.0] * 5)
    found = Expectation.of_rows(Tally.of(wrong, np.tile([0.0, 1.0], 25), np.ones(50)), "accuracy", "50 test rows")
    assert (found.value.value, found.baseline, found.rows) == (0.9, 0.5, 50)
    assert (found.value.low, found.value.high) == pytest.approx(wilson(0.9, 50))


def test_numbers() -> None:
    """R2 and RMSE are those of scikit-learn where the baseline is the mean of the rows."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    said = y + rng.normal(size=200) / 2
    found = Expectation.of_rows(Tally.of((y - said) ** 2, (y - y.mean()) ** 2, np.ones(200)), "R2", "test")
    assert found.value.value == pytest.approx(r2_score(y, said))
    assert found.rmse is not None
    assert found.rmse.value == pytest.approx(root_mean_squared_error(y, said))
    assert found.warning == ""


@given(st.lists(st.floats(0.01, 5), min_size=2, max_size=30), st.integers(0, 10**6))
def test_tallies_add_up(weights: list[float], seed: int) -> None:
    """The tally of all rows is the sum of those of two parts."""
    rng = np.random.default_rng(seed)
    weight = np.array(weights)
    model, baseline = rng.random(len(weight)), rng.random(len(weight))
    whole = Tally.of(model, baseline, weight)
    cut = len(weight) // 2
    parts = Tally.of(model[:cut], baseline[:cut], weight[:cut]) + Tally.of(model[cut:], baseline[cut:], weight[cut:])
    assert vars(parts) == pytest.approx(vars(whole))
    spread = np.average((model - baseline - np.average(model - baseline, weights=weight)) ** 2, weights=weight)
    assert whole.variance(1.0, -1.0) == pytest.approx(spread, abs=1e-12)


def test_folds_widen_the_interval() -> None:
    """Models of a cross-validation share rows: the interval is wider than that of as many independent rows."""
    rng = np.random.default_rng(1)
    folds = [Tally.of((rng.random(40) < 0.2).astype(float), np.ones(40) * 0.5, np.ones(40)) for _ in range(5)]
    together = folds[0] + folds[1] + folds[2] + folds[3] + folds[4]
    alone = Expectation.of_rows(together, "accuracy", "")
    crossed = Expectation.of_folds(folds, [160] * 5, "accuracy", "")
    assert crossed.value.value == alone.value.value
    assert crossed.value.low < alone.value.low < alone.value.high < crossed.value.high


def test_folds_that_differ_widen_it_more() -> None:
    """Where folds differ more than chance makes rows differ, as with groups, that is what counts."""
    rng = np.random.default_rng(1)

    def fold(share: float) -> Tally:
        return Tally.of((rng.random(100) < share).astype(float), np.full(100, 0.5), np.ones(100))

    alike = Expectation.of_folds([fold(0.3) for _ in range(5)], [400] * 5, "accuracy", "")
    apart = Expectation.of_folds([fold(s) for s in (0.0, 0.1, 0.3, 0.5, 0.6)], [400] * 5, "accuracy", "")
    assert apart.value.high - apart.value.low > 1.5 * (alike.value.high - alike.value.low)


def test_a_model_on_new_rows() -> None:
    """What a fitted model says of new rows is its score there, beside that of the class most frequent in training."""
    X, y = load_breast_cancer(return_X_y=True)
    model = OptimalTreeClassifier(max_depth=1, n_bins=4).fit(X[:300, :5], y[:300])
    found = model.expect(X[300:, :5], y[300:])
    assert found.value.value == pytest.approx(model.score(X[300:, :5], y[300:]))
    assert found.baseline == pytest.approx(np.mean(y[300:] == np.bincount(y[:300]).argmax()))
    assert found.rows == 269
    names = [lead.name for lead in leads(model, found)]
    assert names == ["Expected on new rows", "In training", "Without a model", "Proven"]
    assert leads(model)[0].figure == "not known"
    assert leads(model)[1].figure == f"{100 * model.score(X[:300, :5], y[:300]):.1f} % right"


def test_a_model_of_numbers_on_new_rows() -> None:
    """R2 in training is that of scikit-learn; on new rows the baseline is the mean of the training rows."""
    X, y = load_diabetes(return_X_y=True)
    model = OptimalTreeRegressor(max_depth=2, n_bins=4).fit(X[:300, :5], y[:300])
    value, _, rmse, least = training_figure(model.rules_)
    assert value == pytest.approx(model.score(X[:300, :5], y[:300]))
    assert rmse == pytest.approx(root_mean_squared_error(y[:300], model.predict(X[:300, :5])))
    assert least == pytest.approx(y[:300].std())
    found = model.expect(X[300:, :5], y[300:])
    assert found.baseline_rmse == pytest.approx(np.sqrt(np.mean((y[300:] - y[:300].mean()) ** 2)))
    with pytest.raises(ValueError, match="one for each row"):
        model.expect(X[300:, :5], y)


def test_weighted_classes_on_new_rows() -> None:
    """With balanced classes the figure on new rows is the balanced accuracy."""
    X, y = load_breast_cancer(return_X_y=True)
    model = OptimalTreeClassifier(max_depth=1, n_bins=4, class_weight="balanced").fit(X[:300, :5], y[:300])
    found = model.expect(X[300:, :5], y[300:])
    assert found.measure == "balanced accuracy"
    assert found.value.value == pytest.approx(balanced_accuracy_score(y[300:], model.predict(X[300:, :5])))
