"""BinOCT: Verwer and Zhang, Learning optimal classification trees using a binary linear program formulation, AAAI 2019.

Each inner node picks a feature (`f`) and a threshold by binary search: its bits (`t`) halve the sorted thresholds of
whatever feature was picked until one is left. A bit that is known says of a whole range of rows on which side they
are, so that a few rows with large constants take the place of one for every row of data. Leaves have one class (`p`);
`e` counts the rows of other classes. The number of 0/1 variables does not depend on the number of rows. Every node
splits, if only at a threshold that no row of its reaches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.rivals.mip.model import Answer, Model
from benchmarks.rivals.mip.shape import NO_SPLIT, CompleteTree, Rows, greedy, inner_nodes, leaves_below, walk


@dataclass(frozen=True)
class Halving:
    """Thresholds `first..last` are left; the next bit keeps the lower part up to `middle` (0) or the rest (1)."""

    bits: tuple[int, ...]
    first: int
    middle: int
    last: int


def halvings(n_thresholds: int) -> Iterator[Halving]:
    """Every step of the binary search."""
    todo = [((), 0, n_thresholds - 1)]
    while todo:
        bits, first, last = todo.pop()
        if first < last:
            middle = (first + last) // 2
            yield Halving(bits, first, middle, last)
            todo += [((*bits, 0), first, middle), ((*bits, 1), middle + 1, last)]


class BinOct:
    """The program for one data set; `solve` gives the tree."""

    def __init__(self, matrix: np.ndarray, labels: np.ndarray, depth: int) -> None:
        self.depth = depth
        self.n_classes = int(labels.max()) + 1
        self.rows = Rows.merge(matrix, labels, self.n_classes)
        values = [np.unique(column) for column in self.rows.matrix.T]
        self.columns = [j for j, v in enumerate(values) if len(v) > 1]
        if not self.columns:
            raise ValueError("BinOCT splits every node, and no column has two values.")
        self.thresholds = [(values[j][1:] + values[j][:-1]) / 2 for j in self.columns]
        self.n_bits = max(int(np.ceil(np.log2(len(cuts)))) for cuts in self.thresholds)
        self._build()

    def _build(self) -> None:
        n = len(self.rows.matrix)
        inner, n_leaves = 2**self.depth - 1, 2**self.depth
        model = self.model = Model()
        self.f = model.binaries(inner, len(self.columns))
        self.t = model.binaries(inner, max(1, self.n_bits))
        self.p = model.binaries(n_leaves, self.n_classes)
        # Once features and thresholds are whole numbers, so are these two.
        self.z = model.variables(n, n_leaves)
        self.e = model.variables(n_leaves, self.n_classes, upper=self.rows.counts.sum(axis=0), cost=1.0)
        model.rows((1, self.f), at_least=1, at_most=1)
        model.rows((1, self.p), at_least=1, at_most=1)
        model.rows((1, self.z), at_least=1, at_most=1)
        for label in range(self.n_classes):
            counts = self.rows.counts[:, label]
            model.rows(
                (np.tile(counts, (n_leaves, 1)), self.z.T),
                (-counts.sum(), self.p[:, label]),
                (-1, self.e[:, label]),
                at_most=0,
            )
        for node in inner_nodes(self.depth):
            for number in range(len(self.columns)):
                self._tie(node, number)

    def _tie(self, node: int, number: int) -> None:
        """Where the rows go at a node that splits this column."""
        column, cuts = self.rows.matrix[:, self.columns[number]], self.thresholds[number]
        # Rows on the far sides of the outermost thresholds go there whatever the bits are.
        self._forbid(node, number, (), column <= cuts[0], right=True)
        self._forbid(node, number, (), column > cuts[-1], right=False)
        for step in halvings(len(cuts)):
            low, high = cuts[step.first], cuts[step.last]
            self._forbid(node, number, (*step.bits, 1), (column > low) & (column <= cuts[step.middle + 1]), right=True)
            self._forbid(node, number, (*step.bits, 0), (column > cuts[step.middle]) & (column <= high), right=False)

    def _forbid(self, node: int, number: int, bits: tuple[int, ...], which: np.ndarray, *, right: bool) -> None:
        """These rows are in no leaf of that side, if the column is picked and the bits are these."""
        found = np.flatnonzero(which)
        if not len(found):
            return
        big = float(len(found))
        leaves = leaves_below(2 * node + right, self.depth)
        terms = [(1, self.z[np.ix_(found, leaves)].reshape(1, -1)), (big, self.f[node - 1, [number]])]
        limit = big
        for position, bit in enumerate(bits):
            terms.append((big if bit else -big, self.t[node - 1, [position]]))
            limit += big if bit else 0.0
        self.model.rows(*terms, at_most=limit)

    def values_of(self, tree: CompleteTree) -> np.ndarray:
        """A tree as a solution of the program; nodes without a split get one, above leaves of equal classes."""
        values = np.zeros(self.model.n_variables)
        right = tree.goes_right(self.rows.matrix)
        for at, feature in enumerate(tree.feature):
            number, index = 0, 0
            if feature != NO_SPLIT:
                number = self.columns.index(int(feature))
                index = int(np.abs(self.thresholds[number] - tree.threshold[at]).argmin())
            values[self.f[at, number]] = 1.0
            cuts = self.thresholds[number]
            right[:, at] = self.rows.matrix[:, self.columns[number]] > cuts[index]
            first, last, position = 0, len(cuts) - 1, 0
            while first < last:
                middle = (first + last) // 2
                upper = index > middle
                values[self.t[at, position]] = float(upper)
                first, last = (middle + 1, last) if upper else (first, middle)
                position += 1
        leaf = walk(right)
        values[self.z[np.arange(len(leaf)), leaf]] = 1.0
        for t in range(2**self.depth):
            inside = self.rows.counts[leaf == t].sum(axis=0)
            values[self.p[t, inside.argmax()]] = 1.0
            inside[inside.argmax()] = 0.0
            values[self.e[t]] = inside
        return values

    def start(self) -> np.ndarray:
        """The greedy tree as a solution."""
        row, label, weight = self.rows.by_class()
        return self.values_of(greedy(self.rows.matrix[row], label, self.depth, weight))

    def tree_of(self, values: np.ndarray) -> CompleteTree:
        """The tree that a solution stands for."""
        tree = CompleteTree.empty(self.depth)
        for at in range(len(tree.feature)):
            number = int(values[self.f[at]].argmax())
            cuts = self.thresholds[number]
            first, last, position = 0, len(cuts) - 1, 0
            while first < last:
                middle = (first + last) // 2
                first, last = (middle + 1, last) if values[self.t[at, position]] > 0.5 else (first, middle)
                position += 1
            tree.feature[at], tree.threshold[at] = self.columns[number], cuts[first]
        tree.label = values[self.p].argmax(axis=1)
        return tree

    def solve(self, until: float, threads: int = 1) -> tuple[CompleteTree, Answer]:
        """The best tree known at that moment."""
        answer = self.model.solve(until, self.start(), threads)
        assert answer.values is not None  # the start at least
        return self.tree_of(answer.values), answer
