"""Trees that cut anywhere become trees over codes that send every row the same way."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from omtree.data.column import Column
from omtree.data.table import Feature
from omtree.fit.raw_cuts import Part, RawNode, with_cuts
from omtree.problem.problem import Node


def _raw_leaf(node: RawNode, row: list[float]) -> int:
    """The label of a row, walked on raw numbers; codes of levels are their values."""
    while node.branches:
        x = row[node.feature]
        node = next(
            child
            for part, child in node.branches
            if (part.missing if math.isnan(x) else x in part.codes if part.codes else part.low <= x < part.high)
        )
    return node.label


def _coded_leaf(node: Node, codes: list[int]) -> int:
    while node.branches:
        matching = [child for condition, child in node.branches if codes[condition.feature] in condition.codes]
        assert len(matching) == 1
        node = matching[0]
    return node.label


def _random_tree(rng: np.random.Generator, depth: int, labels: list[int], bounds: tuple[float, float]) -> RawNode:
    if depth == 0 or rng.random() < 0.2:
        labels.append(len(labels))
        return RawNode(labels[-1])
    if rng.random() < 0.3:
        part = (Part(codes=(0, 2)), Part(codes=(1,)))
        return RawNode(0, 1, tuple((p, _random_tree(rng, 0, labels, bounds)) for p in part))
    cut = float(rng.uniform(*bounds))
    missing = bool(rng.random() < 0.5)
    parts = (Part(high=cut, missing=missing), Part(low=cut, missing=not missing))
    inside = ((bounds[0], cut), (cut, bounds[1]))
    children = [_random_tree(rng, depth - 1, labels, b) for b in inside]
    return RawNode(0, 0, tuple(zip(parts, children, strict=True)))


def test_rows_keep_their_leaf() -> None:
    """Random rows, missing cells included, end at the same leaf of the raw and of the coded tree."""
    rng = np.random.default_rng(0)
    x = Feature("x", 0, "numeric", 3, True, thresholds=np.array([-1.0, 1.0]))
    shape = Feature("shape", 1, "nominal", 3, False, levels=(0, 1, 2))
    other = Feature("other", 2, "numeric", 2, False, thresholds=np.array([0.5]))
    for _ in range(50):
        tree = _random_tree(rng, 4, [], (-2.0, 2.0))
        features, node = with_cuts((x, shape, other), tree)
        assert features[1] is shape
        assert features[2] is other
        values = np.where(rng.random(100) < 0.2, np.nan, rng.uniform(-2.0, 2.0, 100))
        levels = rng.integers(0, 3, 100)
        codes = features[0].encode(Column("x", "numeric", values, True))
        for value, level, code in zip(values.tolist(), levels.tolist(), codes.tolist(), strict=True):
            assert _coded_leaf(node, [code, level, 0]) == _raw_leaf(tree, [value, level, 0.0])


def test_missing_on_its_own() -> None:
    """A split of missing from present cells needs no threshold."""
    x = Feature("x", 0, "numeric", 3, True, thresholds=np.array([-1.0, 1.0]))
    present, absent = Part(), Part(low=math.inf, missing=True)
    (cut,), node = with_cuts([x], RawNode(0, 0, ((present, RawNode(0)), (absent, RawNode(1)))))
    assert cut.n_codes == 2
    assert cut.thresholds is not None
    assert len(cut.thresholds) == 0
    assert [condition.text for condition, _ in node.branches] == ["x is not missing", "x is missing"]


def test_only_the_cuts_of_the_tree() -> None:
    """A feature that is cut has the thresholds of the tree and no others, each once."""
    x = Feature("x", 0, "numeric", 3, False, thresholds=np.array([-1.0, 1.0]))
    lower = RawNode(0, 0, ((Part(high=0.25), RawNode(0)), (Part(low=0.25), RawNode(1))))
    tree = RawNode(0, 0, ((Part(high=4.0), lower), (Part(low=4.0), RawNode(1))))
    (cut,), node = with_cuts([x], tree)
    assert cut.thresholds is not None
    assert cut.thresholds.tolist() == [0.25, 4.0]
    assert [condition.text for condition, _ in node.branches[0][1].branches] == ["x < 0.25", "0.25 <= x < 4"]


def test_too_many_cuts() -> None:
    """A column cut at more places than there are codes is refused by name."""
    x = Feature("x", 0, "numeric", 1, False, thresholds=np.empty(0))
    edges = [-math.inf, *map(float, range(300)), math.inf]
    parts = [Part(low, high) for low, high in itertools.pairwise(edges)]
    with pytest.raises(ValueError, match="column 'x' at 300 places"):
        with_cuts([x], RawNode(0, 0, tuple((part, RawNode(0)) for part in parts)))
