"""Trees."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from helpers.random_models import not_a_tree, paths_of, random_node, random_problem, reader
from omtree.data.table import UNKNOWN, Feature, Table
from omtree.model.rules import RuleSet
from omtree.model.tree import Tree
from omtree.problem.graph import Condition, FeatureGraph
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Node, Path, Problem

CLASSES = ["a", "b", "c"]


@pytest.mark.parametrize("seed", range(20))
def test_leaves_and_rules_agree(seed: int) -> None:
    """A row that meets exactly one rule ends in that rule's leaf."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    tree = Tree.from_node(random_node(rng, problem, 3), reader(problem, CLASSES))
    codes = rng.integers(0, 6, size=(4, 300)).astype(np.uint8)
    met = tree.rules.matches(codes)
    one = met.sum(axis=1) == 1
    assert one.any()
    assert (tree.apply(codes)[one] == met[one].argmax(axis=1)).all()
    assert (tree.rules.assign(codes)[one] == met[one].argmax(axis=1)).all()


@pytest.mark.parametrize("seed", range(20))
def test_a_trees_rules_are_recognised_as_a_tree(seed: int) -> None:
    """The leaves of any tree, shuffled, are found to be a tree with the same leaves and weights."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    paths = paths_of(random_node(rng, problem, 3))
    rng.shuffle(paths)
    rules = RuleSet.from_paths(paths, reader(problem, CLASSES))
    tree = Tree.from_rules(rules)
    assert tree is not None
    assert tree.rules is rules
    assert sorted(node.rule for node in tree.nodes if node.is_leaf) == list(range(len(rules)))
    codes = problem.table.codes
    assert (tree.apply(codes) == rules.assign(codes)).all()
    np.testing.assert_allclose(tree.class_weights[0], problem.table.statistics.sum(axis=0))


def test_rules_that_are_no_tree() -> None:
    """Five disjoint rules of which no feature is in all are not a tree."""
    paths, problem = not_a_tree()
    rules = RuleSet.from_paths(paths, reader(problem, ["no", "yes"]))
    assert (rules.matches(problem.table.codes).sum(axis=1) == 1).all()
    assert Tree.from_rules(rules) is None


def test_overlapping_conditions_cannot_be_a_root() -> None:
    """A feature whose conditions overlap without being equal splits nothing."""
    _, problem = not_a_tree()
    wide = Path((Condition(0, (0, 1), "any A"), Condition(1, (0,), "B = 0")), 0)
    narrow = Path((Condition(0, (0,), "A = 0"), Condition(1, (0,), "B = 0")), 1)
    assert Tree.from_rules(RuleSet.from_paths([wide, narrow], reader(problem, ["no", "yes"]))) is None


@pytest.mark.parametrize("seed", range(10))
def test_the_rules_of_a_tree_are_in_the_order_of_its_paths(seed: int) -> None:
    """A leaf's rule has the features of the nodes above it, from the root down, whatever the order of the columns."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    tree = Tree.from_node(random_node(rng, problem, 3), reader(problem, CLASSES))
    for leaf in (node for node in tree.nodes if node.is_leaf):
        above: list[int | None] = []
        node = leaf
        while node.parent is not None:
            node = tree.nodes[node.parent]
            above.insert(0, node.feature)
        assert leaf.rule is not None
        assert [condition.feature for condition in tree.rules[leaf.rule].conditions] == list(dict.fromkeys(above))


@pytest.mark.parametrize("seed", range(10))
def test_nodes_hang_together(seed: int) -> None:
    """Children know their parents, weights add up, the default child is the heaviest, depth is the longest path."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    tree = Tree.from_node(random_node(rng, problem, 3), reader(problem, CLASSES))
    for node in tree.nodes:
        assert tree.nodes[node.index] is node
        if node.is_leaf:
            assert node.class_weights == tree.rules[node.rule].class_weights
            continue
        children = [tree.nodes[child] for child in node.children]
        assert all(child.parent == node.index and child.depth == node.depth + 1 for child in children)
        np.testing.assert_allclose(node.class_weights, np.sum([child.class_weights for child in children], axis=0))
        assert tree.nodes[node.default].support == max(child.support for child in children)
    assert tree.depth == tree.rules.depth
    assert tree.n_leaves == len(tree.rules)


def test_values_never_seen_follow_the_heaviest_child() -> None:
    """A code that no branch names, or that the feature never had, takes the default child."""
    features = (Feature("a", 0, "nominal", 3, False, levels=tuple("xyz")),)
    table = Table(features, np.array([[0, 1]], dtype=np.uint8), np.array([[1.0, 0.0], [0.0, 5.0]]), np.arange(2))
    problem = Problem(table, FeatureGraph(features, "values"), LinearLoss(1.0 - np.eye(2)), 1, 2, 0.0)
    root = Node(1, ((Condition(0, (0,), "a = x"), Node(0)), (Condition(0, (1,), "a = y"), Node(1))))
    tree = Tree.from_node(root, reader(problem, ["no", "yes"]))
    assert tree.apply(np.array([[0, 1, 2, UNKNOWN]], dtype=np.uint8)).tolist() == [0, 1, 1, 1]


def test_a_feature_split_twice_is_one_condition_of_the_rule() -> None:
    """Where a path splits a feature again, the leaf's rule has one condition with the values of both."""
    features = (Feature("a", 0, "ordinal", 3, False, levels=tuple("xyz")),)
    table = Table(features, np.array([[0, 1, 2]], dtype=np.uint8), np.eye(3), np.arange(3))
    problem = Problem(table, FeatureGraph(features), LinearLoss(1.0 - np.eye(3)), 2, 3, 0.0)
    upper = Node(1, ((Condition(0, (0, 1)), Node(1)), (Condition(0, (2,)), Node(2))))
    root = Node(0, ((Condition(0, (0,)), Node(0)), (Condition(0, (1, 2)), upper)))
    tree = Tree.from_node(root, reader(problem, CLASSES))
    assert [rule.conditions for rule in tree.rules] == [(Condition(0, (code,)),) for code in range(3)]
    assert tree.depth == 2
    assert tree.apply(table.codes).tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", range(5))
def test_decision_path_leads_from_root_to_leaf(seed: int) -> None:
    """Each row passes the root, its leaf, and exactly the nodes above the leaf."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    tree = Tree.from_node(random_node(rng, problem, 3), reader(problem, CLASSES))
    codes = problem.table.codes
    paths = tree.decision_path(codes).toarray()
    leaf_of_rule = {node.rule: node for node in tree.nodes if node.is_leaf}
    for row, rule in zip(paths, tree.apply(codes), strict=True):
        node = leaf_of_rule[rule]
        expected = {node.index}
        while node.parent is not None:
            node = tree.nodes[node.parent]
            expected.add(node.index)
        assert set(np.flatnonzero(row)) == expected


def test_a_single_leaf_is_a_tree() -> None:
    """The model without any split has one node, depth 0, and answers for every row."""
    rng = np.random.default_rng(0)
    problem = random_problem(rng)
    tree = Tree.from_node(Node(2), reader(problem, CLASSES))
    assert (tree.depth, tree.n_leaves, len(tree.nodes)) == (0, 1, 1)
    assert (tree.apply(problem.table.codes) == 0).all()
    assert Tree.from_rules(tree.rules) is not None
    assert str(tree).startswith("all rows: c  [110 rows ")


def test_trees_read_well() -> None:
    """A printed tree is indented and its leaves say what they predict."""
    features = (Feature("a", 0, "nominal", 3, False, levels=tuple("xyz")),)
    table = Table(features, np.array([[0, 1]], dtype=np.uint8), np.array([[1.0, 0.0], [1.0, 2.0]]), np.arange(2))
    problem = Problem(table, FeatureGraph(features, "values"), LinearLoss(1.0 - np.eye(2)), 1, 2, 0.0)
    root = Node(1, ((Condition(0, (0,), "a = x"), Node(0)), (Condition(0, (1,), "a = y"), Node(1))))
    assert str(Tree.from_node(root, reader(problem, ["no", "yes"]))) == (
        "all rows\n"
        "|-- a = x: no  [1 row (25.0 %): no 100.0 %]\n"
        "`-- a = y: yes  [3 rows (75.0 %): yes 66.7 %, no 33.3 %]"
    )


def test_pickle_keeps_the_answers() -> None:
    """A tree survives pickling."""
    rng = np.random.default_rng(3)
    problem = random_problem(rng)
    tree = Tree.from_node(random_node(rng, problem, 3), reader(problem, CLASSES))
    again = pickle.loads(pickle.dumps(tree))
    assert again.nodes == tree.nodes
    assert (again.apply(problem.table.codes) == tree.apply(problem.table.codes)).all()
