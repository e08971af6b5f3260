"""The number of leaves by cross-validation: right figures, honest choice, any splitter, any problem."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit, cross_val_score

from omtree import OptimalTreeClassifier, OptimalTreeRegressor, load
from omtree.cli.model_size import choice_words
from omtree.constraints import Recall, StatisticalParity
from omtree.engines.dispatch import TreeSolver
from omtree.errors import InfeasibleError
from omtree.fit.plan import Plan
from omtree.fit.quick_trees import QuickTree, QuickTrees
from omtree.fit.size_choice import most_leaves_chosen, select, standard_error
from omtree.fit.threshold_rounds import EVERY_ROUND, ThresholdRounds
from omtree.report.sections import other_sizes, size_curve


def noise(n: int = 120, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """A target that has nothing to do with the columns."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd")), rng.choice(["no", "yes"], n, p=[0.7, 0.3])


def test_by_hand() -> None:
    """Nine rows, two folds: errors by size, their mean and standard error, and the choice, counted by hand."""
    X = np.array([[0]] * 5 + [[1]] * 4)
    y = np.array(list("aaaab" + "bbba"))
    folds = [([0, 1, 2, 5, 6], [3, 4, 7, 8]), ([0, 1, 2, 3, 5, 6, 7], [4, 8])]
    model = OptimalTreeClassifier(max_depth=1, max_leaves="auto", cv=folds, min_samples_leaf=1).fit(X, y)
    results = model.cv_results_
    assert results["leaves"].tolist() == [1, 2]
    # One leaf says a: wrong about rows 4 and 7 of four, and about row 4 of two.
    # Two leaves say a where x is 0: wrong about rows 4 and 8, of four and of two.
    np.testing.assert_allclose(results["fold_test_losses"], [[0.5, 0.5], [0.5, 1.0]])
    np.testing.assert_allclose(results["mean_test_loss"], [0.5, 0.75])
    np.testing.assert_allclose(results["se_test_loss"], [0.0, 0.25])
    np.testing.assert_allclose(results["mean_train_loss"], [(2 / 5 + 3 / 7) / 2, 0.0])
    assert len(model.rules_) == 1
    # Each fold is judged by what the other chooses: one leaf in both; 3 of 6 rows are right.
    assert model.expectation_.value.value == pytest.approx(0.5)
    assert model.expectation_.rows == 6
    assert not model.expectation_.beats_baseline


@pytest.mark.parametrize("size", [2, 5])
def test_the_figures_are_those_of_scikit_learn(size: int) -> None:
    """With a number of leaves, the mean over folds and the accuracy are those of cross_val_score."""
    X, y = load_breast_cancer(return_X_y=True)
    folds = KFold(4, shuffle=True, random_state=1)
    model = OptimalTreeClassifier(max_depth=2, max_leaves=size, cv=folds, n_bins=4, binning="quantile")
    scores = cross_val_score(clone(model).set_params(cv=None), X[:, :8], y, cv=folds)
    model.fit(X[:, :8], y)
    assert model.cv_results_["mean_test_loss"].tolist() == pytest.approx([1 - scores.mean()])
    assert model.cv_results_["se_test_loss"][0] == pytest.approx(scores.std(ddof=1) / 2)
    rows = [len(test) for _, test in folds.split(X)]
    assert model.expectation_.value.value == pytest.approx(np.average(scores, weights=rows))
    assert len(model.rules_) <= size


def test_numbers_are_those_of_scikit_learn() -> None:
    """For a number the loss is the mean squared error of cross_val_score at every size."""
    X, y = load_diabetes(return_X_y=True)
    folds = KFold(3, shuffle=True, random_state=0)
    fixed = {"max_depth": 2, "n_bins": 4, "binning": "quantile"}
    model = OptimalTreeRegressor(max_leaves="auto", cv=folds, **fixed).fit(X[:, :4], y)
    for place, leaves in enumerate(model.cv_results_["leaves"]):
        found = []
        for train, test in folds.split(X):
            part = OptimalTreeRegressor(**fixed).fit(X[train, :4], y[train])
            found.append(np.mean((part.with_leaves(int(leaves)).predict(X[test, :4]) - y[test]) ** 2))
        np.testing.assert_allclose(model.cv_results_["fold_test_losses"][:, place], found)
    best = model.cv_results_["leaves"][model.cv_results_["mean_test_loss"].argmin()]
    assert len(model.rules_) == len(model.with_leaves(int(best)).rules_)
    expected = model.expectation_
    assert expected.rmse is not None
    assert expected.rmse.low < expected.rmse.value < expected.rmse.high
    assert expected.value.low < expected.value.value < expected.value.high < 1


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 6).flatmap(
        lambda sizes: st.lists(
            st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3, float("nan")]), min_size=sizes, max_size=sizes),
            min_size=2,
            max_size=5,
        )
    )
)
def test_selection(rows: list[list[float]]) -> None:
    """The best has the least mean, the other is smaller and within a standard error; sizes without model are out."""
    losses = np.array(rows)
    sizes = tuple(range(1, losses.shape[1] + 1))
    best, near = select(sizes, losses, "best"), select(sizes, losses, "one_se")
    whole = ~np.isnan(losses).any(axis=0)
    if not whole.any():
        assert best is None
        assert near is None
        return
    assert best is not None
    assert near is not None
    mean = losses[:, whole].mean(axis=0)
    assert losses[:, best - 1].mean() == pytest.approx(mean.min())
    assert near <= best
    limit = mean.min() + standard_error(losses)[best - 1]
    assert losses[:, near - 1].mean() <= limit + 1e-12
    smaller = [s for s in sizes[: near - 1] if whole[s - 1]]
    assert all(losses[:, s - 1].mean() > limit - 1e-12 for s in smaller)


def test_noise_gets_one_leaf_and_a_warning() -> None:
    """Where there is nothing to learn the smallest model is chosen, and the baseline is not said to be beaten."""
    X, y = noise()
    model = OptimalTreeClassifier(max_leaves="auto", selection="one_se").fit(X, y)
    assert len(model.rules_) == 1
    assert "does not beat the baseline" in model.expectation_.warning
    assert model.expectation_.warning in str(model.expectation_)


def test_a_signal_is_found() -> None:
    """Three species need three leaves."""
    X, y = load_iris(return_X_y=True)
    model = OptimalTreeClassifier(max_depth=2, max_leaves="auto").fit(X, y)
    assert 3 <= len(model.rules_) <= 4
    assert model.expectation_.warning == ""
    assert model.expectation_.gain.low > 0
    assert model.certificate_.status == "optimal"
    assert len(model.loss_by_leaves_) == 4
    assert model.max_leaves == "auto"


def test_groups_stay_together() -> None:
    """A splitter by groups gets them: the folds are those that it makes of them."""
    X, y = noise(40)
    X, y, patient = pd.concat([X] * 3), np.tile(y, 3), np.tile(np.arange(40), 3)
    fits = OptimalTreeClassifier(max_depth=2, max_leaves="auto", n_bins=4, cv=GroupKFold(4))
    model = fits.fit(X, y, cv_groups=patient)
    given = list(GroupKFold(4).split(X, y, patient))
    assert all(not set(patient[train]) & set(patient[test]) for train, test in given)
    same = clone(fits).set_params(cv=given).fit(X, y)
    np.testing.assert_array_equal(model.cv_results_["fold_test_losses"], same.cv_results_["fold_test_losses"])
    assert "GroupKFold" in model.expectation_.how
    with pytest.raises(ValueError, match="cv_groups has shape"):
        fits.fit(X, y, cv_groups=patient[:5])
    with pytest.raises(ValueError, match="cv_groups goes with cv"):
        OptimalTreeClassifier().fit(X, y, cv_groups=patient)


def test_time_goes_forward() -> None:
    """A splitter along time is asked as it is: no model is judged on rows before those it was fitted to."""
    asked: list[tuple[int, int]] = []

    class Watched(TimeSeriesSplit):
        def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]:
            for train, test in super().split(X, y, groups):
                asked.append((int(train.max()), int(test.min())))
                yield train, test

    X, y = noise(100)
    model = OptimalTreeClassifier(max_leaves="auto", cv=Watched(4)).fit(X, y)
    assert len(asked) == 4
    assert all(last < first for last, first in asked)
    assert model.expectation_.rows == 80


@pytest.mark.parametrize(
    ("estimator", "objective"),
    [(OptimalTreeClassifier, name) for name in ("balanced_error", "gini", "entropy", "f1")]
    + [(OptimalTreeRegressor, name) for name in ("absolute", "quantile", "huber", "poisson")],
)
def test_every_objective_is_judged_by_itself(estimator: Any, objective: str) -> None:
    """Losses held out are those of the objective: on its own training rows the mean is the certificate's value."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    target = (y > 140).astype(int) if estimator is OptimalTreeClassifier else y
    rows = np.arange(len(X))
    model = estimator(
        max_depth=2, max_leaves="auto", objective=objective, n_bins=4, binning="quantile", cv=[(rows, rows)] * 2
    )
    model.fit(X[["bmi", "bp", "s5"]], target)
    value = model.certificate_.value
    mean = value if objective in ("balanced_error", "f1") else value / len(X)
    sized = np.flatnonzero(model.cv_results_["leaves"] == model.cv_results_["leaves"][-1])[0]
    # The log loss adds two rows to every rule.
    tolerance = 0.02 if objective == "entropy" else 1e-6
    assert model.cv_results_["mean_test_loss"][sized] == pytest.approx(mean, rel=tolerance)
    np.testing.assert_allclose(model.cv_results_["mean_train_loss"], model.cv_results_["mean_test_loss"])


def test_constraints_on_the_whole_model() -> None:
    """With them there is a fit for each of some sizes; the model has the size that did best, and meets them."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = np.where(y == 0, "malignant", "benign")
    model = OptimalTreeClassifier(
        max_depth=2, max_leaves="auto", cv=3, constraints=[Recall("malignant", at_least=0.9)], n_bins=4
    ).fit(X.iloc[:, :6], y)
    leaves, losses = model.cv_results_["leaves"], model.cv_results_["mean_test_loss"]
    assert leaves.tolist() == [1, 2, 3, 4]
    assert len(model.rules_) <= leaves[np.nanargmin(losses)]
    assert all(check.met for check in model.certificate_.constraints)


def test_sizes_that_no_model_has_are_left_out() -> None:
    """A limit that one leaf cannot meet leaves its place empty; one that nothing can meet is said."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = np.where(y == 0, "malignant", "benign")
    fits = OptimalTreeClassifier(max_depth=1, max_leaves="auto", cv=2, n_bins=4)
    floors = [Recall("malignant", at_least=0.7), Recall("benign", at_least=0.7)]
    model = fits.set_params(constraints=floors).fit(X.iloc[:, :3], y)
    assert len(model.rules_) == 2
    with pytest.raises(InfeasibleError, match="every fold"):
        fits.set_params(constraints=[Recall("malignant", at_least=0.999), Recall("benign", at_least=0.999)]).fit(
            X.iloc[:, :3], y
        )


def test_fairness_with_groups_of_its_own() -> None:
    """Group columns of constraints follow the rows into the folds."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"income": rng.normal(size=300), "age": rng.integers(20, 70, 300)})
    sex = rng.choice(["f", "m"], 300)
    y = (X["income"] + (sex == "m") + rng.normal(size=300) > 0.5).map({True: "yes", False: "no"})
    constraint = StatisticalParity("sex", 0.15)
    model = OptimalTreeClassifier(max_depth=2, max_leaves="auto", cv=2, n_bins=4, constraints=[constraint])
    model.fit(X, y, groups=pd.DataFrame({"sex": sex}))
    assert all(check.met for check in model.certificate_.constraints)


def test_rules_too() -> None:
    """Rule sets have a fit for each of some sizes."""
    X, y = load_iris(return_X_y=True)
    model = OptimalTreeClassifier(structure="rules", max_depth=2, max_leaves="auto", cv=3, n_bins=4).fit(X, y)
    assert model.certificate_.structure == "rules"
    assert len(model.rules_) >= 3


def test_threads_do_not_matter() -> None:
    """With two threads the losses and the model are the same."""
    X, y = load_breast_cancer(return_X_y=True)
    one = OptimalTreeClassifier(max_depth=2, max_leaves="auto").fit(X[:, :10], y)
    two = OptimalTreeClassifier(max_depth=2, max_leaves="auto", n_jobs=2).fit(X[:, :10], y)
    np.testing.assert_array_equal(one.cv_results_["fold_test_losses"], two.cv_results_["fold_test_losses"])
    assert one.to_text() == two.to_text()


@pytest.mark.parametrize("limit", [0.05, 1.0])
def test_the_limit_is_for_the_whole(limit: float) -> None:
    """Folds and the last fit share the time limit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    start = time.monotonic()
    model = OptimalTreeClassifier(max_depth=4, max_leaves="auto", time_limit=limit).fit(X, y)
    # Coding the rows of six fits is not stopped.
    assert time.monotonic() - start < limit + 6
    assert model.certificate_.bound <= model.certificate_.value


def test_weights_of_classes_make_it_balanced() -> None:
    """With balanced classes the figure is the balanced accuracy, and the baseline one half."""
    X, y = noise(300)
    model = OptimalTreeClassifier(max_depth=2, max_leaves="auto", class_weight="balanced").fit(X, y)
    assert model.expectation_.measure == "balanced accuracy"
    assert model.expectation_.baseline == pytest.approx(0.5, abs=0.01)


def test_smaller_and_larger_models_have_their_own_expectation() -> None:
    """A model of another size of the family says what its own size did in the folds."""
    X, y = load_iris(return_X_y=True)
    model = OptimalTreeClassifier(max_depth=2, max_leaves="auto").fit(X, y)
    one = model.with_leaves(1)
    assert one.expectation_.value.value == pytest.approx(1 / 3)
    assert one.expectation_ != model.expectation_


def test_it_is_kept() -> None:
    """Pickled and saved models know their cross-validation; a new fit without one forgets it."""
    X, y = load_iris(return_X_y=True)
    model = OptimalTreeClassifier(max_depth=2, max_leaves="auto").fit(X, y)
    assert pickle.loads(pickle.dumps(model)).expectation_ == model.expectation_
    model.set_params(max_leaves=2).fit(X, y)
    assert not hasattr(model, "cv_results_")
    assert not hasattr(model, "expectation_")


def test_it_is_saved(tmp_path: Any) -> None:
    """A saved model knows what was expected of it, size by size."""
    X, y = load_iris(return_X_y=True)
    model = OptimalTreeClassifier(max_depth=2, max_leaves="auto", cv=3).fit(X, y)
    model.save(tmp_path / "model.json")
    again: Any = load(tmp_path / "model.json")
    assert again.expectation_ == model.expectation_
    assert again.with_leaves(2).expectation_ == model.with_leaves(2).expectation_
    for name, values in model.cv_results_.items():
        np.testing.assert_array_equal(again.cv_results_[name], values)


def test_what_cannot_be() -> None:
    """Folds that cannot be made, and words that mean nothing, are one sentence."""
    X, y = noise(20)
    for parameters, words in (
        ({"cv": 1}, "cv=1 is not possible"),
        ({"cv": "five"}, "cv='five' is not possible"),
        ({"cv": 17, "max_leaves": "auto"}, "cv=17 folds need"),
        ({"max_leaves": "many"}, "max_leaves='many' is not possible"),
        ({"selection": "two_se"}, "selection='two_se' is not known"),
        ({"cv": [], "max_leaves": "auto"}, "no usable folds"),
    ):
        with pytest.raises(ValueError, match=words):
            OptimalTreeClassifier(**parameters).fit(X, y)


def test_one_search_a_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fold, and the last fit, is one search that gives the trees of all sizes: those of a search apart."""
    X, y = load_breast_cancer(return_X_y=True)
    fixed = {"max_depth": 2, "binning": "quantile", "n_bins": 4}
    apart = OptimalTreeClassifier(**fixed).fit(X[:, :6], y).loss_by_leaves_
    asked: list[bool] = []
    search = TreeSolver._search

    def counted(self: TreeSolver, problem: Any, deadline: Any, *, every_size: bool) -> Any:
        asked.append(every_size)
        return search(self, problem, deadline, every_size=every_size)

    monkeypatch.setattr(TreeSolver, "_search", counted)
    model = OptimalTreeClassifier(max_leaves="auto", cv=3, **fixed).fit(X[:, :6], y)
    np.testing.assert_array_equal(model.loss_by_leaves_, apart)
    assert asked == [True] * 4


def test_folds_search_again_only_where_finer_cuts_promise_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a quick tree gains nothing by finer cuts a fit looks for them in a second search, a fold does not."""
    X, y = load_breast_cancer(return_X_y=True)
    searched: list[bool] = []
    run = ThresholdRounds.run

    def counted(self: ThresholdRounds, *given: Any) -> Any:
        searched.append(self.limits is EVERY_ROUND)
        return run(self, *given)

    monkeypatch.setattr(ThresholdRounds, "run", counted)
    OptimalTreeClassifier(max_depth=3, max_leaves="auto", cv=3).fit(X[:, :6], y)
    of_folds, of_all = searched.count(False), searched.count(True)
    assert of_folds == 3
    assert of_all >= 2


@pytest.mark.parametrize("structure", ["tree", "rules"])
def test_without_time_a_fold_is_one_search(structure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Smaller trees, and rules of other sizes, are not sought by searches of their own once the time is up."""
    X, y = load_breast_cancer(return_X_y=True)
    solved: list[int] = []
    solve = Plan.solve

    def counted(self: Plan, *given: Any, **options: Any) -> Any:
        solved.append(1)
        return solve(self, *given, **options)

    monkeypatch.setattr(Plan, "solve", counted)
    OptimalTreeClassifier(max_depth=3, max_leaves="auto", cv=4, structure=structure, time_limit=1e-6).fit(X, y)
    assert len(solved) == 4 + 1


def test_a_quick_tree_that_is_worse_by_rounding_ends_no_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums in another order differ in the last digit; a fit then goes on as where the tree is as good."""
    X, y = load_breast_cancer(return_X_y=True)
    rounds: list[int] = []
    run, search = ThresholdRounds.run, QuickTrees.search

    def counted(self: ThresholdRounds, *given: Any) -> Any:
        rounds[-1] += 1
        return run(self, *given)

    monkeypatch.setattr(ThresholdRounds, "run", counted)
    for worse in (0.0, 1e-12):

        def rounded(self: QuickTrees, *given: Any, worse: float = worse, **options: Any) -> QuickTree | None:
            tree = search(self, *given, **options)
            return tree if tree is None or "starts" not in options else replace(tree, value=tree.value * (1 + worse))

        monkeypatch.setattr(QuickTrees, "search", rounded)
        rounds.append(0)
        OptimalTreeClassifier(max_depth=3).fit(X[:, :6], y)
    assert rounds[0] == rounds[1] >= 2


def test_smaller_trees_are_not_over_the_cuts_of_the_largest() -> None:
    """Where the largest tree is proven over all cuts, those of smaller sizes are no worse than fits of that size."""
    X, y = load_wine(return_X_y=True)
    model = OptimalTreeClassifier(max_depth=2, max_leaves="auto", cv=3).fit(X, y)
    for leaves in (2, 3):
        alone = OptimalTreeClassifier(max_depth=2, max_leaves=leaves, binning="quantile").fit(X, y)
        assert model.loss_by_leaves_[leaves - 1] <= alone.certificate_.value


@pytest.mark.parametrize(("splits", "depth"), [("binary", 2), ("binary", 3), ("multiway", 2)])
def test_a_chosen_size_is_looked_at_over_all_cuts(splits: Any, depth: int) -> None:
    """As much is proven of a size that is chosen as of one that is given, and so it is no worse."""
    X, y = load_breast_cancer(return_X_y=True)
    given: dict[str, Any] = {"max_depth": depth, "splits": splits}
    model = OptimalTreeClassifier(max_leaves="auto", cv=3, **given).fit(X[:, :8], y)
    leaves = len(model.rules_)
    alone = OptimalTreeClassifier(max_leaves=leaves, **given).fit(X[:, :8], y)
    assert model.certificate_.value <= alone.certificate_.value
    assert model.certificate_.cuts == alone.certificate_.cuts == "all"
    assert np.count_nonzero(model.predict(X[:, :8]) != y) == model.certificate_.value
    # The trees of other sizes are there as before, each no worse than a smaller one.
    assert len(model.loss_by_leaves_) == 2**depth
    assert (np.diff(model.loss_by_leaves_) <= 0).all()
    assert model.loss_by_leaves_[leaves - 1] == model.certificate_.value


def test_one_leaf_needs_no_cuts() -> None:
    """That a single leaf is the best one of all does not depend on where numbers are cut."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), rng.choice(["no", "yes"], 90, p=[0.7, 0.3])
    model = OptimalTreeClassifier(max_depth=3, max_leaves="auto").fit(X, y)
    assert len(model.rules_) == 1
    assert "over any cut points" in str(model.certificate_)


@pytest.fixture
def stopped_at_depth_three(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches of depth 3 know their largest tree when they are stopped, and of smaller ones a single leaf."""
    search = TreeSolver._search

    def stopped(self: TreeSolver, problem: Any, deadline: Any, *, every_size: bool) -> Any:
        found = search(self, problem, deadline, every_size=True)
        if problem.max_depth < 3:
            return found
        smaller = len(found.trees) - 1
        trees = [found.trees[0]] * smaller + [found.trees[-1]]
        losses = np.append(np.full(smaller, found.losses[0]), found.losses[-1])
        return replace(found, trees=trees, losses=losses, status="time_limit", bound=0.0)

    monkeypatch.setattr(TreeSolver, "_search", stopped)


@pytest.mark.usefixtures("stopped_at_depth_three")
def test_a_search_that_was_stopped_knows_small_trees() -> None:
    """No size is worse than the largest tree without its weakest branches, though the search knew no tree of it."""
    X, y = load_breast_cancer(return_X_y=True)
    model = OptimalTreeClassifier(max_depth=3, binning="quantile", n_bins=4).fit(X[:, :5], y)
    losses = model.loss_by_leaves_
    assert (np.diff(losses) <= 0).all()
    assert losses[4] < losses[0] / 2
    for leaves in range(1, 9):
        smaller = model.with_leaves(leaves)
        assert len(smaller.rules_) <= leaves
        assert np.count_nonzero(smaller.predict(X[:, :5]) != y) == losses[leaves - 1]


@pytest.mark.usefixtures("stopped_at_depth_three")
def test_folds_that_were_stopped_judge_small_trees() -> None:
    """Sizes are compared by trees no worse than the best ones of less depth, which are found where time is short."""
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :5]
    fixed: dict[str, Any] = {"binning": "quantile", "n_bins": 4}
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    model = OptimalTreeClassifier(max_depth=3, max_leaves="auto", cv=folds, **fixed).fit(X, y)
    for leaves in range(1, 8):
        errors = []
        for train, _ in folds:
            shallow = OptimalTreeClassifier(max_depth=2, max_leaves=leaves, **fixed).fit(X[train], y[train])
            errors.append(shallow.certificate_.value / len(train))
        assert model.cv_results_["mean_train_loss"][leaves - 1] <= np.mean(errors) + 1e-12


def test_a_chosen_size_that_no_tree_needs_is_said_as_it_is(tmp_path: Any) -> None:
    """Where the best tree of the chosen size has fewer leaves, terminal and report say both, of loaded models too."""
    rng = np.random.default_rng(275)
    X = rng.integers(0, 3, (30, 3))
    y = np.where(rng.random(30) < 0.1, 1 - (X[:, 0] > 0), (X[:, 0] > 0) * (X[:, 1] != 1))
    model = OptimalTreeClassifier(max_depth=2, max_leaves="auto", min_samples_leaf=1, cv=3).fit(X, y)
    losses = model.cv_results_["mean_test_loss"]
    assert len(model.rules_) == 2
    assert np.argmin(losses) + 1 == most_leaves_chosen(model) == 3
    model.save(tmp_path / "model.json")
    for each in (model, load(tmp_path / "model.json")):
        assert "3 do best on rows held out, and the best model with at most so many has 2;" in choice_words(each)
        curve = size_curve(each)
        assert curve is not None
        assert (
            "of least loss on those was chosen: 3 leaves, and the best model with at most so many has 2."
            in (curve["sentence"])
        )
        choices, _ = other_sizes(each, lambda other: "")
        own = next(choice for choice in choices if choice["chosen"])
        assert own["size"] == 2
        assert f"{100 * (1 - losses[2]):.1f} % accuracy on rows held out" in own["words"]
    assert most_leaves_chosen(model.with_leaves(2)) is None
