"""The best model for costs by row by plain enumeration: every model and every answer, from the raw costs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np

from helpers.constrained_brute import rule_models, tree_models
from omtree.data.build import encode_rows, make_features
from omtree.data.columns import read_columns


def best_charged(
    cells: list[list[object]],
    charges: np.ndarray,
    weight: np.ndarray,
    *,
    structure: str,
    max_depth: int,
    max_leaves: int,
    min_support: float = 0.0,
    allowed: Callable[[np.ndarray, np.ndarray], bool] | None = None,
) -> float:
    """Least cost of a model, infinite where there is none; `allowed` is told leaf and answer of every sample."""
    columns = read_columns(cells)
    features, _ = make_features(columns, np.zeros(len(cells), dtype=np.intp), 1, None, 8, "quantile")
    codes = encode_rows(columns, features)
    models = rule_models if structure == "rules" else tree_models
    best = math.inf
    for leaves in models(codes, features, max_depth, max_leaves):
        owner = np.array([next(i for i, leaf in enumerate(leaves) if leaf.rows >> s & 1) for s in range(len(cells))])
        if np.bincount(owner, weights=weight, minlength=len(leaves)).min() < max(min_support, 1e-9) - 1e-9:
            continue
        sums = np.array([(weight[:, None] * charges)[owner == i].sum(axis=0) for i in range(len(leaves))])
        if sums.min(axis=1).sum() >= best:
            continue
        if allowed is None:
            best = float(sums.min(axis=1).sum())
            continue
        for labels in itertools.product(range(charges.shape[1]), repeat=len(leaves)):
            cost = float(sums[np.arange(len(leaves)), labels].sum())
            if cost < best and allowed(owner, np.array(labels)[owner]):
                best = cost
    return best


def tiny_charged(seed: int, n_answers: int = 3) -> tuple[list[list[object]], np.ndarray, np.ndarray, np.ndarray]:
    """Cells, classes, costs by row and whole weights of a few samples over three small columns."""
    rng = np.random.default_rng(seed)
    n = 12
    cells: list[list[object]] = [
        [float(rng.integers(3)), "ab"[rng.integers(2)], float(rng.integers(2))] for _ in range(n)
    ]
    cells[:3] = [[0.0, "a", 0.0], [1.0, "b", 1.0], [2.0, "a", 1.0]]
    y = rng.integers(n_answers, size=n)
    y[:n_answers] = np.arange(n_answers)
    charges = np.round(rng.exponential(2.0, size=(n, n_answers)), 2)
    return cells, y, charges, rng.integers(1, 4, size=n).astype(float)
