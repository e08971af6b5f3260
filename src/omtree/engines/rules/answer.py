"""What an answer of the engine is called, and why there is none."""

from __future__ import annotations

import math

from omtree.model.certificate import Status
from omtree.problem.problem import Problem


def status_of(
    value: float, bound: float, *, proven: bool, interrupted: bool, within_gap: bool, expired: bool
) -> Status:
    """The status of an answer; a bound of plus infinity is a proof that there is no model."""
    if not math.isfinite(value):
        return "infeasible" if bound == math.inf else "time_limit"
    if proven:
        return "optimal"
    if interrupted:
        return "interrupted"
    if within_gap:
        return "gap_reached"
    return "time_limit" if expired else "stopped"


def why_infeasible(problem: Problem) -> str:
    """Why a problem has no model, where limits on rules or between rules have a part in it; empty otherwise."""
    if problem.limits.empty and problem.conflict is None:
        return ""
    limits = "that meet the limits on rules" if not problem.limits.empty else "that go together"
    over = " and meets the constraints over the whole model" if problem.model_limits else ""
    return (
        f"No set of at most {problem.max_leaves} rules {limits} covers every row once{over}; "
        "relax a limit, or allow more or longer rules."
    )
