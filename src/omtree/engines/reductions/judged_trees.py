"""Whether a tree meets what is demanded of the whole model, and whether it would with one leaf less."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from omtree.constraints.monotone import Monotony
from omtree.data.table import FloatArray
from omtree.engines.reductions.labelled_leaves import LabelledLeaf, LabelledLeaves, Tested
from omtree.problem.forced_parts import given_child
from omtree.problem.problem import Node, Problem, leaves_of, with_labels
from omtree.problem.rule_sums import merged
from omtree.problem.tree_regions import regions_of, with_defaults

#: Part of what a limit is about by which rounding may miss it.
ROUNDING = 1e-9

_Below = tuple[Node, Tested, npt.NDArray[np.intp], int]


class JudgedTrees:
    """The constraints of a problem over the whole model, asked about trees.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.leaves = LabelledLeaves(problem)
        weight = problem.table.statistics.sum(axis=0)
        spans = [float(weight @ np.abs(row.coefficient).max(axis=1)) for row in problem.model_limits]
        spans += [max(1.0, abs(part.at_least)) for part in problem.sums]
        self._least = problem.at_least - ROUNDING * np.array(spans)

    def loss(self, root: Node) -> float:
        """What a tree costs; infinite where it does not meet all the constraints."""
        labelled = []
        for path in leaves_of(root):
            found = self.leaves.of({condition.feature: condition.codes for condition in path.conditions})
            labelled += [leaf for leaf in found if leaf.label == path.label]
        if not self._meets([np.array(leaf.sums) for leaf in labelled]) or not self._holds(root):
            return math.inf
        return sum(leaf.loss for leaf in labelled)

    def is_trivial(self, root: Node, most: float) -> bool:
        """Whether a split into leaves could be a leaf, so that the tree meets the constraints for at most this loss."""
        rows = np.arange(self._problem.table.n_rows)
        for smaller, choices in self._smaller(root, {}, rows, 0 if self._problem.limits.forced else -1):
            if any(self._holds(with_labels(smaller, iter(labels))) for labels in self._labels(choices, most)):
                return True
        return False

    def _meets(self, sums: Sequence[FloatArray]) -> bool:
        return bool((np.sum(sums, axis=0) >= self._least).all())

    def _holds(self, root: Node) -> bool:
        """Whether a tree meets the constraints that are no sums over its leaves."""
        problem = self._problem
        paths = leaves_of(root)
        for limit in problem.curved:
            hits, called = (sum(problem.path_sum(path, part) for path in paths) for part in (limit.hits, limit.called))
            if not limit.holds(hits, called):
                return False
        if problem.conflict is None:
            return True
        assert isinstance(problem.conflict, Monotony)
        chosen = with_defaults(root, problem.table)
        regions = regions_of(chosen, tuple(feature.n_codes for feature in problem.table.features))
        return next(problem.conflict.pairs([merged(path) for path in leaves_of(chosen)], regions), None) is None

    def _options(self, tested: Tested, place: int) -> list[LabelledLeaf]:
        """A leaf of each label that it may have where something may be given."""
        if place < 0:
            return self.leaves.of(tested)
        given = self._problem.limits.forced[place]
        if given.feature >= 0:
            return []
        return [leaf for leaf in self.leaves.of(tested) if not given.labels or given.labels[leaf.label]]

    def _smaller(
        self, node: Node, tested: Tested, rows: npt.NDArray[np.intp], place: int
    ) -> Iterator[tuple[Node, list[list[LabelledLeaf]]]]:
        """The tree with each of its splits into leaves as a leaf, and what the leaves may be then."""
        if not node.branches:
            return
        if not any(child.branches for _, child in node.branches):
            options = self._options(tested, place)
            if options:
                yield Node(options[0].label), [options]
            return
        below = self._below(node, tested, rows, place)
        every = [self._choices(*child) for child in below]
        for at, (condition, _) in enumerate(node.branches):
            for smaller, choices in self._smaller(*below[at]):
                branches = (*node.branches[:at], (condition, smaller), *node.branches[at + 1 :])
                others = [list(each) for each in every]
                others[at] = choices
                yield Node(node.label, branches, node.default), [leaf for child in others for leaf in child]

    def _choices(self, node: Node, tested: Tested, rows: npt.NDArray[np.intp], place: int) -> list[list[LabelledLeaf]]:
        """What each leaf below a node may be."""
        if not node.branches:
            return [self._options(tested, place)]
        return [leaf for child in self._below(node, tested, rows, place) for leaf in self._choices(*child)]

    def _below(self, node: Node, tested: Tested, rows: npt.NDArray[np.intp], place: int) -> list[_Below]:
        """Each child with the tests on the way to it, its rows, and the place of what is given of it."""
        found: list[_Below] = []
        for condition, child in node.branches:
            inside, given = rows, -1
            if place >= 0:
                codes = self._problem.table.codes[condition.feature]
                inside = rows[np.isin(codes[rows], condition.codes)]
                given = given_child(self._problem.limits.forced[place], codes[inside])[0]
            found.append((child, {**tested, condition.feature: condition.codes}, inside, given))
        return found

    def _labels(self, choices: Sequence[Sequence[LabelledLeaf]], most: float) -> Iterator[tuple[int, ...]]:
        """The labels of leaves that cost at most so much and add up to what is demanded."""
        n = len(choices)
        cheapest, richest = np.zeros(n + 1), np.zeros((n + 1, len(self._least)))
        for i in range(n - 1, -1, -1):
            cheapest[i] = cheapest[i + 1] + min(leaf.loss for leaf in choices[i])
            richest[i] = richest[i + 1] + np.max([leaf.sums for leaf in choices[i]], axis=0)

        def extend(chosen: tuple[int, ...], loss: float, sums: FloatArray) -> Iterator[tuple[int, ...]]:
            i = len(chosen)
            if loss + cheapest[i] > most or not (sums + richest[i] >= self._least).all():
                return
            if i == n:
                yield chosen
                return
            for leaf in choices[i]:
                yield from extend((*chosen, leaf.label), loss + leaf.loss, sums + leaf.sums)

        return extend((), 0.0, np.zeros(len(self._least)))
