"""The number of leaves, or the price of one, chosen by cross-validation over the best trees of every size."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs  # type: ignore[import-untyped]

from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.errors import InfeasibleError
from omtree.estimators.parameters import least_support
from omtree.fit.fold_models import FoldModels, Judged, Tried, judge_fold
from omtree.fit.folds import in_words, make_folds
from omtree.fit.price_steps import prices_between
from omtree.model.expectation import Expectation
from omtree.model.score_figure import with_score
from omtree.objectives import Objective, Score
from omtree.sources.samples import Training

if TYPE_CHECKING:
    from omtree.engines.answers import Outcome
    from omtree.fit.plan import Plan
    from omtree.model.certificate import Certificate

Selection = Literal["best", "one_se"]

#: The folds of a size that is to be chosen, where nothing else is said.
FOLDS = 5

Option = TypeVar("Option", int, float)


@dataclass(frozen=True, eq=False)
class SizeChoice:
    """What a cross-validation says about sizes.

    Attributes
    ----------
    options : tuple of int or of float
        Most leaves of the models that were judged, or prices of a leaf; from the smallest models on.
    leaves : array of float, shape (n_folds, n_options)
        Most leaves of the models of each fold.
    training, held_out : arrays of float, shape (n_folds, n_options)
        Mean losses; not a number where a fold has no model of that size.
    chosen : int or float
        The option that is chosen.
    tried : {"sizes", "prices", "given"}
        What the options are.
    family : bool
        Whether every fold had the proven best trees of all sizes from one search.
    expectation : Expectation
        Of a model whose size is chosen in this way.
    by_size : mapping of int to Expectation
        Of models of a given size.
    """

    options: tuple[int, ...] | tuple[float, ...]
    leaves: FloatArray
    training: FloatArray
    held_out: FloatArray
    chosen: float
    tried: Tried
    family: bool
    expectation: Expectation
    by_size: Mapping[int, Expectation]

    @property
    def results(self) -> dict[str, Any]:
        """Mean and standard error of the loss for every size, and what they are from."""
        options: dict[str, Any] = {"leaves": np.array(self.options)}
        if self.tried == "prices":
            options = {"leaf_price": np.array(self.options), "mean_leaves": self.leaves.mean(axis=0)}
        return {
            **options,
            "mean_train_loss": self.training.mean(axis=0),
            "mean_test_loss": self.held_out.mean(axis=0),
            "se_test_loss": standard_error(self.held_out),
            "fold_test_losses": self.held_out,
        }

    def applied(self, plan: Plan) -> Plan:
        """The plan with what was chosen."""
        if self.tried == "prices":
            return replace(plan, leaf_price=float(self.chosen))
        return plan if self.tried == "given" else replace(plan, max_leaves=int(self.chosen))


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What was asked for.

    Attributes
    ----------
    cv : int, splitter or iterable
    selection : {"best", "one_se"}
    groups : array or None
        What a splitter keeps together.
    tried : {"sizes", "prices", "given"}
        What is to be chosen; where the size is given, the folds tell only what to expect.
    measure : str
        What new rows are judged by, beside the objective.
    """

    cv: Any
    selection: Selection
    groups: Any
    tried: Tried
    measure: str

    @classmethod
    def of(cls, parameters: Mapping[str, Any], groups: Any, measure: str) -> CrossValidation | None:
        """The one in an estimator's parameters; None where none is asked for."""
        given = {"prices": parameters["leaf_price"], "sizes": parameters["max_leaves"]}
        tried: Tried = next((what for what in ("prices", "sizes") if isinstance(given[what], str)), "given")
        cv = parameters["cv"] if parameters["cv"] is not None or tried == "given" else FOLDS
        if cv is None:
            if groups is not None:
                raise ValueError("cv_groups goes with cv, such as GroupKFold(); give both or neither.")
            return None
        return cls(cv, parameters["selection"], groups, tried, measure)

    def choose(self, plan: Plan, training: Training, objective: Objective, deadline: Deadline) -> SizeChoice:
        """Judge the models of every size on held-out rows, and choose among them.

        Each fold is one search where that gives the trees of all sizes; else, as with constraints on the whole model,
        one fit for each of some sizes. What is expected of the chosen size on new rows is not taken from the losses it
        was chosen by: the rows of each fold are judged by the size that the other folds would choose.

        Parameters
        ----------
        plan : Plan
            With the largest size to be tried, or the least price.
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
            found: list[FoldModels] = Parallel(n_jobs=at_once, prefer="threads")(
                delayed(judge_fold)(
                    alone, training, objective, deadline, fold, math.ceil((len(folds) - place) / at_once), self.tried
                )
                for place, fold in enumerate(folds)
            )
        trained = [len(fold.train) for fold in folds]
        return self._choice(found, plan, objective, trained, in_words(self.cv, len(folds)))

    def _choice(
        self, found: Sequence[FoldModels], plan: Plan, objective: Objective, trained: Sequence[int], how: str
    ) -> SizeChoice:
        every = tuple(sorted(set.union(*(set(fold.judged) for fold in found))))
        options: tuple[int, ...] | tuple[float, ...] = every
        sizes = [list(every)] * len(found)
        if self.tried == "prices":
            steps = [fold.steps for fold in found if fold.steps is not None]
            options = prices_between(steps, plan.leaf_price)
            # A fold without a model has none for any price.
            sizes = [[0 if fold.steps is None else fold.steps.size(price) for price in options] for fold in found]
        judged = [[fold.judged.get(size) for size in row] for fold, row in zip(found, sizes, strict=True)]
        held_out = np.array([[np.nan if each is None else each.held_out for each in row] for row in judged])
        training = np.array([[np.nan if each is None else each.training for each in row] for row in judged])
        chosen = select(range(len(options)), held_out, self.selection) if options else None
        if chosen is None:
            raise InfeasibleError(
                "No size has a model in every fold of the cross-validation; relax the constraints, or use fewer folds."
            )

        def expect(models: Sequence[Judged]) -> Expectation:
            tallies = [each.tally for each in models]
            expected = Expectation.of_folds(tallies, trained, self.measure, how)
            confusions = [each.confusion for each in models if each.confusion is not None]
            if not isinstance(objective, Score) or not confusions:
                return expected
            worth, rows = sum(each.effective for each in tallies), float(np.mean(trained))
            return with_score(expected, objective, confusions, worth, rows)

        by_size = {
            size: expect([fold.judged[size] for fold in found])
            for size in every
            if all(size in fold.judged for fold in found)
        }
        nested = []
        for place, row in enumerate(judged):
            others = np.delete(held_out, place, axis=0)
            best = select(range(len(options)), others, self.selection) if len(others) else chosen
            model = (None if best is None else row[best]) or row[chosen]
            assert model is not None
            nested.append(model)
        family = all(fold.family for fold in found)
        leaves = np.array(sizes, dtype=np.float64)
        expectation = expect(nested)
        return SizeChoice(
            options, leaves, training, held_out, options[chosen], self.tried, family, expectation, by_size
        )


def fit_sized(
    plan: Plan, validation: CrossValidation | None, training: Training, objective: Objective, deadline: Deadline
) -> tuple[Plan, Outcome, Certificate, SizeChoice | None]:
    """Fit the plan, with the size that a cross-validation chooses where one is asked for; the plan as it was fitted."""
    if validation is None:
        return plan, *plan.fit(training, objective, deadline), None
    choice = validation.choose(plan, training, objective, deadline)
    if deadline.interrupted:
        raise KeyboardInterrupt
    spent = deadline.elapsed
    if choice.family and choice.tried == "sizes":
        # The other half is for the trees of the other sizes.
        limit = deadline.share(0.5)
        outcome, certificate = plan.fit(training, objective, limit, min(int(choice.chosen), plan.most_leaves(training)))
    else:
        plan = choice.applied(plan)
        outcome, certificate = plan.fit(training, objective, deadline.share(1.0))
    seconds = {"cross-validation": spent, **certificate.seconds}
    return plan, outcome, replace(certificate, seconds=seconds, total_seconds=deadline.elapsed), choice


def select(options: Sequence[Option], losses: FloatArray, selection: Selection) -> Option | None:
    """The option with the least mean loss over folds, or the first one within a standard error of it.

    Of equals the first, which is the smallest model; None where no option has a model in every fold.

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
    return options[best]


def most_leaves_chosen(model: Any) -> int | None:
    """The most leaves that a cross-validation chose; the best tree of that size may have fewer. None without one."""
    parameters = vars(model)
    if parameters.get("max_leaves") != "auto" or "cv_results_" not in parameters:
        return None
    results = parameters["cv_results_"]
    place = select(range(len(results["leaves"])), results["fold_test_losses"], parameters["selection"])
    return None if place is None else int(results["leaves"][place])


def standard_error(losses: FloatArray) -> FloatArray:
    """Of the mean over folds; not a number with a single fold."""
    if len(losses) < 2:
        return np.full(losses.shape[1], np.nan)
    return np.asarray(losses.std(axis=0, ddof=1) / math.sqrt(len(losses)))
