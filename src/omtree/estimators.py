"""The scikit-learn face of the package."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state

from omtree.base import OptimalTreeBase, check_names
from omtree.certificate import Certificate
from omtree.checker import check
from omtree.constraints import Constraint
from omtree.data.binning import Binning
from omtree.data.build import encode_rows, make_features, make_table
from omtree.data.columns import Columns, read_columns
from omtree.data.table import CodeArray, FloatArray
from omtree.deadline import Deadline
from omtree.family import TreeFamily
from omtree.graph import Categories, FeatureGraph
from omtree.objectives import Objective, find_objective
from omtree.order import feature_positions
from omtree.parameters import check_parameters, least_support, most_leaves
from omtree.problem import Problem
from omtree.progress import reporter
from omtree.rules import RuleSet
from omtree.solving import search_space, solve_rules, solve_tree
from omtree.targets import check_weights, class_scale, encode_labels
from omtree.tree import Tree


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
    structure : {"rules", "tree"}, default="rules"
        A set of disjoint rules, or a multiway tree.
    objective : str or Objective, default="error"
        What is minimised; "error" is the weight of the misclassified rows.
    constraints : sequence of Constraint, default=()
        What the whole model has to respect.
    n_bins : int, default=8
        Most bins of a numeric column; one with fewer distinct values keeps them all.
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
        With "paper" the rules are searched with the limits of the paper's experiments.
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
    binning : {"quantile", "supervised", "exact"}, default="quantile"
        Where numeric columns may be cut: into bins of equal weight, where the label changes (both at most `n_bins`
        bins), or between any two values (few distinct values only).
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
        Trees only: the best loss with at most 1, 2, ... leaves.
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
        structure: Literal["rules", "tree"] = "rules",
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
        binning: Binning = "quantile",
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
        objective = find_objective(self.objective)
        deadline = Deadline(self.time_limit)
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))

        # A copy learns the names of the columns, so that a failing fit leaves nothing behind in this estimator.
        learner = copy.copy(self)
        check_names(learner, X, reset=True)
        inputs = read_columns(X, self.feature_kinds)
        classes, labels = encode_labels(y)
        if len(labels) != inputs.n_samples:
            raise ValueError(f"X has {inputs.n_samples} rows and y has {len(labels)} labels; give one label per row.")
        weight = check_weights(sample_weight, len(labels))
        totals = np.bincount(labels, weights=weight, minlength=len(classes)).astype(np.float64, copy=False)
        scale = class_scale(self.class_weight, classes, totals)
        if np.count_nonzero(totals * scale) < 2:
            raise ValueError("y has only one class (of positive weight); a classifier needs at least two classes.")

        # The data layer knows equal weights as None. Bins follow the rows themselves, not what their classes are worth.
        uneven = None if sample_weight is None else weight
        features, dropped = make_features(inputs, labels, len(classes), uneven, self.n_bins, self.binning)
        if dropped:
            reasons = "; ".join(f"{name!r}: {reason}" for name, reason in dropped)
            warnings.warn(f"Columns that cannot tell the rows apart are left out ({reasons}).", stacklevel=2)
        if self.class_weight is not None:
            weight = uneven = weight * scale[labels]
        total = float((totals * scale).sum())
        table = make_table(inputs, features, labels, len(classes), uneven)
        order = feature_positions(self.feature_order, inputs.names, table, seed)
        problem = Problem(
            table,
            FeatureGraph(table.features, self.categories, order),
            objective.costs(len(classes)),
            max_depth=int(self.max_depth),
            max_leaves=most_leaves(self.max_leaves, self.max_depth, len(labels)),
            min_support=least_support(self.min_samples_leaf, total),
            rows=tuple(row for constraint in self.constraints for row in constraint.rows(table)),
        )
        data_seconds = deadline.elapsed

        names = classes.tolist()
        n_jobs = effective_n_jobs(self.n_jobs)
        family = answer = None
        if self.structure == "tree":
            answer = solve_tree(
                problem,
                splits=self.splits,
                max_children=self.max_children,
                n_jobs=n_jobs,
                cache_mb=self.cache_mb,
                deadline=deadline,
            )
            found = answer.solution
            family = TreeFamily(answer.roots, problem, names)
            tree: Tree | None = family.tree(len(family))
            rules = family.tree(len(family)).rules
        else:
            found = solve_rules(
                problem,
                preset=self.preset,
                gap=self.gap,
                n_jobs=n_jobs,
                seed=seed,
                deadline=deadline,
                progress=reporter(self.verbose),
            )
            rules = RuleSet.from_paths(found.paths, problem, names).by_support()
            tree = Tree.from_rules(rules)
        certificate = Certificate(
            status=found.status,
            value=found.value,
            bound=found.bound,
            weight=total,
            unit=objective.unit,
            structure=self.structure,
            leaves=len(rules),
            depth=tree.depth if family is not None and tree is not None else rules.depth,
            search_space=search_space(problem, self.structure, self.splits, self.binning, self.n_bins),
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
            _codes_in_use(rules, inputs),
            labels,
            weight,
            problem.costs,
            max_depth=problem.max_depth,
            max_leaves=problem.max_leaves,
            min_support=problem.min_support,
            constraints=problem.rows,
            row_of=table.row_of,
        )
        seconds = {"data": data_seconds, **found.seconds, "check": deadline.elapsed - solved}

        for name in ("feature_names_in_", "loss_by_leaves_", "_family"):
            self.__dict__.pop(name, None)
        self.n_features_in_ = learner.n_features_in_
        if "feature_names_in_" in vars(learner):
            self.feature_names_in_ = learner.feature_names_in_
        self.classes_ = classes
        self.graph_ = problem.graph
        self.rules_ = rules
        self.tree_ = tree
        self.certificate_ = replace(certificate, seconds=seconds, total_seconds=deadline.elapsed, constraints=checks)
        if answer is not None and family is not None:
            self.loss_by_leaves_ = np.array(answer.losses)
            self._family = family
        return self

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


def _codes_in_use(rules: RuleSet, inputs: Columns) -> CodeArray:
    """Codes of all samples, those features only that occur in a rule; the others are left blank."""
    used = sorted({condition.feature for rule in rules for condition in rule.conditions})
    codes = np.empty((len(rules.features), inputs.n_samples), dtype=np.uint8)
    codes[used] = encode_rows(inputs, tuple(rules.features[f] for f in used))
    return codes
