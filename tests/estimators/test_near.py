"""Trees near an old one."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from omtree import OptimalTreeClassifier


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
