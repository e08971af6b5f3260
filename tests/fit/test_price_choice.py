"""The price of a leaf by cross-validation: every figure and the choice as fits at every price would give them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import GroupKFold, KFold

from omtree import OptimalTreeClassifier, OptimalTreeRegressor, load
from omtree.constraints import Forbid, MinSupport, Recall
from omtree.errors import InfeasibleError
from omtree.fit.price_steps import PriceSteps, prices_between

FIXED: dict[str, Any] = {"binning": "quantile", "n_bins": 5}


def mistakes(model: Any, X: Any, y: Any) -> float:
    """The mean loss on rows."""
    said = model.predict(X)
    if isinstance(model, OptimalTreeRegressor):
        return float(np.mean((said - y) ** 2))
    if model.objective == "gini":
        # Brier's score, which is Gini's on the rows that the shares are from.
        return float(np.mean(((model.predict_proba(X) - np.eye(2)[y]) ** 2).sum(axis=1)))
    return float(np.mean(said != y))


def cases() -> list[tuple[Any, Any, Any]]:
    """Classes and numbers, within a depth and of any."""
    X, y = load_breast_cancer(return_X_y=True)
    numbers, target = load_diabetes(return_X_y=True)
    return [
        (OptimalTreeClassifier(max_depth=3, **FIXED), X[:, :6], y),
        (OptimalTreeClassifier(max_depth=2, splits="binary", objective="gini", smoothing=0, **FIXED), X[:, :6], y),
        (OptimalTreeClassifier(max_depth=None, min_samples_leaf=0.05, **FIXED), X[:, :3], y),
        (OptimalTreeRegressor(max_depth=2, **FIXED), numbers[:, :6], target),
    ]


@pytest.mark.parametrize(("fits", "X", "y"), cases())
@pytest.mark.parametrize("selection", ["best", "one_se"])
def test_by_hand(fits: Any, X: Any, y: Any, selection: str) -> None:
    """Each loss is that of a fit at that price to that fold; the choice is the best of them, by hand."""
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    model = clone(fits).set_params(leaf_price="auto", cv=folds, selection=selection).fit(X, y)
    results = model.cv_results_
    prices = results["leaf_price"]
    assert len(prices) > 4
    assert (np.diff(prices) < 0).all()
    losses = np.empty((4, len(prices)))
    leaves = np.empty((4, len(prices)))
    for fold, (train, test) in enumerate(folds):
        for place, price in enumerate(prices):
            part = clone(fits).set_params(leaf_price=price).fit(X[train], y[train])
            losses[fold, place], leaves[fold, place] = mistakes(part, X[test], y[test]), len(part.rules_)
    np.testing.assert_allclose(results["fold_test_losses"], losses)
    np.testing.assert_allclose(results["mean_test_loss"], losses.mean(axis=0))
    np.testing.assert_allclose(results["se_test_loss"], losses.std(axis=0, ddof=1) / 2)
    np.testing.assert_allclose(results["mean_leaves"], leaves.mean(axis=0))
    mean = losses.mean(axis=0)
    limit = mean.min()
    if selection == "one_se":
        limit += losses[:, mean.argmin()].std(ddof=1) / 2
    # Prices fall, so that the first that is good enough is the highest.
    assert model.leaf_price_ == prices[np.flatnonzero(mean <= limit + 1e-12)[0]]
    same = clone(fits).set_params(leaf_price=model.leaf_price_).fit(X, y)
    assert model.certificate_.value == pytest.approx(same.certificate_.value)
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    assert model.leaf_price == "auto"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=9), st.floats(0.0, 0.99))
def test_steps(falls: list[int], price: float) -> None:
    """The size for a price has the least sum of loss and prices, and is the smallest of those that have."""
    losses = np.cumsum(falls[::-1])[::-1].astype(float)
    whole = 1.0 + losses[0]
    steps = PriceSteps.of(losses.tolist(), whole, 0.0)
    sums = losses + price * whole * np.arange(1, len(losses) + 1)
    best = np.flatnonzero(sums <= sums.min() + 1e-9)
    assert steps.size(price) - 1 in best
    if all(abs(step - price) > 1e-9 for step in steps.prices):
        assert steps.size(price) - 1 == best[0]


def test_a_price_for_every_choice() -> None:
    """Between two steps of any fold there is one price; sizes that no model has are passed over."""
    first, second = PriceSteps.of([9.0, 5.0, 4.0], 10.0, 0.0), PriceSteps.of([np.inf, 8.0, 2.0, 1.5], 10.0, 0.07)
    assert first.prices == pytest.approx((0.4, 0.1))
    assert second.sizes == (2, 3)
    prices = prices_between([first, second], 0.07)
    assert len(prices) == 4
    assert [first.size(price) for price in prices] == [1, 1, 2, 3]
    assert [second.size(price) for price in prices] == [2, 3, 3, 3]


def test_noise_gets_one_leaf() -> None:
    """Where there is nothing to learn the price is so high that one leaf is left, and that is said."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 4)), rng.choice(["no", "yes"], 120, p=[0.7, 0.3])
    model = OptimalTreeClassifier(leaf_price="auto", selection="one_se").fit(X, y)
    assert len(model.rules_) == 1
    assert "does not beat the baseline" in model.expectation_.warning


def test_what_is_expected_is_not_what_was_chosen_by() -> None:
    """The rows of each fold are judged at the price that the other folds choose."""
    X, y = load_breast_cancer(return_X_y=True)
    folds = KFold(3, shuffle=True, random_state=1)
    model = OptimalTreeClassifier(leaf_price="auto", cv=folds, **FIXED).fit(X[:, :6], y)
    losses = model.cv_results_["fold_test_losses"]
    wrong = 0.0
    for fold, (_, test) in enumerate(folds.split(X)):
        chosen = np.delete(losses, fold, axis=0).mean(axis=0)
        wrong += losses[fold, np.flatnonzero(chosen <= chosen.min() + 1e-12)[0]] * len(test)
    assert model.expectation_.value.value == pytest.approx(1 - wrong / len(y))


def test_limits_and_constraints_on_rules() -> None:
    """Limits on leaves and on single rules hold in the folds and at last; groups are kept together."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    patient = np.arange(150) // 3
    limits = (Forbid(["petal width (cm)", "petal length (cm)"]), MinSupport(20))
    fits = OptimalTreeClassifier(max_leaves=3, constraints=limits, cv=GroupKFold(5), leaf_price="auto")
    model = fits.fit(X, y, cv_groups=patient)
    assert 1 < len(model.rules_) <= 3
    assert min(rule.support for rule in model.rules_) >= 20
    assert all(len({condition.feature for condition in rule.conditions} & {2, 3}) < 2 for rule in model.rules_)
    assert "GroupKFold" in model.expectation_.how
    with pytest.raises(InfeasibleError):
        clone(fits).set_params(constraints=(MinSupport(200),), cv=2).fit(X, y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"structure": "rules"}, "leaf_price is for trees"),
        ({"max_leaves": "auto"}, "max_leaves='auto' chooses a size by itself"),
        ({"objective": "f1", "positive": 1}, "F1 does not add up over leaves"),
        ({"constraints": [Recall(1, at_least=0.5)]}, "max_leaves='auto' chooses a size under any"),
        ({"leaf_price": "Auto"}, "use 'auto' or a fraction"),
    ],
)
def test_refused(options: dict[str, Any], words: str) -> None:
    """What does not go with a price is said in a sentence, and nothing is left behind."""
    X, y = load_breast_cancer(return_X_y=True)
    model = OptimalTreeClassifier(**{"leaf_price": "auto", **options})
    with pytest.raises(ValueError, match=words):
        model.fit(X[:, :4], y)
    assert not hasattr(model, "rules_")


def test_saved_shown_and_resized(tmp_path: Path) -> None:
    """The price and what the folds said are kept in a file, and the report says them; other sizes have no price."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = OptimalTreeClassifier(leaf_price="auto", **FIXED).fit(X, y)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.leaf_price_ == model.leaf_price_
    np.testing.assert_array_equal(again.cv_results_["leaf_price"], model.cv_results_["leaf_price"])
    for each in (model, again):
        page = each.report(tmp_path / "report.html", X, y).read_text()
        assert f"which gives {len(model.rules_)} leaves on all rows" in page
    small = model.with_leaves(2)
    assert not hasattr(small, "leaf_price_")
    assert small.expectation_.value.value < model.expectation_.value.value
    model.set_params(leaf_price=0.0, cv=None).fit(X, y)
    assert not hasattr(model, "leaf_price_")


def test_resamples_have_the_price(tmp_path: Path) -> None:
    """The models of resamples are fitted with the price that was chosen."""
    rng = np.random.default_rng(3)
    X, y = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"]), rng.choice([0, 1], 80)
    model = OptimalTreeClassifier(leaf_price="auto", selection="one_se", stability=3, **FIXED).fit(X, y)
    given = clone(model).set_params(leaf_price=model.leaf_price_).fit(X, y)
    assert model.stability_ == given.stability_
