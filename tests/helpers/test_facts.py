"""What is recomputed about a model."""

from __future__ import annotations

import numpy as np

from helpers.datasets import NOT_A_TREE
from helpers.facts import global_value, is_tree, recompute


def test_rules_that_are_no_tree() -> None:
    """The five rules over A, B, C have no root; plain trees are seen as such, whatever the order of conditions."""
    assert not is_tree(NOT_A_TREE)
    assert is_tree([[]])
    assert is_tree([[(0, {0})], [(0, {1}), (2, {0})], [(2, {1}), (0, {1})]])
    assert is_tree([[(0, {0, 1}), (1, {0})], [(0, {0, 1}), (1, {1})], [(0, {2})]])
    assert not is_tree([[], []])
    assert not is_tree([[(0, {0})], [(1, {1})]])
    assert not is_tree([[(0, {0, 1})], [(0, {1, 2})]])


def test_recompute_sees_gaps_and_overlaps() -> None:
    """Samples that meet no rule or two are counted as such."""
    codes, labels, weights = np.array([[0, 1, 2]]), np.array([0, 1, 1]), np.array([1.0, 2.0, 0.5])
    facts = recompute(codes, labels, weights, [([(0, {0, 1})], 0), ([(0, {1})], 1)], 1.0 - np.eye(2))
    assert facts.matches.tolist() == [1, 2, 0]
    assert not facts.is_partition
    assert facts.loss == 2.0
    assert facts.supports.tolist() == [3.0, 2.0]
    assert (facts.depth, facts.n_rules) == (1, 2)


def test_a_global_row_adds_up_over_the_rows_of_each_rule() -> None:
    """Each row adds the coefficient of the class its rule predicts."""
    coefficient = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    rules = [([(0, {0, 2})], 1), ([(0, {1})], 0)]
    assert global_value(np.array([[0, 1, 2]]), coefficient, rules) == 10 + 40 + 2
