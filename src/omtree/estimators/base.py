"""What every fitted model can do, whatever it predicts."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils.validation import check_is_fitted

from omtree.constraints import Answers, Constraint, ConstraintCheck, audit, group_columns, read_groups
from omtree.constraints.audit import Checks
from omtree.data.parsing.reading import ColumnReading
from omtree.data.parsing.understand import given_readings
from omtree.data.wording import counts_rows
from omtree.deadline import Deadline
from omtree.engines.answers import Outcome
from omtree.errors import warn
from omtree.estimators.every_size import EverySize
from omtree.estimators.expert import Expert
from omtree.estimators.new_rows import check_names, check_new_rows, is_elsewhere
from omtree.estimators.parameters import FitParameters
from omtree.export.exports import Exports
from omtree.fit.confidence import fit_assured, is_asked
from omtree.fit.plan import Plan
from omtree.fit.size_choice import CrossValidation
from omtree.fit.stability import Stability, stability_of
from omtree.fit.workbench import Workbench
from omtree.model.answering import Answering, asked_features
from omtree.model.certificate import Certificate
from omtree.model.code_shares import code_shares
from omtree.model.contributions import Contributions
from omtree.model.expectation import Expectation
from omtree.model.leading import expectation_on
from omtree.model.rules import RuleSet
from omtree.model.sizes import TreeFamily
from omtree.model.tree import Tree
from omtree.objectives import Objective
from omtree.problem.graph import FeatureGraph
from omtree.progress import reporter
from omtree.report.faces import ModelFaces
from omtree.sources.cluster.frames import is_dask, predict_lazily
from omtree.sources.cluster.gathered_target import MakeTarget
from omtree.sources.disk.scan import as_scan
from omtree.sources.samples import Training
from omtree.sources.target import check_numbers, check_weights


class OptimalTreeBase(Answering, EverySize, Expert, Contributions, FitParameters, ModelFaces, Exports, BaseEstimator):  # type: ignore[misc]
    """Which rule answers for a row."""

    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]
    rules_: RuleSet
    tree_: Tree | None
    graph_: FeatureGraph
    certificate_: Certificate
    expectation_: Expectation
    cv_results_: dict[str, Any]
    leaf_price_: float
    origin_: Mapping[str, str]
    _mean_weight: float
    _expected_by_size: Mapping[int, Expectation]
    _family: TreeFamily
    _code_shares: Mapping[int, tuple[float, ...]]
    notes_: list[str]
    stability_: Stability
    reading_: tuple[ColumnReading, ...]
    _kinds: Mapping[str, Any] | None
    _constraints: tuple[Constraint, ...]

    def _fit(
        self,
        X: Any,
        read: Callable[[], Training],
        groups: Any,
        cv_groups: Any,
        objective: Objective,
        deadline: Deadline,
        besides: Callable[[Sequence[str]], tuple[Constraint, ...]] = lambda names: (),
        look: Callable[[Training, Outcome], None] = lambda training, outcome: None,
    ) -> Training:
        """Find the best model for the samples that `read` gives; a fit that fails leaves nothing behind.

        `besides` are more constraints, which depend on the names of the columns. `look` sees the samples as long as
        they are open.
        """
        elsewhere = is_elsewhere(X)
        # A copy learns the names of the columns.
        learner = copy.copy(self)
        if not elsewhere:
            check_names(learner, X, reset=True)
        with closing(read()) as training:
            if elsewhere:
                learner.feature_names_in_ = np.array(training.columns.names, dtype=object)
                learner.n_features_in_ = len(training.columns)
            constraints = (*self.constraints, *besides(training.columns.names))
            ready = training.with_groups(group_columns(constraints), groups)
            validation = CrossValidation.of(vars(self), cv_groups, self._measure)
            if validation is not None and elsewhere:
                raise ValueError(
                    "Rows on disk or on a cluster are not cross-validated; give max_leaves or leaf_price a number and "
                    "leave cv out, or load the rows."
                )
            plan = Plan.of({**vars(self), "constraints": constraints})
            if elsewhere and any(map(is_asked, constraints)):
                raise ValueError("confidence needs rows in memory; load them, or leave it out of the constraints.")
            fitted = fit_assured(plan, validation, ready, objective, deadline, self.confidence_rows)
            plan, ready, choice = fitted.plan, fitted.training, fitted.choice
            outcome, certificate = fitted.outcome, fitted.certificate
            look(training, outcome)
            stability = None
            if self.stability is not None:
                if elsewhere:
                    raise ValueError("stability needs rows in memory; load them, or leave it out.")
                sized = plan if choice is None else choice.applied(plan)
                stability = stability_of(sized, outcome, ready, objective, self.stability, self.time_limit)
        left_out = [reading.notes[-1] for reading in ready.columns.readings if reading.how == "left out"]
        if left_out:
            said = "; ".join(left_out)
            warn(f"{said[0].upper()}{said[1:]}.")
        for name in (
            "feature_names_in_",
            "_family",
            "cv_results_",
            "leaf_price_",
            "expectation_",
            "_expected_by_size",
            "_code_shares",
            "_prices",
            "_wishes",
            "stability_",
        ):
            self.__dict__.pop(name, None)
        if stability is not None:
            self.stability_ = stability
        self.n_features_in_ = learner.n_features_in_
        if "feature_names_in_" in vars(learner):
            self.feature_names_in_ = learner.feature_names_in_
        self._constraints = constraints
        self._kinds = self.feature_kinds  # of this fit, whatever becomes of the parameter
        self.reading_ = training.columns.readings or given_readings(training.columns.names, self._kinds)
        self.notes_ = [note for reading in self.reading_ for note in reading.notes]
        self.graph_ = outcome.problem.graph
        self.rules_ = outcome.rules
        self.tree_ = outcome.tree
        self.certificate_ = certificate
        masses = [weight for rule in outcome.rules for weight in rule.class_weights]
        self._mean_weight = 1.0 if counts_rows(masses) else ready.total / len(ready)
        if outcome.family is not None:
            self._family = outcome.family
        self._bench = None
        if not elsewhere:
            self._code_shares = code_shares(outcome.problem.table, asked_features(outcome.rules, outcome.tree))
            self._bench = Workbench(plan, ready, objective, outcome.problem)
        if choice is not None:
            self.cv_results_, self.expectation_ = choice.results, choice.expectation
            self._expected_by_size = choice.by_size
        if self.leaf_price == "auto":
            self.leaf_price_ = plan.leaf_price
        return training

    def _scanned(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, deadline: Deadline, class_weight: Any = None
    ) -> Training:
        """The samples on disk that were given to `fit`."""
        from omtree.sources.disk.scanned import scanned

        return scanned(
            as_scan(X, y, sample_weight, groups),
            task=self._task,
            class_weight=class_weight,
            feature_kinds=self.feature_kinds,
            n_jobs=effective_n_jobs(self.n_jobs),
            deadline=deadline,
            progress=reporter(self.verbose),
        )

    @property
    def _task(self) -> Literal["classification", "regression", "survival", "policy"]:
        """What kind of target the rows have."""
        return "regression" if is_regressor(self) else "classification"

    def _on_cluster(
        self,
        X: Any,
        given: Mapping[str, Any],
        sample_weight: Any,
        deadline: Deadline,
        make: MakeTarget | None = None,
        *,
        of_classes: bool = False,
        class_weight: Any = None,
        **options: Any,
    ) -> Training:
        """The samples on a cluster that were given to `fit`; see `on_cluster`."""
        from omtree.sources.cluster.cluster_columns import on_cluster

        return on_cluster(
            X,
            given,
            sample_weight,
            make=make,
            of_classes=of_classes,
            class_weight=class_weight,
            feature_kinds=self.feature_kinds,
            deadline=deadline,
            **options,
        )

    def _lazily(self, X: Any, method: str) -> Any:
        """What a method says of the rows of a Dask frame."""
        check_is_fitted(self, "certificate_")
        check_new_rows(self, X._meta, [self.reading_[place].name for place in sorted(self._asked_columns())])
        return predict_lazily(self, X, method)

    def audit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> tuple[ConstraintCheck, ...]:
        """How the model meets the constraints it was fitted with on any data.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
        y : array of shape (n_samples,)
        groups : array, series or data frame, optional
            The group columns that are not in ``X``, as in `fit`.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        tuple of ConstraintCheck
            Name, value, limit and slack of every constraint, as in the certificate; a notebook shows a table of them.
        """
        codes = self._encode(X)
        named = set(group_columns(self._constraints))
        columns = self._read(X, {place for place, each in enumerate(self.reading_) if named.intersection(each.names)})
        found = read_groups(named, groups, columns)
        tree = self.tree_ if self.certificate_.structure == "tree" else None
        weight = check_weights(sample_weight, columns.n_samples)
        answers = Answers.of(self.rules_, codes, self._positions(y), weight, found, tree)
        return Checks(audit(self._constraints, answers))

    def expect(self, X: Any, y: Any, sample_weight: Any = None) -> Expectation:
        """What to expect on new rows, judged by rows that the model was not fitted to.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        Expectation
            Accuracy, or R2 and RMSE, with a 95 % interval, beside the most frequent class or the mean every time.
        """
        return expectation_on(self, X, y, sample_weight, "")

    def _positions(self, y: Any) -> npt.NDArray[Any]:
        """The target as constraints see it: positions of classes, or numbers."""
        if not self.rules_.classes:
            return check_numbers(y)
        known = {label: place for place, label in enumerate(self.rules_.classes)}
        return np.array([known.get(label, -1) for label in np.asarray(y).tolist()], dtype=np.intp)

    @property
    def _measure(self) -> str:
        """What new rows are judged by, beside the objective."""
        return "R2"

    def apply(self, X: Any) -> npt.NDArray[np.intp]:
        """The rule that answers for each row, as a position in ``rules_``.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)

        Returns
        -------
        array of int, shape (n_samples,)
            A lazy series where X is a Dask frame.
        """
        if is_dask(X):
            return self._lazily(X, "apply")  # type: ignore[no-any-return]
        return self._owners(X)

    def matches(self, X: Any) -> npt.NDArray[np.intp]:
        """How many rules each row meets; one for every training row.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)

        Returns
        -------
        array of int, shape (n_samples,)
        """
        codes = self._encode(X)
        return np.asarray(self.rules_.matches(codes).sum(axis=1))

    def decision_path(self, X: Any) -> csr_matrix:
        """Which nodes of ``tree_`` each row passes.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)

        Returns
        -------
        sparse matrix of bool, shape (n_samples, n_nodes)
        """
        codes = self._encode(X)
        if self.tree_ is None:
            raise ValueError("The rules of this model are not a tree; fit with structure='tree' instead.")
        return self.tree_.decision_path(codes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _walks(self) -> bool:
        return self.certificate_.structure == "tree"

    def _by_name(self, X: Any, wanted: list[str]) -> bool:
        check_is_fitted(self, "certificate_")
        return check_new_rows(self, X, wanted)

    def _asked_columns(self) -> set[int]:
        check_is_fitted(self, "certificate_")
        return super()._asked_columns()
