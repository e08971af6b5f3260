"""Trees by neighbourhoods over the finest cuts: the first tree of a fit, and the last where time ends it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from omtree.data.table import MAX_CODES, Feature
from omtree.deadline import Deadline
from omtree.engines.answers import TreeAnswer
from omtree.engines.standard_units import in_units
from omtree.engines.trees.neighbourhoods import PATIENCE, applies, improve, weighed
from omtree.engines.trees.pruning import pruned_trees
from omtree.engines.trees.splits import Splits
from omtree.fit.fine_grid import cuts_of, fine_features, raw_tree, readable
from omtree.fit.floors import floor_of_equal_rows
from omtree.fit.pose import Pose
from omtree.fit.raw_cuts import RawNode, coded, with_cuts
from omtree.model.certificate import Status
from omtree.model.sizes import SizedTrees
from omtree.problem.problem import Problem, Solution
from omtree.sources.samples import Training

#: Steps of the first search, a few tenths of a second; equal input gives equal trees where time does not end it.
FIRST_WORK = 8e7


@dataclass(frozen=True)
class QuickTree:
    """A tree told by the numbers it cuts at.

    Attributes
    ----------
    root : RawNode
    value : float
    floor : float
        No tree has a lower loss, wherever it cuts.
    interrupted : bool
    others : tuple of RawNode
        Trees with other first tests, the better ones first.
    """

    root: RawNode
    value: float
    floor: float = 0.0
    interrupted: bool = False
    others: tuple[RawNode, ...] = ()

    @property
    def proven(self) -> bool:
        """Whether no tree can be better, but for rounding."""
        return self.value <= self.floor * (1.0 + 1e-8)


@dataclass(frozen=True, eq=False)
class QuickTrees:
    """The search for such trees.

    Attributes
    ----------
    pose : Pose
        What it demands of rules and models is not looked at.
    splits : {"multiway", "binary"}
    max_children : int or None
    gap : float
        How far above its bound a tree may be.
    seed : int
    cuts_only : bool
        Whether its trees give their cuts to the search and are no answers, as they minimise another loss.
    """

    pose: Pose
    splits: Splits
    max_children: int | None
    gap: float
    seed: int
    cuts_only: bool = False

    def search(
        self,
        training: Training,
        features: Sequence[Feature],
        positions: Sequence[int],
        deadline: Deadline,
        *,
        starts: Sequence[QuickTree] = (),
        once: bool = False,
        work: float = math.inf,
        variety: int = 0,
        patience: int = PATIENCE,
        floor: float | None = None,
    ) -> QuickTree | None:
        """A good tree, no worse than those to start from; None where neighbourhoods do not know the loss.

        Parameters
        ----------
        training : Training
            In memory.
        features : sequence of Feature
        positions : sequence of int
            Of the numeric features to cut finely.
        deadline : Deadline
        starts : sequence of QuickTree
        once : bool
            Whether a feature may not be tested again below a node of another one.
        work : float
        variety, patience : int
        floor : float, optional
            What no tree does better than, where that is known; otherwise equal rows tell.
        """
        used = _all_cuts(starts)
        room = {position: MAX_CODES - 1 - features[position].has_missing for position in used}
        while any(len(cuts) > room[position] for position, cuts in used.items()):
            # Cuts of several trees may be too many for one column; those of one are not.
            starts = starts[:-1]
            used = _all_cuts(starts)
        cuts = {position: sorted(found) for position, found in used.items()}
        fine = fine_features(training, features, positions, cuts, deadline)
        problem = replace(self.pose, relaxed=True)(training, fine)
        if not applies(problem):
            return None
        standard = in_units(problem)
        found = improve(
            standard.problem,
            splits=self.splits,
            max_children=self.max_children,
            starts=[coded(start.root, fine) for start in starts],
            once=once,
            work=work,
            variety=variety,
            patience=patience,
            seed=self.seed,
            deadline=deadline,
        )
        if math.isinf(found.value):
            return None
        if floor is None:
            floor = floor_of_equal_rows(training, problem, positions)
        others = tuple(raw_tree(other, fine) for other in found.others)
        return QuickTree(raw_tree(found.root, fine), found.value * standard.loss, floor, found.interrupted, others)

    def answer(
        self,
        training: Training,
        features: Sequence[Feature],
        tree: QuickTree,
        bound: float,
        status: Status,
        *,
        all_cuts: bool,
    ) -> tuple[Problem, TreeAnswer]:
        """The problem with the cuts of a tree, and the tree as the answer to it.

        Parameters
        ----------
        training : Training
        features : sequence of Feature
        tree : QuickTree
        bound : float
            No tree is better, whatever the floor says.
        status : Status
            Where the bound is below the loss.
        all_cuts : bool
            Whether the bound holds wherever numbers are cut.
        """
        if all_cuts:
            cut, root = with_cuts(features, readable(training, features, tree.root))
        else:
            cut, root = tuple(features), coded(tree.root, features)
        problem = self.pose(training, cut)
        standard = in_units(problem)
        labelled, value = weighed(standard.problem, root)
        value *= standard.loss
        bound = min(value, max(bound, tree.floor))
        if status != "interrupted" and value - bound <= self.gap * value + 1e-8 * value:
            status = "optimal" if value - bound <= 1e-8 * value else "gap_reached"
        solution = Solution((), status, value, bound, all_cuts=all_cuts)

        def sizes() -> SizedTrees:
            pruned = pruned_trees(standard.problem, labelled)
            return replace(pruned, losses=[loss * standard.loss for loss in pruned.losses])

        return problem, TreeAnswer(solution, labelled, problem.max_leaves, sizes, fewest=False)


def _all_cuts(trees: Sequence[QuickTree]) -> dict[int, set[float]]:
    """The cuts of several trees, by feature."""
    used: dict[int, set[float]] = {}
    for tree in trees:
        for position, cuts in cuts_of(tree.root).items():
            used.setdefault(position, set()).update(cuts)
    return used


def with_thresholds(features: Sequence[Feature], root: RawNode, most: float = math.inf) -> tuple[Feature, ...]:
    """The features with the cuts of a tree beside their own thresholds, unless there are more than `most` then."""
    changed = list(features)
    for position, cuts in cuts_of(root).items():
        feature = features[position]
        if feature.thresholds is not None:
            thresholds = np.array(sorted({*feature.thresholds.tolist(), *cuts}))
            if len(thresholds) <= most:
                changed[position] = replace(feature, thresholds=thresholds, n_values=len(thresholds) + 1)
    return tuple(changed)
