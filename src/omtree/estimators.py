"""The scikit-learn face of the package."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state

from omtree.base import OptimalTreeBase, check_names
from omtree.certificate import Certificate
from omtree.checker import check
from omtree.columns.start import leaves_of
from omtree.constraints import Constraint
from omtree.data.binning import Binning
from omtree.data.table import Feature, FloatArray
from omtree.deadline import Deadline
from omtree.graph import Categories
from omtree.objectives import Objective, find_objective
from omtree.order import feature_positions
from omtree.parameters import check_parameters, least_support, most_leaves
from omtree.posing import Pose
from omtree.progress import reporter
from omtree.solving import Outcome, search_space, solve_rules, solve_tree
from omtree.thresholds import ThresholdSearch, cuts_in_words
from omtree.training import Training


class OptimalTreeClassifier(ClassifierMixin, OptimalTreeBase):  # type: ignore[misc]
    """The best small decision model a person can read, with a certificate of how good it is.

    Parameters
    ----------
    max_depth : int, default=3
        Most conditions in one rule.
    max_leaves : int or None, default=None
        Most rules in the model; None means ``2**max_depth``.
    min_samples_leaf : int or float, default=0.01
        Least sample weight in one rule: a whole number is a weight, a fraction is a share of all the weight.
    structure : {"tree", "rules"}, default="tree"
        A multiway tree, or a set of disjoint rules: those can have a lower loss, and take longer.
    objective : str or Objective, default="error"
        What is minimised; "error" is the weight of the misclassified rows.
    constraints : sequence of Constraint, default=()
        What the whole model has to respect.
    n_bins : int, default=8
        About how many bins a numeric column has; one with fewer distinct values keeps them all.
    categories : {"groups", "values"}, default="groups"
        Whether a condition on a nominal column may name several of its values, or one only.
    feature_kinds : dict or None, default=None
        ``{column: "numeric" | "ordinal" | "nominal"}`` where the type of a column does not say it.
    feature_order : None, list of str or "importance", default=None
        Order of the features in the graph: that of the columns, one of your own (columns not named follow), or by
        importance in a quick model.
    class_weight : dict, "balanced" or None, default=None
        What the sample weights of each class are multiplied by, in the loss and in the support of a rule; "balanced"
        gives every class the same total.
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
        Trees only: the best loss with at most 1, 2, ... leaves. Where the fit did not need the smaller sizes, they are
        searched for when they are first asked for, within `time_limit` again.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the columns of ``X`` have names.

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

    def __init__(
        self,
        max_depth: int = 3,
        max_leaves: int | None = None,
        min_samples_leaf: float = 0.01,
        structure: Literal["rules", "tree"] = "tree",
        objective: str | Objective = "error",
        constraints: Sequence[Constraint] = (),
        n_bins: int = 8,
        categories: Categories = "groups",
        feature_kinds: Mapping[str, str] | None = None,
        feature_order: Sequence[str] | str | None = None,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
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
        self.class_weight = class_weight
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the best model for the data.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)
            numpy, pandas, polars or pyarrow.
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional

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
        if self.structure == "tree" and tuple(self.constraints):
            # They couple the leaves of a tree.
            raise ValueError("constraints need structure='rules'; set it, or remove the constraints.")
        objective = find_objective(self.objective)
        deadline = Deadline(self.time_limit)
        # A copy learns the names of the columns, so that a failing fit leaves nothing behind in this estimator.
        learner = copy.copy(self)
        check_names(learner, X, reset=True)
        training = Training.read(X, y, sample_weight, self.class_weight, self.feature_kinds)
        features, dropped = training.features(self.n_bins, "quantile" if self.binning == "adaptive" else self.binning)
        if dropped:
            reasons = "; ".join(f"{name!r}: {reason}" for name, reason in dropped)
            warnings.warn(f"Columns that cannot tell the rows apart are left out ({reasons}).", stacklevel=2)
        outcome = self._solve(training, features, objective, deadline)
        if outcome.found.status == "interrupted":
            warnings.warn("The fit was interrupted; the model is the best one known by then.", stacklevel=2)
        certificate = self._certificate(outcome, training, objective, deadline)

        for name in ("feature_names_in_", "_family"):
            self.__dict__.pop(name, None)
        self.n_features_in_ = learner.n_features_in_
        if "feature_names_in_" in vars(learner):
            self.feature_names_in_ = learner.feature_names_in_
        self.classes_ = training.classes
        self._kinds = self.feature_kinds  # of this fit, whatever becomes of the parameter
        self.graph_ = outcome.problem.graph
        self.rules_ = outcome.rules
        self.tree_ = outcome.tree
        self.certificate_ = certificate
        if outcome.family is not None:
            self._family = outcome.family
        return self

    def _solve(
        self, training: Training, features: tuple[Feature, ...], objective: Objective, deadline: Deadline
    ) -> Outcome:
        """The best model over these features, or over finer thresholds."""
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        names = training.classes.tolist()
        n_jobs = effective_n_jobs(self.n_jobs)
        progress = reporter(self.verbose)
        order = feature_positions(
            self.feature_order, training.columns.names, features, lambda: training.table(features), seed
        )
        pose = Pose(
            objective.costs(len(names)),
            max_depth=int(self.max_depth),
            max_leaves=most_leaves(self.max_leaves, self.max_depth, len(training)),
            min_support=least_support(self.min_samples_leaf, training.total),
            total=training.total,
            categories=self.categories,
            order=order,
            constraints=tuple(self.constraints),
        )
        search = partial(solve_tree, gap=self.gap, n_jobs=n_jobs, cache_mb=self.cache_mb)
        # The paper's thresholds are fixed quantiles.
        n_bins = self.n_bins if self.binning == "adaptive" and self.preset is None else None
        thresholds = ThresholdSearch(training, pose, n_bins, deadline, seed, progress)
        if self.structure == "tree":
            refined = thresholds.tree(features, partial(search, splits=self.splits, max_children=self.max_children))
            answer = refined.answer.after(deadline.elapsed)
            return Outcome.of_tree(refined.problem, answer, names, refined.rounds)
        before = deadline.elapsed
        prepared = thresholds.better_problem(features, partial(search, splits="multiway", max_children=None))
        interrupted = prepared.answer is not None and prepared.answer.solution.status == "interrupted"
        spent = {"data": before, "thresholds": deadline.elapsed - before}
        found = solve_rules(
            prepared.problem,
            preset=self.preset,
            gap=self.gap,
            n_jobs=n_jobs,
            seed=seed,
            deadline=Deadline(0.0) if interrupted else deadline,
            progress=progress,
            start=leaves_of(prepared.answer.root) if prepared.answer is not None and prepared.on_all else (),
        )
        found = replace(found, seconds={**spent, **found.seconds})
        if interrupted and found.status != "optimal":
            found = replace(found, status="interrupted")
        return Outcome.of_rules(prepared.problem, found, names, prepared.rounds)

    def _certificate(
        self, outcome: Outcome, training: Training, objective: Objective, deadline: Deadline
    ) -> Certificate:
        """What is known about the model, after an independent check of it."""
        found, problem, rules, tree = outcome.found, outcome.problem, outcome.rules, outcome.tree
        certificate = Certificate(
            status=found.status,
            value=found.value,
            bound=found.bound,
            weight=training.total,
            unit=objective.unit,
            structure=self.structure,
            leaves=len(rules),
            depth=tree.depth if outcome.family is not None and tree is not None else rules.depth,
            search_space=search_space(
                problem,
                self.structure,
                self.splits,
                cuts_in_words(self.binning, self.n_bins, problem.table.features, outcome.rounds),
            ),
            lp_value=found.lp_value,
            exact_pricing=found.exact_pricing,
            columns=found.columns,
            rows=found.rows,
            iterations=found.iterations,
        )
        solved = deadline.elapsed
        checks = check(
            rules,
            certificate,
            training.codes(rules.features, {condition.feature for rule in rules for condition in rule.conditions}),
            training.labels,
            training.weight,
            problem.costs,
            max_depth=problem.max_depth,
            max_leaves=problem.max_leaves,
            min_support=problem.min_support,
            constraints=problem.rows,
            row_of=problem.table.row_of,
        )
        seconds = {**found.seconds, "check": deadline.elapsed - solved}
        return replace(certificate, seconds=seconds, total_seconds=deadline.elapsed, constraints=checks)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each row.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        rule = self.apply(X)
        return np.asarray(self.classes_[np.array([rule.label for rule in self.rules_])[rule]])

    def predict_proba(self, X: Any) -> FloatArray:
        """The share of each class in the training weight of the row's rule.

        Parameters
        ----------
        X : array or data frame, shape (n_samples, n_features)

        Returns
        -------
        array of float, shape (n_samples, n_classes)
        """
        rule = self.apply(X)
        weights = np.array([rule.class_weights for rule in self.rules_])
        return np.asarray((weights / weights.sum(axis=1, keepdims=True))[rule])
