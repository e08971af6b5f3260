"""The models of one fold: fitted to its rows in every size, and judged on the rows that it holds out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.answers import OutOfTimeError
from omtree.errors import InfeasibleError
from omtree.fit.effort import IN_FOLDS, USUAL
from omtree.fit.folds import Fold
from omtree.fit.held_out import mean_loss, owners, said_by_class, tally, training_loss
from omtree.fit.price_steps import PriceSteps
from omtree.model.tally import Tally
from omtree.objectives import Objective, Score
from omtree.problem.loss_scale import most_loss
from omtree.sources.samples import Training

if TYPE_CHECKING:
    from omtree.engines.answers import Outcome
    from omtree.fit.plan import Plan

#: What is tried in every fold: every number of leaves, every price of a leaf, or the model of the plan alone.
Tried = Literal["sizes", "prices", "given"]

#: Sizes are tried one by one up to this many leaves, then in steps of about a tenth.
_EVERY_SIZE = 32
#: Where each size needs a fit of its own.
_COARSE = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64)


@dataclass(frozen=True)
class Judged:
    """A model of one size on the rows of one fold: its mean loss in training and on the rows held out.

    Where the objective is a score of the whole model, what was said of the rows held out is kept by class.
    """

    training: float
    held_out: float
    tally: Tally
    confusion: FloatArray | None = None


@dataclass(frozen=True)
class FoldModels:
    """The models of a fold.

    Attributes
    ----------
    judged : mapping of int to Judged
        By the most leaves they may have; a size that no model has is left out.
    family : bool
        Whether they are the proven best of every size from one search.
    steps : PriceSteps or None
        Which of them is the best for which price of a leaf, where prices are tried.
    """

    judged: Mapping[int, Judged]
    family: bool
    steps: PriceSteps | None = None


def judge_fold(
    plan: Plan, training: Training, objective: Objective, deadline: Deadline, fold: Fold, rounds: int, tried: Tried
) -> FoldModels:
    """The models of all sizes for the rows of a fold; a size that no model has is left out.

    Of the time left, this fold, those after it (`rounds` of them, this one included) and the last fit have equal
    shares; half of a share is for the trees of smaller sizes. Where the search is stopped, what it knows of small trees
    may be poor, and searches of less depth have that half.
    """
    part, new = training.part(fold.train), training.part(fold.test)
    limit = deadline.share(1 / (2 * rounds + 2))
    most = plan.most_leaves(part)
    judged: dict[int, Judged] = {}

    def judge(size: int, outcome: Outcome) -> None:
        tree = outcome.tree if plan.structure == "tree" else None
        rules = outcome.rules
        owner = owners(rules, tree, new)
        judged[size] = Judged(
            training_loss(objective, rules, plan.constraints),
            mean_loss(objective, rules, owner, new, plan.constraints),
            tally(rules, owner, new, part),
            said_by_class(rules, owner, new) if isinstance(objective, Score) else None,
        )

    try:
        sized = plan if tried == "prices" else replace(plan, max_leaves=most)
        largest, _ = sized.solve(part, objective, limit, effort=USUAL if tried == "given" else IN_FOLDS)
    except InfeasibleError:
        return FoldModels(judged, False)
    if tried == "given":
        judge(plan.most_leaves(training), largest)
        return FoldModels(judged, False)
    family = largest.family
    more = deadline.share(1 / (2 * rounds + 1))
    if family is not None:
        steps, sizes = None, set(_sizes(len(family)))
        if tried == "prices":
            steps = PriceSteps.of(family.losses, most_loss(largest.problem), plan.leaf_price)
            sizes |= set(steps.sizes)
        known = [largest]
        if tried == "sizes" and not family.proven:
            known += _of_less_depth(replace(plan, max_leaves=most), part, objective, more)
        for size in sorted(sizes):
            best = min(known, key=lambda each, size=size: _loss(each, size))  # type: ignore[misc]
            if math.isfinite(_loss(best, size)):
                judge(size, best.at_size(size))
        return FoldModels(judged, family.proven, steps)
    judge(most, largest)
    smaller = [size for size in _COARSE if size < most]
    for place, size in enumerate(smaller):
        if more.expired:
            break  # what is found in no time says little of a size
        share = more.share(1 / (len(smaller) - place))
        try:
            judge(size, replace(plan, max_leaves=size).solve(part, objective, share)[0])
        except (InfeasibleError, OutOfTimeError):
            continue  # no model of this size is known
    return FoldModels(judged, False)


def _of_less_depth(plan: Plan, part: Training, objective: Objective, deadline: Deadline) -> Iterator[Outcome]:
    """The trees of all sizes by searches of less depth, which end where that of the whole depth was stopped."""
    depths = range(1, plan.most_conditions(part))
    for depth in depths:
        if deadline.expired:
            return
        share = deadline.share(1 / (len(depths) - depth + 1))
        try:
            yield replace(plan, max_depth=depth).solve(part, objective, share, effort=IN_FOLDS)[0]
        except (InfeasibleError, OutOfTimeError):
            continue  # no tree of this depth is known


def _loss(outcome: Outcome, size: int) -> float:
    """Of the tree with at most so many leaves."""
    family = outcome.family
    return math.inf if family is None or size > len(family) else family.losses[size - 1]


def _sizes(most: int) -> list[int]:
    """Every size up to some, then with growing steps; the largest is among them.

    >>> _sizes(40)[-4:]
    [32, 35, 38, 40]
    """
    sizes = list(range(1, min(most, _EVERY_SIZE) + 1))
    while sizes[-1] < most:
        sizes.append(min(most, sizes[-1] + max(1, sizes[-1] // 10)))
    return sizes
