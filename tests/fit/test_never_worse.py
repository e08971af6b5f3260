"""More freedom never costs: what a wider search starts from is what the narrower one found.

No limit here is one of time: searches are cut off by their work, so that every run gives the same trees.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import omtree
from omtree.engines.trees.all_cuts import CutSolution, solve_cuts
from omtree.fit import cut_search

KINDS = {False: omtree.OptimalTreeClassifier, True: omtree.OptimalTreeRegressor}


def _table(seed: int, number: bool, n: int = 160) -> tuple[pd.DataFrame, np.ndarray]:
    """Three real numbers, and a target that waves along them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    wave = np.sin(3 * frame["a"]) * (frame["b"] > 0) + frame["c"] * (frame["a"] > 0) + rng.normal(0, 0.3, n)
    return frame, wave.to_numpy() if number else (wave > 0.2).to_numpy().astype(int)


def _loss(number: bool, frame: pd.DataFrame, target: np.ndarray, **options: Any) -> float:
    """The loss of a fit, which is that of its predictions."""
    options = {"min_samples_leaf": 1, "time_limit": None, **options}
    model = KINDS[number](**options).fit(frame, target)
    answers = model.predict(frame)
    lost = float(((answers - target) ** 2).sum() if number else (answers != target).sum())
    assert lost == pytest.approx(model.certificate_.value, rel=1e-9)
    assert model.certificate_.bound <= model.certificate_.value
    return lost


def _little(values: Any, *, work: float, most: float, **options: Any) -> CutSolution:
    """The search over all cuts, ended after little work."""
    return solve_cuts(values, work=min(work, most), **options)


@pytest.mark.parametrize("splits", ["binary", "multiway"])
@pytest.mark.parametrize("number", [False, True])
@pytest.mark.parametrize("most", [0.0, 2e4, 1e6])
@pytest.mark.parametrize("seed", range(3))
def test_exact_is_no_worse_than_the_default(
    splits: str, number: bool, most: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However early its own search ends, `binning="exact"` has at least the tree of the default cuts."""
    frame, target = _table(seed, number, 300)
    options = {"max_depth": 3, "splits": splits, "n_bins": 5}
    monkeypatch.setattr(cut_search, "solve_cuts", partial(_little, most=most))
    default = _loss(number, frame, target, **options)
    assert _loss(number, frame, target, binning="exact", **options) <= default * (1 + 1e-9)


@pytest.mark.parametrize("splits", ["binary", "multiway"])
@pytest.mark.parametrize("number", [False, True])
def test_one_level_more_is_no_worse(splits: str, number: bool) -> None:
    """Trees of real numbers up to the deepest that a brief search looks for, and the level beyond."""
    frame, target = _table(11, number, 60)
    losses = [_loss(number, frame, target, max_depth=depth, splits=splits, max_leaves=6) for depth in range(1, 6)]
    assert all(more <= less * (1 + 1e-9) for less, more in itertools.pairwise(losses))
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("splits", ["binary", "multiway"])
def test_levels_beyond_the_brief_search(splits: str) -> None:
    """Real columns, and leaves that need support: each level has the cuts of the tree before to choose from."""
    frame, target = load_breast_cancer(return_X_y=True, as_frame=True)
    frame, target = frame.iloc[:80, :3], target.to_numpy()[:80]
    options = {"splits": splits, "min_samples_leaf": 3, "max_leaves": 8}
    losses = [_loss(False, frame, target, max_depth=depth, **options) for depth in (3, 4, 5)]
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize("number", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_more_leaves_more_children_and_finer_cuts_are_no_worse(number: bool, seed: int) -> None:
    """More leaves, more children and all cuts: each contains what was there before."""
    frame, target = _table(20 + seed, number)
    options = {"max_depth": 3, "n_bins": 6}
    by_leaves = [_loss(number, frame, target, max_leaves=leaves, **options) for leaves in (2, 4, 6, 8)]
    assert all(more <= less * (1 + 1e-9) for less, more in itertools.pairwise(by_leaves))
    binary = _loss(number, frame, target, splits="binary", **options)
    assert by_leaves[-1] <= binary * (1 + 1e-9)
    finer = _loss(number, frame, target, splits="binary", **{**options, "n_bins": 24})
    assert finer <= binary * (1 + 1e-9)
    assert _loss(number, frame, target, splits="binary", binning="exact", **options) <= finer * (1 + 1e-9)


@pytest.mark.parametrize(
    ("number", "less", "more"),
    [
        (True, {"max_depth": 3, "min_samples_leaf": 8}, {"max_depth": 4}),
        (True, {"max_depth": 3, "n_bins": 4}, {"binning": "exact"}),
        (False, {"max_depth": 3}, {"n_bins": 24}),
        (True, {"max_depth": 3, "max_leaves": 5}, {"max_leaves": 8}),
        (False, {"max_depth": 4, "max_leaves": 9, "splits": "binary"}, {"splits": "multiway"}),
    ],
)
def test_more_of_anything_within_the_same_time(number: bool, less: dict[str, Any], more: dict[str, Any]) -> None:
    """Searches that do not end by far start from what the smaller problem gives, which ends in a part of the time."""
    frame, target = _table(33, number, 250)
    smaller = _loss(number, frame, target, **less)
    larger = _loss(number, frame, target, **{"time_limit": 6.0, **less, **more})
    assert larger <= smaller * (1 + 1e-9)


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("support", [1, 12])
@pytest.mark.parametrize("number", [False, True])
def test_no_worse_than_the_greedy_tree(depth: int, support: int, number: bool) -> None:
    """Real columns, where the greedy tree of the same depth and support cuts anywhere."""
    frame, target = (load_diabetes if number else load_breast_cancer)(return_X_y=True, as_frame=True)
    target = target.to_numpy(dtype=float if number else int)
    kind = DecisionTreeRegressor if number else DecisionTreeClassifier
    answers = kind(max_depth=depth, min_samples_leaf=support, random_state=0).fit(frame, target).predict(frame)
    greedy = float(((answers - target) ** 2).sum() if number else (answers != target).sum())
    ours = _loss(number, frame, target, max_depth=depth, min_samples_leaf=support)
    assert ours <= greedy * (1 + 1e-9)


def test_one_leaf_and_trees_of_all_sizes() -> None:
    """A limit of one leaf holds for quick trees as well; where the largest is proven at once, smaller ones are good.

    The best tree of two leaves is recomputed here: one cut of one column.
    """
    X, y = load_wine(return_X_y=True)
    alone = omtree.OptimalTreeClassifier(max_leaves=1).fit(X, y)
    assert len(alone.rules_) == 1
    model = omtree.OptimalTreeClassifier(max_depth=2, splits="binary", min_samples_leaf=1).fit(X, y)
    assert model.certificate_.cuts == "all"
    least = min(
        sum(len(side) - np.bincount(side).max() for side in (y[X[:, column] < cut], y[X[:, column] >= cut]))
        for column in range(X.shape[1])
        for cut in np.unique(X[:, column])[1:]
    )
    two = model.loss_by_leaves_[1]
    assert two == (model.with_leaves(2).predict(X) != y).sum()
    assert least <= two <= 1.1 * least
