"""What a fit over few cuts says of all of them is true, and its tree is no worse than it would be without looking."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import omtree
from helpers.cut_oracle import Cuttable, best_binary, best_multiway
from omtree.fit import cut_search
from omtree.model.certificate import Certificate


def _rows(seed: int) -> tuple[pd.DataFrame, np.ndarray, np.random.Generator]:
    """Three numbers with more values than bins, and labels that they tell in part."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(9, 14))
    frame = pd.DataFrame({name: rng.integers(0, 12, n) / 3 for name in "abc"})
    labels = ((frame["a"] * frame["b"] > frame["c"]).to_numpy() ^ (rng.random(n) < 0.3)).astype(int)
    labels[:2] = [0, 1]
    return frame, labels, rng


@pytest.mark.parametrize("splits", ["binary", "multiway"])
@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("work", [0.0, 300.0, 1e8])
def test_bound_over_all_cuts(splits: str, seed: int, work: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the work: bound over all cuts <= optimum over all cuts <= value, and equal where that is claimed."""
    monkeypatch.setattr(cut_search, "BRIEF_WORK", work)
    frame, labels, _ = _rows(seed)
    n, depth, leaves = len(labels), 2 + seed % 2, 3 + seed % 3
    support = 1 + seed % 4 // 3
    data = Cuttable.errors(frame.to_numpy().T.copy(), labels.tolist(), [1.0] * n, [1.0] * n)
    model = omtree.OptimalTreeClassifier(
        max_depth=depth, max_leaves=leaves, n_bins=3, min_samples_leaf=support, splits=splits
    ).fit(frame, labels)
    certificate = model.certificate_
    optimum = best_binary(data, depth, leaves, support)
    if splits == "multiway":
        # Without the support: a bound for trees that have it.
        optimum = min(optimum, best_multiway(data, depth, leaves))
    assert certificate.value == (model.predict(frame) != labels).sum()
    if certificate.cuts == "all":
        assert certificate.status == "optimal"
        assert certificate.all_cuts_bound is None
        assert certificate.all_cuts_gap == 0.0
        assert support > 1 or certificate.value == optimum
        assert certificate.value <= best_binary(data, depth, leaves, support)
        return
    if certificate.all_cuts_bound is not None:
        assert certificate.all_cuts_bound <= optimum
        assert certificate.all_cuts_bound <= certificate.bound
    assert support > 1 or optimum <= certificate.value


def test_the_brief_search_ends_with_a_proof() -> None:
    """With work enough binary trees are proven over all cuts, and no worse than those of `binning="exact"`."""
    proven = 0
    for seed in range(12):
        frame, labels, _ = _rows(100 + seed)
        options = {"max_depth": 3, "min_samples_leaf": 1, "splits": "binary", "n_bins": 3}
        brief = omtree.OptimalTreeClassifier(**options).fit(frame, labels).certificate_
        exact = omtree.OptimalTreeClassifier(binning="exact", **options).fit(frame, labels).certificate_
        assert brief.value == exact.value
        proven += brief.cuts == "all"
    assert proven == 12


@pytest.mark.parametrize("seed", range(10))
def test_squared_loss(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Squared loss, fractional weights: the bound over all cuts is one, at any limit on the work."""
    frame, _, rng = _rows(200 + seed)
    target, weight = rng.normal(size=len(frame)), rng.uniform(0.5, 2.0, len(frame))
    data = Cuttable.squares(frame.to_numpy().T.copy(), target.tolist(), weight.tolist())
    optimum = best_binary(data, 2, 4, 0.4)
    for work in (0.0, 200.0, 1e8):
        monkeypatch.setattr(cut_search, "BRIEF_WORK", work)
        model = omtree.OptimalTreeRegressor(max_depth=2, n_bins=3, min_samples_leaf=0.01, splits="binary")
        certificate = model.fit(frame, target, sample_weight=weight).certificate_
        assert optimum <= certificate.value * (1 + 1e-9)
        if certificate.cuts == "all":
            assert certificate.value == pytest.approx(optimum)
        elif certificate.all_cuts_bound is not None:
            assert certificate.all_cuts_bound <= optimum * (1 + 1e-9)
    assert certificate.cuts == "all"


def test_never_worse_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the brief search no fit is worse than without, and some are better."""
    better = 0
    for seed in range(12):
        rng = np.random.default_rng(300 + seed)
        frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
        labels = ((frame["a"] > 0.1) ^ (frame["b"] > 0.3) ^ (rng.random(80) < 0.2)).astype(int)
        losses = []
        for work in (0.0, 1e8):
            monkeypatch.setattr(cut_search, "BRIEF_WORK", work)
            model = omtree.OptimalTreeClassifier(max_depth=3, n_bins=4, min_samples_leaf=1, splits="binary")
            losses.append(model.fit(frame, labels).certificate_.value)
        assert losses[1] <= losses[0]
        better += losses[1] < losses[0]
    assert better > 0


@pytest.mark.parametrize("seed", range(6))
def test_smaller_trees_of_the_family_claim_their_own_cuts(seed: int) -> None:
    """A proof over all cuts is one for the size of the fit; a smaller tree claims the cuts it was chosen from."""
    frame, labels, _ = _rows(7 + seed)
    model = omtree.OptimalTreeClassifier(max_depth=3, min_samples_leaf=1, splits="binary", n_bins=3)
    model.fit(frame, labels)
    assert model.certificate_.cuts == "all"
    data = Cuttable.errors(frame.to_numpy().T.copy(), labels.tolist(), [1.0] * len(labels), [1.0] * len(labels))
    for leaves in range(1, 5):
        optimum = best_binary(data, 3, leaves, 1.0)
        smaller = model.with_leaves(leaves).certificate_
        assert smaller.value >= optimum
        if smaller.cuts == "all":
            assert smaller.bound <= optimum
            assert smaller.status != "optimal" or smaller.value == optimum
            continue
        assert smaller.all_cuts_bound is not None
        assert smaller.all_cuts_bound <= optimum
        assert smaller.n_cuts > 0
        assert "any two values" not in smaller.search_space


def test_what_is_said_of_other_cuts() -> None:
    """The verdict says how much other cut points can save at most, never rounded down, or that it is not known."""
    known = Certificate("optimal", 300.0, 300.0, 900.0, structure="tree", cuts="some", n_cuts=9, all_cuts_bound=299.9)
    assert str(known).startswith(
        "best found: the model makes 300 errors; it is proven that no tree with these 9 cut points can make fewer, and "
        "other cut points can save at most 0.1 % of them\n"
    )
    assert "over all cuts  299.9 (gap 0.0 %)" in str(known)
    unknown = Certificate("optimal", 300.0, 300.0, 900.0, structure="tree", cuts="some", n_cuts=9)
    assert "and other cut points are not excluded\n" in str(unknown)
    assert unknown.all_cuts_gap is None
