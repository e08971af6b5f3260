"""Sums over the rules of a model of any number of each: what they are, and whether they keep their limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omtree.data.table import FloatArray
from omtree.problem.problem import Path, Problem

#: Part of a limit, or of one where that is more, by which rounding may miss it.
ROUNDING = 1e-9


def sums_of(problem: Problem, paths: Sequence[Path]) -> FloatArray:
    """What the rules of a model add up to, by sum."""
    total = np.zeros(len(problem.sums))
    for path in paths:
        rows = np.flatnonzero(path.covers(problem.table.codes)).astype(np.uint32)
        conditions = [(condition.feature, condition.codes) for condition in merged(path).conditions]
        total += [part.number(conditions, rows, path.label) for part in problem.sums]
    return total


def within_limits(problem: Problem, sums: FloatArray) -> bool:
    """Whether sums keep the limits of the problem's sums, up to rounding."""
    limits = np.array([part.at_least for part in problem.sums])
    return bool((sums >= limits - ROUNDING * np.maximum(1.0, np.abs(limits))).all())


def merged(path: Path) -> Path:
    """The path with one condition per feature: the last, where a feature is tested again further down."""
    return Path(tuple({condition.feature: condition for condition in path.conditions}.values()), path.label)


class TooManyRulesError(ValueError):
    """More rules than can be listed."""


def too_many_rules(problem: Problem) -> TooManyRulesError:
    """The refusal of a problem whose rules cannot all be listed."""
    names = ", ".join(dict.fromkeys(part.constraint.title for part in problem.sums))
    return TooManyRulesError(
        f"There are too many rules to solve under {names}, which needs all of them at once; "
        "lower max_depth, n_bins or the number of columns."
    )
