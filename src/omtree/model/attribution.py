"""What each feature contributes: to the loss that a tree saves, and to the answer for a row."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from omtree.data.table import CodeArray, FloatArray
from omtree.model.survival_curve import SurvivalCurve
from omtree.model.tree import Tree, TreeNode
from omtree.objectives import LabelCosts, Objective, RuleStatistics, Score


def loss_saved(tree: Tree, objective: Objective) -> FloatArray:
    """By how much the splits on each feature lower the loss, as shares of the whole; zero where nothing is saved.

    A node counts what it would cost as a leaf, less what its children would. Of scores of the whole model these are
    errors; of distances whose sums a node does not know, squared ones.

    Parameters
    ----------
    tree : Tree
    objective : Objective

    Returns
    -------
    array of float, shape (n_features,)
        In the order of ``tree.rules.features``.
    """
    totals = np.array(tree.nodes[0].class_weights)
    costs = objective.matrix(totals) if isinstance(objective, LabelCosts) else 1.0 - np.eye(len(totals))
    classes = tree.rules.classes
    curves = [rule.survival for rule in tree.rules] if tree.rules.are_curves else None

    def as_leaf(node: TreeNode) -> float:
        if curves is not None:
            return _deviance(node, tree, curves)
        if node.values:
            return node.support * (-max(node.values) if tree.rules.are_actions else min(node.values))
        if not classes:
            return 0.0 if node.targets is None else node.support * node.targets.deviation**2
        weights = np.array(node.class_weights)
        if isinstance(objective, (LabelCosts, Score)):
            return float((weights @ costs).min())
        return objective.loss(RuleStatistics(weights, classes))

    saved = np.zeros(len(tree.rules.features))
    for node in tree.nodes:
        if node.feature is not None:
            saved[node.feature] += as_leaf(node) - sum(as_leaf(tree.nodes[child]) for child in node.children)
    saved = np.maximum(saved, 0.0)
    total = float(saved.sum())
    return saved / total if total > 0 else saved


def _deviance(node: TreeNode, tree: Tree, curves: list[SurvivalCurve | None]) -> float:
    """What a node of a survival tree would cost as a leaf, but for what all rows cost by themselves."""
    todo, events, exposure = [node], 0.0, 0.0
    while todo:
        each = todo.pop()
        curve = None if each.rule is None else curves[each.rule]
        if curve is not None:
            events, exposure = events + curve.events, exposure + curve.exposure
        todo += [tree.nodes[child] for child in each.children]
    return -events * math.log(events / exposure) if events > 0 else 0.0


def shapley_values(tree: Tree, codes: CodeArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Exact Shapley values of the features for the answers to rows.

    The value of a set of features is what the tree answers on average where the others are not known: at a node on one
    of those the children speak in proportion to their training weight. A leaf's part of this is a product over the
    features on its path, so only these have to be counted through.

    Parameters
    ----------
    tree : Tree
    codes : array of uint8, shape (n_features, n_rows)
    values : array of float, shape (n_leaves, n_outputs)
        What each leaf answers.

    Returns
    -------
    base : array of float, shape (n_outputs,)
        The answer where nothing is known; with the values of a row it adds up to the answer for the row.
    contributions : array of float, shape (n_rows, n_features, n_outputs)
    """
    n_features, n_rows = codes.shape

    def follows(above: TreeNode, node: TreeNode) -> FloatArray:
        assert above.feature is not None
        return np.asarray(tree.route(above.index).take(codes[above.feature]) == node.index, dtype=np.float64)

    return _shapley_values(tree, follows, (n_rows, n_features), values)


def leaf_shapley_values(tree: Tree, values: FloatArray) -> FloatArray:
    """Exact Shapley values of the features for the answer of every leaf, where only its conditions are known.

    At a node on a feature that a leaf has a condition on, the children speak that this condition can lead to, in
    proportion to their training weight; at every other node all of them do. So they depend on the leaf alone and can
    be written down beside it, which those of single rows cannot.

    Parameters
    ----------
    tree : Tree
    values : array of float, shape (n_leaves, n_outputs)
        What each leaf answers.

    Returns
    -------
    array of float, shape (n_leaves, n_features, n_outputs)
        Those of a leaf add up to its answer less the average one; features it has no condition on have zero.
    """
    rules = tree.rules
    allowed = [{condition.feature: frozenset(condition.codes) for condition in rule.conditions} for rule in rules]

    def follows(above: TreeNode, node: TreeNode) -> FloatArray:
        assert above.feature is not None
        children = [tree.nodes[child] for child in above.children]
        return np.array([_part(node, _reachable(children, known.get(above.feature), above)) for known in allowed])

    return _shapley_values(tree, follows, (len(rules), len(rules.features)), values)[1]


def _reachable(children: list[TreeNode], codes: frozenset[int] | None, above: TreeNode) -> list[TreeNode]:
    """The children that codes can lead to; those never seen at the node follow its default."""
    if codes is None:
        return children
    met = [child for child in children if child.condition is not None and codes.intersection(child.condition.codes)]
    return met or [child for child in children if child.index == above.default]


def _part(node: TreeNode, among: list[TreeNode]) -> float:
    """The share of a node in the training weight of some siblings."""
    if all(node.index != other.index for other in among):
        return 0.0
    total = sum(other.support for other in among)
    return node.support / total if total > 0 else 1.0 / len(among)


def _shapley_values(
    tree: Tree, goes: Callable[[TreeNode, TreeNode], FloatArray], shape: tuple[int, int], values: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Shapley values where `goes` says what part of each row goes from a node to a child once its feature is known."""
    n_rows, n_features = shape
    base = np.zeros(values.shape[1])
    found = np.zeros((n_rows, n_features, values.shape[1]))
    for leaf in tree.nodes:
        if leaf.rule is None:
            continue
        follows: dict[int, FloatArray] = {}
        share: dict[int, float] = {}
        node = leaf
        while node.parent is not None:
            above = tree.nodes[node.parent]
            assert above.feature is not None
            follows[above.feature] = follows.get(above.feature, 1.0) * goes(above, node)
            part = _part(node, [tree.nodes[child] for child in above.children])
            share[above.feature] = share.get(above.feature, 1.0) * part
            node = above
        own = values[leaf.rule]
        base += math.prod(share.values()) * own
        for feature in follows:
            others = [other for other in follows if other != feature]
            weight = _average_product([follows[o] for o in others], [share[o] for o in others], n_rows)
            found[:, feature, :] += ((follows[feature] - share[feature]) * weight)[:, None] * own
    return base, found


def _average_product(known: list[FloatArray], unknown: list[float], n_rows: int) -> FloatArray:
    """The product over features, each known or not, averaged over the places in a random order that one can have."""
    n = len(known)
    # by_size[s]: the sum over sets of s known features of the product.
    by_size = [np.ones(n_rows)] + [np.zeros(n_rows) for _ in range(n)]
    for mine, other in zip(known, unknown, strict=True):
        for size in range(n, 0, -1):
            by_size[size] = by_size[size] * other + by_size[size - 1] * mine
        by_size[0] = by_size[0] * other
    total = np.zeros(n_rows)
    for size, product in enumerate(by_size):
        total += product * (math.factorial(size) * math.factorial(n - size) / math.factorial(n + 1))
    return total
