"""`binning="exact"`: the best tree over all cuts between values of the training rows.

The search over all cuts looks at the raw values; its tree then becomes one over codes, with just the thresholds that it
needs. What that search does not do (rules, constraints, other losses) is solved with one code a value instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from omtree.data.table import Feature, FloatArray
from omtree.deadline import Deadline
from omtree.engines.answers import TreeAnswer
from omtree.engines.dispatch import TreeSolver
from omtree.engines.trees.all_cuts import CutSolution, solve_cuts
from omtree.errors import InfeasibleError
from omtree.fit.pose import Pose
from omtree.fit.raw_cuts import with_cuts
from omtree.fit.thresholds import Refined
from omtree.fit.views import View, raw_tree, views_of
from omtree.objectives import LabelCosts, Objective
from omtree.objectives.objective import class_totals
from omtree.objectives.squared import Squared
from omtree.problem.problem import Solution
from omtree.sources.samples import Training

#: Share of the time left for the search over all cuts; the rest is for trees over few cuts, should it not end.
_TIME_SHARE = 0.85


def is_for_all_cuts(objective: Objective, training: Training, *, binary: bool, plain: bool) -> bool:
    """Whether the search over all cuts can find the model that is asked for.

    Parameters
    ----------
    objective : Objective
    training : Training
    binary : bool
        Whether a tree with two children a node is asked for.
    plain : bool
        Whether there are neither constraints nor a preset.
    """
    if type(training) is not Training or not binary or not plain:
        return False  # rows that are elsewhere have no values here
    return isinstance(objective, Squared) or _cost_of_class(objective, training) is not None


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

    def tree(self, features: tuple[Feature, ...], coarse: Callable[[], Refined]) -> Refined:
        """The best tree over all cuts of these features, no worse than `coarse` gives where the time ends before."""
        present = np.flatnonzero(self.training.weight > 0)
        views = views_of(self.training.columns, features, self.pose.categories)
        found = self._search(views, present)
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
        best = Refined(problem, TreeAnswer(solution, root, problem.max_leaves, sizes), 1)
        if status != "time_limit":
            return best
        other = coarse()
        bound = min(found.bound, other.answer.solution.value)
        known = replace(solution, bound=bound, seconds={**seconds, **other.answer.solution.seconds})
        if other.answer.solution.value >= found.value:
            return replace(best, answer=replace(best.answer, solution=known))
        value, status = other.answer.solution.value, other.answer.solution.status
        known = replace(known, value=value, status="interrupted" if status == "interrupted" else "time_limit")
        return replace(other, answer=replace(other.answer, solution=known))

    def _search(self, views: list[View], present: npt.NDArray[np.intp]) -> CutSolution:
        training, target = self.training, self.training.target
        values = np.empty((len(views), len(present)))
        for row, view in zip(values, views, strict=True):
            np.take(view.values, present, out=row)
        mass = training.weight[present]
        limit = self.deadline.remaining
        run = partial(
            solve_cuts,
            values,
            masses=mass,
            max_depth=self.pose.max_depth,
            max_leaves=self.pose.max_leaves,
            min_support=self.pose.min_support,
            deadline=self.deadline if math.isinf(limit) else Deadline(_TIME_SHARE * limit),
        )
        if target.is_number:
            return run(targets=target.values[present], weights=mass)
        cost = _cost_of_class(self.objective, training)
        assert cost is not None
        labels = target.labels[present]
        return run(labels=labels, weights=mass * cost[labels])
