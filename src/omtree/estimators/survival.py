"""The survival tree, with the face of scikit-learn and the conventions of scikit-survival."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from omtree.constraints.constraint import is_number
from omtree.data.table import FloatArray
from omtree.deadline import Deadline, heeds_interrupts
from omtree.estimators.base import OptimalTreeBase
from omtree.estimators.parameters import check_parameters, estimator, parameter
from omtree.model.expectation import EXPLAINED
from omtree.model.leaf_differences import LeafDifference, leaf_differences
from omtree.model.survival_curve import StepFunction, SurvivalCurve
from omtree.model.survival_scores import Censoring, concordance, integrated_brier
from omtree.objectives import Objective
from omtree.objectives.hazard import Hazard
from omtree.objectives.logrank import LogRank
from omtree.sources.cluster.frames import is_dask
from omtree.sources.disk.scan import is_lazy, is_scan
from omtree.sources.lifetimes import Lifetimes, read_lifetimes
from omtree.sources.samples import Training
from omtree.sources.target import Target, check_weights


@estimator
class OptimalSurvivalTree(OptimalTreeBase):
    """The best small tree for times to an event, some of which are only known to be longer than what was seen.

    Every leaf has a hazard in proportion to that of all rows: the exponential model over the baseline of Nelson and
    Aalen, as LeBlanc and Crowley proposed; its deviance is minimised. A leaf shows its rows as a curve of Kaplan and
    Meier.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    rules_ : RuleSet
        The rules: conditions in original units, support, risk (events in parts of those expected), and the curve of
        survival (``Rule.survival``).
    tree_ : Tree or None
        The tree, also when a set of rules happens to be one.
    certificate_ : Certificate
        What is proven about the model; its value is half the deviance, or the log-rank loss.
    event_times_ : array of float
        The moments of events in training, ascending.
    expectation_ : Expectation
        After a cross-validation only: the share of the deviance that is saved on rows held out.
    loss_by_leaves_ : array of float
        Trees only: the least loss with at most 1, 2, ... leaves.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the columns of ``X`` have names.

    Notes
    -----
    Which rule answers for a new row is as in `OptimalTreeClassifier`. The baseline hazard is that of all rows, those
    held out by a cross-validation included.

    Examples
    --------
    >>> age = np.array([[30], [35], [40], [45], [60], [65], [70], [75]])
    >>> time, event = [9.0, 8.0, 9.5, 7.0, 2.0, 3.0, 1.0, 4.0], [0, 1, 0, 1, 1, 1, 1, 1]
    >>> model = OptimalSurvivalTree(max_depth=1, min_samples_leaf=2).fit(age, time=time, event=event)
    >>> model.predict([[32], [72]]).round(2).tolist(), [rule.survival.median for rule in model.rules_]
    ([0.27, 2.13], [inf, 3.0])
    """

    objective: Literal["hazard", "logrank"] = parameter(
        "hazard",
        "",
        "What is minimised: the deviance of hazards in proportion, or what is left over by the log-rank score, the sum "
        "over the leaves of (events - expected)**2 / expected, which is then as large as can be.",
        choices=("hazard", "logrank"),
    )

    event_times_: FloatArray

    @heeds_interrupts
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        time: Any = None,
        event: Any = None,
        entry: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        cv_groups: Any = None,
    ) -> Self:
        """Find the best model for the data.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
            numpy, pandas, polars or pyarrow; or rows that stay where they are: what `omtree.scan` gives, a DuckDB
            relation, a lazy frame, or a Dask frame.
        y : structured array of shape (n_samples,), optional
            A boolean field, whether the event was seen, and a field of times, as scikit-survival has them.
        time, event : arrays of shape (n_samples,), optional
            In place of `y`; names of columns where rows stay where they are.
        entry : array of float, shape (n_samples,), optional
            From when on each row was seen, where that is not from the beginning (left truncation).
        sample_weight : array of shape (n_samples,), optional
        groups : array, series or data frame, optional
            Group columns that constraints name and rules may not test.
        cv_groups : array of shape (n_samples,), optional
            What a splitter given as `cv` keeps together.

        Returns
        -------
        self
        """
        check_parameters(type(self), vars(self))
        deadline = Deadline(self.time_limit)
        if is_scan(X):
            return self._fit_scanned(X, y, time, event, entry, sample_weight, groups, deadline)
        if is_dask(X):
            return self._fit_on_cluster(X, y, time, event, entry, sample_weight, groups, deadline)
        times, events, started = read_lifetimes(y, time, event, entry)
        weight = check_weights(sample_weight, len(times))
        target = Target.of_lifetimes(Lifetimes.of(times, events, started, weight))

        def read() -> Training:
            return Training.of_target(X, target, sample_weight, self.feature_kinds, self.reading)

        self._fit(X, read, groups, cv_groups, self._objective(), deadline)
        self.event_times_ = np.unique(times[events & (weight > 0)])
        return self

    def _fit_on_cluster(
        self, X: Any, y: Any, time: Any, event: Any, entry: Any, sample_weight: Any, groups: Any, deadline: Deadline
    ) -> Self:
        """Fit to a Dask frame, whose times come here."""
        if y is not None or time is None or event is None:
            raise ValueError(
                "Of a Dask frame time= and event= are columns, by name or as Dask series; give both, not y."
            )
        given = {"time": time, "event": event} | ({} if entry is None else {"entry": entry})

        moments: list[FloatArray] = []

        def make(columns: Mapping[str, Any], weight: FloatArray) -> Target:
            times, events, started = read_lifetimes(None, *(columns.get(name) for name in ("time", "event", "entry")))
            moments.append(np.unique(times[events & (weight > 0)]))
            return Target.of_lifetimes(Lifetimes.of(times, events, started, weight))

        def read() -> Training:
            return self._on_cluster(X, given, sample_weight, deadline, make)

        self._fit(X, read, groups, None, self._objective(), deadline)
        (self.event_times_,) = moments
        return self

    def _fit_scanned(
        self, X: Any, y: Any, time: Any, event: Any, entry: Any, sample_weight: Any, groups: Any, deadline: Deadline
    ) -> Self:
        """Fit to rows on disk."""
        if entry is not None:
            raise ValueError("entry needs rows in memory; leave it out, or load the rows.")
        nothing = time is None and y is None and is_lazy(X)
        if nothing or (time is None) != (event is None) or (time is not None and y is not None):
            raise ValueError("Rows on disk have time= and event= by name, or both in omtree.scan(target=[...]).")
        names = y if time is None else [time, event]
        self._fit(
            X,
            lambda: self._scanned(X, names, sample_weight, groups, deadline),
            groups,
            None,
            self._objective(),
            deadline,
        )
        self.event_times_ = np.unique([at for rule in self.rules_ if rule.survival for at in rule.survival.times])
        return self

    @property
    def _task(self) -> Literal["survival"]:
        return "survival"

    def predict(self, X: Any) -> FloatArray:
        """The risk of each row: how many times as often as on average the event happens.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)

        Returns
        -------
        array of float, shape (n_samples,)
            A lazy series where X is a Dask frame.
        """
        if is_dask(X):
            return self._lazily(X, "predict")  # type: ignore[no-any-return]
        return self._numbers(X)

    def predict_survival_function(self, X: Any, return_array: bool = False) -> npt.NDArray[Any]:
        """The share of rows like each that have not had the event by a time.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
        return_array : bool
            Whether to give the values at ``event_times_`` instead of functions.

        Returns
        -------
        array of StepFunction, shape (n_samples,), or array of float, shape (n_samples, n_event_times)
        """
        rule = self.apply(X)
        if return_array:
            return np.array([curve.at(self.event_times_) for curve in self._curves])[rule]
        found = [StepFunction(np.array(c.times), c.survival, 1.0) for c in self._curves]
        return _objects(found, rule)

    def predict_cumulative_hazard_function(self, X: Any, return_array: bool = False) -> npt.NDArray[Any]:
        """The sum of hazards up to a time, of rows like each.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
        return_array : bool
            Whether to give the values at ``event_times_`` instead of functions.

        Returns
        -------
        array of StepFunction, shape (n_samples,), or array of float, shape (n_samples, n_event_times)
        """
        rule = self.apply(X)
        if return_array:
            return np.array([curve.hazard_at(self.event_times_) for curve in self._curves])[rule]
        found = [StepFunction(np.array(c.times), c.cumulative_hazard, 0.0) for c in self._curves]
        return _objects(found, rule)

    def predict_median(self, X: Any) -> FloatArray:
        """The time by which half of the rows like each have had the event; infinite where fewer had it.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)

        Returns
        -------
        array of float, shape (n_samples,)
            A lazy series where X is a Dask frame.
        """
        if is_dask(X):
            return self._lazily(X, "predict_median")  # type: ignore[no-any-return]
        return np.array([curve.median for curve in self._curves])[self.apply(X)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Harrell's concordance index: 0.5 is chance, 1 a perfect order.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
        y : structured array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        """
        times, events, _ = read_lifetimes(y, None, None, None)
        return concordance(times, events, self.predict(X), check_weights(sample_weight, len(times)))

    def brier_score(self, X: Any, y: Any) -> float:
        """The integrated Brier score: the mean squared distance of the curves from what was seen; 0.25 is a coin.

        It is taken between the times by which 5 and 95 % of the events are seen; rows that were lost from sight are
        made up for by those like them (inverse probability of censoring).

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
        y : structured array of shape (n_samples,)
        """
        times, events, _ = read_lifetimes(y, None, None, None)
        return integrated_brier(Censoring(times, events), times, events, self._curves, self.apply(X))

    def leaf_differences(self, level: float = 0.95) -> list[LeafDifference]:
        """How many times as often the event happens in one leaf as in another, for every pair of them.

        Parameters
        ----------
        level : float
            That the intervals of all pairs hold at once, for leaves that were not searched for.

        Returns
        -------
        list of LeafDifference
            From the largest ratio to the smallest.
        """
        if not (is_number(level) and 0.0 < level < 1.0):
            raise ValueError(f"level must be a number between 0 and 1, such as 0.95; it is {level!r}.")
        return leaf_differences(self._curves, level)

    @property
    def _curves(self) -> list[SurvivalCurve]:
        return [rule.survival for rule in self.rules_ if rule.survival is not None]

    @property
    def _measure(self) -> str:
        return EXPLAINED

    def _objective(self) -> Objective:
        return LogRank() if self.objective == "logrank" else Hazard()

    def _positions(self, y: Any) -> npt.NDArray[Any]:
        """The target as constraints see it: whether the event was seen."""
        return read_lifetimes(y, None, None, None)[1].astype(np.float64)


def _objects(found: list[StepFunction], rule: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    functions = np.empty(len(found), dtype=object)
    functions[:] = found
    return np.asarray(functions[rule])
