"""What reductions are made of: a solver of problems whose losses add up, and what it answers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from omtree.data.table import FloatArray
from omtree.model.certificate import Status
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Path, Problem, Solution, meeting

Answer = TypeVar("Answer")

#: Scores that differ by less are equal.
SAME = 1e-9


@dataclass(frozen=True)
class Additive(Generic[Answer]):
    """The answer to one problem whose losses add up.

    `paths` are its rules, `bound` is below the loss of every model; both are of no use when the problem is infeasible.
    """

    answer: Answer
    paths: Sequence[Path]
    bound: float
    status: Status


Solve = Callable[[Problem], Additive[Answer]]


@dataclass(frozen=True)
class BestScore(Generic[Answer]):
    """The best model found: its answer, its score, and what no score is above."""

    answer: Answer
    score: float
    bound: float
    status: Status
    solves: int


def confusion_of(problem: Problem, paths: Sequence[Path]) -> FloatArray:
    """Weight of each class under each predicted label, ``[true, predicted]``."""
    weights = problem.class_weights()
    n_classes = weights.shape[1]
    codes = problem.table.codes
    inside = [np.zeros(codes.shape[1], dtype=bool) for _ in range(n_classes)]
    meets = functools.cache(lambda feature, allowed: meeting(codes[feature], allowed))
    for path in paths:
        met = [meets(condition.feature, condition.codes) for condition in path.conditions]
        inside[path.label] |= np.logical_and.reduce(met) if met else True
    return np.stack([weights[rows].sum(axis=0) for rows in inside], axis=1)


def with_costs(problem: Problem, by_class: FloatArray) -> tuple[Problem, float]:
    """The problem with these costs by class and label, made zero or more, and what was taken away in all."""
    shift = by_class.min(axis=1)
    totals = problem.class_weights().sum(axis=0)
    costs = by_class - shift[:, None]
    if problem.class_of_stratum is not None:
        costs = costs[problem.class_of_stratum]
    return replace(problem, loss=LinearLoss(np.ascontiguousarray(costs))), float(shift @ totals)


def scored(found: BestScore[Any], solution: Solution) -> Solution:
    """The solution of the best additive problem, in terms of the score."""
    return replace(
        solution,
        status=found.status,
        value=1.0 - found.score,
        bound=1.0 - found.bound,
        lp_value=None,
        iterations=found.solves,
    )
