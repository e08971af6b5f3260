"""Bounds from similar sets of rows, where leaves need support: a tree for one set may lack it on another."""

from __future__ import annotations

import numpy as np
import pytest

from omtree.data.build import make_features, make_table
from omtree.data.columns import read_columns
from omtree.engines.trees import solve
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Problem


def noisy_problem(seed: int) -> Problem:
    """Some dozen rows, few values a column, a noisy score as class, and a support of several rows."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = int(rng.integers(40, 120)), int(rng.integers(3, 8))
    X = rng.integers(0, int(rng.integers(2, 5)), (n_rows, n_columns)).astype(float)
    score = X @ rng.integers(0, 3, n_columns) + rng.normal(0.0, 1.0, n_rows)
    y = (score > np.median(score)).astype(np.int64)
    weight = None if seed % 3 else rng.integers(1, 4, n_rows).astype(float)
    columns = read_columns(X, dict.fromkeys(range(1, n_columns, 2), "nominal"))
    features, _ = make_features(columns, y, 2, weight)
    table = make_table(columns, features, y, 2, weight)
    depth = int(rng.integers(3, 5))
    support = float(rng.choice([2, 3, 5, 10]))
    return Problem(
        table, FeatureGraph(features), LinearLoss(1.0 - np.eye(2)), depth, 2**depth - int(rng.integers(0, 4)), support
    )


@pytest.mark.parametrize("splits", ["binary", "multiway"])
@pytest.mark.parametrize("seed", range(120))
def test_bounds_respect_the_support(seed: int, splits: str) -> None:
    """With and without bounds and cache: the same losses, and a bound that is the value."""
    problem = noisy_problem(seed)
    plain = solve(problem, splits=splits, use_bounds=False)  # type: ignore[arg-type]
    for use_cache in (True, False):
        bounded = solve(problem, splits=splits, use_cache=use_cache)  # type: ignore[arg-type]
        assert bounded.losses.tolist() == plain.losses.tolist()
        assert bounded.status == "optimal"
        assert bounded.bound == bounded.value
    assert solve(problem, splits=splits, every_size=False).value == plain.value  # type: ignore[arg-type]


def skewed_problem(seed: int) -> Problem:
    """Columns whose rarer values soon lack the support, so that deep down most features can no longer be split."""
    rng = np.random.default_rng(1000 + seed)
    n_rows, n_columns, n_classes = int(rng.integers(30, 90)), int(rng.integers(4, 8)), int(rng.integers(2, 4))
    X = np.minimum(rng.geometric(0.6, (n_rows, n_columns)) - 1, rng.integers(1, 5, n_columns)).astype(float)
    y = (X[:, :3].sum(axis=1) + (rng.random(n_rows) < 0.2)).astype(np.int64) % n_classes
    columns = read_columns(X, dict.fromkeys(range(0, n_columns, 2), "nominal"))
    features, _ = make_features(columns, y, n_classes)
    table = make_table(columns, features, y, n_classes)
    depth = int(rng.integers(3, 5))
    support = float(rng.choice([1, 3, 6, 9]))
    return Problem(
        table, FeatureGraph(features), LinearLoss(1.0 - np.eye(n_classes)), depth, int(rng.integers(4, 13)), support
    )


@pytest.mark.parametrize("max_children", [None, 2])
@pytest.mark.parametrize("seed", range(60))
def test_features_without_the_support_are_not_missed(seed: int, max_children: int | None) -> None:
    """Leaving out features that cannot be split, and limits from what stands beside a child: the same losses."""
    problem = skewed_problem(seed)
    plain = solve(problem, max_children=max_children, use_bounds=False)
    for counting in ("auto", "bits", "histogram"):
        bounded = solve(problem, max_children=max_children, counting=counting)  # type: ignore[arg-type]
        assert bounded.losses.tolist() == plain.losses.tolist()
    assert solve(problem, max_children=max_children, every_size=False).value == plain.value
