"""Why there is no model: the constraints that cannot be met together, and how near to each of them a model comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from omtree.constraints import Constraint, Force, MetricLimit, Setting
from omtree.data.table import FloatArray
from omtree.data.wording import number
from omtree.deadline import Deadline
from omtree.engines.dispatch import TreeSolver
from omtree.errors import InfeasibleError
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Problem

#: Whether there is a model under these constraints; None where the time did not suffice to know.
Feasible = Callable[[Sequence[Constraint], Deadline], bool | None]
#: The least sum of costs over models, by stratum and label.
Least = Callable[[Problem, Deadline], float | None]


@contextmanager
def saying_why(why: Callable[[], str] | None) -> Iterator[None]:
    """Let a complaint that there is no model say why."""
    try:
        yield
    except InfeasibleError:
        if why is None:
            raise
        raise InfeasibleError(why()) from None


def why_none(
    constraints: Sequence[Constraint],
    feasible: Feasible,
    problem: Problem,
    solver: TreeSolver,
    setting: Setting,
    deadline: Deadline,
) -> str:
    """The constraints that cannot be met together, and how near to each limit on a metric a model comes, in words.

    Parameters
    ----------
    constraints : sequence of Constraint
        No model meets all of them.
    feasible : callable
    problem : Problem
        With all of them.
    solver : TreeSolver
        For sums of costs.
    setting : Setting
    deadline : Deadline
    """

    def least(additive: Problem, limit: Deadline) -> float | None:
        try:
            found = solver(additive, limit).solution
        except InfeasibleError:
            return None
        return found.value if found.status == "optimal" else None

    core = conflicting(constraints, feasible, deadline)
    for forced in (each for each in core if isinstance(each, Force)):
        thin = forced.thin_child(problem.table, problem.min_support)
        if thin is not None:
            return (
                f"{forced.title} cannot be kept: there are {number(thin[1])} rows where {thin[0]}, and a leaf needs "
                f"{number(problem.min_support)}; ask for something else there, or allow smaller leaves."
            )
    reached = []
    for row in problem.model_limits:
        if isinstance(row, MetricLimit) and row.constraint in core and not deadline.expired:
            value = nearest(problem, row, least, deadline)
            if value is not None:
                reached.append((row, value))
    leaves = "leaf" if setting.max_leaves == 1 else "leaves"
    return in_words(core, reached, f"with {setting.max_leaves} {leaves}")


def conflicting(constraints: Sequence[Constraint], feasible: Feasible, deadline: Deadline) -> list[Constraint]:
    """A smallest set of constraints without a model, as far as the time allows: leaving out any gives a model.

    Parameters
    ----------
    constraints : sequence of Constraint
        No model meets all of them.
    feasible : callable
    deadline : Deadline
    """
    kept = list(constraints)
    for constraint in constraints:
        without = [other for other in kept if other is not constraint]
        if feasible(without, deadline) is False:
            kept = without
    return kept


def nearest(problem: Problem, row: MetricLimit, least: Least, deadline: Deadline) -> float | None:
    """The value of a metric that comes nearest to its limit, over all models; None where it was not found in time.

    Parameters
    ----------
    problem : Problem
        Its constraints over the whole model are left out.
    row : MetricLimit
    least : callable
    deadline : Deadline
    """
    value = _most(problem, row.coefficient, least, deadline)
    return None if value is None else row.reached(value)


def _most(problem: Problem, coefficient: FloatArray, least: Least, deadline: Deadline) -> float | None:
    """Largest sum of the coefficients over all models."""
    costs = -coefficient
    shift = costs.min(axis=1, keepdims=True)
    loss = LinearLoss(np.ascontiguousarray(costs - shift))
    limits = problem.limits
    if limits.prices is not None:
        limits = replace(limits, prices=replace(limits.prices, weight=0.0))
    free = replace(problem, loss=loss, limits=limits, model_limits=(), curved=(), sums=(), conflict=None)
    found = least(free, deadline)
    if found is None:
        return None
    return -(found + float(problem.table.statistics.sum(axis=0) @ shift[:, 0]))


def in_words(core: Sequence[Constraint], reached: Sequence[tuple[MetricLimit, float]], size: str) -> str:
    """The reason, in a sentence.

    Parameters
    ----------
    core : sequence of Constraint
        Those that cannot be met together.
    reached : sequence of (MetricLimit, float)
        How near to the limit of a constraint of the core a model comes that need not meet the others.
    size : str
        The limits on the model, in words.
    """
    titles = [constraint.title for constraint in core]
    if not titles:
        return f"No model {size} has rules of the least support; lower min_samples_leaf."
    reach = "; ".join(
        f"{row.metric} reaches {'at most' if row.sense == 'at least' else 'at least'} {number(value)} {size}"
        for row, value in reached
    )
    if len(titles) == 1:
        return f"No model meets {titles[0]}: {reach or f'none {size} does'}; relax it or allow larger models."
    listed = f"{', '.join(titles[:-1])} and {titles[-1]}"
    alone = f" (on its own, {reach})" if reach else ""
    return f"No model {size} meets {listed} together{alone}; relax one of them."
