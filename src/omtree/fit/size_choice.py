"""The number of leaves, chosen by cross-validation over the best trees of every size."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs  # type: ignore[import-untyped]

from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.engines.answers import OutOfTimeError
from omtree.errors import InfeasibleError
from omtree.estimators.parameters import least_support
from omtree.fit.folds import Fold, in_words, make_folds
from omtree.fit.held_out import mean_loss, owners, tally, training_loss
from omtree.model.expectation import Expectation
from omtree.model.tally import Tally
from omtree.objectives import Objective
from omtree.sources.samples import Training

if TYPE_CHECKING:
    from omtree.engines.answers import Outcome
    from omtree.fit.plan import Plan
    from omtree.model.certificate import Certificate

Selection = Literal["best", "one_se"]

#: The folds of a size that is to be chosen, where nothing else is said.
FOLDS = 5
#: Sizes are tried one by one up to this many leaves, then in steps of about a tenth.
_EVERY_SIZE = 32
#: Where each size needs a fit of its own.
_COARSE = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64)


@dataclass(frozen=True)
class Judged:
    """A model of one size on the rows of one fold: its mean loss in training and on the rows held out."""

    training: float
    held_out: float
    tally: Tally


@dataclass(frozen=True, eq=False)
class SizeChoice:
    """What a cross-validation says about sizes.

    Attributes
    ----------
    sizes : tuple of int
        Most leaves of the models that were judged.
    training, held_out : arrays of float, shape (n_folds, n_sizes)
        Mean losses; not a number where a fold has no model of that size.
    leaves : int
        The size that is chosen.
    family : bool
        Whether every fold had the proven best trees of all sizes from one search.
    expectation : Expectation
        Of a model whose size is chosen in this way.
    by_size : mapping of int to Expectation
        Of models of a given size.
    """

    sizes: tuple[int, ...]
    training: FloatArray
    held_out: FloatArray
    leaves: int
    family: bool
    expectation: Expectation
    by_size: Mapping[int, Expectation]

    @property
    def results(self) -> dict[str, Any]:
        """Mean and standard error of the loss for every size, and what they are from."""
        return {
            "leaves": np.array(self.sizes),
            "mean_train_loss": self.training.mean(axis=0),
            "mean_test_loss": self.held_out.mean(axis=0),
            "se_test_loss": standard_error(self.held_out),
            "fold_test_losses": self.held_out,
        }


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What was asked for.

    Attributes
    ----------
    cv : int, splitter or iterable
    selection : {"best", "one_se"}
    groups : array or None
        What a splitter keeps together.
    fixed : bool
        The size is given, and the folds tell only what to expect.
    measure : str
        What new rows are judged by, beside the objective.
    """

    cv: Any
    selection: Selection
    groups: Any
    fixed: bool
    measure: str

    @classmethod
    def of(cls, parameters: Mapping[str, Any], groups: Any, measure: str) -> CrossValidation | None:
        """The one in an estimator's parameters; None where none is asked for."""
        chosen = isinstance(parameters["max_leaves"], str)
        cv = parameters["cv"] if parameters["cv"] is not None or not chosen else FOLDS
        if cv is None:
            if groups is not None:
                raise ValueError("cv_groups goes with cv, such as GroupKFold(); give both or neither.")
            return None
        return cls(cv, parameters["selection"], groups, not chosen, measure)

    def choose(self, plan: Plan, training: Training, objective: Objective, deadline: Deadline) -> SizeChoice:
        """Judge the models of every size on held-out rows, and choose among them.

        Each fold is one search where that gives the trees of all sizes; else, as with constraints on the whole model,
        one fit for each of some sizes. What is expected of the chosen size on new rows is not taken from the losses it
        was chosen by: the rows of each fold are judged by the size that the other folds would choose.

        Parameters
        ----------
        plan : Plan
            With the largest size to be tried.
        training : Training
            In memory.
        objective : Objective
        deadline : Deadline
            Of the whole; the last fit, on all rows, has its share of it.

        Raises
        ------
        InfeasibleError
            When no size has a model in every fold.
        """
        objective.check(training.target)
        least_support(plan.min_samples_leaf, training.total)
        plan = replace(plan, random_state=plan.seed)
        folds = make_folds(self.cv, training.target, self.groups, plan.seed)
        threads = effective_n_jobs(plan.n_jobs)
        at_once = min(threads, len(folds))
        alone = replace(plan, n_jobs=max(1, threads // at_once))
        with warnings.catch_warnings():
            # What there is to say about the columns is said of all rows.
            warnings.simplefilter("ignore")
            found: list[_Fold] = Parallel(n_jobs=at_once, prefer="threads")(
                delayed(_judge_fold)(
                    alone, training, objective, deadline, fold, math.ceil((len(folds) - place) / at_once), self.fixed
                )
                for place, fold in enumerate(folds)
            )
        return self._choice(found, [len(fold.train) for fold in folds], in_words(self.cv, len(folds)))

    def _choice(self, found: Sequence[_Fold], trained: Sequence[int], how: str) -> SizeChoice:
        judged = [fold.judged for fold in found]
        sizes = tuple(sorted(set.union(*(set(each) for each in judged))))
        held_out = np.array([[each[s].held_out if s in each else np.nan for s in sizes] for each in judged])
        training = np.array([[each[s].training if s in each else np.nan for s in sizes] for each in judged])
        leaves = select(sizes, held_out, self.selection) if sizes else None
        if leaves is None:
            raise InfeasibleError(
                "No size has a model in every fold of the cross-validation; relax the constraints, or use fewer folds."
            )
        complete = [s for place, s in enumerate(sizes) if not np.isnan(held_out[:, place]).any()]
        by_size = {
            size: Expectation.of_folds([each[size].tally for each in judged], trained, self.measure, how)
            for size in complete
        }
        nested = []
        for place, each in enumerate(judged):
            others = np.delete(held_out, place, axis=0)
            chosen = select(sizes, others, self.selection) if len(others) else leaves
            nested.append(each[chosen if chosen is not None and chosen in each else leaves].tally)
        expectation = Expectation.of_folds(nested, trained, self.measure, how)
        family = all(fold.family for fold in found)
        return SizeChoice(sizes, training, held_out, leaves, family, expectation, by_size)


def fit_sized(
    plan: Plan, validation: CrossValidation | None, training: Training, objective: Objective, deadline: Deadline
) -> tuple[Outcome, Certificate, SizeChoice | None]:
    """Fit the plan, with the number of leaves that a cross-validation chooses where one is asked for."""
    if validation is None:
        return *plan.fit(training, objective, deadline), None
    choice = validation.choose(plan, training, objective, deadline)
    if deadline.interrupted:
        raise KeyboardInterrupt
    spent = deadline.elapsed
    if choice.family and not validation.fixed:
        # The other half is for the trees of the other sizes.
        limit = deadline.share(0.5)
        outcome, certificate = plan.fit(training, objective, limit, min(choice.leaves, plan.most_leaves(training)))
    else:
        plan = plan if validation.fixed else replace(plan, max_leaves=choice.leaves)
        outcome, certificate = plan.fit(training, objective, deadline.share(1.0))
    seconds = {"cross-validation": spent, **certificate.seconds}
    return outcome, replace(certificate, seconds=seconds, total_seconds=deadline.elapsed), choice


def select(sizes: Sequence[int], losses: FloatArray, selection: Selection) -> int | None:
    """The size with the least mean loss over folds, or the smallest one within a standard error of it.

    Of equals the smallest; None where no size has a model in every fold.

    Examples
    --------
    >>> losses = np.array([[0.30, 0.20, 0.19], [0.30, 0.22, 0.21], [0.30, 0.18, 0.17]])
    >>> select((1, 2, 3), losses, "best"), select((1, 2, 3), losses, "one_se")
    (3, 2)
    """
    mean = losses.mean(axis=0)
    if np.isnan(mean).all():
        return None
    best = int(np.flatnonzero(mean <= np.nanmin(mean) * (1 + 1e-12))[0])
    if selection == "one_se" and len(losses) > 1:
        limit = mean[best] + standard_error(losses)[best]
        best = int(np.flatnonzero(mean <= limit * (1 + 1e-12))[0])
    return sizes[best]


def standard_error(losses: FloatArray) -> FloatArray:
    """Of the mean over folds; not a number with a single fold."""
    if len(losses) < 2:
        return np.full(losses.shape[1], np.nan)
    return np.asarray(losses.std(axis=0, ddof=1) / math.sqrt(len(losses)))


@dataclass(frozen=True)
class _Fold:
    """The models of a fold by size, and whether they are the proven best of every size from one search."""

    judged: Mapping[int, Judged]
    family: bool


def _judge_fold(
    plan: Plan,
    training: Training,
    objective: Objective,
    deadline: Deadline,
    fold: Fold,
    rounds: int,
    fixed: bool,
) -> _Fold:
    """The models of all sizes for the rows of a fold; a size that no model has is left out.

    Of the time left, this fold, those after it (`rounds` of them, this one included) and the last fit have equal
    shares; half of a share is for the trees of smaller sizes.
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
        )

    try:
        largest, _ = replace(plan, max_leaves=most).solve(part, objective, limit)
    except InfeasibleError:
        return _Fold(judged, False)
    if fixed:
        judge(plan.most_leaves(training), largest)
        return _Fold(judged, False)
    if largest.family is not None:
        for size in _sizes(most):
            if math.isfinite(largest.family.losses[size - 1]):
                judge(size, largest.at_size(size))
        return _Fold(judged, largest.family.proven)
    judge(most, largest)
    smaller = [size for size in _COARSE if size < most]
    for place, size in enumerate(smaller):
        share = limit.share(1 / (len(smaller) - place))
        try:
            judge(size, replace(plan, max_leaves=size).solve(part, objective, share)[0])
        except (InfeasibleError, OutOfTimeError):
            continue  # no model of this size is known
    return _Fold(judged, False)


def _sizes(most: int) -> list[int]:
    """Every size up to some, then with growing steps; the largest is among them.

    >>> _sizes(40)[-4:]
    [32, 35, 38, 40]
    """
    sizes = list(range(1, min(most, _EVERY_SIZE) + 1))
    while sizes[-1] < most:
        sizes.append(min(most, sizes[-1] + max(1, sizes[-1] // 10)))
    return sizes
