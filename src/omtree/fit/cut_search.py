"""The searches over all cuts of some samples, and the one for a moment that every fit begins with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.data.table import MAX_CODES, Feature, FloatArray, are_whole
from omtree.deadline import Deadline
from omtree.engines.trees.all_cuts import MAX_WIDE_LEAVES, CutSolution, leaf_rows, solve_cuts
from omtree.engines.trees.splits import Splits
from omtree.fit.pose import Pose
from omtree.fit.quick_trees import QuickTree
from omtree.fit.views import View, raw_tree, views_of
from omtree.model.certificate import Status
from omtree.objectives import LabelCosts, Objective
from omtree.objectives.objective import class_totals
from omtree.objectives.squared import Squared
from omtree.sources.samples import Training

#: Share of the time for binary trees where multiway ones are asked for: the best binary one is where these start.
_BINARY_SHARE = 0.3
#: Most rows that a brief search walks along a view, a few tenths of a second; beyond so many cells, or levels, it would
#: not come far.
BRIEF_WORK, BRIEF_CELLS, BRIEF_DEPTH, BRIEF_WIDE_DEPTH = 1e8, 1_000_000, 4, 3

#: The same of a search that gives a bound and no proof, a few seconds.
FLOOR_WORK = 1e9


def is_for_all_cuts(objective: Objective, training: Training, pose: Pose, splits: Splits, most: int | None) -> bool:
    """Whether the tree that is asked for is sought over all cuts of the raw values.

    Parameters
    ----------
    objective : Objective
    training : Training
    pose : Pose
    splits : {"multiway", "binary"}
    most : int or None
        Most children of a node.
    """
    if not _is_for_binary(objective, training, pose):
        return False
    if splits == "binary" or most == 2 or is_for_multiway(objective, training, pose, most):
        return True
    if pose.categories == "values" and any(column.kind == "nominal" for column in training.columns):
        return False  # one level against the others is no split of a tree that has a child for every level
    # Where codes are all cuts there are, their search proves what this one does not.
    return has_more_values_than_codes(training)


def is_for_multiway(objective: Objective, training: Training, pose: Pose, most: int | None) -> bool:
    """Whether the search over all cuts knows what no multiway tree does better than.

    That is for errors with whole weights, few leaves, and columns in one order: of levels without an order, and where
    cells are missing, a split has parts that are no intervals.
    """
    in_order = all(column.kind != "nominal" or len(column.levels or ()) == 2 for column in training.columns)
    present = not any(column.has_missing for column in training.columns)
    return in_order and present and is_for_multiway_bounds(objective, training, pose, most)


def is_for_multiway_bounds(objective: Objective, training: Training, pose: Pose, most: int | None) -> bool:
    """Whether that search bounds multiway trees at least, from parts of the rows."""
    cost = cost_of_class(objective, training)
    if cost is None or len(cost) > 1000 or pose.max_leaves > MAX_WIDE_LEAVES:
        return False
    if most is not None and most < pose.max_leaves:
        return False
    weight = training.weight * cost[training.target.labels]
    return are_whole(weight) and float(weight.sum()) < 1e9


def _is_for_binary(objective: Objective, training: Training, pose: Pose) -> bool:
    """Whether the search over all cuts finds the best binary tree."""
    if type(training) is not Training or pose.constraints:
        return False  # rows that are elsewhere have no values here
    # Where no column has more than two values, codes are all cuts there are, and their search is the faster one.
    if training.columns.two_valued:
        return False
    return isinstance(objective, Squared) or cost_of_class(objective, training) is not None


def has_more_values_than_codes(training: Training) -> bool:
    """Whether a numeric column has more values than a search over codes has codes."""
    weights = np.empty(0) if training.row_weight is None else training.row_weight
    return any(
        len(_native.few_distinct(column.values, weights, MAX_CODES - column.has_missing))
        > MAX_CODES - column.has_missing
        for column in training.columns
        if column.kind == "numeric"
    )


def cost_of_class(objective: Objective, training: Training) -> FloatArray | None:
    """What a wrong row costs by its class, where that does not depend on the wrong class; None where it does."""
    if not isinstance(objective, LabelCosts):
        return None
    costs = objective.matrix(class_totals(training.target, training.weight))
    if costs.shape[0] != costs.shape[1] or len(costs) < 2:
        return None
    each = np.array([row[(k + 1) % len(row)] for k, row in enumerate(costs)])
    return each if np.array_equal(costs, each[:, None] * (1.0 - np.eye(len(costs)))) and (each > 0).all() else None


@dataclass(frozen=True, eq=False)
class CutSearch:
    """The searches over all cuts of some samples.

    Attributes
    ----------
    pose : Pose
    views : list of View
    values : array of float, shape (n_views, n_rows)
        Of the merged samples.
    mass : array of float
        What these weigh.
    targets : array of float or None
    labels : array of int or None
    weights : array of float
        What an error costs.
    """

    pose: Pose
    views: list[View]
    values: FloatArray
    mass: FloatArray
    targets: FloatArray | None
    labels: npt.NDArray[np.integer] | None
    weights: FloatArray

    @classmethod
    def of(cls, training: Training, pose: Pose, objective: Objective, features: Sequence[Feature]) -> CutSearch:
        """The searches for the trees of an objective."""
        views = views_of(training.columns, features, pose.categories)
        present, mass = _merged(training, views)
        values = np.empty((len(views), len(present)))
        for row, view in zip(values, views, strict=True):
            np.take(view.values, present, out=row)
        target = training.target
        if target.is_number:
            return cls(pose, views, values, mass, target.values[present], None, mass)
        cost = cost_of_class(objective, training)
        assert cost is not None
        labels = target.labels[present]
        return cls(pose, views, values, mass, None, labels, mass * cost[labels])

    def binary(self, limit: Deadline, work: float = math.inf) -> CutSolution:
        """The best binary tree."""
        return self._solve(limit, work, multiway=False, known=math.inf)

    def multiway(
        self, limit: Deadline, work: float = math.inf, *, binary: CutSolution | None = None, known: float = math.inf
    ) -> CutSolution:
        """The best multiway tree: a binary one where none is better than that, or than what is known.

        Its bound is one for multiway trees, and equal to `known` where none is better.
        """
        if binary is None:
            binary = self.binary(limit.share(_BINARY_SHARE), work)
        if binary.tree is None:
            return binary
        if binary.status == "interrupted":
            return replace(binary, bound=0.0)
        wide = self._solve(limit, work, multiway=True, known=min(binary.value, known))
        seconds = binary.seconds + wide.seconds
        if wide.tree is None:
            return replace(binary, bound=wide.bound, status=wide.status, seconds=seconds)
        least = min(self.mass[rows].sum() for rows in leaf_rows(wide.tree, self.values))
        if least >= self.pose.min_support * (1.0 - 1e-9):
            return replace(wide, seconds=seconds)
        # Leaves below the support: a bound on trees whose leaves have it.
        status: Status = "interrupted" if wide.status == "interrupted" else "stopped"
        return replace(binary, bound=wide.bound, status=status, seconds=seconds)

    def multiway_floor(self, limit: Deadline, known: float) -> float:
        """What no multiway tree is better than, whatever it does with missing cells and levels without an order.

        Rows with the same cells missing and the same levels are parted by the other columns alone, and what a tree
        costs is at least what each such group of rows costs with the best tree for it.
        """
        orders = Counter(view.feature for view in self.views if view.missing is None)
        apart = [
            np.isinf(values) if view.missing is not None else values
            for view, values in zip(self.views, self.values, strict=True)
            if view.missing is not None or orders[view.feature] > 1
        ]
        # Within a group both views of a column with missing cells are one.
        kept = [
            position
            for position, view in enumerate(self.views)
            if view.missing == "first" or (view.missing is None and orders[view.feature] == 1)
        ]
        if not apart or not kept or self.labels is None:
            return 0.0
        _, group, sizes = np.unique(np.array(apart, dtype=float), axis=1, return_inverse=True, return_counts=True)
        floor = 0.0
        for largest in np.argsort(-sizes, kind="stable"):
            if limit.expired or floor >= known:
                break
            rows = np.flatnonzero(group.reshape(-1) == largest)
            floor += solve_cuts(
                self.values[np.ix_(np.array(kept), rows)],
                labels=self.labels[rows],
                weights=self.weights[rows],
                max_depth=self.pose.max_depth,
                max_leaves=self.pose.max_leaves,
                multiway=True,
                known=known,
                work=FLOOR_WORK * len(rows) / len(self.labels),
                deadline=limit,
            ).bound
        return min(floor, known)

    def quick_tree(self, found: CutSolution) -> QuickTree:
        """The tree of an answer, told by the numbers it cuts at."""
        assert found.tree is not None
        return QuickTree(raw_tree(found.tree, self.views), found.value, found.bound, found.status == "interrupted")

    def _solve(self, limit: Deadline, work: float, *, multiway: bool, known: float) -> CutSolution:
        return solve_cuts(
            self.values,
            labels=self.labels,
            targets=self.targets,
            weights=self.weights,
            masses=self.mass,
            max_depth=self.pose.max_depth,
            max_leaves=self.pose.max_leaves,
            min_support=self.pose.min_support,
            multiway=multiway,
            known=known,
            work=work,
            deadline=limit,
        )


def _merged(training: Training, views: list[View]) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """Samples that stand for all others of equal values and target, in an order of these, and what they weigh.

    So a sample of weight two is two samples, and the order of the samples does not matter.
    """
    present = np.flatnonzero(training.weight > 0)
    target = training.target
    keys = [(target.values if target.is_number else target.labels)[present], *(view.values[present] for view in views)]
    # The last key decides the order; the others only where it has equal values.
    order = np.argsort(keys[-1], kind="stable")
    leading = keys[-1][order]
    if (leading[1:] > leading[:-1]).all():
        return present[order], training.weight[present[order]]
    order = np.lexsort(keys)
    new = np.zeros(len(order), dtype=bool)
    new[:1] = True
    for key in keys:
        own = key[order]
        new[1:] |= own[1:] != own[:-1]
    starts = np.flatnonzero(new)
    return present[order[starts]], np.add.reduceat(training.weight[present[order]], starts)


@dataclass(frozen=True, eq=False)
class BriefSearch:
    """The search over all cuts for a moment: a tree that cuts anywhere, and what no tree does better than.

    Attributes
    ----------
    objective : Objective
    splits : {"multiway", "binary"}
    max_children : int or None
    """

    objective: Objective
    splits: Splits
    max_children: int | None

    def __call__(
        self, training: Training, features: Sequence[Feature], pose: Pose, deadline: Deadline
    ) -> QuickTree | None:
        """The best tree known when the work is done; None where this search does not find trees of this kind."""
        in_two = self.splits == "binary" or self.max_children == 2
        if BRIEF_DEPTH == 0 or not _is_for_binary(self.objective, training, pose):
            return None
        deeper = pose.max_depth > BRIEF_DEPTH
        if deeper:
            # A tree of few levels is one to start from, and no deeper one need be worse.
            pose = replace(pose, max_depth=BRIEF_DEPTH)
        if not in_two and self.max_children is not None:
            return None
        views = views_of(training.columns, features, pose.categories)
        if len(views) * len(training) > BRIEF_CELLS:
            return None
        search = CutSearch.of(training, pose, self.objective, features)
        # Deeper multiway trees take so long that a moment tells nothing of them.
        shallow = pose.max_depth <= BRIEF_WIDE_DEPTH
        wide = not in_two and shallow and is_for_multiway(self.objective, training, pose, None)
        found = search.multiway(deadline, BRIEF_WORK) if wide else search.binary(deadline, BRIEF_WORK)
        if found.tree is None:
            return None
        tree = search.quick_tree(found)
        return tree if (in_two or wide) and not deeper else replace(tree, floor=0.0)
