"""Sums over very many columns."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from omtree import OptimalTreeRegressor


def test_wide_tables_of_numbers_keep_to_time_and_memory() -> None:
    """Joint sums of all pairs of 2,000 columns would be gigabytes: they are summed a feature at a time, in time."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 2000))
    y = X[:, 0] + rng.normal(size=250)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = OptimalTreeRegressor(structure="rules", binning="quantile", max_depth=3, time_limit=0.5).fit(X, y)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 1 << 20  # kilobytes
    assert model.certificate_.bound <= model.certificate_.value


def test_slabs_and_tables_of_sums_agree() -> None:
    """Columns too many for one table of all pairs have the optimum of the two that make the target."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 8, (60, 420)).astype(float)
    y = (X[:, 3] > 3) * 4.0 + (X[:, 7] > 5)
    model = OptimalTreeRegressor(binning="quantile", n_bins=8, max_depth=2, max_leaves=4, time_limit=None).fit(X, y)
    few = OptimalTreeRegressor(binning="quantile", n_bins=8, max_depth=2, max_leaves=4).fit(X[:, [3, 7]], y)
    assert model.certificate_.status == few.certificate_.status == "optimal"
    assert model.certificate_.value == pytest.approx(0.0, abs=1e-9)
    assert few.certificate_.value == pytest.approx(0.0, abs=1e-9)
