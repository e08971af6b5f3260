"""The tree: nodes that split one feature each, with the rules as leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from omtree.data.table import CodeArray
from omtree.later import HasLater, Later
from omtree.model.rules import RuleSet, in_words, rule_of_rows
from omtree.model.target_summary import Summary, TargetSummary
from omtree.problem.graph import Condition

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from omtree.model.rule_facts import Reader
    from omtree.problem.problem import Node, Path


@dataclass(frozen=True)
class TreeNode(HasLater):
    """One node of a fitted tree.

    Attributes
    ----------
    index : int
        Its position in ``Tree.nodes``; the root has 0 and children follow their parents.
    parent : int or None
    depth : int
        Number of splits above it.
    condition : Condition or None
        The condition on the branch that leads here; None at the root.
    feature : int or None
        The feature it splits, None in a leaf.
    children : tuple of int
        Positions of its children.
    default : int or None
        The child that takes values the node never saw in training: the one that the fit chose, else the heaviest.
    class_weights : tuple of float
        Sample weight of each class among the training rows that reach it; empty where the target is a number.
    rule : int or None
        Position of its rule in ``Tree.rules``; None in an inner node.
    support : float
        Sample weight of the training rows that reach it.
    targets : TargetSummary or None
        The spread of the target among them, where it is a number; None in inner nodes where it is not known.
    values : tuple of float
        Where every row has costs of its own, what each answer costs them on average; empty otherwise.
    """

    index: int
    parent: int | None
    depth: int
    condition: Condition | None
    feature: int | None
    children: tuple[int, ...]
    default: int | None
    class_weights: tuple[float, ...]
    rule: int | None
    support: float
    targets: Later[TargetSummary] = Later()
    values: tuple[float, ...] = ()

    @property
    def is_leaf(self) -> bool:
        """Whether the node is a leaf."""
        return self.rule is not None


@dataclass(frozen=True)
class _Split:
    """The bare shape of a tree: a feature and what is behind each condition, a split or a rule's position.

    `default` is the position of the branch for values the node never saw; None is the heaviest one.
    """

    feature: int
    branches: tuple[tuple[Condition, _Split | int], ...]
    default: int | None = None


class Tree:
    """A multiway tree; its leaves are the rules.

    Build one with `from_node` or `from_rules`.

    Attributes
    ----------
    nodes : tuple of TreeNode
        Depth first, the root first.
    rules : RuleSet
        The leaves as rules.
    """

    def __init__(self, shape: _Split | int, rules: RuleSet, summary: Summary | None = None) -> None:
        self.rules = rules
        nodes: list[TreeNode | None] = []
        self._grow(shape, nodes, None, None, 0, summary)
        self.nodes: tuple[TreeNode, ...] = tuple(node for node in nodes if node is not None)

    @classmethod
    def from_node(cls, root: Node, reader: Reader) -> Tree:
        """The tree behind an engine's root node, weighed on the problem's rows.

        Parameters
        ----------
        root : Node
        reader : Reader
        """
        # Whoever only predicts never comes here, and a quick answer from the shell has no time for what is not needed.
        from omtree.problem.problem import Path

        features, codes = reader.problem.table.features, reader.problem.table.codes
        paths: list[Path] = []
        rule_of_row = np.zeros(codes.shape[1], dtype=np.intp)

        def shape(node: Node, above: dict[int, Condition], rows: npt.NDArray[np.intp]) -> _Split | int:
            if not node.branches:
                paths.append(Path(tuple(above.values()), node.label))
                rule_of_row[rows] = len(paths) - 1
                return len(paths) - 1
            feature = node.branches[0][0].feature
            branches = []
            for branch, child in node.branches:
                condition = in_words(branch, features)
                both = condition
                if feature in above:
                    # The feature was split higher up already: the leaf's rule has one condition that says both.
                    shared = tuple(sorted(set(above[feature].codes) & set(condition.codes)))
                    both = in_words(Condition(feature, shared), features)
                allowed = np.zeros(256, dtype=bool)
                allowed[list(condition.codes)] = True
                inside = rows[allowed.take(codes[feature].take(rows))]
                branches.append((condition, shape(child, {**above, feature: both}, inside)))
            return _Split(feature, tuple(branches), node.default)

        bare = shape(root, {}, np.arange(codes.shape[1]))
        samples = reader.samples(rule_of_row, len(paths))
        rules = RuleSet.from_paths(paths, reader, rule_of_row, samples)
        return cls(bare, rules, None if samples is None else samples.summary)

    @classmethod
    def from_rules(cls, rules: RuleSet, summary: Summary | None = None) -> Tree | None:
        """The tree that a rule set happens to be, or None when it is none.

        A set of rules is a tree when some feature occurs in all of them with conditions that are pairwise equal or
        disjoint, and each group of rules with the same condition is again a tree. Any such feature will do.
        """
        shape = _shape(rules, list(range(len(rules))), frozenset())
        return None if shape is None else cls(shape, rules, summary)

    @property
    def depth(self) -> int:
        """Most splits between the root and a leaf."""
        return max(node.depth for node in self.nodes)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.rules)

    @property
    def class_weights(self) -> npt.NDArray[np.float64]:
        """Sample weight of each class in each node, shape (n_nodes, n_classes)."""
        return np.array([node.class_weights for node in self.nodes])

    def apply(self, codes: CodeArray) -> npt.NDArray[np.intp]:
        """The leaf each row ends in, as a position in `rules`.

        Parameters
        ----------
        codes : array of uint8, shape (n_features, n_rows)

        Returns
        -------
        array of int, shape (n_rows,)
        """
        leaf = np.empty(codes.shape[1], dtype=np.intp)
        for node, rows in self._walk(codes):
            if node.rule is not None:
                leaf[rows] = node.rule
        return leaf

    def decision_path(self, codes: CodeArray) -> csr_matrix:
        """Which nodes each row passes.

        Parameters
        ----------
        codes : array of uint8, shape (n_features, n_rows)

        Returns
        -------
        sparse matrix of bool, shape (n_rows, n_nodes)
        """
        visits = [(node.index, rows) for node, rows in self._walk(codes)]
        rows = np.concatenate([rows for _, rows in visits])
        columns = np.repeat([index for index, _ in visits], [len(rows) for _, rows in visits])
        from scipy.sparse import csr_matrix

        return csr_matrix((np.ones(len(rows), dtype=bool), (rows, columns)), shape=(codes.shape[1], len(self.nodes)))

    def __str__(self) -> str:
        from omtree.model.text import tree_to_text

        return tree_to_text(self)

    def __repr__(self) -> str:
        return f"<Tree of {len(self.nodes)} nodes, {self.n_leaves} leaves, depth {self.depth}>"

    def route(self, node: int) -> npt.NDArray[np.intp]:
        """The child of an inner node that each code of its feature leads to."""
        return self._routes[node]

    @cached_property
    def regions(self) -> tuple[dict[int, frozenset[int]], ...]:
        """Of each rule, the codes that lead to it: by feature, those never seen in training and `UNKNOWN` included."""
        found: dict[int, dict[int, frozenset[int]]] = {}
        todo: list[tuple[TreeNode, dict[int, frozenset[int]]]] = [(self.nodes[0], {})]
        while todo:
            node, box = todo.pop()
            if node.rule is not None:
                found[node.rule] = box
                continue
            assert node.feature is not None
            before = box.get(node.feature, frozenset(range(256)))
            route = self._routes[node.index]
            for child in node.children:
                inside = before & frozenset(np.flatnonzero(route == child).tolist())
                todo.append((self.nodes[child], {**box, node.feature: inside}))
        return tuple(found[rule] for rule in range(len(found)))

    @cached_property
    def _routes(self) -> dict[int, npt.NDArray[np.intp]]:
        """Per inner node the child that each code leads to."""
        routes = {}
        for node in self.nodes:
            if not node.is_leaf:
                routes[node.index] = route = np.full(256, node.default, dtype=np.intp)
                for child in node.children:
                    condition = self.nodes[child].condition
                    assert condition is not None
                    route[list(condition.codes)] = child
        return routes

    def _grow(
        self,
        shape: _Split | int,
        nodes: list[TreeNode | None],
        parent: int | None,
        condition: Condition | None,
        depth: int,
        summary: Summary | None,
    ) -> TreeNode:
        """Append the node of `shape` and everything below it."""
        index = len(nodes)
        nodes.append(None)
        if isinstance(shape, int):
            rule = self.rules[shape]
            own = (rule.class_weights, shape, rule.support, lambda: rule.targets, rule.values)
            node = TreeNode(index, parent, depth, condition, None, (), None, *own)
        else:
            children = [self._grow(child, nodes, index, branch, depth + 1, summary) for branch, child in shape.branches]
            weights = tuple(sum(column) for column in zip(*(child.class_weights for child in children), strict=True))
            heaviest = max(children, key=lambda child: child.support)
            default = (heaviest if shape.default is None else children[shape.default]).index
            places = tuple(child.index for child in children)
            support = sum(child.support for child in children)
            targets = None if summary is None else partial(summary, _rules_below(shape))
            means = zip(*([child.support * value for value in child.values] for child in children), strict=True)
            values = tuple(sum(column) / support for column in means)
            below = (places, default, weights, None, support, targets, values)
            node = TreeNode(index, parent, depth, condition, shape.feature, *below)
        nodes[index] = node
        return node

    def _walk(self, codes: CodeArray) -> Iterator[tuple[TreeNode, npt.NDArray[np.intp]]]:
        """Every node with the rows that reach it, parents first."""
        todo = [(self.nodes[0], np.arange(codes.shape[1]))]
        while todo:
            node, rows = todo.pop()
            yield node, rows
            if node.feature is not None:
                target = self._routes[node.index].take(codes[node.feature].take(rows))
                todo.extend((self.nodes[child], rows[target == child]) for child in node.children)


def summary_of(paths: Sequence[Path], reader: Reader) -> Summary | None:
    """The spread of the target over several of these paths; None where it is no number."""
    if not reader.target.is_number:
        return None
    samples = reader.samples(rule_of_rows(paths, reader.problem.table.codes), len(paths))
    return None if samples is None else samples.summary


def _rules_below(shape: _Split | int) -> list[int]:
    if isinstance(shape, int):
        return [shape]
    return [rule for _, child in shape.branches for rule in _rules_below(child)]


def _shape(rules: RuleSet, members: list[int], used: frozenset[int]) -> _Split | int | None:
    """The shape of the tree over these rules once the `used` features are split, or None."""
    if len(members) == 1:
        return members[0]
    by_feature = [{condition.feature: condition for condition in rules[m].conditions} for m in members]
    shared = set.intersection(*(set(conditions) for conditions in by_feature)) - used
    for feature in (condition.feature for condition in rules[members[0]].conditions):
        if feature not in shared:
            continue
        groups: dict[Condition, list[int]] = {}
        for member, conditions in zip(members, by_feature, strict=True):
            groups.setdefault(conditions[feature], []).append(member)
        codes = [code for condition in groups for code in condition.codes]
        # A condition that all the rules share splits nothing: it needs no node.
        if len(groups) == 1 or len(codes) != len(set(codes)):
            continue
        branches = []
        for condition, group in groups.items():
            below = _shape(rules, group, used | {feature})
            if below is None:
                return None
            branches.append((condition, below))
        branches.sort(key=lambda branch: branch[0].codes)
        return _Split(feature, tuple(branches))
    return None
