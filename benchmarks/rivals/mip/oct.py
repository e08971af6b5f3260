"""OCT: Bertsimas and Dunn, Optimal classification trees, Machine Learning 106 (2017), with single-feature splits.

Each inner node t picks a feature (`a`) and a threshold (`b`), or does not split (`d` = 0) and sends everything right;
each row is in one leaf (`z`); a leaf in use (`l`) has one class (`c`), and its loss is its weight less that of the
class. Minimised: errors / (errors of the best constant) + alpha * splits; here both times the errors of the best
constant.

Features are replaced by the ranks of their values, scaled to [0, 1]: single-feature splits do not notice, and the
paper's smallest distance of two values becomes as large as it can be. The rows that tie a row's leaf to the splits
above are summed over the leaves on one side of the split, which is tighter than one row for each leaf, and shorter.
"""

from __future__ import annotations

import numpy as np

from benchmarks.rivals.mip.model import Answer, Model
from benchmarks.rivals.mip.shape import NO_SPLIT, CompleteTree, Rows, greedy, inner_nodes, leaves_below


class Ranks:
    """The values of every column, and their ranks scaled to [0, 1]."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.values = [np.unique(column) for column in matrix.T]
        self.step = np.array([1.0 / max(1, len(values) - 1) for values in self.values])
        self.scaled = (
            np.column_stack([np.searchsorted(v, column) for v, column in zip(self.values, matrix.T, strict=True)])
            * self.step
        )

    def threshold(self, column: int, cut: float) -> float:
        """What lies left of a cut on the scaled ranks, in the units of the column."""
        values = self.values[column]
        last = int(np.floor((cut - self.step[column] / 2) / self.step[column] + 1e-9))
        if last < 0:
            return -np.inf
        if last >= len(values) - 1:
            return np.inf
        return float((values[last] + values[last + 1]) / 2)


class Oct:
    """The program for one data set; `solve` gives the tree."""

    def __init__(self, matrix: np.ndarray, labels: np.ndarray, depth: int, alpha: float = 0.0, least: int = 1) -> None:
        self.depth, self.alpha = depth, alpha
        self.n_classes = int(labels.max()) + 1
        self.rows = Rows.merge(matrix, labels, self.n_classes)
        self.ranks = Ranks(self.rows.matrix)
        self.total = float(self.rows.counts.sum())
        self.baseline = self.total - float(self.rows.counts.sum(axis=0).max())
        self._build(least)

    def _build(self, least: int) -> None:
        x, counts = self.ranks.scaled, self.rows.counts
        n, k = x.shape
        inner, n_leaves = 2**self.depth - 1, 2**self.depth
        model = self.model = Model()
        self.a = model.binaries(inner, k)
        self.b = model.variables(inner)
        self.d = model.binaries(inner, cost=self.alpha * self.baseline)
        self.z = model.binaries(n, n_leaves)
        self.l = model.binaries(n_leaves)
        self.c = model.binaries(n_leaves, self.n_classes)
        self.loss = model.variables(n_leaves, upper=self.total, cost=1.0)
        model.rows((1, self.a), (-1, self.d), at_least=0, at_most=0)
        model.rows((1, self.b), (-1, self.d), at_most=0)
        below = np.arange(1, inner)  # every inner node but the root
        if len(below):
            model.rows((1, self.d[below]), (-1, self.d[(below + 1) // 2 - 1]), at_most=0)
        model.rows((1, self.z), at_least=1, at_most=1)
        smallest = float(self.ranks.step.min())
        for node in inner_nodes(self.depth):
            at = node - 1
            left, right = leaves_below(2 * node, self.depth), leaves_below(2 * node + 1, self.depth)
            every = np.tile(self.a[at], (n, 1))
            b = np.full(n, self.b[at])
            # Right: a.x >= b - (1 - in a right leaf).
            model.rows((x, every), (-1, b), (-1, self.z[:, right]), at_least=-1)
            # Left: a.(x + step - smallest) + smallest <= b + (1 + largest)(1 - in a left leaf).
            big = 1.0 + float(self.ranks.step.max())
            shifted = x + self.ranks.step - smallest
            model.rows((shifted, every), (-1, b), (big, self.z[:, left]), at_most=big - smallest)
        for leaf in range(n_leaves):
            model.rows((1, self.z[:, leaf]), (-1, np.full(n, self.l[leaf])), at_most=0)
        weight = counts.sum(axis=1)
        model.rows((np.tile(weight, (n_leaves, 1)), self.z.T), (-float(least), self.l), at_least=0)
        model.rows((1, self.c), (-1, self.l), at_least=0, at_most=0)
        for label in range(self.n_classes):
            others = np.tile(weight - counts[:, label], (n_leaves, 1))
            chosen = self.c[:, label]
            model.rows((1, self.loss), (-others, self.z.T), (-self.total, chosen), at_least=-self.total)
            model.rows((1, self.loss), (-others, self.z.T), (self.total, chosen), at_most=self.total)

    def values_of(self, tree: CompleteTree) -> np.ndarray:
        """A tree as a solution of the program; for leaves without a least number of rows."""
        values = np.zeros(self.model.n_variables)
        for at in np.flatnonzero(tree.feature != NO_SPLIT):
            column = tree.feature[at]
            left = np.searchsorted(self.ranks.values[column], tree.threshold[at], side="right")
            values[self.a[at, column]] = values[self.d[at]] = 1.0
            values[self.b[at]] = min(1.0, left * self.ranks.step[column])
        leaf = tree.leaf(self.rows.matrix)
        values[self.z[np.arange(len(leaf)), leaf]] = 1.0
        for t in np.unique(leaf):
            inside = self.rows.counts[leaf == t].sum(axis=0)
            values[self.l[t]] = values[self.c[t, inside.argmax()]] = 1.0
            values[self.loss[t]] = inside.sum() - inside.max()
        return values

    def start(self) -> np.ndarray:
        """The greedy tree as a solution."""
        row, label, weight = self.rows.by_class()
        return self.values_of(greedy(self.rows.matrix[row], label, self.depth, weight))

    def tree_of(self, values: np.ndarray) -> CompleteTree:
        """The tree that a solution stands for."""
        tree = CompleteTree.empty(self.depth)
        for at in range(len(tree.feature)):
            if values[self.d[at]] > 0.5:
                column = int(values[self.a[at]].argmax())
                tree.feature[at] = column
                tree.threshold[at] = self.ranks.threshold(column, values[self.b[at]])
        tree.label = values[self.c].argmax(axis=1)
        return tree

    def solve(self, until: float, threads: int = 1) -> tuple[CompleteTree, Answer]:
        """The best tree known at that moment."""
        answer = self.model.solve(until, self.start(), threads)
        assert answer.values is not None  # the start at least
        return self.tree_of(answer.values), answer
