"""The policy tree, with the face of scikit-learn: which of several actions for whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from omtree.data.parsing.understand import understand
from omtree.data.table import FloatArray
from omtree.deadline import Deadline, heeds_interrupts
from omtree.engines.answers import Outcome
from omtree.estimators.base import OptimalTreeBase
from omtree.estimators.new_rows import is_elsewhere
from omtree.estimators.parameters import check_parameters, estimator, fits, is_number, parameter, whole
from omtree.estimators.policy_data import given_rewards, numbers_named, places_of
from omtree.fit.policy_scores import Method, PolicyScores, Scorer
from omtree.model.expectation import MEAN_REWARD, Expectation
from omtree.model.policy_value import PolicyValue
from omtree.objectives import Objective
from omtree.objectives.row_costs import Regret
from omtree.sources.cluster.frames import is_dask
from omtree.sources.disk.scan import is_lazy
from omtree.sources.samples import Training
from omtree.sources.target import MAX_CLASSES, Target, check_numbers, check_rewards, check_weights, encode_labels

_METHODS = {"dr": "doubly robust", "ipw": "inverse propensity weighted", "dm": "by the direct method"}


@estimator
class OptimalPolicyTree(OptimalTreeBase):
    """The best small policy a person can read: which of several actions for whom, with a certificate.

    It is fitted to rewards that are known for every action, or to what was done (`treatment`) and what came of it
    (`outcome`); the rewards of actions that were not taken are estimated then.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    actions_ : array
    rules_ : RuleSet
        The rules: conditions in original units, support, action, and what each action brings there on average
        (``Rule.values``).
    tree_ : Tree or None
        The tree, also when a set of rules happens to be one.
    certificate_ : Certificate
        What is proven about the model; its value is the regret: what is lost against the best action of every row.
    value_ : PolicyValue
        The mean reward on the rows of the fit, beside each action for all, and beside history. A policy that was chosen
        on these rows looks better on them than it is: see `expectation_`, and `evaluate` for rows held out.
    scores_ : PolicyScores
        The estimated rewards, and how many chances of actions were clipped.
    expectation_ : Expectation
        After a cross-validation only: the mean reward on rows held out, beside the best single action.
    loss_by_leaves_ : array of float
        Trees only: the least regret with at most 1, 2, ... leaves.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the columns of ``X`` have names.

    Notes
    -----
    Which rule answers for a new row is as in `OptimalTreeClassifier`.

    Examples
    --------
    >>> age, ill = [20, 30, 40, 50, 60, 70], ["no", "yes"] * 3
    >>> rewards = [[0, -1], [0, 2], [0, -1], [0, 3], [0, -2], [0, -1]]
    >>> X = np.array([age, ill], dtype=object).T
    >>> model = OptimalPolicyTree(max_depth=2, min_samples_leaf=1).fit(X, rewards=rewards)
    >>> model.certificate_.value, model.predict(X).tolist(), model.value_.policy.value
    (0.0, [0, 1, 0, 1, 0, 0], 0.8333333333333334)
    """

    method: Method = parameter(
        "dr",
        "",
        "How rewards are estimated from treatment and outcome: doubly robust, by inverse propensity weighting, or by "
        "the direct method (a model of the outcome alone).",
        choices=("dr", "ipw", "dm"),
    )
    clip: float = parameter(
        0.01,
        "float",
        "Least chance of the action that was taken; smaller ones are lifted to it, and how many is stated.",
        fits(lambda value: is_number(value) and 0 < value < 1, "a number between 0 and 1"),
    )
    score_folds: int = parameter(
        5, "int", "Rows are scored by models that were fitted to the other ones of so many folds.", whole(2)
    )

    actions_: npt.NDArray[Any]
    value_: PolicyValue
    scores_: PolicyScores

    @heeds_interrupts
    def fit(
        self,
        X: Any,
        treatment: Any = None,
        outcome: Any = None,
        *,
        rewards: Any = None,
        propensity: Any = None,
        outcome_model: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        cv_groups: Any = None,
    ) -> Self:
        """Find the best policy for the data.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
            numpy, pandas, polars or pyarrow; or rows that stay where they are: what `omtree.scan` gives, a DuckDB
            relation, a lazy frame, or a Dask frame.
        treatment : array of shape (n_samples,), optional
            The action that was taken.
        outcome : array of float, shape (n_samples,), optional
            What came of it; more is better.
        rewards : array or data frame, shape (n_samples, n_actions), optional
            In place of those: what each action would bring each row. Actions are the names of the columns, or their
            numbers. Names of columns of ``X`` where rows stay where they are; of a Dask frame also another one.
        propensity : array or classifier, optional
            The chance of the action that was taken, of shape (n_samples,) or (n_samples, n_actions); or what estimates
            it from ``X``. By default a logistic regression.
        outcome_model : array or estimator, optional
            The outcome to expect of each row under each action; or what estimates it from ``X``, once for each action.
            By default gradient boosting.
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
        if is_elsewhere(X):
            if treatment is not None or outcome is not None or propensity is not None or outcome_model is not None:
                raise ValueError(
                    "Rows on disk or on a cluster have rewards by name, on disk in omtree.scan(..., target=[...]); "
                    "make these of treatment and outcome first, or load the rows."
                )
            if is_dask(X):
                return self._fit_on_cluster(X, rewards, sample_weight, groups, deadline)
            return self._fit_scanned(X, rewards, sample_weight, groups, deadline)
        target, scores, known = self._target(
            X, treatment, outcome, rewards, propensity, outcome_model, sample_weight, None
        )

        def read() -> Training:
            return Training.of_target(X, target, sample_weight, self.feature_kinds, self.reading)

        training = self._fit(X, read, groups, cv_groups, Regret(), deadline)
        self.actions_ = target.classes
        self.scores_ = scores
        if scores.clipped:
            self.notes_ = [
                *self.notes_,
                f"the chance of the action that was taken is below {self.clip:g} in {scores.clipped:,} rows (least "
                f"{scores.least_propensity:.2g}), and was lifted to it",
            ]
        how = "those it was fitted to"
        self.value_ = self._value(X, target, training.weight, known, f"{how}, {self._estimated(known)}")
        return self

    def _fit_on_cluster(self, X: Any, rewards: Any, sample_weight: Any, groups: Any, deadline: Deadline) -> Self:
        """Fit to a Dask frame, of which the rewards come here."""
        if rewards is None:
            raise ValueError("A policy for a Dask frame is fitted to rewards: names of its columns, or a Dask frame.")
        values: list[PolicyValue] = []

        def make(columns: Mapping[str, Any], weight: FloatArray) -> Target:
            found, actions = given_rewards(columns["rewards"], None)
            return Target.of_actions(actions, found)

        def look(training: Training, outcome: Outcome) -> None:
            samples = training.coded(outcome.problem.table.features)
            rules, tree = outcome.rules, outcome.tree if self.structure == "tree" else None
            codes = samples.codes(rules.features, set(range(len(rules.features))))
            owner = rules.assign(codes) if tree is None else tree.apply(codes)
            said = np.array([rule.label for rule in rules])[owner]
            target, how = samples.target, "those it was fitted to, rewards as given"
            assert target.rewards is not None
            values.append(
                PolicyValue.of(target.rewards, said, samples.weight, target.classes.tolist(), None, how),
            )

        def read() -> Training:
            return self._on_cluster(X, {"rewards": rewards}, sample_weight, deadline, make)

        training = self._fit(X, read, groups, None, Regret(), deadline, look=look)
        self.actions_ = training.target.classes
        (self.value_,) = values
        assert training.target.rewards is not None
        self.scores_ = PolicyScores(training.target.rewards)
        return self

    def _fit_scanned(self, X: Any, rewards: Any, sample_weight: Any, groups: Any, deadline: Deadline) -> Self:
        """Fit to rows on disk."""
        if rewards is None and is_lazy(X):
            raise ValueError(
                "A policy for a relation or lazy frame is fitted to rewards; give rewards=[...], names of its columns."
            )
        known: list[PolicyValue] = []

        def look(training: Training, outcome: Outcome) -> None:
            from omtree.sources.disk.disk_samples import ScannedTraining

            assert isinstance(training, ScannedTraining)
            rules, tree = outcome.rules, outcome.tree if self.structure == "tree" else None
            labels = np.array([rule.label for rule in rules])
            how = "those it was fitted to, rewards as given"
            with deadline.outside():
                batches = (
                    (rewards, labels[rules.assign(codes) if tree is None else tree.apply(codes)], weight)
                    for codes, rewards, weight in training.rewarded(rules.features)
                )
                known.append(PolicyValue.of_batches(batches, training.target.classes.tolist(), how))

        def read() -> Training:
            return self._scanned(X, rewards, sample_weight, groups, deadline)

        training = self._fit(X, read, groups, None, Regret(), deadline, look=look)
        self.actions_ = training.target.classes
        self.value_ = known[0]
        self.__dict__.pop("scores_", None)
        return self

    @property
    def _task(self) -> Literal["policy"]:
        return "policy"

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The action for each row.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
            A lazy series where X is a Dask frame.
        """
        if is_dask(X):
            return self._lazily(X, "predict")  # type: ignore[no-any-return]
        rule = self.apply(X)
        return np.asarray(self.actions_[np.array([rule.label for rule in self.rules_])[rule]])

    def predict_value(self, X: Any) -> FloatArray:
        """What the action is expected to bring each row: the mean of the training rows of its rule.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)

        Returns
        -------
        array of float, shape (n_samples,)
            A lazy series where X is a Dask frame.
        """
        if is_dask(X):
            return self._lazily(X, "predict_value")  # type: ignore[no-any-return]
        rule = self.apply(X)
        return np.array([each.values[each.label] for each in self.rules_])[rule]

    def evaluate(
        self,
        X: Any,
        treatment: Any = None,
        outcome: Any = None,
        *,
        rewards: Any = None,
        propensity: Any = None,
        outcome_model: Any = None,
        sample_weight: Any = None,
    ) -> PolicyValue:
        """What the policy brings on rows that it was not fitted to, beside each action for all, and beside history.

        Parameters
        ----------
        X, treatment, outcome, rewards, propensity, outcome_model, sample_weight
            As in `fit`; models are fitted to these rows, each row scored by those of other folds.

        Returns
        -------
        PolicyValue
            ``str()`` of it is a table.
        """
        check_is_fitted(self, "certificate_")
        target, _, known = self._target(
            X, treatment, outcome, rewards, propensity, outcome_model, sample_weight, self.actions_
        )
        weight = check_weights(sample_weight, len(target))
        return self._value(X, target, weight, known, f"rows held out, {self._estimated(known)}")

    def expect(self, X: Any, y: Any, sample_weight: Any = None) -> Expectation:
        """What to expect on new rows, judged by rows that the model was not fitted to.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
        y : array or data frame, shape (n_samples, n_actions)
            What each action would bring; `evaluate` takes treatment and outcome as well.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        Expectation
            The mean reward, with a 95 % interval, beside the best single action of the training rows.
        """
        return super().expect(X, y, sample_weight)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The mean reward of the policy, given what each action would bring each row.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
        y : array or data frame, shape (n_samples, n_actions)
        sample_weight : array of shape (n_samples,), optional
        """
        rule = self.apply(X)
        rewards = check_rewards(y, len(rule), self.actions_.tolist())
        said = np.array([each.label for each in self.rules_])[rule]
        return float(np.average(rewards[np.arange(len(said)), said], weights=check_weights(sample_weight, len(said))))

    @property
    def _measure(self) -> str:
        return MEAN_REWARD

    def _objective(self) -> Objective:
        return Regret()

    def _leaf_values(self) -> FloatArray:
        """What each action brings in each rule."""
        return np.array([rule.values for rule in self.rules_])

    def _estimated(self, known: FloatArray | None) -> str:
        return "rewards as given" if known is None else f"rewards {_METHODS[self.method]}"

    def _value(self, X: Any, target: Target, weight: FloatArray, outcome: FloatArray | None, how: str) -> PolicyValue:
        assert target.rewards is not None
        said = np.array([rule.label for rule in self.rules_])[self.apply(X)]
        return PolicyValue.of(target.rewards, said, weight, target.classes.tolist(), outcome, how)

    def _target(
        self,
        X: Any,
        treatment: Any,
        outcome: Any,
        rewards: Any,
        propensity: Any,
        outcome_model: Any,
        sample_weight: Any,
        actions: npt.NDArray[Any] | None,
    ) -> tuple[Target, PolicyScores, FloatArray | None]:
        """The rewards of all actions, given or estimated, and the outcomes where these are what is known."""
        if rewards is not None:
            if treatment is not None or outcome is not None:
                raise ValueError("rewards are given, and treatment or outcome as well; give one or the other.")
            found, named = given_rewards(rewards, actions)
            return Target.of_actions(named, found), PolicyScores(found), None
        if treatment is None or outcome is None:
            raise ValueError("A policy is fitted to treatment and outcome, or to rewards; give fit both, or rewards=.")
        labels, taken = encode_labels(treatment)
        if actions is None:
            actions = labels
        else:
            taken = places_of(labels, actions)[taken]
        if len(labels) < 2 or len(labels) > MAX_CLASSES:
            raise ValueError(f"treatment has {len(labels)} different actions; a policy needs from 2 to {MAX_CLASSES}.")
        numbers = numbers_named(check_numbers, outcome, "outcome")
        columns = understand(X, self.feature_kinds, self.reading)
        if not len(numbers) == len(taken) == columns.n_samples:
            raise ValueError(
                f"X has {columns.n_samples} rows, treatment {len(taken)} and outcome {len(numbers)}; give one for each."
            )
        weight = check_weights(sample_weight, len(taken))
        scorer = Scorer(self.method, self.clip, self.score_folds, 0)
        # Many small fits: threads would wait for each other longer than they work.
        with threadpool_limits(1):
            scores = scorer(X, columns, taken, numbers, weight, len(actions), propensity, outcome_model)
        return Target.of_actions(actions, scores.rewards, taken), scores, numbers
