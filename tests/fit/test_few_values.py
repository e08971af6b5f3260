"""`binning="exact"`: what comes before the search over all cuts, and where nothing has to."""

from typing import Any

import numpy as np
import pytest

from omtree import OptimalTreeClassifier
from omtree.fit import plan


@pytest.mark.parametrize(("n_values", "searches"), [(2, 0), (8, 0), (9, 1)])
def test_few_cuts_are_searched_first_only_where_there_are_more(
    n_values: int, searches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns of no more values than bins have the same cuts either way, and the same loss."""
    rng = np.random.default_rng(n_values)
    X = np.concatenate([np.tile(np.arange(n_values)[:, None], (1, 3)), rng.integers(0, n_values, size=(60, 3))])
    y = (X.sum(axis=1) + rng.integers(0, 3, size=len(X))) % 3
    calls = []
    over_few_cuts = plan.over_few_cuts

    def counted(*given: Any) -> Any:
        calls.append(given)
        return over_few_cuts(*given)

    monkeypatch.setattr(plan, "over_few_cuts", counted)
    exact, coarse = (
        OptimalTreeClassifier(max_depth=2, objective="gini", binning=binning, min_samples_leaf=1, n_bins=8)
        .fit(X, y)
        .certificate_.value
        for binning in ("exact", "quantile")
    )
    assert len(calls) == searches
    assert exact == pytest.approx(coarse) if searches == 0 else exact <= coarse + 1e-9
