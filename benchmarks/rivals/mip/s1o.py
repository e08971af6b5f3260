"""S1O: Zhu, Murali, Phan, Nguyen and Kalagnanam, A scalable MIP-based method for learning optimal multivariate
decision trees, NeurIPS 2020: every split is a hyperplane with a margin and a 1-norm, as in a support vector machine.

At an inner node a row has the signed distance g + h.x = above - below; `e` says on which side it is counted, and
whatever it lacks to the margin on that side is its slack `m`. Minimised: errors + slack_cost * slack + norm_cost * |h|.
A row counted in a leaf of another class is an error. Coefficients of h lie in [-1, 1], columns are scaled to [0, 1].
The class of a leaf is a 0/1 variable for each class in place of the paper's products of a label and a path, which says
the same. The paper's cuts and its choice of a subset of the rows are left out: those speed up, this is the plain model.
Equal rows of one class are merged; putting them on one side never costs more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.rivals.mip.model import Answer, Model
from benchmarks.rivals.mip.shape import NO_SPLIT, CompleteTree, Rows, greedy, inner_nodes, leaves_below, walk

MARGIN = 0.01


@dataclass(eq=False)
class ObliqueTree:
    """A hyperplane for every inner node, a class number for every leaf, and how columns are scaled."""

    slope: np.ndarray
    offset: np.ndarray
    label: np.ndarray
    low: np.ndarray
    width: np.ndarray

    def predict(self, matrix: np.ndarray) -> np.ndarray:
        """The class number of every row."""
        distance = (matrix - self.low) / self.width @ self.slope.T + self.offset
        return self.label[walk(distance >= 0)]


class S1O:
    """The program for one data set; `solve` gives the tree."""

    def __init__(
        self,
        matrix: np.ndarray,
        labels: np.ndarray,
        depth: int,
        slack_cost: float = 1.0 / MARGIN,
        norm_cost: float = 1e-3,
    ) -> None:
        self.depth = depth
        self.slack_cost, self.norm_cost = slack_cost, norm_cost
        self.n_classes = int(labels.max()) + 1
        rows = Rows.merge(matrix, labels, self.n_classes)
        row, self.label, self.weight = rows.by_class()
        self.matrix = rows.matrix[row]
        self.low = self.matrix.min(axis=0)
        width = np.ptp(self.matrix, axis=0)
        self.width = np.where(width > 0, width, 1.0)
        self.x = (self.matrix - self.low) / self.width
        self._build()

    def _build(self) -> None:
        n, k = self.x.shape
        inner, n_leaves = 2**self.depth - 1, 2**self.depth
        model = self.model = Model()
        self.h = model.variables(inner, k, lower=-1.0)
        self.norm = model.variables(inner, k, cost=self.norm_cost)
        self.g = model.variables(inner, lower=-k - 1.0, upper=k + 1.0)
        self.e = model.binaries(n, inner)
        far = self.x.sum(axis=1) + k + 1.0  # no row can be farther from a hyperplane
        limit = np.tile(far[:, None], inner)
        self.above = model.variables(n, inner, upper=limit)
        self.below = model.variables(n, inner, upper=limit)
        self.m = model.variables(n, inner, upper=MARGIN, cost=np.tile(self.slack_cost * self.weight[:, None], inner))
        self.z = model.variables(n, n_leaves)
        self.c = model.binaries(n_leaves, self.n_classes)
        self.error = model.variables(n, cost=self.weight)
        model.rows((1, self.norm.ravel()), (-1, self.h.ravel()), at_least=0)
        model.rows((1, self.norm.ravel()), (1, self.h.ravel()), at_least=0)
        model.rows((1, self.z), at_least=1, at_most=1)
        model.rows((1, self.c), at_least=1, at_most=1)
        for node in inner_nodes(self.depth):
            at = node - 1
            e, above, below, slack = self.e[:, at], self.above[:, at], self.below[:, at], self.m[:, at]
            model.rows(
                (self.x, np.tile(self.h[at], (n, 1))),
                (1, np.full(n, self.g[at])),
                (-1, above),
                (1, below),
                at_least=0,
                at_most=0,
            )
            model.rows((1, above), (-far, e), at_most=0)
            model.rows((1, below), (far, e), at_most=far)
            model.rows((1, above), (1, slack), (-MARGIN, e), at_least=0)
            model.rows((1, below), (1, slack), (MARGIN, e), at_least=MARGIN)
            right, left = leaves_below(2 * node + 1, self.depth), leaves_below(2 * node, self.depth)
            model.rows((1, self.z[:, right]), (-1, e), at_most=0)
            model.rows((1, self.z[:, left]), (1, e), at_most=1)
        for leaf in range(n_leaves):
            model.rows((1, self.error), (-1, self.z[:, leaf]), (1, self.c[leaf, self.label]), at_least=0)

    def values_of(self, tree: ObliqueTree) -> np.ndarray:
        """A tree as a solution of the program."""
        values = np.zeros(self.model.n_variables)
        distance = self.x @ tree.slope.T + tree.offset
        right = distance >= 0
        values[self.h], values[self.g], values[self.norm] = tree.slope, tree.offset, np.abs(tree.slope)
        values[self.e] = right
        values[self.above], values[self.below] = np.maximum(distance, 0), np.maximum(-distance, 0)
        values[self.m] = np.maximum(0, MARGIN - np.abs(distance))
        leaf = walk(right)
        values[self.z[np.arange(len(leaf)), leaf]] = 1.0
        values[self.c[np.arange(len(tree.label)), tree.label]] = 1.0
        values[self.error] = tree.label[leaf] != self.label
        return values

    def start(self) -> np.ndarray:
        """The greedy tree as a solution."""
        return self.values_of(self.oblique(greedy(self.matrix, self.label, self.depth, self.weight)))

    def oblique(self, tree: CompleteTree) -> ObliqueTree:
        """A tree with single-feature splits as one with hyperplanes."""
        slope = np.zeros((len(tree.feature), self.x.shape[1]))
        offset = np.full(len(tree.feature), MARGIN)  # everything right
        for at in np.flatnonzero(tree.feature != NO_SPLIT):
            column = tree.feature[at]
            slope[at, column] = 1.0
            offset[at] = -(tree.threshold[at] - self.low[column]) / self.width[column]
        return ObliqueTree(slope, offset, tree.label.copy(), self.low, self.width)

    def tree_of(self, values: np.ndarray) -> ObliqueTree:
        """The tree that a solution stands for."""
        return ObliqueTree(values[self.h], values[self.g], values[self.c].argmax(axis=1), self.low, self.width)

    def solve(self, until: float, threads: int = 1) -> tuple[ObliqueTree, Answer]:
        """The best tree known at that moment."""
        answer = self.model.solve(until, self.start(), threads)
        assert answer.values is not None  # the start at least
        return self.tree_of(answer.values), answer
