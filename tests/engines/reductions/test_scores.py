"""Ratios such as F1, by a sequence of additive searches."""

from __future__ import annotations

import numpy as np
import pytest

from omtree import OptimalTreeClassifier
from omtree.engines.reductions import scores


@pytest.mark.parametrize("name", ["f1", "jaccard"])
def test_a_shallow_start_spares_deep_searches_and_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deep trees have the same score from that of a shallow one on as from the middle, in fewer deep searches."""
    n_deep = {4: 0, 99: 0}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 2, size=(150, 8))
        y = (X[:, :5].sum(axis=1) + rng.normal(0, 0.8, 150) > 3).astype(int)
        found = {}
        for deep in n_deep:
            monkeypatch.setattr(scores, "DEEP", deep)
            model = OptimalTreeClassifier(max_depth=4, objective=name, splits="binary", min_samples_leaf=1).fit(X, y)
            assert model.certificate_.status == "optimal"
            found[deep] = model.certificate_.value
            n_deep[deep] += model.certificate_.iterations
        assert found[4] == pytest.approx(found[99], abs=1e-9)
    assert n_deep[4] < n_deep[99]
