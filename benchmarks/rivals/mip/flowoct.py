"""FlowOCT: Aghaei, Gomez and Vayanos, Strong optimal classification trees (2021), in its flow form, over 0/1 columns.

A row that is classified well is a unit of flow from the root to a sink: at each node it goes to the child that the
split (`b`) allows, left for 0 and right for 1, or, where the node is a leaf (`p`) of the right class (`w`), into the
sink. Maximised: (1 - penalty) * well classified rows - penalty * splits. Flows are whole by themselves once the rest
is. Equal rows of one class share their flow.
"""

from __future__ import annotations

import numpy as np

from benchmarks.rivals.mip.model import Answer, Model
from benchmarks.rivals.mip.shape import NO_SPLIT, CompleteTree, Rows, ancestors, greedy, leaves_below


class FlowOct:
    """The program for one data set; `solve` gives the tree."""

    def __init__(self, matrix: np.ndarray, labels: np.ndarray, depth: int, penalty: float = 0.0) -> None:
        self.depth, self.penalty = depth, penalty
        self.n_classes = int(labels.max()) + 1
        rows = Rows.merge(matrix, labels, self.n_classes)
        row, self.label, self.weight = rows.by_class()
        self.matrix = rows.matrix[row]
        self._build()

    def _build(self) -> None:
        n, k = self.matrix.shape
        inner, nodes = 2**self.depth - 1, 2 ** (self.depth + 1) - 1
        model = self.model = Model()
        self.b = model.binaries(inner, k, cost=self.penalty)
        self.p = model.binaries(nodes)
        self.w = model.binaries(nodes, self.n_classes)
        self.into = model.variables(n, nodes)  # flow from the parent; the root's comes from the source
        self.sink = model.variables(n, nodes, cost=np.tile(-(1 - self.penalty) * self.weight[:, None], nodes))
        every = np.arange(n)
        for node in range(1, nodes + 1):
            at = node - 1
            closed = [(1, self.p[[m - 1]]) for m in (node, *ancestors(node))]
            splits = [(1, self.b[[at]])] if node <= inner else []
            model.rows(*splits, *closed, at_least=1, at_most=1)
            model.rows((1, self.w[[at]]), (-1, self.p[[at]]), at_least=0, at_most=0)
            children = [(-1, self.into[:, 2 * node - 1]), (-1, self.into[:, 2 * node])] if node <= inner else []
            model.rows((1, self.into[every, at]), *children, (-1, self.sink[:, at]), at_least=0, at_most=0)
            model.rows((1, self.sink[:, at]), (-1, self.w[at, self.label]), at_most=0)
            if node <= inner:
                split = np.tile(self.b[at], (n, 1))
                model.rows((1, self.into[:, 2 * node - 1]), (-1.0 * (self.matrix == 0), split), at_most=0)
                model.rows((1, self.into[:, 2 * node]), (-1.0 * (self.matrix == 1), split), at_most=0)

    def values_of(self, tree: CompleteTree) -> np.ndarray:
        """A tree as a solution of the program."""
        values = np.zeros(self.model.n_variables)
        leaf_node = np.empty(2**self.depth, dtype=int)

        def place(node: int) -> None:
            if node < 2**self.depth and tree.feature[node - 1] != NO_SPLIT:
                values[self.b[node - 1, tree.feature[node - 1]]] = 1.0
                place(2 * node)
                place(2 * node + 1)
                return
            below = leaves_below(node, self.depth)
            leaf_node[below] = node
            # A node without a split sends its rows right.
            values[self.p[node - 1]] = values[self.w[node - 1, tree.label[below[-1]]]] = 1.0

        place(1)
        leaf = tree.leaf(self.matrix)
        well = np.flatnonzero(tree.label[leaf] == self.label)
        node = leaf_node[leaf[well]]
        values[self.sink[well, node - 1]] = 1.0
        while (node > 0).any():
            flowing = node > 0
            values[self.into[well[flowing], node[flowing] - 1]] = 1.0
            node = node // 2
        return values

    def start(self) -> np.ndarray:
        """The greedy tree as a solution."""
        return self.values_of(greedy(self.matrix, self.label, self.depth, self.weight))

    def tree_of(self, values: np.ndarray) -> CompleteTree:
        """The tree that a solution stands for."""
        tree = CompleteTree.empty(self.depth)

        def place(node: int) -> None:
            if values[self.p[node - 1]] > 0.5:
                tree.label[leaves_below(node, self.depth)] = values[self.w[node - 1]].argmax()
                return
            tree.feature[node - 1], tree.threshold[node - 1] = int(values[self.b[node - 1]].argmax()), 0.5
            place(2 * node)
            place(2 * node + 1)

        place(1)
        return tree

    def solve(self, until: float, threads: int = 1) -> tuple[CompleteTree, Answer]:
        """The best tree known at that moment."""
        answer = self.model.solve(until, self.start(), threads)
        assert answer.values is not None  # the start at least
        return self.tree_of(answer.values), answer
