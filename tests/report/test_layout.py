"""The tidy layout."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omtree.report.layout import tidy


def random_tree(seed: int, most: int) -> tuple[list[list[int]], list[float], list[int]]:
    """Children, sizes and depths of a random tree; children have larger numbers than their parents."""
    rng = np.random.default_rng(seed)
    children: list[list[int]] = [[]]
    depth = [0]
    queue = [0]
    while queue and len(children) < most:
        node = queue.pop(int(rng.integers(len(queue))))
        for _ in range(int(rng.integers(0, 6))):
            children[node].append(len(children))
            queue.append(len(children))
            children.append([])
            depth.append(depth[node] + 1)
    return children, rng.uniform(5, 120, len(children)).tolist(), depth


def in_order(children: list[list[int]]) -> list[int]:
    """All nodes, depth first, siblings from left to right."""
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(reversed(children[node]))
    return order


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 10**9), st.integers(1, 120))
def test_nodes_of_a_level_never_overlap(seed: int, most: int) -> None:
    """Nodes of one level keep their order and their distance: the gap among siblings, the larger one else."""
    children, sizes, depth = random_tree(seed, most)
    centre = tidy(children, sizes, gap=7, family_gap=19)
    parent = {kid: node for node, kids in enumerate(children) for kid in kids}
    order = in_order(children)
    for level in range(max(depth) + 1):
        nodes = [node for node in order if depth[node] == level]
        for a, b in itertools.pairwise(nodes):
            distance = (centre[b] - sizes[b] / 2) - (centre[a] + sizes[a] / 2)
            assert distance >= (7 if parent.get(a) == parent.get(b) else 19) - 1e-6


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**9), st.integers(1, 80))
def test_parents_stand_above_the_middle_of_their_children(seed: int, most: int) -> None:
    """Every parent is centred over its first and last child, and the picture begins at 0."""
    children, sizes, _ = random_tree(seed, most)
    centre = tidy(children, sizes)
    for node, kids in enumerate(children):
        if kids:
            assert centre[node] == pytest.approx((centre[kids[0]] + centre[kids[-1]]) / 2)
    assert min(c - s / 2 for c, s in zip(centre, sizes, strict=True)) == pytest.approx(0.0)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**9), st.integers(1, 80))
def test_a_mirrored_tree_gets_the_mirrored_layout(seed: int, most: int) -> None:
    """Nothing is drawn to the left for being first."""
    children, sizes, _ = random_tree(seed, most)
    centre = np.array(tidy(children, sizes))
    mirrored = np.array(tidy([kids[::-1] for kids in children], sizes))
    end = max(centre + np.array(sizes) / 2)
    np.testing.assert_allclose(mirrored, end - centre, atol=1e-6)


def test_a_subtree_moves_under_its_neighbour() -> None:
    """Contours, not bounding boxes: a wide family deep in one tree does not push a shallow neighbour away."""
    children = [[1, 2], [3], [], [4, 5, 6], [], [], []]
    centre = tidy(children, [10.0] * 7, gap=5, family_gap=5)
    assert centre[2] - centre[1] == pytest.approx(15.0)
