"""The classifier, with the face of scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from omtree.data.table import FloatArray
from omtree.deadline import Deadline, heeds_interrupts
from omtree.estimators.base import OptimalTreeBase
from omtree.estimators.near import NearPrices
from omtree.estimators.new_rows import is_elsewhere
from omtree.estimators.parameters import check_parameters, estimator, fits, is_number, parameter
from omtree.model.answering import answered_classes, as_sorted, class_order
from omtree.model.shares import class_shares
from omtree.objectives import Objective, RuleStatistics, find_objective
from omtree.objectives.error import Error
from omtree.objectives.row_costs import JointErrors, RowCosts
from omtree.sources.answered import answered
from omtree.sources.class_order import ClassOrder
from omtree.sources.cluster.frames import is_dask
from omtree.sources.disk.scan import is_scan
from omtree.sources.samples import Training
from omtree.sources.several import JointClasses, check_output_weights, several_columns, several_names
from omtree.sources.target import Target, encode_labels


@estimator
class OptimalTreeClassifier(ClassifierMixin, OptimalTreeBase):  # type: ignore[misc]
    """The best small decision model a person can read, with a certificate of how good it is.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : array
    rules_ : RuleSet
        The rules: conditions in original units, support, class weights, prediction, loss.
    tree_ : Tree or None
        The tree, also when a set of rules happens to be one.
    certificate_ : Certificate
        What is proven about the model.
    graph_ : FeatureGraph
        The conditions the rules were made of.
    loss_by_leaves_ : array of float
        Trees only: the best loss with at most 1, 2, ... leaves.
    expectation_ : Expectation
        After a cross-validation only: what to expect on new rows, with an interval and beside the baseline.
    cv_results_ : dict
        After a cross-validation only: ``leaves``, and for each of those sizes ``mean_train_loss``, ``mean_test_loss``,
        its standard error ``se_test_loss``, and the losses of every fold; of prices ``leaf_price`` and ``mean_leaves``
        in place of ``leaves``.
    leaf_price_ : float
        With ``leaf_price="auto"``: the price that was chosen.
    outputs_ : JointClasses
        With several targets only: their ``names`` and ``classes``.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the columns of ``X`` have names.
    reading_ : tuple of ColumnReading
        How each column of ``X`` was read, as those of new rows are.
    notes_ : list of str
        What a person should know about that: columns left out, texts read as numbers or dates.
    stability_ : Stability
        With `stability`: how often each column is tested first, and how many answers change, over resamples.

    Notes
    -----
    The rules share the training rows among them, each row in exactly one. A new row that meets several rules gets the
    answer of the one with the most training weight; a row that meets none gets that of the rule of which it fails the
    fewest conditions, among equals again the heaviest. In a tree, a value that a node never saw in training follows
    the node's heaviest child.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    >>> model.certificate_.status
    'optimal'
    """

    objective: str | Objective | Callable[[RuleStatistics], float] = parameter(
        "error",
        "str, Objective or callable",
        'What is minimised. Losses that add up over the rules: "error", "balanced_error", "gini", "entropy". Scores of '
        'the whole model, of which ``1 - score`` is minimised: "f1", "fbeta", "jaccard", "mcc", "fowlkes_mallows"; the '
        "second class is the positive one, or `positive`. Or your own: an `Objective`, or a function from "
        "`RuleStatistics` to the loss of a rule.",
    )
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = parameter(
        None,
        'dict, "balanced" or None',
        "What the sample weights of each class are multiplied by, in the loss and in the support of a rule; "
        '"balanced" gives every class the same total.',
    )
    costs: Any = parameter(
        None,
        "array-like of shape (n_classes, n_classes) or None",
        'With ``objective="error"``: what a row of one class (row) costs when another is predicted (column).',
    )
    beta: float = parameter(
        1.0, "float", 'With ``objective="fbeta"``: how many times as much as precision recall counts.'
    )
    smoothing: float | None = parameter(
        None,
        "float",
        "Rows that `predict_proba` adds to every class of a rule, so that few rows make no certainty: 0 adds none, 1 "
        "is Laplace's rule. None adds two rows, shared among the classes: by which seven rows of one of "
        "two classes make a probability of 0.89, not 1.",
        fits(
            lambda value: value is None or (is_number(value) and 0 <= value < math.inf),
            "None or a number of at least 0",
        ),
    )
    output_weights: Any = parameter(
        None,
        "array-like of shape (n_targets,) or None",
        "With several targets: what an error in each of them counts; None means one.",
    )
    positive: Any = parameter(
        None,
        "class",
        "Of two classes, the one that F1, recall and other scores are about, and that pictures stress; None means the "
        "second in the order of ``classes_``.",
    )

    class_order: Sequence[Any] | None = parameter(
        None,
        "sequence of classes or None",
        "The classes from the lowest to the highest, where they have an order: pictures shade them by it, `Monotone` "
        "goes by it. None means the order of the categories where ``y`` is an ordered categorical, else ``classes_``.",
        fits(
            lambda value: value is None or (isinstance(value, Iterable) and not isinstance(value, str)),
            "None or the classes from the lowest on",
        ),
    )

    @heeds_interrupts
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        cv_groups: Any = None,
        costs: Any = None,
        near: Any = None,
        change_price: float | None = None,
        column_price: float | None = None,
    ) -> Self:
        """Find the best model for the data.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
            numpy, pandas, polars or pyarrow; or rows that stay where they are: what `omtree.scan` gives, a DuckDB
            relation, a lazy frame, or a Dask frame.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Rows in memory without one are left out, with a note. Of several targets the errors are added up, times
            `output_weights`: a leaf answers for all of them, and ``classes_`` are the combinations of their classes.
        sample_weight : array of shape (n_samples,), optional
        groups : array, series or data frame, optional
            Group columns that constraints name and rules may not test; those in ``X`` need not be given.
        cv_groups : array of shape (n_samples,), optional
            What a splitter given as `cv` keeps together, such as the patient of each row.
        costs : array of float, shape (n_samples, n_classes), optional
            What each answer would cost for each row, in place of costs that follow from its class; the columns are in
            the order of ``classes_``, the sorted labels of ``y``.
        near : fitted classifier, optional
            An old model that the new one shall be like; it needs one of the prices that follow, or both. The loss
            counts them with the errors.
        change_price : float, optional
            What a row costs that gets another answer than from the old model, in errors.
        column_price : float, optional
            What a row costs for every column that its rule tests and the old model does not, in errors; a column counts
            once in a rule, and the number of cuts does not matter.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            When a parameter or the data make no sense; the estimator is left as it was.
        InfeasibleError
            When no model meets the limits and constraints.
        """
        check_parameters(type(self), vars(self))
        note = ""
        if not is_elsewhere(X):
            by_row = (sample_weight, groups, cv_groups, costs)
            (X, y, sample_weight, groups, cv_groups, costs), note = answered(X, y, *by_row, cv=self.cv)
        several = several_names(X, y) if is_dask(X) else None if is_scan(X) else several_columns(y)
        if several is not None:
            one_target_only = (costs, near, change_price, column_price)
            return self._fit_several(several, X, y, sample_weight, groups, cv_groups, one_target_only)
        by_class = self.costs
        if by_class is not None and not is_elsewhere(X) and np.ndim(by_class) == 2:
            # They are given in the order of `classes_`.
            places = ClassOrder.of(encode_labels(y)[0], y, self.positive, self.class_order).places
            if np.shape(by_class) == (len(places), len(places)):
                by_class = np.asarray(by_class)[np.ix_(places, places)]
        objective = find_objective(self.objective, "classification", {"costs": by_class, "beta": self.beta})
        if (by_class is not None or costs is not None) and not isinstance(objective, Error):
            raise ValueError("costs go with objective='error'; use that, or leave costs out.")
        prices = NearPrices.of(near, change_price, column_price, self.constraints)
        if prices is not None:
            if costs is not None or by_class is not None or not isinstance(objective, Error) or is_elsewhere(X):
                raise ValueError("near goes with plain errors over rows in memory; use objective='error', no costs.")
            costs = prices.of_answers(X, y)
        if costs is not None:
            if by_class is not None:
                raise ValueError("costs are given by class to the constructor and by row to fit; give one of them.")
            if is_scan(X):
                raise ValueError("costs by row need rows in memory or on a cluster; load them, or give costs by class.")
            objective = RowCosts()
        deadline = Deadline(self.time_limit)

        def read() -> Training:
            if is_elsewhere(X):
                if self.positive is not None:
                    raise ValueError(
                        "positive needs rows in memory; name the class in constraints (class_=...) instead."
                    )
                if self.class_order is not None:
                    raise ValueError("class_order needs rows in memory; leave it out.")
                if is_scan(X):
                    return self._scanned(X, y, sample_weight, groups, deadline, self.class_weight)

                def make(columns: Mapping[str, Any], weight: FloatArray) -> Target:
                    return Target.of_classes(columns["y"].iloc[:, 0], None, columns["costs"])

                given, how = ({"y": y}, None) if costs is None else ({"y": y, "costs": costs}, make)
                weighed: dict[str, Any] = {"of_classes": True, "class_weight": self.class_weight}
                return self._on_cluster(X, given, sample_weight, deadline, how, **weighed)
            declared = (self.class_weight, self.feature_kinds, self.reading, self.positive, costs, self.class_order)
            return Training.of_classes(X, y, sample_weight, *declared)

        besides = (lambda names: ()) if prices is None else prices.of_columns
        training = self._fit(X, read, groups, cv_groups, objective, deadline, besides)
        self.notes_ += [note] if note else []
        self.classes_ = as_sorted(training.target.classes)
        self.__dict__.pop("outputs_", None)
        return self

    def _fit_several(
        self,
        several: tuple[list[str], list[npt.NDArray[Any]]],
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        cv_groups: Any,
        one_target_only: tuple[Any, ...],
    ) -> Self:
        """Fit to several targets at once: the combinations of their classes are the answers."""
        refused = {"costs": self.costs, "class_weight": self.class_weight, "positive": self.positive}
        refused["class_order"] = self.class_order
        refused |= dict(zip(("costs", "near", "change_price", "column_price"), one_target_only, strict=True))
        for name, given in refused.items():
            if given is not None:
                raise ValueError(f"{name} goes with one target, and y has {len(several[0])}; leave it out.")
        if not isinstance(self._objective(), Error):
            raise ValueError("Several targets go with objective='error'; use that, or fit one target at a time.")
        weights = check_output_weights(self.output_weights, len(several[0]))
        found: list[JointClasses] = []
        deadline = Deadline(self.time_limit)

        def target_of(names: list[str], columns: list[npt.NDArray[Any]]) -> Target:
            found.append(JointClasses.of(names, columns))
            return found[0].target(columns, weights)

        def make(columns: Mapping[str, Any], weight: FloatArray) -> Target:
            return target_of(several[0], [np.asarray(column) for _, column in columns["y"].items()])

        def read() -> Training:
            if is_dask(X):
                return self._on_cluster(X, {"y": y}, sample_weight, deadline, make)
            return Training.of_target(X, target_of(*several), sample_weight, self.feature_kinds, self.reading)

        objective = JointErrors() if weights is None else RowCosts()
        training = self._fit(X, read, groups, cv_groups, objective, deadline)
        self.classes_ = training.target.classes
        (self.outputs_,) = found
        return self

    def _positions(self, y: Any) -> npt.NDArray[Any]:
        """The target as constraints see it; of several, their combination."""
        outputs: JointClasses | None = vars(self).get("outputs_")
        if outputs is None:
            return super()._positions(y)
        several = several_columns(y)
        if several is None or len(several[0]) != len(outputs.names):
            raise ValueError(f"y must have {len(outputs.names)} columns, one for each target of the model.")
        return outputs.positions(several[1])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the rows that are right; with several targets, right about all of them.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional
        """
        if "outputs_" not in vars(self):
            return float(super().score(X, y, sample_weight))
        said = np.array([rule.label for rule in self.rules_])[self.apply(X)]
        return float(np.average(said == self._positions(y), weights=sample_weight))

    @property
    def _measure(self) -> str:
        """With weights of classes, an accuracy that has them."""
        weight = self.class_weight
        return "accuracy" if weight is None else "balanced accuracy" if isinstance(weight, str) else "weighted accuracy"

    @property
    def _class_order(self) -> npt.NDArray[np.intp]:
        """The position in ``classes_`` of each class as the rules have them."""
        return class_order(self.classes_, self.rules_)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each row.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_targets)
            A lazy series where X is a Dask frame.
        """
        if is_dask(X):
            return self._lazily(X, "predict")  # type: ignore[no-any-return]
        rule = self.apply(X)
        outputs: JointClasses | None = vars(self).get("outputs_")
        if outputs is not None:
            return outputs.answers(np.array([rule.label for rule in self.rules_])[rule])
        return answered_classes(self.classes_, self.rules_, rule)

    def predict_proba(self, X: Any) -> FloatArray | list[FloatArray]:
        """The share of each class in the training weight of the row's rule, after smoothing.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)

        Returns
        -------
        array of float, shape (n_samples, n_classes)
            A lazy frame with a column for each class where X is a Dask frame; with several targets a list of such
            arrays.
        """
        if is_dask(X):
            if "outputs_" in vars(self):
                raise ValueError(
                    "predict_proba of several targets needs rows in memory; compute X first, or parts of it."
                )
            return self._lazily(X, "predict_proba")  # type: ignore[no-any-return]
        rule = self.apply(X)
        outputs: JointClasses | None = vars(self).get("outputs_")
        if outputs is not None:
            return outputs.marginals(self._leaf_values()[rule])
        return self._leaf_values()[rule]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def _objective(self) -> Objective:
        return find_objective(self.objective, "classification", {"costs": self.costs, "beta": self.beta})

    def _leaf_values(self) -> FloatArray:
        """The probability of each class, in the order of ``classes_``, in each rule."""
        shares = np.empty((len(self.rules_), len(self.classes_)))
        shares[:, self._class_order] = class_shares(self.rules_, self.smoothing, vars(self).get("_mean_weight", 1.0))
        return shares
