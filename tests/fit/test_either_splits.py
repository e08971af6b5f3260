"""Multiway trees are never worse than binary ones over the same cuts, which may test a feature again."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import omtree


def _again(n: int = 400, values: int = 8, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Four classes that four leaves tell apart only if the first feature is tested again below the second one."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, values, (n, 2)).astype(float), columns=["a", "b"])
    a, b, half = frame["a"].to_numpy(), frame["b"].to_numpy(), values // 2
    return frame, np.where(a >= half, 3, np.where(b < half, 0, np.where(a < half // 2, 1, 2)))


def _least(frame: pd.DataFrame, labels: np.ndarray, depth: int, leaves: int) -> float:
    """The fewest errors of all binary trees over all cuts, by trying every one."""
    values = frame.to_numpy()

    @functools.cache
    def best(rows: tuple[int, ...], depth: int, leaves: int) -> float:
        own = labels[list(rows)]
        found = float(len(own) - np.bincount(own).max())
        if depth == 0 or leaves == 1 or found == 0:
            return found
        for column in range(values.shape[1]):
            for low in sorted({values[row, column] for row in rows})[:-1]:
                left = tuple(row for row in rows if values[row, column] <= low)
                right = tuple(row for row in rows if values[row, column] > low)
                for share in range(1, leaves):
                    found = min(found, best(left, depth - 1, share) + best(right, depth - 1, leaves - share))
        return found

    return best(tuple(range(len(labels))), depth, leaves)


@pytest.mark.parametrize("binning", ["adaptive", "quantile", "exact"])
def test_a_feature_tested_again(binning: Any) -> None:
    """Where only a tree that tests a feature again makes no error, it is found, and its rules name the feature once."""
    frame, labels = _again()
    model = omtree.OptimalTreeClassifier(max_depth=3, max_leaves=4, min_samples_leaf=1, binning=binning)
    model.fit(frame, labels)
    assert model.certificate_.value == 0.0 == (model.predict(frame) != labels).sum()
    for rule in model.rules_:
        names = [condition.feature for condition in rule.conditions]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("seed", range(20))
def test_never_worse_than_every_binary_tree(seed: int) -> None:
    """Few values, so that all cuts are codes: no binary tree has fewer errors, in any number of leaves."""
    rng = np.random.default_rng(seed)
    leaves = 4
    frame, labels = _again(16, 4, seed)
    labels = np.where(rng.random(16) < 0.1, 0, labels)
    model = omtree.OptimalTreeClassifier(max_depth=3, max_leaves=leaves, min_samples_leaf=1).fit(frame, labels)
    assert model.certificate_.bound <= model.certificate_.value
    for size, loss in enumerate(model.loss_by_leaves_, start=1):
        assert loss <= _least(frame, labels, 3, size)
        smaller = model.with_leaves(size)
        assert (smaller.predict(frame) != labels).sum() == loss


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("number", [False, True])
def test_never_worse_than_the_binary_fit(seed: int, number: bool) -> None:
    """Fits of many values: splits="multiway" is never worse than splits="binary" of the same depth and leaves."""
    rng = np.random.default_rng(50 + seed)
    frame = pd.DataFrame(rng.normal(size=(150, 3)), columns=list("abc"))
    target = np.sin(3 * frame["a"]) * (frame["b"] > 0) + frame["c"] * (frame["a"] > 0) + rng.normal(0, 0.3, 150)
    kind = omtree.OptimalTreeRegressor if number else omtree.OptimalTreeClassifier
    y = target.to_numpy() if number else (target > 0.2).astype(int).to_numpy()
    options = {"max_depth": 3, "min_samples_leaf": 3, "n_bins": 5}
    multiway, binary = (kind(splits=splits, **options).fit(frame, y).certificate_ for splits in ("multiway", "binary"))
    assert multiway.value <= binary.value * (1 + 1e-9)
    assert math.isfinite(multiway.bound)
    assert "twice" not in str(multiway)


@pytest.mark.parametrize(("depth", "children"), [(3, None), (4, None), (3, 3), (2, 2)])
@pytest.mark.parametrize("number", [False, True])
def test_the_search_itself_tests_features_again(depth: int, children: int | None, number: bool) -> None:
    """Proven over the same codes, the multiway optimum is none above the binary one, without a search for that."""
    rng = np.random.default_rng(3)
    frame, labels = _again(120, 6, 4)
    noise = rng.random(120) < 0.15
    y = np.where(noise, 2.5, labels) if number else np.where(noise, 0, labels)
    kind = omtree.OptimalTreeRegressor if number else omtree.OptimalTreeClassifier
    options = {"max_depth": depth, "max_leaves": 6, "min_samples_leaf": 1, "binning": "quantile", "n_bins": 6}
    wide = kind(max_children=children, **options).fit(frame, y).certificate_
    two = kind(splits="binary", **options).fit(frame, y).certificate_
    assert wide.status == two.status == "optimal"
    assert wide.value <= two.value * (1 + 1e-9)
    if children == 2:
        assert wide.value == pytest.approx(two.value)
