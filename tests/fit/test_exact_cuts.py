"""Fits over all cuts: the optimum of every tree that can be said of the raw columns, and a certificate that says so."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

import omtree
from helpers.cut_oracle import (
    Cuttable,
    best_binary,
    best_multiway,
    best_of_partitions,
    groups_of_levels,
    intervals,
)
from omtree.data.columns import read_columns
from omtree.data.table import Feature
from omtree.engines.trees.all_cuts import CutNode, solve_cuts
from omtree.fit import cut_search, exact_cuts
from omtree.fit.views import raw_tree, views_of


def _frame(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """A number with and one without missing cells, an ordinal and a nominal column."""
    number = np.where(rng.random(n) < 0.3, np.nan, rng.integers(0, 5, n) / 4)
    level = pd.Categorical(rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True)
    colour = pd.Series(rng.choice(["red", "green", "blue", "grey"], n), dtype="object")
    return pd.DataFrame({"number": number, "other": rng.normal(size=n), "level": level, "colour": colour})


def _orders(frame: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Every way to order a column such that its cuts are the splits it allows."""
    number = frame["number"].to_numpy()
    views = [np.where(np.isnan(number), -99.0, number), np.where(np.isnan(number), 99.0, number)]
    views.append(frame["other"].to_numpy())
    views.append(frame["level"].cat.codes.to_numpy().astype(float))
    colours = sorted(set(frame["colour"]))
    for size in range(1, len(colours)):
        for group in itertools.combinations(colours, size):
            views.append(frame["colour"].isin(group).to_numpy().astype(float))
    return np.array(views)


@pytest.mark.parametrize("seed", range(30))
def test_classifier_against_every_tree(seed: int) -> None:
    """Errors over mixed columns with missing cells and weights: the value is the least of all binary trees."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 12))
    frame, labels = _frame(rng, n), rng.integers(0, 2 + seed % 2, n)
    labels[:2] = [0, 1]
    weight = rng.integers(1, 4, n).astype(float) if seed % 3 == 0 else np.ones(n)
    depth, leaves, support = [(2, 4, 1.0), (2, 3, 2.0), (3, 8, 1.0), (3, 5, 2.0)][seed % 4]
    data = Cuttable.errors(_orders(frame), labels.tolist(), weight.tolist(), weight.tolist())
    model = omtree.OptimalTreeClassifier(
        max_depth=depth,
        max_leaves=min(leaves, n),
        min_samples_leaf=int(support),
        splits="binary",
        binning="exact",
        feature_kinds={"level": "ordinal"},
    )
    model.fit(frame, labels, sample_weight=weight)
    certificate = model.certificate_
    assert certificate.value == best_binary(data, depth, min(leaves, n), support)
    assert certificate.status == "optimal"
    assert certificate.cuts == "all"
    assert weight[model.predict(frame) != labels].sum() == certificate.value


@pytest.mark.parametrize("seed", range(20))
def test_regressor_against_every_tree(seed: int) -> None:
    """Squared loss over mixed columns with missing cells and weights: the value is the least of all binary trees."""
    rng = np.random.default_rng(100 + seed)
    n = int(rng.integers(6, 11))
    frame, target = _frame(rng, n), rng.normal(100.0, 5.0, n)
    weight = rng.uniform(0.5, 2.0, n) if seed % 2 else np.ones(n)
    depth, leaves = [(2, 4), (2, 3), (3, 6)][seed % 3]
    data = Cuttable.squares(_orders(frame), target.tolist(), weight.tolist())
    model = omtree.OptimalTreeRegressor(
        max_depth=depth, max_leaves=leaves, min_samples_leaf=1e-9, splits="binary", binning="exact"
    )
    model.fit(frame, target, sample_weight=weight)
    assert model.certificate_.value == pytest.approx(best_binary(data, depth, leaves, 0.0), abs=1e-7)
    assert model.certificate_.status == "optimal"
    attained = float((weight * (model.predict(frame) - target) ** 2).sum())
    assert attained == pytest.approx(model.certificate_.value, abs=1e-6)


def _wave(n: int = 600) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 3))
    return X, (np.sin(3 * X[:, 0]) + X[:, 1] > rng.normal(0, 0.2, n)).astype(int)


def test_more_values_than_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of hundreds of values are cut anywhere, better than at few thresholds, and it is said so."""
    monkeypatch.setattr(cut_search, "BRIEF_DEPTH", 0)
    X, y = _wave()
    common = {"max_depth": 3, "splits": "binary", "min_samples_leaf": 1}
    exact = omtree.OptimalTreeClassifier(binning="exact", **common).fit(X, y)
    adaptive = omtree.OptimalTreeClassifier(**common).fit(X, y)
    assert exact.certificate_.status == "optimal"
    assert exact.certificate_.value < adaptive.certificate_.value
    assert "no tree over any cut points can make fewer" in str(exact.certificate_)
    headline = str(adaptive.certificate_).splitlines()[0]
    assert headline.startswith("best found")
    assert "other cut points are not excluded" in headline
    assert f"these {adaptive.certificate_.n_cuts} cut points" in headline


def test_few_values_are_all_cuts() -> None:
    """Where bins keep all values apart, what is proven of the bins is proven of all cuts."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, (80, 3)).astype(float)
    y = (X[:, 0] > X[:, 1]).astype(int)
    assert omtree.OptimalTreeClassifier(max_depth=2).fit(X, y).certificate_.cuts == "all"


def test_leaves_of_several_rows_are_proven() -> None:
    """Where codes are all cuts there are, "exact" proves no less than the default does, whatever leaves need."""
    rows = np.array([[0.0, 1], [2, 0], [1, 3], [3, 1], [0, 2], [2, 3], [1, 0], [3, 2], [2, 1]])
    target = np.array([0, 1, 0, 1, 1, 0, 1, 0, 1])
    kinds = {0: "numeric", 1: "numeric"}
    for support, depth in [(2, 1), (3, 1), (3, 2)]:
        options: dict[str, Any] = {"max_depth": depth, "min_samples_leaf": support, "feature_kinds": kinds}
        usual = omtree.OptimalTreeClassifier(**options).fit(rows, target).certificate_
        exact = omtree.OptimalTreeClassifier(binning="exact", time_limit=None, **options).fit(rows, target).certificate_
        assert (exact.status, exact.value, exact.bound) == (usual.status, usual.value, usual.bound)
        assert exact.status == "optimal"


def test_limits_over_all_cuts() -> None:
    """Whenever the time ends, the bound over all cuts is at most the optimum, and the value no less than it."""
    X, y = _wave(300)
    common = {"max_depth": 3, "splits": "binary", "binning": "exact"}
    optimum = omtree.OptimalTreeClassifier(time_limit=None, **common).fit(X, y).certificate_.value
    for limit in (0.01, 0.05, 0.2):
        certificate = omtree.OptimalTreeClassifier(time_limit=limit, **common).fit(X, y).certificate_
        assert certificate.bound <= optimum <= certificate.value


def test_smaller_trees_claim_no_proof() -> None:
    """Trees of other sizes come from the cuts of the largest, and only what is proven is said of them."""
    X, y = _wave(300)
    model = omtree.OptimalTreeClassifier(max_depth=2, splits="binary", binning="exact", min_samples_leaf=1).fit(X, y)
    for leaves in (1, 2, 3):
        smaller = model.with_leaves(leaves).certificate_
        alone = omtree.OptimalTreeClassifier(
            max_depth=2, max_leaves=leaves, splits="binary", binning="exact", min_samples_leaf=1
        ).fit(X, y)
        assert smaller.bound <= alone.certificate_.value <= smaller.value


@pytest.mark.parametrize("seed", range(20))
def test_multiway_classifier_against_every_tree(seed: int) -> None:
    """Multiway trees: proven values are the least of all, others no less, bounds no more."""
    rng = np.random.default_rng(300 + seed)
    n = int(rng.integers(6, 11))
    level = pd.Categorical(rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True)
    frame = pd.DataFrame({"x": rng.integers(0, 6, n) / 4, "y": rng.normal(size=n), "level": level})
    labels = rng.integers(0, 2 + seed % 2, n)
    labels[:2] = [0, 1]
    support = [1, 2][seed % 2]
    depth, leaves = [(2, 4), (2, 5), (3, 6)][seed % 3]
    model = omtree.OptimalTreeClassifier(
        max_depth=depth,
        max_leaves=leaves,
        min_samples_leaf=support,
        binning="exact",
        feature_kinds={"level": "ordinal"},
    )
    certificate = model.fit(frame, labels).certificate_
    orders = np.array([frame["x"], frame["y"], frame["level"].cat.codes], dtype=float)
    data = Cuttable.errors(orders, labels.tolist(), [1.0] * n, [1.0] * n)
    free, binary = best_multiway(data, depth, leaves), best_binary(data, depth, leaves, support)
    assert certificate.cuts == "all"
    assert certificate.bound <= certificate.value <= binary
    if support == 1:
        assert certificate.status == "optimal"
        assert certificate.value == free
    assert free <= certificate.value
    assert certificate.bound >= min(free, certificate.value)
    assert (model.predict(frame) != labels).sum() == certificate.value


def test_order_of_rows_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search is given the same samples from rows in any order and from repeated ones for weights, whether or not
    the last column tells them apart."""
    given = []

    def solve(values: Any, **options: Any) -> Any:
        given.append((values.tolist(), options["labels"].tolist(), options["masses"].tolist()))
        return solve_cuts(values, **options)

    monkeypatch.setattr(cut_search, "solve_cuts", solve)
    rng = np.random.default_rng(11)
    n = 60
    frame = pd.DataFrame({"few": rng.integers(0, 4, n) / 4, "many": rng.normal(size=n)})
    labels = ((frame["few"] > 0.3) ^ (frame["many"] > 0.2) ^ (rng.random(n) < 0.2)).to_numpy().astype(int)
    weight = rng.integers(0, 3, n)
    for columns in (["few", "many"], ["many", "few"], ["few"]):
        given.clear()
        for rows, weights in (
            (np.arange(n), weight),
            (order := rng.permutation(n), weight[order]),
            (np.repeat(np.arange(n), weight), None),
        ):
            model = omtree.OptimalTreeClassifier(max_depth=1, splits="binary", binning="exact", min_samples_leaf=1)
            model.fit(frame[columns].iloc[rows], labels[rows], sample_weight=weights)
        assert given
        assert all(samples == given[0] for samples in given)


def test_multiway_never_worse_than_binary() -> None:
    """On rows with more values than codes a multiway tree is proven, and as good as the best binary one at least."""
    X, y = _wave(300)
    common = {"max_depth": 2, "binning": "exact", "min_samples_leaf": 1}
    wide = omtree.OptimalTreeClassifier(max_leaves=5, **common).fit(X, y).certificate_
    narrow = omtree.OptimalTreeClassifier(max_leaves=4, splits="binary", **common).fit(X, y).certificate_
    assert wide.status == narrow.status == "optimal"
    assert wide.cuts == "all"
    assert wide.value <= narrow.value


@pytest.mark.parametrize("kind", ["missing", "nominal", "squares", "support"])
def test_multiway_trees_without_a_proof(kind: str) -> None:
    """More values than codes, but no search for multiway trees: the best binary one is met, and no bound is false."""
    rng = np.random.default_rng(5)
    X, y = _wave(400)
    frame = pd.DataFrame(X, columns=list("abc"))
    if kind == "missing":
        frame.loc[rng.random(400) < 0.1, "a"] = np.nan
    if kind == "nominal":
        frame["colour"] = rng.choice(["red", "green", "blue"], 400)
    target = frame["a"].to_numpy() * y if kind == "squares" else y
    estimator = omtree.OptimalTreeRegressor if kind == "squares" else omtree.OptimalTreeClassifier
    options = {"max_depth": 2, "binning": "exact", "min_samples_leaf": 20 if kind == "support" else 1}
    options["time_limit"] = None
    wide = estimator(**options).fit(frame, target).certificate_
    binary = estimator(splits="binary", **options).fit(frame, target).certificate_
    assert wide.cuts == binary.cuts == "all"
    assert binary.status == "optimal"
    assert wide.bound <= wide.value <= binary.value * (1 + 1e-9)
    assert (wide.bound > 0.0) == (kind != "squares")


@pytest.mark.parametrize("kind", ["missing", "nominal", "both"])
@pytest.mark.parametrize("seed", range(30))
def test_multiway_bound_without_one_order(seed: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing cells may join any interval of a multiway tree, levels any group: the bound is at most the optimum over
    all of them, and the loss no less."""
    floors = []
    bound = cut_search.CutSearch.multiway_floor
    monkeypatch.setattr(cut_search.CutSearch, "multiway_floor", lambda *args: floors.append(bound(*args)) or floors[-1])
    # As if columns had more values than codes, whose search would prove what this one does not.
    for module in (cut_search, exact_cuts):
        monkeypatch.setattr(module, "has_more_values_than_codes", lambda *_: True)
    rng = np.random.default_rng(700 + seed)
    n = int(rng.integers(7, 10))
    x, level = rng.integers(0, 4, n) / 4, rng.integers(0, 3, n)
    level[:3] = [0, 1, 2]
    if kind != "nominal":
        x[rng.random(n) < 0.2] = np.nan
        x[0] = np.nan
    labels = rng.integers(0, 2, n)
    labels[:2] = [0, 1]
    weight = rng.integers(1, 4, n) if seed % 2 else np.ones(n)
    other = rng.integers(0, 3, n).astype(float)
    frame = pd.DataFrame({"x": x, "other": other})
    ways = [intervals(x), intervals(other)]
    if kind != "missing":
        frame["level"] = np.array(["low", "mid", "top"])[level]
        ways.append(groups_of_levels(level.astype(float)))
    depth, leaves = [(2, 3), (2, 4), (3, 4)][seed % 3]
    model = omtree.OptimalTreeClassifier(max_depth=depth, max_leaves=leaves, min_samples_leaf=1, binning="exact")
    certificate = model.fit(frame, labels, sample_weight=weight).certificate_
    cost = Cuttable.errors(frame[["x"]].to_numpy().T, labels.tolist(), weight.tolist(), weight.tolist()).cost
    optimum = best_of_partitions(cost, n, ways, depth, leaves)
    assert bool(floors) == (certificate.value > 0.0)
    assert max(floors, default=0.0) <= optimum
    assert certificate.cuts == "all"
    assert certificate.bound <= optimum <= certificate.value


def test_bound_of_rows_without_missing_cells() -> None:
    """Few missing cells beside more values than codes: the bound over all cuts is near the loss."""
    X, y = _wave(400)
    X[::50, 0] = np.nan
    model = omtree.OptimalTreeClassifier(max_depth=2, min_samples_leaf=1, binning="exact", time_limit=60).fit(X, y)
    certificate = model.certificate_
    assert certificate.cuts == "all"
    assert certificate.value - 8 <= certificate.bound <= certificate.value


@pytest.mark.parametrize("splits", ["binary", "multiway"])
def test_exact_is_no_worse_than_the_default(splits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the search over all cuts finds nothing better than a leaf, the tree is that of the usual cuts or better."""
    X, y = _wave(300)
    common = {"max_depth": 3, "splits": splits, "min_samples_leaf": 1, "time_limit": 600}

    def nothing(values: Any, **options: Any) -> Any:
        return solve_cuts(values, **{**options, "work": 0.0})

    monkeypatch.setattr(cut_search, "solve_cuts", nothing)
    default = omtree.OptimalTreeClassifier(**common).fit(X, y).certificate_
    exact = omtree.OptimalTreeClassifier(binning="exact", **common).fit(X, y).certificate_
    assert exact.value <= default.value
    assert exact.bound <= exact.value


def test_balanced_errors_over_all_cuts() -> None:
    """Costs by class are weights of rows: balanced errors are proven over all cuts as well."""
    X, y = _wave(200)
    model = omtree.OptimalTreeClassifier(
        max_depth=2, objective="balanced_error", splits="binary", binning="exact", min_samples_leaf=1
    ).fit(X, y)
    assert model.certificate_.cuts == "all"
    assert model.certificate_.status == "optimal"
    rates = [(model.predict(X)[y == k] != k).mean() for k in (0, 1)]
    assert model.certificate_.value == pytest.approx(np.mean(rates))


def test_many_levels_in_order_and_alone() -> None:
    """A nominal column with many levels is cut along the target and one level at a time."""
    columns = read_columns(pd.DataFrame({"colour": list("abcdefg")}))
    feature = Feature("colour", 0, "nominal", 7, False, levels=tuple("abcdefg"), target_order=(6, 5, 4, 3, 2, 1, 0))
    views = views_of(columns, [feature], "groups")
    assert len(views) == 8
    along = raw_tree(CutNode(0, 0, ((1.0, 2.0),), (CutNode(0), CutNode(1))), views)
    assert [set(part.codes) for part, _ in along.branches] == [{6, 5}, {4, 3, 2, 1, 0}]
    alone = raw_tree(CutNode(0, 3, ((0.0, 1.0),), (CutNode(0), CutNode(1))), views)
    assert [set(part.codes) for part, _ in alone.branches] == [{2}, {0, 1, 3, 4, 5, 6}]
