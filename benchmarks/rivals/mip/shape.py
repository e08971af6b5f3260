"""Complete binary trees: node 1 is the root, node n has the children 2n and 2n + 1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeClassifier

#: A node that does not split sends every row to its right child.
NO_SPLIT = -1


def inner_nodes(depth: int) -> range:
    """The nodes that may split."""
    return range(1, 2**depth)


def leaves_below(node: int, depth: int) -> np.ndarray:
    """The leaves (from 0) below a node, itself included if it is a leaf."""
    steps = depth - (node.bit_length() - 1)
    return np.arange(node << steps, (node + 1) << steps) - 2**depth


def ancestors(node: int) -> Iterator[int]:
    """The nodes above, from the parent to the root."""
    while node > 1:
        node //= 2
        yield node


@dataclass(eq=False)
class CompleteTree:
    """Feature and threshold of the inner nodes (position n - 1 is node n), and the class number of every leaf."""

    feature: np.ndarray
    threshold: np.ndarray
    label: np.ndarray

    @classmethod
    def empty(cls, depth: int, label: int = 0) -> CompleteTree:
        """No split at all."""
        return cls(np.full(2**depth - 1, NO_SPLIT), np.full(2**depth - 1, -np.inf), np.full(2**depth, label, dtype=int))

    @property
    def depth(self) -> int:
        """Levels of inner nodes."""
        return len(self.label).bit_length() - 1

    def goes_right(self, matrix: np.ndarray) -> np.ndarray:
        """For every row and inner node: where the row would go."""
        right = np.ones((len(matrix), len(self.feature)), dtype=bool)
        for n in np.flatnonzero(self.feature != NO_SPLIT):
            right[:, n] = matrix[:, self.feature[n]] > self.threshold[n]
        return right

    def leaf(self, matrix: np.ndarray) -> np.ndarray:
        """The leaf (from 0) of every row."""
        return walk(self.goes_right(matrix))

    def predict(self, matrix: np.ndarray) -> np.ndarray:
        """The class number of every row."""
        return self.label[self.leaf(matrix)]


def walk(right: np.ndarray) -> np.ndarray:
    """The leaf (from 0) of every row, told where it goes at each inner node."""
    node = np.ones(len(right), dtype=int)
    inner = right.shape[1]
    while len(node) and node[0] <= inner:
        node = 2 * node + right[np.arange(len(right)), node - 1]
    return node - inner - 1


def greedy(matrix: np.ndarray, labels: np.ndarray, depth: int, weight: np.ndarray | None = None) -> CompleteTree:
    """Scikit-learn's tree in this form, to start from."""
    found = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(matrix, labels, sample_weight=weight)
    inside = found.tree_
    tree = CompleteTree.empty(depth)

    def place(node: int, at: int) -> None:
        if inside.children_left[node] < 0:
            tree.label[leaves_below(at, depth)] = found.classes_[inside.value[node, 0].argmax()]
            return
        tree.feature[at - 1] = inside.feature[node]
        tree.threshold[at - 1] = inside.threshold[node]
        place(inside.children_left[node], 2 * at)
        place(inside.children_right[node], 2 * at + 1)

    place(0, 1)
    return tree


@dataclass(frozen=True, eq=False)
class Rows:
    """Equal rows merged: each distinct row once, with the weight of every class in it."""

    matrix: np.ndarray
    counts: np.ndarray

    @classmethod
    def merge(cls, matrix: np.ndarray, labels: np.ndarray, n_classes: int) -> Rows:
        """Distinct rows of the matrix."""
        distinct, where = np.unique(matrix, axis=0, return_inverse=True)
        counts = np.zeros((len(distinct), n_classes))
        np.add.at(counts, (where.ravel(), labels), 1.0)
        return cls(distinct, counts)

    def by_class(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, class and weight of every pair of a distinct row and a class that occurs in it."""
        row, label = np.nonzero(self.counts)
        return row, label, self.counts[row, label]
