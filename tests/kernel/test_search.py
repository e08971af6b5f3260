"""The kernel's tree search on small hand-made data, without the Python layers above it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from omtree import _native
from omtree.problem.losses import LinearLoss


def search(codes: list[list[int]], counts: list[list[float]], **options: Any) -> tuple[list[float], Any]:
    """Losses and trees; features are intervals unless told otherwise."""
    table = np.array(codes, dtype=np.uint8)
    weights = np.array(counts, dtype=np.float64)
    n_features = len(codes)
    settings: dict[str, Any] = {
        "columns": list(range(n_features)),
        "n_codes": (table.max(axis=1) + 1).tolist(),
        "families": ["interval"] * n_features,
        "has_missing": [False] * n_features,
        "orders": [[] for _ in range(n_features)],
        "forced": [],
        "max_depth": 2,
        "max_leaves": 4,
        "min_support": 1.0,
        "max_children": 0,
        "n_threads": 1,
        "cache_bytes": 1 << 20,
        "seconds": 1e30,
        "use_bounds": True,
        "use_cache": True,
        "every_size": True,
        "progress": None,
    }
    errors = LinearLoss(1.0 - np.eye(weights.shape[1])).native()
    counting = options.pop("counting", "auto")
    task = _native.TreeTask(**(settings | options))
    answer = _native.search_trees(table, weights, errors, task, counting=counting, prices=None)
    assert answer is not None
    return answer[0], answer[1]


XOR = [[0, 0, 1, 1], [0, 1, 0, 1]]
XOR_COUNTS = [[5.0, 0], [0, 5], [0, 5], [5, 0]]


@pytest.mark.parametrize("counting", ["bits", "histogram"])
@pytest.mark.parametrize("max_children", [0, 2])
def test_exclusive_or_needs_two_levels(max_children: int, counting: str) -> None:
    """One split gains nothing, two levels separate the classes."""
    losses, trees = search(XOR, XOR_COUNTS, max_children=max_children, counting=counting)
    assert losses == [10.0, 10.0, 5.0, 0.0]
    assert len(trees[3]) == 7


def test_three_children_where_two_are_not_enough() -> None:
    """A middle interval of its own needs three children of one node."""
    losses, trees = search([[0, 1, 2]], [[4.0, 0], [0, 4], [4, 0]], max_depth=1)
    assert losses == [4.0, 4.0, 0.0, 0.0]
    assert [codes for codes, _ in trees[2][0][3]] == [[0], [1], [2]]


def test_the_middle_of_a_large_nominal_feature_is_split_off() -> None:
    """One code against all others is a split that runs along the order do not offer."""
    losses, _ = search(
        [[0, 1, 2, 3, 4, 5]],
        [[4.0, 0], [4, 0], [0, 4], [4, 0], [4, 0], [4, 0]],
        families=["run"],
        max_depth=1,
        max_leaves=2,
    )
    assert losses == [4.0, 0.0]


def test_support_forbids_small_leaves() -> None:
    """A leaf below the support is not made, and without any leaf there is no tree."""
    assert search(XOR, XOR_COUNTS, min_support=6.0)[0] == [10.0] * 4
    losses, trees = search(XOR, XOR_COUNTS, min_support=21.0)
    assert losses == [np.inf] * 4
    assert trees == [None] * 4


def test_large_weights_are_counted_in_full() -> None:
    """Weights beyond a byte count as so many samples."""
    losses, _ = search(XOR, [[1000.0, 1], [3, 777], [0, 1025], [513, 2]], max_children=2)
    assert losses[3] == 6.0
