"""`binning="exact"`: the best tree over all cuts between values of the training rows.

The search over all cuts looks at the raw values; its tree then becomes one over codes, with just the thresholds that it
needs. What that search does not do (rules, constraints, other losses) is solved with one code a value instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from omtree.data.table import Feature, FloatArray
from omtree.deadline import Deadline
from omtree.engines.answers import TreeAnswer
from omtree.engines.dispatch import TreeSolver
from omtree.engines.trees.all_cuts import MAX_WIDE_LEAVES, CutSolution, leaf_rows, solve_cuts
from omtree.engines.trees.splits import Splits
from omtree.errors import InfeasibleError
from omtree.fit.pose import Pose
from omtree.fit.quick_trees import QuickTree
from omtree.fit.raw_cuts import with_cuts
from omtree.fit.thresholds import Refined
from omtree.fit.views import View, raw_tree, views_of
from omtree.model.certificate import Status
from omtree.objectives import LabelCosts, Objective
from omtree.objectives.objective import class_totals
from omtree.objectives.squared import Squared
from omtree.problem.problem import Solution
from omtree.sources.samples import Training

#: Share of the time left for the search over all cuts; the rest is for trees over few cuts, should it not end.
_TIME_SHARE = 0.85
#: Share of that for binary trees where multiway ones are asked for: the best binary one is where these start.
_BINARY_SHARE = 0.3
#: Share of the time for trees over few cuts where the search over all of them will probably not end.
_COARSE_SHARE = 0.3
#: Most rows that a brief search walks along a view, a few tenths of a second; beyond so many cells, or levels, it would
#: not come far.
BRIEF_WORK, BRIEF_CELLS, BRIEF_DEPTH = 1e8, 1_000_000, 4


def is_for_all_cuts(objective: Objective, training: Training, pose: Pose, splits: Splits, most: int | None) -> bool:
    """Whether the search over all cuts can find the tree that is asked for.

    Multiway trees are sought for errors with whole weights, few leaves, and columns in one order: of levels without an
    order, and where cells are missing, a split has parts that are no intervals.

    Parameters
    ----------
    objective : Objective
    training : Training
    pose : Pose
    splits : {"multiway", "binary"}
    most : int or None
        Most children of a node.
    """
    if type(training) is not Training or pose.constraints:
        return False  # rows that are elsewhere have no values here
    # Where no column has more than two values, codes are all cuts there are, and their search is the faster one.
    if all(column.two_valued for column in training.columns):
        return False
    if splits == "binary" or most == 2:
        return isinstance(objective, Squared) or _cost_of_class(objective, training) is not None
    cost = _cost_of_class(objective, training)
    if cost is None or len(cost) > 1000 or pose.max_leaves > MAX_WIDE_LEAVES:
        return False
    if most is not None and most < pose.max_leaves:
        return False
    weight = training.weight * cost[training.target.labels]
    in_order = (c.kind != "nominal" or len(c.levels or ()) == 2 for c in training.columns)
    present = not any(column.has_missing for column in training.columns)
    return present and all(in_order) and bool((weight == np.floor(weight)).all()) and float(weight.sum()) < 1e9


def _cost_of_class(objective: Objective, training: Training) -> FloatArray | None:
    """What a wrong row costs by its class, where that does not depend on the wrong class; None where it does."""
    if not isinstance(objective, LabelCosts):
        return None
    costs = objective.matrix(class_totals(training.target, training.weight))
    if costs.shape[0] != costs.shape[1] or len(costs) < 2:
        return None
    each = np.array([row[(k + 1) % len(row)] for k, row in enumerate(costs)])
    return each if np.array_equal(costs, each[:, None] * (1.0 - np.eye(len(costs)))) and (each > 0).all() else None


@dataclass(frozen=True, eq=False)
class ExactCuts:
    """Finds the best tree over all cuts.

    Attributes
    ----------
    training : Training
    pose : Pose
    objective : Objective
    search : TreeSolver
        For trees of other sizes, which come from the cuts of the best one.
    deadline : Deadline
    """

    training: Training
    pose: Pose
    objective: Objective
    search: TreeSolver
    deadline: Deadline

    def tree(self, features: tuple[Feature, ...], coarse: Callable[[Deadline], Refined]) -> Refined:
        """The best tree over all cuts of these features, no worse than `coarse` gives where the time ends before."""
        views = views_of(self.training.columns, features, self.pose.categories)
        other = None
        if self._in_two or math.isinf(self.deadline.remaining):
            found = self._search(views)
        else:
            # Most multiway searches end within a moment or not at all, and few cuts give the better trees then.
            found = self._search(views, BRIEF_WORK)
            if found.status == "stopped":
                other = coarse(self.deadline.share(_COARSE_SHARE))
                found = self._search(views)
        if found.tree is None:
            raise InfeasibleError(f"No leaf can have a weight of {self.pose.min_support:g}; lower min_samples_leaf.")
        changed, root = with_cuts(features, raw_tree(found.tree, views))
        problem = self.pose(self.training, changed)
        status = found.status
        if status == "time_limit" and found.value - found.bound <= self.search.gap * found.value:
            status = "gap_reached"
        seconds = {"all cuts": found.seconds}
        solution = Solution((), status, found.value, found.bound, seconds=seconds, all_cuts=True)
        sizes = partial(self.search.sizes_on_grid, problem, root, found.value, self.deadline)
        best = Refined(problem, TreeAnswer(solution, root, problem.max_leaves, sizes, fewest=False), 1)
        if status in ("optimal", "gap_reached", "interrupted"):
            return best
        other = coarse(self.deadline.share(1.0)) if other is None else other
        bound = min(found.bound, other.answer.solution.value)
        known = replace(solution, bound=bound, seconds={**seconds, **other.answer.solution.seconds})
        if other.answer.solution.value >= found.value:
            return replace(best, answer=replace(best.answer, solution=known))
        value, status = other.answer.solution.value, other.answer.solution.status
        known = replace(known, value=value, status="interrupted" if status == "interrupted" else found.status)
        if value <= bound:
            known = replace(known, status="optimal")
        return replace(other, answer=replace(other.answer, solution=known))

    @property
    def _in_two(self) -> bool:
        return self.search.splits == "binary" or self.search.max_children == 2

    def _search(self, views: list[View], work: float = math.inf) -> CutSolution:
        limit = self.deadline.share(_TIME_SHARE)
        multiway = not self._in_two
        return _solve(self.training, self.pose, self.objective, views, limit, multiway=multiway, work=work)


@dataclass(frozen=True, eq=False)
class BriefSearch:
    """The search over all cuts for a moment: a tree that cuts anywhere, and what no tree does better than.

    Attributes
    ----------
    pose : Pose
    objective : Objective
    splits : {"multiway", "binary"}
    max_children : int or None
    """

    pose: Pose
    objective: Objective
    splits: Splits
    max_children: int | None

    def __call__(self, training: Training, features: Sequence[Feature], deadline: Deadline) -> QuickTree | None:
        """The best tree known when the work is done; None where this search does not find trees of this kind."""
        in_two = self.splits == "binary" or self.max_children == 2
        pose = self.pose
        if pose.max_depth > BRIEF_DEPTH or not is_for_all_cuts(self.objective, training, pose, "binary", None):
            return None
        wide = is_for_all_cuts(self.objective, training, pose, self.splits, self.max_children)
        if not in_two and self.max_children is not None:
            return None
        views = views_of(training.columns, features, pose.categories)
        if len(views) * len(training) > BRIEF_CELLS:
            return None
        # Deeper multiway trees take so long that a moment tells nothing of them.
        multiway = not in_two and wide and pose.max_depth <= 2
        found = _solve(training, pose, self.objective, views, deadline, multiway=multiway, work=BRIEF_WORK)
        if found.tree is None:
            return None
        bound = found.bound if in_two or multiway else 0.0
        return QuickTree(raw_tree(found.tree, views), found.value, bound, found.status == "interrupted")


def _solve(
    training: Training,
    pose: Pose,
    objective: Objective,
    views: list[View],
    limit: Deadline,
    *,
    multiway: bool,
    work: float = math.inf,
) -> CutSolution:
    """The best tree over all cuts of the views; multiway ones start from the best binary one."""
    target = training.target
    present, mass = _merged(training, views)
    values = np.empty((len(views), len(present)))
    for row, view in zip(values, views, strict=True):
        np.take(view.values, present, out=row)
    run = partial(
        solve_cuts,
        values,
        masses=mass,
        max_depth=pose.max_depth,
        max_leaves=pose.max_leaves,
        min_support=pose.min_support,
        work=work,
    )
    if target.is_number:
        return run(targets=target.values[present], weights=mass, deadline=limit)
    cost = _cost_of_class(objective, training)
    assert cost is not None
    labels = target.labels[present]
    run = partial(run, labels=labels, weights=mass * cost[labels])
    if not multiway:
        return run(deadline=limit)
    part = limit.share(_BINARY_SHARE)
    binary = run(deadline=part)
    if binary.tree is None:
        return binary
    if binary.status == "interrupted":
        return replace(binary, bound=0.0)  # its bound is one for binary trees
    wide = run(multiway=True, known=binary.value, deadline=limit)
    seconds = binary.seconds + wide.seconds
    if wide.tree is None:
        return replace(binary, bound=wide.bound, status=wide.status, seconds=seconds)
    if min(mass[rows].sum() for rows in leaf_rows(wide.tree, values)) >= pose.min_support * (1.0 - 1e-9):
        return replace(wide, seconds=seconds)
    # Leaves below the support: a bound on trees whose leaves have it.
    status: Status = "interrupted" if wide.status == "interrupted" else "stopped"
    return replace(binary, bound=wide.bound, status=status, seconds=seconds)


def _merged(training: Training, views: list[View]) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """Samples that stand for all others of equal values and target, in an order of these, and what they weigh.

    So a sample of weight two is two samples, and the order of the samples does not matter.
    """
    present = np.flatnonzero(training.weight > 0)
    target = training.target
    keys = [(target.values if target.is_number else target.labels)[present], *(view.values[present] for view in views)]
    order = np.lexsort(keys)
    new = np.zeros(len(order), dtype=bool)
    new[:1] = True
    for key in keys:
        own = key[order]
        new[1:] |= own[1:] != own[:-1]
    starts = np.flatnonzero(new)
    return present[order[starts]], np.add.reduceat(training.weight[present[order]], starts)
