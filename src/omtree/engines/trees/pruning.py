"""Smaller trees out of a large one: the branches that gain least per leaf are given up first."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from omtree.model.sizes import SizedTrees
from omtree.problem.judge import make_judge
from omtree.problem.problem import Node, Problem

#: Losses are equal up to this share.
ROUNDING = 1e-9


@dataclass(eq=False)
class _Pruned:
    """A node, what it costs as a leaf, and what is left below it."""

    node: Node
    alone: float
    children: list[_Pruned]

    @property
    def leaves(self) -> int:
        return sum(child.leaves for child in self.children) or 1

    @property
    def loss(self) -> float:
        return sum(child.loss for child in self.children) if self.children else self.alone

    def weakest(self) -> tuple[float, _Pruned]:
        """The inner node that gains least per leaf, and what it gains."""
        own = (self.alone - self.loss) / (self.leaves - 1)
        return min([(own, self), *(child.weakest() for child in self.children if child.children)], key=lambda p: p[0])

    def tree(self) -> Node:
        pairs = zip(self.node.branches, self.children, strict=False)
        return replace(self.node, branches=tuple((condition, child.tree()) for (condition, _), child in pairs))


def pruned_trees(problem: Problem, root: Node) -> SizedTrees:
    """The trees with at most 1, 2, ... leaves that are left of a tree as its weakest branches are given up.

    Parameters
    ----------
    problem : Problem
        Without limits on rules.
    root : Node
    """
    judge, codes = make_judge(problem), problem.table.codes

    def grown(node: Node, rows: npt.NDArray[np.uint32]) -> _Pruned:
        loss, label = judge.judge(rows, [])
        children = []
        for condition, child in node.branches:
            inside = np.zeros(256, dtype=bool)
            inside[list(condition.codes)] = True
            children.append(grown(child, rows[inside[codes[condition.feature, rows]]]))
        return _Pruned(Node(label, node.branches), loss, children)

    left = grown(root, np.arange(problem.table.n_rows, dtype=np.uint32))
    steps = [(left.leaves, left.loss, left.tree())]
    while left.children:
        left.weakest()[1].children = []
        steps.append((left.leaves, left.loss, left.tree()))
    roots: list[Node | None] = []
    losses: list[float] = []
    for leaves, loss, tree in reversed(steps):
        # A size that pruning jumped over has the tree of the size before.
        while roots and len(roots) < leaves - 1:
            roots.append(roots[-1])
            losses.append(losses[-1])
        roots.append(tree)
        losses.append(loss)
    missing = problem.max_leaves - len(roots)
    return SizedTrees(roots + [roots[-1]] * missing, losses + [losses[-1]] * missing, proven=False)


def with_prunings(problem: Problem, known: SizedTrees) -> SizedTrees:
    """Trees of all sizes, none of them worse than what is left of a larger one without its weakest branches.

    A search that is stopped may know a good large tree and, for a smaller size, a single leaf.

    Parameters
    ----------
    problem : Problem
    known : SizedTrees
        What the search came to. Nothing changes where every size is proven, or where rules have limits, which a pruned
        tree might break.
    """
    if known.proven or not problem.limits.empty:
        return known
    roots, losses = list(known.roots), list(known.losses)
    distinct = {id(root): root for root in known.roots if root is not None}
    for root in distinct.values():
        smaller = pruned_trees(problem, root)
        for place, (tree, loss) in enumerate(zip(smaller.roots, smaller.losses, strict=True)):
            if place < len(losses) and loss < losses[place] - ROUNDING * abs(loss):
                roots[place], losses[place] = tree, loss
    return replace(known, roots=roots, losses=losses)
