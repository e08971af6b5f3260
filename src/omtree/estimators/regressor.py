"""The regressor, with the face of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin

from omtree.constraints import Constraint
from omtree.data.binning import Binning
from omtree.data.table import FloatArray
from omtree.deadline import Deadline
from omtree.estimators.base import OptimalTreeBase, is_elsewhere
from omtree.estimators.parameters import check_parameters
from omtree.objectives import Objective, RuleStatistics, find_objective
from omtree.problem.graph import Categories
from omtree.sources.cluster.frames import is_dask
from omtree.sources.samples import Training


class OptimalTreeRegressor(RegressorMixin, OptimalTreeBase):  # type: ignore[misc]
    """The best small decision model for a numeric target, with a certificate of how good it is.

    Parameters
    ----------
    max_depth : int, default=3
        Most conditions in one rule.
    max_leaves : int, "auto" or None, default=None
        Most rules in the model; None means ``2**max_depth``. With "auto" the number up to that with the least loss on
        rows held out, found by cross-validation; each fold is one search, which gives the best trees of all sizes.
    min_samples_leaf : int or float, default=0.01
        Least sample weight in one rule: a whole number is a weight, a fraction is a share of all the weight.
    structure : {"tree", "rules"}, default="tree"
        A multiway tree, or a set of disjoint rules: those can have a lower loss, and take longer.
    objective : str, Objective or callable, default="squared"
        What is minimised: "squared" (rules predict means), "absolute" (medians), "quantile", "huber" or "poisson"
        (means of counts). Or your own: an `Objective`, or a function from `RuleStatistics` to the loss of a rule.
    constraints : sequence of Constraint, default=()
        What rules and the whole model have to respect; see `omtree.constraints`.
    n_bins : int, default=8
        About how many bins a numeric column has; one with fewer distinct values keeps them all.
    categories : {"groups", "values"}, default="groups"
        Whether a condition on a nominal column may name several of its values, or one only.
    feature_kinds : dict or None, default=None
        ``{column: "numeric" | "ordinal" | "nominal"}`` where the type of a column does not say it.
    feature_order : None, list of str or "importance", default=None
        Order of the features in the graph: that of the columns, one of your own (columns not named follow), or by
        importance in a quick model.
    time_limit : float or None, default=60.0
        Seconds until the best model known is returned; None means no limit.
    gap : float, default=0.0
        Stop as soon as ``(value - bound) / value`` is this small.
    preset : None or "paper", default=None
        With "paper" rules are generated as in the paper's experiments: K = 1000, at most 40 rounds and 10,000 rules,
        fixed quantile bins in place of adaptive ones, no proof.
    n_jobs : int or None, default=None
        Threads; None means 1 and -1 all of them. The model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of what is random in the search; None is a fixed seed too, so that equal input gives equal models.
    verbose : int, default=0
        1 prints a table of the progress.
    splits : {"multiway", "binary"}, default="multiway"
        Trees only: whether a node may have more than two children.
    max_children : int or None, default=None
        Trees only: most children of one node.
    binning : {"adaptive", "quantile", "supervised", "exact"}, default="adaptive"
        Where numeric columns may be cut: into `n_bins` bins of equal weight ("quantile") or where the label changes
        most ("supervised"); between any two values ("exact", at most 254 of them). "adaptive" starts with quantiles
        and cuts finer around the thresholds of the best tree, as long as that gives a better one.
    cache_mb : float, default=1024
        Trees only: most memory for solved subproblems.
    cv : int, splitter, iterable or None, default=None
        Rows to be held out in turn: a number of folds (shuffled, with all classes in each), a splitter of sklearn, or
        pairs of row numbers (train, test). None means 5 with ``max_leaves="auto"``, and no cross-validation else; with
        a number of leaves it says what to expect on new rows.
    selection : {"best", "one_se"}, default="best"
        With ``max_leaves="auto"``: the size of least mean loss, or the smallest one within a standard error of it.
    quantile : float, default=0.5
        With ``objective="quantile"``: the share of the targets of a rule that its prediction is to be above.
    delta : float, default=1.0
        With ``objective="huber"``: the distance from which the loss is linear.

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
        its standard error ``se_test_loss``, and the losses of every fold.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the columns of ``X`` have names.

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

    def __init__(
        self,
        max_depth: int = 3,
        max_leaves: int | Literal["auto"] | None = None,
        min_samples_leaf: float = 0.01,
        structure: Literal["rules", "tree"] = "tree",
        objective: str | Objective | Callable[[RuleStatistics], float] = "squared",
        constraints: Sequence[Constraint] = (),
        n_bins: int = 8,
        categories: Categories = "groups",
        feature_kinds: Mapping[str, str] | None = None,
        feature_order: Sequence[str] | str | None = None,
        time_limit: float | None = 60.0,
        gap: float = 0.0,
        preset: Literal["paper"] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        *,
        splits: Literal["multiway", "binary"] = "multiway",
        max_children: int | None = None,
        binning: Binning | Literal["adaptive"] = "adaptive",
        cache_mb: float = 1024,
        cv: Any = None,
        selection: Literal["best", "one_se"] = "best",
        quantile: float = 0.5,
        delta: float = 1.0,
    ) -> None:
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.min_samples_leaf = min_samples_leaf
        self.structure = structure
        self.objective = objective
        self.constraints = constraints
        self.n_bins = n_bins
        self.categories = categories
        self.feature_kinds = feature_kinds
        self.feature_order = feature_order
        self.time_limit = time_limit
        self.gap = gap
        self.preset = preset
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.splits = splits
        self.max_children = max_children
        self.binning = binning
        self.cache_mb = cache_mb
        self.cv = cv
        self.selection = selection
        self.quantile = quantile
        self.delta = delta

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None, cv_groups: Any = None) -> Self:
        """Find the best model for the data.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
            numpy, pandas, polars or pyarrow; or rows that stay where they are: what `omtree.scan` gives, a DuckDB
            relation, a lazy frame, or a Dask frame.
        y : array of float, shape (n_samples,)
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
        check_parameters(vars(self))
        objective = find_objective(self.objective, "regression", {"quantile": self.quantile, "delta": self.delta})
        deadline = Deadline(self.time_limit)

        def read() -> Training:
            if is_elsewhere(X):
                return self._elsewhere(X, y, sample_weight, groups, deadline)
            return Training.of_numbers(X, y, sample_weight, self.feature_kinds)

        self._fit(X, read, groups, cv_groups, objective, deadline)
        return self

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
        array of float, shape (n_samples,)
            A lazy series where X is a Dask frame.
        """
        if is_dask(X):
            return self._lazily(X, "predict")  # type: ignore[no-any-return]
        rule = self.apply(X)
        return np.asarray(np.array([rule.prediction for rule in self.rules_], dtype=np.float64)[rule])
