"""Of several trees without a loss the one with fewest leaves is returned, whatever search found it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import omtree

WAYS: list[dict[str, Any]] = [
    {},
    {"splits": "binary"},
    {"binning": "exact"},
    {"binning": "exact", "splits": "binary"},
    {"binning": "quantile"},
    {"structure": "rules", "max_depth": 2},
]


@pytest.mark.parametrize("ways", WAYS, ids=str)
def test_two_leaves_are_enough(ways: dict[str, Any]) -> None:
    """Where one test decides everything, models of any depth have two leaves, and the other sizes are still there."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(
            {
                "a": rng.normal(size=60).round(2),
                "b": rng.normal(size=60).round(1),
                "c": rng.choice(list("xyz"), 60),
                "d": rng.random(60) < 0.5,
            }
        )
        y = (X["d"] if "quantile" in ways.values() else X["c"] == "x" if seed % 2 else X["a"] > 0.1).astype(int)
        options = {"max_depth": 3, "min_samples_leaf": 1, **ways}
        for model in (
            omtree.OptimalTreeClassifier(**options).fit(X, y),
            omtree.OptimalTreeRegressor(**options).fit(X, 2.0 * y),
        ):
            assert (model.certificate_.status, len(model.rules_)) == ("optimal", 2)
            assert model.certificate_.value == pytest.approx(0.0, abs=1e-9)
            if ways.get("structure") != "rules":
                assert len(model.with_leaves(4).rules_) == 2
                assert len(model.with_leaves(1).rules_) == 1
