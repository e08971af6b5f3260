"""Constraints that have to hold for new rows: tested on rows that no search has seen, and tightened until they do.

A part of the rows is kept apart. The model is fitted to the others, with limits that are stricter than asked for by a
margin: what chance can take away on so many rows. If the rows kept apart do not bear the limits out, the margin grows.
The margins are fixed before any model is seen and are few, so that the risk that was allowed can be shared equally
among the attempts (Bonferroni): with the confidence that is asked for, a model that is returned keeps the limit. All
parts of a constraint have to pass, which needs no further share (an intersection-union test).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
import numpy.typing as npt

from omtree.constraints import Answers, Constraint, audit
from omtree.constraints.confidence import Confident, Trial
from omtree.data.wording import number
from omtree.deadline import Deadline
from omtree.errors import InfeasibleError
from omtree.fit.size_choice import CrossValidation, SizeChoice, fit_sized
from omtree.model.assurance import Assurance
from omtree.objectives import Objective
from omtree.sources.samples import Training

if TYPE_CHECKING:
    from omtree.engines.answers import Outcome
    from omtree.fit.plan import Plan
    from omtree.model.certificate import Certificate

#: How many times the least margin that could pass each attempt adds to the limits.
MARGINS = (1.0, 1.5, 2.0, 3.0)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model with the plan and the samples it is from."""

    plan: Plan
    training: Training
    outcome: Outcome
    certificate: Certificate
    choice: SizeChoice | None


def fit_assured(
    plan: Plan,
    validation: CrossValidation | None,
    training: Training,
    objective: Objective,
    deadline: Deadline,
    share: float,
) -> Fitted:
    """Fit the plan; constraints with a confidence hold on a share of the rows that is kept apart.

    Raises
    ------
    InfeasibleError
        Where no attempt gives a model that passes, with the reason.
    """
    asked = [constraint for constraint in plan.constraints if is_asked(constraint)]
    if not asked:
        plan, outcome, certificate, choice = fit_sized(plan, validation, training, objective, deadline)
        return Fitted(plan, training, outcome, certificate, choice)
    if validation is not None and (validation.groups is not None or not _splits(validation.cv)):
        raise ValueError(
            "confidence needs rows that are independent and a cv that is a number or a splitter; leave cv_groups and "
            "row numbers out."
        )
    plan.check_constraints(training)
    fitted, kept = parted(training, share, plan.seed)
    plan = replace(plan, random_state=plan.seed)
    risks = [(1.0 - _confidence(constraint)) / len(MARGINS) for constraint in asked]
    ideal = _answers_if_right(kept)
    trials = [list(constraint.trials(ideal)) for constraint in asked]
    for constraint, risk, each in zip(asked, risks, trials, strict=True):
        _check_enough(constraint, each, risk, len(kept))
    nearest = ""
    for attempt, times in enumerate(MARGINS, start=1):
        tight = {
            constraint: constraint.tightened([(trial.sense, _rounded(times * trial.margin(risk))) for trial in each])
            for constraint, risk, each in zip(asked, risks, trials, strict=True)
        }
        # Most first attempts pass; the last one has all the time that is left.
        limit = deadline.share(1.0 if attempt == len(MARGINS) else 0.5)
        try:
            stricter = replace(plan, constraints=[_tightened(each, tight) for each in plan.constraints])
            stricter, outcome, certificate, choice = fit_sized(stricter, validation, fitted, objective, limit)
        except (InfeasibleError, _Contradiction) as fault:
            if nearest:
                break
            raise InfeasibleError(
                f"No model can be tested with confidence: {_listed(asked)} on {len(kept):,} rows kept apart needs "
                f"{_listed(list(tight.values()))} in training, and {_lowered(str(fault))}"
            ) from None
        answers = _answers(outcome, plan, kept)
        tried = [list(constraint.trials(answers)) for constraint in asked]
        if all(trial.holds(risk) for each, risk in zip(tried, risks, strict=True) for trial in each):
            assured = tuple(
                _assurance(constraint, tight[constraint], trial, risk, len(kept), attempt)
                for constraint, risk, each in zip(asked, risks, tried, strict=True)
                for trial in each
            )
            certificate = replace(
                certificate,
                constraints=audit(plan.constraints, _answers(outcome, plan, fitted)),
                assured=assured,
                total_seconds=deadline.elapsed,
            )
            return Fitted(stricter, fitted, outcome, certificate, choice)
        nearest = _shortfall(asked, risks, tried)
    raise InfeasibleError(
        f"No model is returned, since none passed its test on the {len(kept):,} rows kept apart: {nearest}; relax the "
        "limit or the confidence, or bring more rows."
    )


def is_asked(constraint: Constraint) -> TypeGuard[Confident]:
    """Whether a constraint has to hold for new rows."""
    return isinstance(constraint, Confident) and constraint.confidence is not None


def parted(training: Training, share: float, seed: int) -> tuple[Training, Training]:
    """The rows to fit to, and those kept apart: a share of every class within every group, at random."""
    strata = training.samples().strata().of_sample
    order = np.random.default_rng(seed).permutation(len(training))
    # Stratum by stratum, in a random order within each: every so many rows one is kept.
    order = order[np.argsort(strata[order], kind="stable")]
    place = np.arange(len(order))
    kept = np.floor((place + 1) * share + 0.5) > np.floor(place * share + 0.5)
    if not kept.any() or kept.all():
        raise ValueError(
            f"confidence_rows={share!r} keeps {int(kept.sum())} of {len(kept)} rows; use another share, or more rows."
        )
    return training.part(np.sort(order[~kept])), training.part(np.sort(order[kept]))


class _Contradiction(ValueError):
    """Limits that exclude each other once they are tightened."""


def _tightened(constraint: Constraint, tight: dict[Confident, Confident]) -> Constraint:
    if not isinstance(constraint, Confident) or constraint not in tight:
        return constraint
    stricter = tight[constraint]
    least, largest = getattr(stricter, "at_least", None), getattr(stricter, "at_most", None)
    if least is not None and largest is not None and least > largest:
        raise _Contradiction(f"no value is between {number(least)} and {number(largest)}; widen the limits.")
    return stricter


def _answers(outcome: Outcome, plan: Plan, samples: Training) -> Answers:
    """What the model says of some samples."""
    rules, seen = outcome.rules, samples.samples()
    used = {condition.feature for rule in rules for condition in rule.conditions}
    tree = outcome.tree if plan.structure == "tree" else None
    return Answers.of(rules, samples.codes(rules.features, used), seen.labels, seen.weight, seen.groups, tree)


def _answers_if_right(samples: Training) -> Answers:
    """The answers of a model that is always right: how many rows a test will have, before there is a model."""
    seen = samples.samples()
    return _Right((), (), tuple(samples.target.classes.tolist()), seen.labels, seen.labels, seen.weight, seen.groups)


class _Right(Answers):
    """Answers that are the true classes."""

    @property
    def predicted(self) -> npt.NDArray[np.intp]:
        return self.y


def _rounded(margin: float) -> float:
    """At least the margin, with two digits that count: limits are shown to people.

    >>> _rounded(0.04321)
    0.044
    """
    digits = 1 - math.floor(math.log10(margin)) if margin > 0 else 0
    return float(round(math.ceil(margin * 10**digits) / 10**digits, digits))


def _splits(cv: object) -> bool:
    return isinstance(cv, (int, np.integer)) or hasattr(cv, "split")


def _confidence(constraint: Confident) -> float:
    assert constraint.confidence is not None
    return constraint.confidence


def _check_enough(constraint: Confident, trials: Sequence[Trial], risk: float, kept: int) -> None:
    """Complain where not even the best model could pass."""
    for trial in trials:
        if math.isinf(trial.margin(risk)):
            part = f" ({trial.part})" if trial.part else ""
            raise InfeasibleError(
                f"{constraint.title}{part} cannot be tested on {number(round(trial.rows))} of the {kept:,} rows kept "
                "apart: not even a perfect model would pass; relax the limit or the confidence, raise confidence_rows, "
                "or bring more rows."
            )


def _assurance(
    constraint: Confident, tight: Confident, trial: Trial, risk: float, kept: int, attempt: int
) -> Assurance:
    name = f"{constraint.title}: {trial.part}" if trial.part else constraint.title
    field = "tolerance" if hasattr(tight, "tolerance") else trial.sense.replace(" ", "_")
    return Assurance(
        name,
        _confidence(constraint),
        trial.sense,
        float(trial.limit),
        trial.value,
        trial.bound(risk),
        trial.rows,
        kept,
        trial.method,
        float(getattr(tight, field)),
        attempt,
        len(MARGINS),
    )


def _shortfall(asked: Sequence[Confident], risks: Sequence[float], tried: Sequence[Sequence[Trial]]) -> str:
    """The first limit that was missed, in words."""
    for constraint, risk, trials in zip(asked, risks, tried, strict=True):
        for trial in trials:
            if not trial.holds(risk):
                part = f" ({trial.part})" if trial.part else ""
                seen = "nothing to measure" if math.isnan(trial.value) else number(trial.value)
                return (
                    f"{constraint.title}{part} is {seen} in {number(round(trial.rows))} of them, by which it is "
                    f"{trial.sense} {number(trial.bound(risk))} only"
                )
    raise AssertionError("all limits are kept")


def _listed(constraints: Sequence[Constraint]) -> str:
    titles = [constraint.title for constraint in constraints]
    return titles[0] if len(titles) == 1 else f"{', '.join(titles[:-1])} and {titles[-1]}"


def _lowered(sentence: str) -> str:
    return f"{sentence[0].lower()}{sentence[1:]}"
