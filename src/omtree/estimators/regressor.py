"""The regressor, with the face of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin

from omtree.constraints import Monotone
from omtree.data.table import FloatArray
from omtree.deadline import Deadline, heeds_interrupts
from omtree.estimators.base import OptimalTreeBase
from omtree.estimators.new_rows import is_elsewhere
from omtree.estimators.parameters import check_parameters, estimator, fits, is_number, parameter
from omtree.objectives import Objective, RuleStatistics, find_objective
from omtree.objectives.lines import Lines
from omtree.objectives.squares import Squares
from omtree.sources.answered import answered
from omtree.sources.cluster.frames import is_dask
from omtree.sources.disk.scan import is_scan
from omtree.sources.leaf_columns import gathered_columns, with_lines
from omtree.sources.samples import Training
from omtree.sources.several import NumberTargets, check_output_weights, several_columns, several_names
from omtree.sources.target import Target, check_weights


@estimator
class OptimalTreeRegressor(RegressorMixin, OptimalTreeBase):  # type: ignore[misc]
    """The best small decision model for a numeric target, with a certificate of how good it is.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    rules_ : RuleSet
        The rules: conditions in original units, support, prediction, loss, spread of the target.
    tree_ : Tree or None
        The tree, also when a set of rules happens to be one.
    certificate_ : Certificate
        What is proven about the model.
    graph_ : FeatureGraph
        The conditions the rules were made of.
    loss_by_leaves_ : array of float
        Trees only: the best loss with at most 1, 2, ... leaves.
    r2_by_leaves_ : array of float
        Trees with ``objective="squared"`` only: the share of the variance they explain.
    expectation_ : Expectation
        After a cross-validation only: what to expect on new rows, with an interval and beside the baseline.
    cv_results_ : dict
        After a cross-validation only: ``leaves``, and for each of those sizes ``mean_train_loss``, ``mean_test_loss``,
        its standard error ``se_test_loss``, and the losses of every fold; of prices ``leaf_price`` and ``mean_leaves``
        in place of ``leaves``.
    leaf_price_ : float
        With ``leaf_price="auto"``: the price that was chosen.
    outputs_ : NumberTargets
        With several targets only: their ``names`` and ``weights``.
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
    Which rule answers for a new row is as in `OptimalTreeClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = OptimalTreeRegressor(max_depth=2, binning="quantile").fit(X[["bmi", "bp", "s5"]], y)
    >>> model.certificate_.status, model.r2_by_leaves_.round(2).tolist()
    ('optimal', [0.0, 0.28, 0.38, 0.42])
    """

    objective: str | Objective | Callable[[RuleStatistics], float] = parameter(
        "squared",
        "str, Objective or callable",
        'What is minimised: "squared" (rules predict means), "absolute" (medians), "quantile", "huber" or "poisson" '
        "(means of counts). Or your own: an `Objective`, or a function from `RuleStatistics` to the loss of a rule.",
    )
    quantile: float = parameter(
        0.5,
        "float",
        'With ``objective="quantile"``: the share of the targets of a rule that its prediction is to be above.',
    )
    output_weights: Any = parameter(
        None,
        "array-like of shape (n_targets,) or None",
        "With several targets: what the squared errors of each are multiplied by; None divides them by its variance.",
    )
    leaves: Literal["constant", "linear"] = parameter(
        "constant",
        "",
        'What a leaf answers: a number, or with ``objective="squared"`` a line along numeric columns.',
        choices=("constant", "linear"),
    )
    leaf_columns: Sequence[str] | None = parameter(
        None,
        "sequence of str or None",
        'With ``leaves="linear"``: the numeric columns that lines may go along. None takes those that alone explain '
        "most of the target: at most 8, and where every leaf takes all of them at most 6. A missing cell counts as the "
        "mean of its column.",
        fits(
            lambda value: value is None or (isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)),
            "None or a list of names of columns",
        ),
    )
    leaf_slopes: Literal["best", "all"] = parameter(
        "best",
        "",
        'With ``leaves="linear"``: whether the line of a leaf goes along the column that is best there, or along all '
        "of `leaf_columns` at once.",
        choices=("best", "all"),
    )
    ridge: float = parameter(
        0.01,
        "float",
        'With ``leaves="linear"``: what slopes cost. Every row pays so much of the square of what the answer changes '
        "over a standard deviation of the column.",
        fits(lambda value: is_number(value) and 1e-6 <= value <= 1e6, "a number from 0.000001 to 1000000"),
    )
    delta: float = parameter(1.0, "float", 'With ``objective="huber"``: the distance from which the loss is linear.')

    @heeds_interrupts
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None, cv_groups: Any = None) -> Self:
        """Find the best model for the data.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
            numpy, pandas, polars or pyarrow; or rows that stay where they are: what `omtree.scan` gives, a DuckDB
            relation, a lazy frame, or a Dask frame.
        y : array of float, shape (n_samples,) or (n_samples, n_targets)
            Rows in memory without one are left out, with a note. Of several targets the squared errors are added up,
            times `output_weights`: a leaf answers for all of them.
        sample_weight : array of shape (n_samples,), optional
        groups : array, series or data frame, optional
            Group columns that constraints name and rules may not test; those in ``X`` need not be given.
        cv_groups : array of shape (n_samples,), optional
            What a splitter given as `cv` keeps together, such as the patient of each row.

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
            by_row = (sample_weight, groups, cv_groups)
            (X, y, sample_weight, groups, cv_groups), note = answered(X, y, *by_row, cv=self.cv)
        several = several_names(X, y) if is_dask(X) else None if is_scan(X) else several_columns(y)
        if several is not None:
            self._check_leaves("several targets")
            return self._fit_several(several, X, y, sample_weight, groups, cv_groups)
        objective = self._objective()
        deadline = Deadline(self.time_limit)
        if is_scan(X):
            self._check_leaves("rows on disk")
        lines = isinstance(objective, Lines)

        def read() -> Training:
            if is_scan(X):
                return self._scanned(X, y, sample_weight, groups, deadline)
            if is_dask(X):
                wanted = self.leaf_columns

                def make(columns: Mapping[str, Any], weight: FloatArray) -> Target:
                    target = Target.of_numbers(columns["y"].iloc[:, 0])
                    if not lines:
                        return target
                    names = [
                        name
                        for name in X.columns
                        if name not in [own for own in (y, sample_weight) if isinstance(own, str)]
                    ]
                    known = gathered_columns(columns["X"], names)
                    return self._with_lines(Training(known, target, weight, weight, float(weight.sum()))).target

                return self._on_cluster(
                    X,
                    {"y": y},
                    sample_weight,
                    deadline,
                    make,
                    number=not lines,
                    exact=objective.exact_sums and self.splits == "multiway",
                    beside=lambda numeric: [name for name in numeric if lines and (wanted is None or name in wanted)],
                )
            training = Training.of_numbers(X, y, sample_weight, self.feature_kinds, self.reading)
            return self._with_lines(training) if lines else training

        self._fit(X, read, groups, cv_groups, objective, deadline)
        self.notes_ += [note] if note else []
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
    ) -> Self:
        """Fit to several targets at once."""
        if self.objective != "squared":
            raise ValueError("Several targets go with objective='squared'; use that, or fit one target at a time.")
        if self.stability:
            raise ValueError("stability goes with one target; leave it out, or fit one target at a time.")
        for constraint in self.constraints:
            if constraint.level == "sample" or isinstance(constraint, Monotone):
                raise ValueError(f"{constraint.title} goes with one target, and y has {len(several[0])}; leave it out.")
        asked = check_output_weights(self.output_weights, len(several[0]))
        found: list[NumberTargets] = []
        deadline = Deadline(self.time_limit)

        def target_of(names: list[str], columns: list[npt.NDArray[Any]], weight: FloatArray) -> Target:
            outputs, target = NumberTargets.of(names, columns, asked, weight)
            found.append(outputs)
            return target

        def make(columns: Mapping[str, Any], weight: FloatArray) -> Target:
            return target_of(several[0], [column.to_numpy() for _, column in columns["y"].items()], weight)

        def read() -> Training:
            if is_dask(X):
                return self._on_cluster(X, {"y": y}, sample_weight, deadline, make)
            target = target_of(*several, check_weights(sample_weight, len(several[1][0])))
            return Training.of_target(X, target, sample_weight, self.feature_kinds, self.reading)

        self._fit(X, read, groups, cv_groups, Squares(), deadline)
        (self.outputs_,) = found
        return self

    def _with_lines(self, training: Training) -> Training:
        return with_lines(training, self.leaf_columns, self.leaf_slopes == "all", self.ridge)

    def _check_leaves(self, what: str) -> None:
        if self.leaves == "linear":
            raise ValueError(f"leaves='linear' does not go with {what}; use leaves='constant'.")

    def _objective(self) -> Objective:
        if self.leaves == "linear":
            if self.objective != "squared":
                raise ValueError("leaves='linear' goes with objective='squared'; use that, or leaves='constant'.")
            for constraint in self.constraints:
                if constraint.level == "sample" or isinstance(constraint, Monotone):
                    self._check_leaves(f"the constraint {constraint.title}")
            return Lines()
        return find_objective(self.objective, "regression", {"quantile": self.quantile, "delta": self.delta})

    @property
    def r2_by_leaves_(self) -> FloatArray:
        """The share of the variance that the best tree with at most 1, 2, ... leaves explains."""
        if "_family" not in vars(self) or self.certificate_.unit != "squared error":
            raise AttributeError("r2_by_leaves_ needs a fitted tree with objective='squared'.")
        whole = self.loss_by_leaves_[0]
        return np.asarray(1.0 - self.loss_by_leaves_ / whole if whole > 0 else np.ones(len(self.loss_by_leaves_)))

    def predict(self, X: Any) -> FloatArray:
        """The number predicted for each row.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)

        Returns
        -------
        array of float, shape (n_samples,) or (n_samples, n_targets)
            A lazy series where X is a Dask frame.
        """
        if is_dask(X):
            return self._lazily(X, "predict")  # type: ignore[no-any-return]
        return self._numbers(X)

    def _positions(self, y: Any) -> npt.NDArray[Any]:
        """The target as constraints see it; those that look at it are refused with several targets."""
        outputs: NumberTargets | None = vars(self).get("outputs_")
        return super()._positions(y) if outputs is None else np.zeros(len(outputs.numbers(y)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.leaves != "linear"
        return tags
