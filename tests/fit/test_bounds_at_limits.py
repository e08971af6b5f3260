"""What no tree does better than, however early time ends a fit: never above what a fit without a limit proves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import omtree

LIMITS = (0.01, 0.03, 0.1, 0.3, 1.0, None)


def _table(seed: int, number: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(140, 4))
    X[:, 3] = rng.integers(0, 4, 140)
    wave = np.sin(3 * X[:, 0]) * (X[:, 1] > 0) + 0.4 * (X[:, 3] > 1) + rng.normal(0, 0.3, 140)
    return X, wave if number else (wave > 0.2).astype(int)


@pytest.mark.parametrize(
    ("number", "options"),
    [
        (False, {"max_depth": 3, "splits": "binary"}),
        (False, {"max_depth": 3, "splits": "binary", "min_samples_leaf": 7}),
        (False, {"max_depth": 2, "splits": "multiway"}),
        (True, {"max_depth": 3, "splits": "binary"}),
        (True, {"max_depth": 2, "splits": "binary", "min_samples_leaf": 7}),
    ],
)
def test_no_bound_is_above_the_optimum(number: bool, options: dict[str, Any]) -> None:
    """Over all cuts, with the default cuts and with `"exact"`; deeper trees have no higher bound either."""
    kind = omtree.OptimalTreeRegressor if number else omtree.OptimalTreeClassifier
    X, y = _table(5, number)
    options = {"min_samples_leaf": 1, **options}
    best = kind(binning="exact", time_limit=None, **options).fit(X, y).certificate_
    assert best.status == "optimal"
    known = set()
    for seconds in LIMITS:
        for binning in ("exact", "adaptive"):
            found = kind(binning=binning, time_limit=seconds, **options).fit(X, y).certificate_
            assert found.bound <= found.value * (1 + 1e-9)
            bound = found.bound if binning == "exact" else found.all_cuts_bound
            if bound is not None:
                assert bound <= best.value * (1 + 1e-9)
                known.add(bound)
            assert found.value >= best.value * (1 - 1e-9)
    assert max(known) == pytest.approx(best.value)
    for seconds in (0.01, 0.1, 0.5):
        deeper = kind(time_limit=seconds, **{**options, "max_depth": 7}).fit(X, y).certificate_
        assert (deeper.all_cuts_bound or 0.0) <= best.value * (1 + 1e-9)
