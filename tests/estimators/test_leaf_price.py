"""A price per leaf in the estimators: what is fitted, what is said about it, and what does not go together."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from omtree import OptimalTreeClassifier, OptimalTreeRegressor, load
from omtree.constraints import Monotone

X, Y = load_iris(return_X_y=True)


def fit(**options: Any) -> OptimalTreeClassifier:
    """A model of iris with leaves of any size."""
    options = {"min_samples_leaf": 1, "binning": "quantile", **options}
    return OptimalTreeClassifier(**options).fit(X, Y)


@pytest.mark.parametrize("splits", ["binary", "multiway"])
@pytest.mark.parametrize("price", [0.003, 0.01, 0.05, 0.4])
def test_least_of_all_sizes(splits: str, price: float) -> None:
    """Within a depth it is the size of least loss and price out of the best of all sizes; without, never worse."""
    sizes = fit(max_depth=3, splits=splits).loss_by_leaves_
    expected = (sizes + price * 150 * np.arange(1, len(sizes) + 1)).min()
    within = fit(max_depth=3, splits=splits, leaf_price=price)
    assert within.certificate_.value == pytest.approx(expected)
    assert within.certificate_.status == "optimal"
    assert within.certificate_.leaf_price == pytest.approx(price * 150)
    assert within.certificate_.loss == pytest.approx((within.predict(X) != Y).sum())
    free = fit(max_depth=None, splits=splits, leaf_price=price)
    assert free.certificate_.value <= expected + 1e-9
    assert free.certificate_.loss == pytest.approx((free.predict(X) != Y).sum())
    assert free.certificate_.value == pytest.approx(free.certificate_.loss + price * 150 * len(free.rules_))


def test_regression_within_a_depth() -> None:
    """For a regressor the price is a share of what the mean everywhere costs."""
    data, target = load_diabetes(return_X_y=True)
    sizes = OptimalTreeRegressor(max_depth=2, binning="quantile").fit(data, target).loss_by_leaves_
    values = sizes + 0.05 * sizes[0] * np.arange(1, len(sizes) + 1)
    model = OptimalTreeRegressor(max_depth=2, binning="quantile", leaf_price=0.05).fit(data, target)
    assert model.certificate_.value == pytest.approx(values.min())
    assert 1 < len(model.rules_) < 4
    assert model.r2_by_leaves_ == pytest.approx(1 - sizes / sizes[0])


@pytest.mark.parametrize("splits", ["binary", "multiway"])
def test_regression_of_any_depth(splits: str) -> None:
    """Without a limit on depth numbers are never predicted worse for the price, and every part adds up."""
    data, target = load_diabetes(return_X_y=True)
    options: dict[str, Any] = {"binning": "quantile", "n_bins": 4, "leaf_price": 0.03, "splits": splits}
    within = OptimalTreeRegressor(max_depth=3, **options).fit(data[:, 2:5], target).certificate_
    model = OptimalTreeRegressor(max_depth=None, **options).fit(data[:, 2:5], target)
    free = model.certificate_
    assert free.status == within.status == "optimal"
    assert free.value <= within.value * (1 + 1e-9)
    total = ((target - target.mean()) ** 2).sum()
    assert free.loss == pytest.approx(((model.predict(data[:, 2:5]) - target) ** 2).sum())
    assert free.value == pytest.approx(free.loss + 0.03 * total * len(model.rules_))
    assert model.loss_by_leaves_[0] == pytest.approx(total)
    assert model.with_leaves(1).certificate_.status == "optimal"


def test_fractions_of_weights() -> None:
    """Weights that are no whole numbers are those of a finer unit: the tree is as good as with these."""
    weight = np.random.default_rng(0).integers(1, 9, 150)
    options: dict[str, Any] = {"max_depth": None, "leaf_price": 0.01, "min_samples_leaf": 0.02, "binning": "quantile"}
    whole = OptimalTreeClassifier(**options).fit(X, Y, sample_weight=weight).certificate_
    parts = OptimalTreeClassifier(**options).fit(X, Y, sample_weight=weight / 7).certificate_
    assert parts.status == whole.status == "optimal"
    assert 7 * parts.value == pytest.approx(whole.value)


def test_weights_and_costs_of_any_scale() -> None:
    """Weights times a number, and costs times one, give the same tree."""
    model = fit(max_depth=None, leaf_price=0.01)
    heavy = OptimalTreeClassifier(max_depth=None, leaf_price=0.01, min_samples_leaf=0.01, binning="quantile")
    heavy.fit(X, Y, sample_weight=np.full(150, 3.0))
    assert heavy.certificate_.value == pytest.approx(3 * model.certificate_.value)
    dear = fit(max_depth=None, leaf_price=0.01, costs=7 * (1 - np.eye(3)))
    assert dear.certificate_.value == pytest.approx(7 * model.certificate_.value)


def test_words(tmp_path: Path) -> None:
    """The certificate and the report tell errors, price and what is proven apart."""
    model = fit(max_depth=None, leaf_price=0.01)
    text = str(model.certificate_)
    assert "costs 14, 8 errors and 1.5 for each of its 4 leaves" in text
    assert "with prices   14, 1.5 for a leaf" in text
    assert "trees of any depth and any number of leaves" in text
    page = model.report(tmp_path / "report.html", X, Y).read_text()
    assert "makes 8 errors" in page
    assert "With a price of 1.5 for each of its leaves it costs 14." in page


def test_smaller_sizes() -> None:
    """The trees for higher prices are models without a price, optimal where they are the best for one."""
    model = fit(max_depth=None, leaf_price=0.002)
    losses = model.loss_by_leaves_
    assert len(losses) == len(model.rules_)
    statuses = set()
    for leaves in range(1, len(losses) + 1):
        smaller = model.with_leaves(leaves)
        assert smaller.certificate_.value == losses[leaves - 1] == (smaller.predict(X) != Y).sum()
        assert smaller.certificate_.leaf_price == 0.0
        assert smaller.get_params()["leaf_price"] == 0.0
        assert f"at most {leaves} lea" in smaller.certificate_.search_space
        statuses.add(smaller.certificate_.status)
    assert statuses <= {"optimal", "stopped"}
    assert model.with_leaves(1).certificate_.status == "optimal"


def test_saved_and_pickled(tmp_path: Path) -> None:
    """Models come back with price, sizes and what is proven of these."""
    model = fit(max_depth=None, leaf_price=0.002, splits="binary")
    model.save(tmp_path / "model.json")
    for again in (load(tmp_path / "model.json"), pickle.loads(pickle.dumps(model))):
        assert again.certificate_ == model.certificate_
        assert again.loss_by_leaves_.tolist() == model.loss_by_leaves_.tolist()
        for leaves in range(1, len(model.rules_) + 1):
            assert again.with_leaves(leaves).certificate_.bound == model.with_leaves(leaves).certificate_.bound


def test_time_limit() -> None:
    """A search that the time ends gives a model, checked as any, and a bound below what more time finds."""
    data, target = load_breast_cancer(return_X_y=True)
    options: dict[str, Any] = {"max_depth": None, "leaf_price": 0.001, "min_samples_leaf": 1, "binning": "quantile"}
    short = OptimalTreeClassifier(**options, time_limit=0.05).fit(data, target)
    longer = OptimalTreeClassifier(**options, time_limit=2.0).fit(data, target)
    assert short.certificate_.status == "time_limit"
    assert short.certificate_.bound <= longer.certificate_.value + 1e-9
    assert longer.certificate_.value <= short.certificate_.value + 1e-9


@pytest.mark.parametrize(("price", "splits"), [(0.02, "multiway"), (0.01, "binary")])
def test_finer_cuts_are_no_worse(price: float, splits: str) -> None:
    """By default numbers are cut where a quick tree cuts them too, and finer around the cuts of the best tree."""
    data, target = load_wine(return_X_y=True)
    options: dict[str, Any] = {"max_depth": None, "leaf_price": price, "splits": splits, "time_limit": None}
    coarse = OptimalTreeClassifier(**options, binning="quantile").fit(data, target).certificate_
    fine = OptimalTreeClassifier(**options).fit(data, target).certificate_
    assert coarse.status == fine.status == "optimal"
    assert fine.value < coarse.value


def test_no_limit_on_depth() -> None:
    """With a limit on leaves alone trees are as deep as these allow."""
    model = fit(max_depth=None, max_leaves=5, splits="binary")
    assert model.certificate_.value == fit(max_depth=4, max_leaves=5, splits="binary").certificate_.value
    assert "depth at most 4 and at most 5 leaves" in model.certificate_.search_space
    priced = fit(max_depth=None, max_leaves=5, splits="binary", leaf_price=0.001)
    assert priced.certificate_.loss == model.certificate_.value


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_depth": None}, "give max_leaves or leaf_price"),
        ({"max_depth": None, "max_leaves": "auto"}, "give max_leaves or leaf_price"),
        ({"leaf_price": 0.1, "structure": "rules"}, "leaf_price is for trees"),
        ({"leaf_price": 0.1, "max_leaves": "auto"}, "leave it out, or leaf_price"),
        ({"leaf_price": -0.1}, "leaf_price=-0.1 is not possible"),
        ({"leaf_price": 0.1, "constraints": [Monotone("x0", 1)]}, "leaf_price goes with constraints on single rules"),
    ],
)
def test_what_does_not_go_together(options: dict[str, Any], said: str) -> None:
    """Limits that contradict each other are refused in a sentence that says what to do."""
    with pytest.raises(ValueError, match=said):
        fit(**options)


def test_losses_that_need_a_depth() -> None:
    """What absolute deviations cost is not told by sums, which trees of any depth are found from."""
    with pytest.raises(ValueError, match="give max_depth a number"):
        OptimalTreeRegressor(objective="absolute", leaf_price=0.1, max_depth=None).fit(X, X[:, 0])


@pytest.mark.parametrize("objective", ["squared", "absolute", "quantile", "huber", "poisson"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e5])
def test_price_of_any_loss_and_scale(objective: str, scale: float) -> None:
    """A price is a share of what one answer for all costs, in whatever units the search works."""
    target = np.array([1.0, 2, 9, 9, 3, 4, 0, 8]) * scale
    options: dict[str, Any] = {"objective": objective, "max_depth": 2, "min_samples_leaf": 1, "delta": scale}
    rows = [[row] for row in range(8)]
    whole = OptimalTreeRegressor(**{**options, "max_depth": 1, "min_samples_leaf": 8}).fit(rows, target)
    for depth in (2, None) if objective in ("squared", "poisson") else (2,):
        found = OptimalTreeRegressor(**{**options, "max_depth": depth, "leaf_price": 0.1}).fit(rows, target)
        assert found.certificate_.leaf_price == pytest.approx(0.1 * whole.certificate_.value)
        assert found.certificate_.status == "optimal"
        assert len(found.rules_) > 1


def test_few_rows_with_a_limit_on_depth() -> None:
    """A limit that leaves no tree of a small table out is one all the same: losses have prices, trees alternatives."""
    rows, target = [[0, 0], [0, 1], [1, 0], [1, 1]] * 3, [0, 1, 1, 1] * 3
    model = OptimalTreeRegressor(max_depth=3, max_leaves=5, leaf_price=0.05, objective="absolute")
    assert model.fit(rows, np.arange(12.0)).certificate_.status == "optimal"
    trees = OptimalTreeClassifier(max_depth=3, max_leaves=4).fit(rows, target).alternatives(n=3, within=None)
    assert trees.losses.tolist() == [0, 0, 3]


def test_scores_have_no_prices() -> None:
    """A score does not add up over leaves."""
    with pytest.raises(ValueError, match="F1 does not add up over leaves"):
        OptimalTreeClassifier(objective="f1", leaf_price=0.1).fit(X[50:], Y[50:] == 1)
