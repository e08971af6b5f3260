"""Quick trees in a fit: never worse than greedy ones, whatever the time; floors that hold wherever numbers are cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from omtree import OptimalTreeClassifier, OptimalTreeRegressor
from omtree.data.table import Feature
from omtree.fit.fine_grid import cuts_of, fine_cuts, raw_tree, readable
from omtree.fit.floors import floor_of_equal_rows
from omtree.fit.pose import Pose
from omtree.fit.raw_cuts import Part, RawNode
from omtree.objectives.error import Error
from omtree.objectives.squared import Squared
from omtree.problem.graph import Condition
from omtree.problem.problem import Node
from omtree.sources.samples import Training


def waves(seed: int, n: int = 1500, columns: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Numbers whose target changes sign many times: deep trees keep getting better."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns))
    return X, np.sin(3 * X[:, 0]) * X[:, 1] + np.cos(2 * X[:, 2]) + 0.2 * rng.normal(size=n)


@pytest.mark.parametrize("splits", ["binary", "multiway"])
@pytest.mark.parametrize(("depth", "support"), [(3, 1), (6, 0.01), (10, 1)])
def test_never_worse_than_greedy(splits: Any, depth: int, support: Any) -> None:
    """With a second or less no tree is worse than the greedy one of the same depth, leaves and support."""
    X, number = waves(depth)
    y = (number > 0.5).astype(int)
    least = support if isinstance(support, int) else int(np.ceil(support * len(y)))
    params = {"max_depth": depth, "min_samples_leaf": support, "time_limit": 1.0, "splits": splits}
    greedy = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=least, random_state=0).fit(X, y)
    model = OptimalTreeClassifier(**params).fit(X, y)
    assert model.certificate_.value == (model.predict(X) != y).sum() <= (greedy.predict(X) != y).sum()
    greedy = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=least, random_state=0).fit(X, number)
    regressor = OptimalTreeRegressor(**params).fit(X, number)
    assert regressor.certificate_.value <= ((greedy.predict(X) - number) ** 2).sum() * (1 + 1e-9)


def test_rare_values_get_cuts() -> None:
    """A class that sits in the rare values of a column that is nearly always zero is found."""
    rng = np.random.default_rng(0)
    X = np.zeros((20_000, 3))
    rare = rng.choice(20_000, 400, replace=False)
    X[rare, 0] = rng.uniform(0, 1000, 400)
    X[:, 1:] = rng.normal(size=(20_000, 2))
    y = (X[:, 0] > 640).astype(int)
    assert OptimalTreeClassifier(max_depth=2, min_samples_leaf=1).fit(X, y).certificate_.value == 0


def test_more_depth_is_no_worse() -> None:
    """A fit of more levels with the same time is no worse, where searches end and where they do not."""
    X, number = waves(7, 800, 4)
    y = (number > 0.3).astype(int)
    values = [
        OptimalTreeClassifier(max_depth=depth, time_limit=1.5, min_samples_leaf=5).fit(X, y).certificate_.value
        for depth in (1, 2, 3, 6)
    ]
    assert values == sorted(values, reverse=True)


def test_a_perfect_tree_is_proven_at_once() -> None:
    """Without a single error nothing is left to prove, however deep the trees may be."""
    X, _ = waves(1, 2000)
    y = ((X[:, 0] > 0.3) & (X[:, 1] < 0.7)).astype(int)
    certificate = OptimalTreeClassifier(max_depth=9, min_samples_leaf=1, time_limit=30).fit(X, y).certificate_
    assert (certificate.status, certificate.value, certificate.bound) == ("optimal", 0.0, 0.0)
    assert certificate.total_seconds < 15.0


def test_smaller_trees_of_a_quick_one() -> None:
    """A tree that time ended has smaller ones of its own: each within its size, none better than a larger one."""
    X, number = waves(2)
    y = np.digitize(number, [-0.5, 0.5])
    model = OptimalTreeClassifier(max_depth=8, min_samples_leaf=3, time_limit=0.4).fit(X, y)
    assert model.certificate_.status == "time_limit"
    losses = model.loss_by_leaves_
    assert (np.diff(losses) <= 0).all()
    assert losses[-1] == model.certificate_.value
    for leaves in (1, 2, 5, 17):
        small = model.with_leaves(leaves)
        assert len(small.rules_) <= leaves
        assert (small.predict(X) != y).sum() == losses[leaves - 1]


@pytest.mark.parametrize("seed", range(10))
def test_floors_hold(seed: int) -> None:
    """Samples with equal values share a prediction: the floor is what that costs, from the definition."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(60, 3)) / 3.0
    X[rng.random(60) < 0.1, 1] = np.nan
    weight = rng.integers(0, 3, 60).astype(float)
    y, number = rng.integers(0, 3, 60), rng.normal(size=60)
    groups: dict[tuple[str, ...], list[int]] = {}
    for i in np.flatnonzero(weight):
        groups.setdefault(tuple(map(str, X[i])), []).append(int(i))
    errors = squares = 0.0
    for rows in groups.values():
        errors += weight[rows].sum() - np.bincount(y[rows], weights=weight[rows]).max()
        mean = np.average(number[rows], weights=weight[rows])
        squares += weight[rows] @ (number[rows] - mean) ** 2
    for training, objective, expected in (
        (Training.of_classes(X, y, weight), Error(), errors),
        (Training.of_numbers(X, number, weight), Squared(), squares),
    ):
        # Two bins a column: values have to be told apart within them.
        features, _ = training.features(2, "quantile")
        problem = Pose(objective, 3, 8, 1.0, training.total, "groups", None)(training, features)
        floor = floor_of_equal_rows(training, problem, range(len(features)))
        assert floor == pytest.approx(expected, rel=1e-8)
        assert floor <= expected + 1e-12


def test_fine_cuts_are_values() -> None:
    """Few values are all kept apart; of many, cuts are among them, and rare ones have their share."""
    assert fine_cuts(np.array([3.0, 1.0, 2.0, np.nan]), None, 10).tolist() == [2.0, 3.0]
    values = np.concatenate([np.zeros(5000), np.arange(1.0, 301.0)])
    cuts = fine_cuts(values, None, 100)
    assert np.isin(cuts, values).all()
    assert len(cuts) > 80
    assert (np.diff(cuts) > 0).all()


def test_trees_are_told_by_numbers_to_read() -> None:
    """A tree over codes becomes one over numbers; readable ones part the samples in the same way."""
    x = Feature("x", 0, "numeric", 3, True, thresholds=np.array([0.1999, 0.70001]))
    low, middle, high = Condition(0, (0, 3)), Condition(0, (1,)), Condition(0, (2,))
    root = raw_tree(Node(0, ((low, Node(0)), (middle, Node(1)), (high, Node(0)))), [x])
    parts = [Part(high=0.1999, missing=True), Part(0.1999, 0.70001), Part(low=0.70001)]
    assert root == RawNode(0, 0, tuple(zip(parts, map(RawNode, (0, 1, 0)), strict=True)))
    values = np.array([[0.1], [0.1999], [0.3], [0.69], [0.70001], [np.nan]])
    training = Training.of_numbers(values, np.arange(6.0))
    (cuts,) = cuts_of(readable(training, [x], root)).values()
    assert [int((values < cut).sum()) for cut in sorted(cuts)] == [1, 4]
    assert sorted(cuts) == [0.15, 0.7]


@pytest.mark.parametrize("splits", ["multiway", "binary"])
def test_a_column_of_few_odd_values_beside_columns_of_many(splits: Any) -> None:
    """The greedy tree cuts a column of two values where the table does, whatever those values are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[:, 1] = np.where(rng.random(300) < 0.5, -0.0446, 0.0507)
    y = X[:, 0] + 3 * X[:, 1] * X[:, 2] + rng.normal(size=300)
    model = OptimalTreeRegressor(max_depth=6, min_samples_leaf=5, splits=splits, time_limit=0.5).fit(X, y)
    greedy = DecisionTreeRegressor(max_depth=6, min_samples_leaf=5, random_state=0).fit(X, y)
    assert model.certificate_.value == pytest.approx(np.sum((model.predict(X) - y) ** 2))
    assert model.certificate_.value <= np.sum((greedy.predict(X) - y) ** 2) * (1 + 1e-9)
