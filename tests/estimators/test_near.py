"""Trees near an old one."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier

from omtree import OptimalTreeClassifier
from omtree.constraints import Budget


def cheapest(X: pd.DataFrame, cost: np.ndarray, rows: frozenset[int], depth: int) -> float:
    """Least cost of a binary tree over flags, a leaf having the answer that costs least for its rows."""
    best = float(cost[sorted(rows)].sum(axis=0).min())
    for name in X.columns if depth else ():
        ones = frozenset(row for row in rows if X[name].iloc[row])
        if ones and rows - ones:
            best = min(best, sum(cheapest(X, cost, side, depth - 1) for side in (ones, rows - ones)))
    return best


@pytest.mark.parametrize("seed", range(3))
def test_equals_all_trees(seed: int) -> None:
    """Errors plus the price of changed answers are least; a higher price changes fewer answers, a high one none."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 2, (60, 4)), columns=list("abcd"))
    old_y = (X.a & X.b).to_numpy() ^ (rng.random(60) < 0.1)
    new_y = (X.a | X.c).to_numpy() ^ (rng.random(60) < 0.1)
    settings = {"max_depth": 2, "min_samples_leaf": 1}
    old = OptimalTreeClassifier(**settings).fit(X, old_y.astype(int))
    y, before = new_y.astype(int), old.predict(X)
    changed = []
    for price in (0.0, 0.3, 0.8, 5.0):
        model = OptimalTreeClassifier(**settings).fit(X, y, near=old, change_price=price)
        answers = np.arange(2)[None, :]
        cost = (y[:, None] != answers) + price * (before[:, None] != answers)
        found = model.predict(X)
        paid = (found != y).sum() + price * (found != before).sum()
        assert paid == pytest.approx(cheapest(X, cost, frozenset(range(60)), 2))
        assert model.certificate_.value == pytest.approx(paid)
        changed.append(int((found != before).sum()))
    assert all(a >= b for a, b in itertools.pairwise(changed))
    assert changed[-1] == 0


def cheapest_tests(
    X: pd.DataFrame,
    cost: np.ndarray,
    free: set[str],
    price: float,
    rows: frozenset[int],
    depth: int,
    tested: frozenset[str] = frozenset(),
) -> float:
    """As `cheapest`, when every row pays for each column on its way that is not free."""
    best = float(cost[sorted(rows)].sum(axis=0).min()) + price * len(tested - free) * len(rows)
    for name in X.columns if depth else ():
        ones = frozenset(row for row in rows if X[name].iloc[row])
        if ones and rows - ones:
            sides = (ones, rows - ones)
            below = [cheapest_tests(X, cost, free, price, side, depth - 1, tested | {name}) for side in sides]
            best = min(best, sum(below))
    return best


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("change", [None, 0.3])
def test_prices_of_columns_equal_all_trees(seed: int, change: float | None) -> None:
    """Errors, changed answers and tests of other columns cost least together; a high price leaves the old columns."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 2, (60, 5)), columns=list("abcde"))
    old_y = (X.a & X.b).to_numpy() ^ (rng.random(60) < 0.05)
    y = ((X.a & X.c) | X.d).to_numpy(dtype=int) ^ (rng.random(60) < 0.05)
    settings = {"max_depth": 2, "min_samples_leaf": 1}
    old = OptimalTreeClassifier(**settings).fit(X, old_y.astype(int))
    free, before = columns_of(old), old.predict(X)
    assert free < set(X.columns)
    used = []
    for price in (0.0, 0.04, 0.15, 3.0):
        model = OptimalTreeClassifier(**settings).fit(X, y, near=old, change_price=change, column_price=price)
        answers = np.arange(2)[None, :]
        cost = (y[:, None] != answers) + (change or 0.0) * (before[:, None] != answers)
        expected = cheapest_tests(X, cost, free, price, frozenset(range(60)), 2)
        assert model.certificate_.value == pytest.approx(expected)
        found = model.predict(X)
        tests = sum(
            rule.support * len({model.rules_.features[c.feature].name for c in rule.conditions} - free)
            for rule in model.rules_
        )
        paid = (found != y).sum() + (change or 0.0) * (found != before).sum() + price * tests
        assert paid == pytest.approx(expected)
        used.append(columns_of(model) - free)
    assert used[0]
    assert not used[-1]


def columns_of(model: OptimalTreeClassifier) -> set[str]:
    """The columns that a model tests."""
    return {model.rules_.features[c.feature].name for rule in model.rules_ for c in rule.conditions}


def test_a_price_of_columns_stays_with_the_model() -> None:
    """It is among the constraints of this fit alone: in the certificate, in edits and alternatives."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.integers(0, 2, (80, 4)), columns=list("abcd"))
    X["same"] = 1
    y = (X.b ^ (rng.random(80) < 0.1)).to_numpy()
    old = OptimalTreeClassifier(max_depth=1).fit(X, (X.a ^ (rng.random(80) < 0.1)).to_numpy())
    model = OptimalTreeClassifier(max_depth=2).fit(X, y, near=old, column_price=0.1)
    assert any("Budget(weight=0.1)" in check.name for check in model.certificate_.constraints)
    first = next(iter(model.alternatives(n=3)))
    assert first.certificate_.value == pytest.approx(model.certificate_.value)
    assert model.edit().refit().certificate_.value == pytest.approx(model.certificate_.value)
    assert model.constraints == ()
    assert model.fit(X, y).certificate_.value < first.certificate_.value


def test_refusals() -> None:
    """A price is needed, and costs do not go with it."""
    X, y = [[0], [1]] * 5, [0, 1] * 5
    old = OptimalTreeClassifier(max_depth=1).fit(X, y)
    with pytest.raises(ValueError, match="change_price=None"):
        OptimalTreeClassifier().fit(X, y, near=old)
    with pytest.raises(ValueError, match="near"):
        OptimalTreeClassifier().fit(X, y, near="old", change_price=1)
    with pytest.raises(ValueError, match="plain errors"):
        OptimalTreeClassifier(costs=[[0, 1], [2, 0]]).fit(X, y, near=old, change_price=1)
    with pytest.raises(ValueError, match="objective='error'"):
        OptimalTreeClassifier(objective="f1").fit(X, y, near=old, change_price=1)
    with pytest.raises(ValueError, match="column_price goes with near"):
        OptimalTreeClassifier().fit(X, y, column_price=1)
    with pytest.raises(ValueError, match="column_price=-1"):
        OptimalTreeClassifier().fit(X, y, near=old, column_price=-1)
    with pytest.raises(ValueError, match="a model of omtree"):
        OptimalTreeClassifier().fit(X, y, near=DummyClassifier().fit(X, y), column_price=1)
    budget = Budget({"x0": 1.0}, weight=0.1)
    with pytest.raises(ValueError, match="Budget that has a weight"):
        OptimalTreeClassifier(constraints=[budget]).fit(X, y, near=old, column_price=1)
    with pytest.raises(ValueError, match="column_price goes with one target"):
        OptimalTreeClassifier().fit(X, np.array([y, y]).T, column_price=1)
