"""Sums over very many columns."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from omtree import OptimalPolicyTree, OptimalTreeRegressor


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


def test_many_sums_over_many_columns_equal_brute_force() -> None:
    """Too many actions and columns for one table of all pairs: best trees of depth 2, binary ones by brute force."""
    rng = np.random.default_rng(2)
    n_rows, n_columns, n_values, n_actions = 1100, 125, 8, 20  # more rows than are summed at a time
    X = rng.integers(0, n_values, (n_rows, n_columns))
    rewards = rng.integers(0, 9, (n_rows, n_actions)).astype(float)
    rewards[:, 4] += 6.0 * (X[:, 30] > 4) * (X[:, 90] > 2)
    rewards[:, 9] += 5.0 * (X[:, 30] <= 4) * (X[:, 7] > 5)
    options = {"binning": "quantile", "n_bins": 8, "max_depth": 2, "max_leaves": 4, "min_samples_leaf": 1}
    binary, multiway = (
        OptimalPolicyTree(**options, splits=splits, time_limit=None).fit(X, rewards=rewards)
        for splits in ("binary", "multiway")
    )
    inside = (X[:, :, None] <= np.arange(n_values - 1)).reshape(n_rows, -1).astype(float)

    def best_split(below: np.ndarray, all_: np.ndarray) -> float:
        return float((below.max(axis=1) + (all_ - below).max(axis=1)).max())

    whole, total = inside.T @ rewards, rewards.sum(axis=0)
    most = 0.0
    for side in inside.T:
        left = inside.T @ (rewards * side[:, None])
        most = max(most, best_split(left, rewards.T @ side) + best_split(whole - left, total - rewards.T @ side))
    assert binary.certificate_.status == multiway.certificate_.status == "optimal"
    assert binary.certificate_.value == rewards.max(axis=1).sum() - most
    # Multiway trees include the binary ones, and over few columns they are counted in one table.
    assert multiway.certificate_.value <= binary.certificate_.value
    tested = sorted({condition.feature for rule in multiway.rules_ for condition in rule.conditions})
    few = OptimalPolicyTree(**options, time_limit=None).fit(X[:, tested], rewards=rewards)
    assert few.certificate_.value == multiway.certificate_.value
