"""A look over all cuts at the size that was chosen, after a search for the trees of all sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from omtree.data.binning import rounding_cuts
from omtree.deadline import Deadline
from omtree.engines.answers import Outcome
from omtree.fit.cut_search import BriefSearch
from omtree.fit.effort import Effort
from omtree.fit.known_trees import with_floor
from omtree.fit.threshold_rounds import with_cuts_of
from omtree.objectives import Objective
from omtree.sources.samples import Training

if TYPE_CHECKING:
    from omtree.fit.plan import Plan

#: Share of the time for the look.
_SHARE = 0.2


def looked_at(
    plan: Plan, outcome: Outcome, samples: Training, training: Training, objective: Objective, deadline: Deadline
) -> tuple[Outcome, Training]:
    """The tree of a size with the cuts of a better one, where there is such, and with what is proven over all cuts.

    Parameters
    ----------
    plan : Plan
        For trees of up to the largest size.
    outcome : Outcome
        At the size that was chosen.
    samples : Training
        What it was read off.
    training : Training
        All samples.
    objective : Objective
    deadline : Deadline
    """
    leaves, features = outcome.problem.max_leaves, outcome.problem.table.features
    sized = replace(plan, max_leaves=leaves)
    pose = sized.pose_of(training, objective, sized.setting_of(training), None)
    look = BriefSearch(objective, plan.splits, plan.max_children)
    found = look(training, features, pose, deadline.share(_SHARE))
    if found is None or found.interrupted:
        return outcome, samples
    if found.value < outcome.found.value:
        with rounding_cuts(plan.round_cuts):
            finer = with_cuts_of(training, features, found, plan.n_bins)
            again, rows = plan.solve_on(training, finer, objective, deadline, Effort(every_size=True, all_cuts=False))
        if again.family is not None and again.family.losses[leaves - 1] < outcome.found.value:
            outcome, samples = again.at_size(leaves), rows
    if found.floor > 0.0 or found.proven:
        outcome = replace(outcome, found=with_floor(outcome.found, found.floor))
    return outcome, samples
