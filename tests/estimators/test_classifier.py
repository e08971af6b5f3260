"""The classifier, apart from how good its engine is."""

from __future__ import annotations

import dataclasses
import logging
import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import omtree.engines.trees
from omtree import Certificate, OptimalTreeClassifier, RuleSet, Tree, to_text

STRUCTURES = ["rules", "tree"]


def flowers() -> tuple[pd.DataFrame, pd.Series]:
    """Iris with the species as text."""
    data = load_iris(as_frame=True)
    return data.data, pd.Series(data.target_names[data.target], name="species")


def mixed(n: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, text, ordered levels and booleans, some cells missing."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, size=n).astype(float),
            "colour": rng.choice(["red", "green", "blue"], size=n),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], size=n), categories=["S", "M", "L"], ordered=True),
            "member": rng.random(n) < 0.5,
        }
    )
    y = np.where((frame["age"] > 50) & (frame["colour"] != "red"), "buys", "leaves")
    frame.loc[::11, "age"] = np.nan
    frame.loc[::13, "colour"] = None
    return frame, y


@pytest.mark.parametrize("structure", STRUCTURES)
def test_what_a_fit_leaves(structure: Any) -> None:
    """A fitted model has classes, rules, a certificate and a graph that belong together."""
    X, y = flowers()
    model = OptimalTreeClassifier(max_depth=2, structure=structure).fit(X, y)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert isinstance(model.rules_, RuleSet)
    assert isinstance(model.certificate_, Certificate)
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    assert [level.feature.name for level in model.graph_] == X.columns.tolist()
    errors = int((model.predict(X) != y).sum())
    assert model.certificate_.value == errors == pytest.approx(sum(rule.loss for rule in model.rules_))
    assert model.certificate_.leaves == len(model.rules_) <= 4
    assert model.certificate_.depth <= 2
    assert model.score(X, y) == 1 - errors / 150
    assert sum(rule.support for rule in model.rules_) == 150
    assert set(model.certificate_.seconds) >= {"data", "check"}
    if structure == "tree":
        assert isinstance(model.tree_, Tree)
        assert model.tree_.rules is model.rules_


@pytest.mark.parametrize("structure", STRUCTURES)
def test_every_training_row_meets_one_rule(structure: Any) -> None:
    """`matches` is one on the training rows, and `apply` names the rule that holds."""
    X, y = mixed()
    model = OptimalTreeClassifier(structure=structure).fit(X, y)
    assert (model.matches(X) == 1).all()
    rule = model.apply(X)
    assert np.bincount(rule, minlength=len(model.rules_)).tolist() == [r.support for r in model.rules_]
    assert model.predict(X).tolist() == [model.rules_[r].prediction for r in rule]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_probabilities_are_the_shares_in_the_rule(structure: Any) -> None:
    """`predict_proba` gives the class shares of the row's rule, and its largest is the prediction."""
    X, y = flowers()
    model = OptimalTreeClassifier(max_depth=1, structure=structure, smoothing=0.0).fit(X, y)
    share = model.predict_proba(X)
    for row, rule in zip(share, model.apply(X), strict=True):
        weights = np.array(model.rules_[rule].class_weights)
        np.testing.assert_allclose(row, weights / weights.sum())
    assert (model.classes_[share.argmax(axis=1)] == model.predict(X)).all()


def test_frames_of_either_kind_give_the_same_model() -> None:
    """pandas, polars and pyarrow give equal rules and predictions."""
    X, y = mixed()
    model = OptimalTreeClassifier().fit(X, y)
    frame = pl.from_pandas(X.assign(size=X["size"].astype(str))).with_columns(
        pl.col("size").cast(pl.Enum(["S", "M", "L"]))
    )
    other = OptimalTreeClassifier().fit(frame, y)
    assert str(other.rules_) == str(model.rules_)
    assert other.predict(frame).tolist() == model.predict(X).tolist()
    arrow = frame.drop("size").to_arrow()
    third = OptimalTreeClassifier().fit(arrow, y)
    assert (
        third.predict(arrow).tolist()
        == OptimalTreeClassifier().fit(X.drop(columns="size"), y).predict(X.drop(columns="size")).tolist()
    )


def test_values_never_seen_are_answered() -> None:
    """New categories and newly missing cells get an answer, the same every time."""
    X, y = mixed()
    model = OptimalTreeClassifier().fit(X, y)
    new = X.head(10).assign(colour="violet", member=None)
    first = model.predict(new)
    assert set(first) <= {"buys", "leaves"}
    assert first.tolist() == model.predict(new).tolist()


def test_class_weight_multiplies_the_weights() -> None:
    """A class weight is a sample weight on the rows of the class: same loss, support and probabilities."""
    X, y = flowers()
    # Enough bins to keep every value, since quantiles follow the sample weights.
    dear = OptimalTreeClassifier(max_depth=1, n_bins=50, class_weight={"virginica": 100.0}).fit(X, y)
    weight = np.where(y == "virginica", 100.0, 1.0)
    errors = dear.predict(X) != y
    assert dear.certificate_.value == pytest.approx(weight[errors].sum())
    assert not (errors & (y == "virginica")).any()
    assert sum(rule.support for rule in dear.rules_) == dear.certificate_.weight == weight.sum()
    spelled = OptimalTreeClassifier(max_depth=1, n_bins=50).fit(X, y, weight)
    assert spelled.certificate_.value == dear.certificate_.value
    share = dear.predict_proba(X)
    assert (dear.classes_[share.argmax(axis=1)] == dear.predict(X)).all()


def test_balanced_class_weight() -> None:
    """ "balanced" is the dict that gives every class the same total, sample weights included."""
    X, y = flowers()
    weight = np.where(y == "setosa", 2.0, 1.0)
    balanced = OptimalTreeClassifier(max_depth=1, class_weight="balanced").fit(X, y, weight)
    spelled = OptimalTreeClassifier(
        max_depth=1, class_weight={"setosa": 200 / 300, "versicolor": 200 / 150, "virginica": 200 / 150}
    ).fit(X, y, weight)
    assert balanced.certificate_.value == pytest.approx(spelled.certificate_.value)
    totals = np.sum([rule.class_weights for rule in balanced.rules_], axis=0)
    np.testing.assert_allclose(totals, 200 / 3)


def test_sample_weight_counts_like_repeated_rows() -> None:
    """A row of weight two is two rows, and one of weight zero is none."""
    X, y = flowers()
    weight = np.arange(150) % 3
    weighted = OptimalTreeClassifier(max_depth=2).fit(X, y, weight)
    again = np.repeat(np.arange(150), weight)
    repeated = OptimalTreeClassifier(max_depth=2).fit(X.iloc[again], y.iloc[again])
    assert weighted.certificate_.value == repeated.certificate_.value
    assert weighted.certificate_.weight == repeated.certificate_.weight == 150


@pytest.mark.parametrize("structure", STRUCTURES)
def test_pickle_and_clone(structure: Any) -> None:
    """A pickled model answers alike; a clone is unfitted with equal parameters."""
    X, y = mixed()
    model = OptimalTreeClassifier(structure=structure, feature_kinds={"member": "nominal"}).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.certificate_ == model.certificate_
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "rules_")


def test_pipeline_and_grid_search() -> None:
    """The classifier works at the end of a pipeline and under a grid search."""
    X, y = load_wine(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), OptimalTreeClassifier(n_bins=4)),
        {"optimaltreeclassifier__max_depth": [1, 2]},
        cv=3,
        error_score="raise",
    ).fit(X, y)
    assert search.best_params_ == {"optimaltreeclassifier__max_depth": 2}
    assert search.score(X, y) > 0.8


def test_pandas_output_of_a_pipeline_keeps_the_names() -> None:
    """With `set_output` upstream the rules speak of the columns by name."""
    X, y = flowers()
    pipeline = make_pipeline(StandardScaler(), OptimalTreeClassifier(max_depth=1)).set_output(transform="pandas")
    model = pipeline.fit(X, y)[-1]
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    assert "petal" in str(model.rules_)


@pytest.mark.parametrize("order", [["petal width (cm)"], "importance"])
def test_feature_order(order: Any) -> None:
    """The graph's levels follow the given order, or the importance of the features; the rest keeps its place."""
    X, y = flowers()
    graph = OptimalTreeClassifier(max_depth=1, feature_order=order).fit(X, y).graph_
    names = [level.feature.name for level in graph]
    assert names[0].startswith("petal")
    if order != "importance":
        rest = ["petal width (cm)", "sepal length (cm)", "sepal width (cm)", "petal length (cm)"]
        assert names == rest


def test_loss_by_leaves_and_with_leaves() -> None:
    """`with_leaves` gives the model whose loss `loss_by_leaves_` promises, also after pickling."""
    X, y = flowers()
    model = OptimalTreeClassifier(max_depth=2, structure="tree").fit(X, y)
    losses = model.loss_by_leaves_
    assert (np.diff(losses) <= 0).all()
    assert losses[0] == 100
    assert losses[-1] == model.certificate_.value
    for source in (model, pickle.loads(pickle.dumps(model))):
        for leaves, value in enumerate(losses, start=1):
            smaller = source.with_leaves(leaves)
            assert smaller.max_leaves == leaves
            assert smaller.certificate_.value == value == (smaller.predict(X) != y).sum()
            assert smaller.tree_.n_leaves == smaller.certificate_.leaves <= leaves
    assert model.max_leaves is None
    with pytest.raises(ValueError, match=r"leaves=9 is not possible; use a whole number from 1 to 4\."):
        model.with_leaves(9)
    with pytest.raises(ValueError, match="structure='tree'"):
        OptimalTreeClassifier(max_depth=1, structure="rules").fit(X, y).with_leaves(1)


def test_binning() -> None:
    """With every threshold allowed the best tree is no worse than on bins; the certificate says what was allowed."""
    X, y = flowers()
    model = {
        binning: OptimalTreeClassifier(structure="tree", max_depth=2, n_bins=3, binning=binning).fit(X, y)
        for binning in ("adaptive", "quantile", "supervised", "exact")
    }
    value = {binning: fitted.certificate_.value for binning, fitted in model.items()}
    assert value["exact"] <= min(value["adaptive"], value["supervised"])
    assert value["adaptive"] <= value["quantile"]
    assert "3 quantile bins" in model["quantile"].certificate_.search_space
    assert "where the label changes" in model["supervised"].certificate_.search_space
    assert "between any two values" in model["exact"].certificate_.search_space


def test_decision_path() -> None:
    """Every row passes the root, and as many nodes as its leaf is deep, plus one."""
    X, y = flowers()
    model = OptimalTreeClassifier(max_depth=2, structure="tree").fit(X, y)
    path = model.decision_path(X)
    depth = {node.rule: node.depth for node in model.tree_.nodes if node.is_leaf}
    assert path[:, 0].sum() == 150
    assert np.asarray(path.sum(axis=1)).ravel().tolist() == [depth[rule] + 1 for rule in model.apply(X)]


@pytest.mark.parametrize("names", [["a", "b"], [0, 1], ["a", 1], [np.str_("a"), "b"], [("a", "b"), ("a", "c")]])
def test_names_are_learned_as_scikit_learn_does(names: list[Any]) -> None:
    """The same names and number of columns, or the same complaint, as from its own trees."""
    X = pd.DataFrame({0: ["0", "1"] * 4, 1: ["0", "0", "1", "1"] * 2})
    X.columns = pd.Index(names, tupleize_cols=False)
    y = [0, 1] * 4
    model, rival = OptimalTreeClassifier(max_depth=1), DecisionTreeClassifier()
    try:
        rival.fit(X, y)
    except TypeError as error:
        with pytest.raises(TypeError, match=re.escape(str(error)[:60])):
            model.fit(X, y)
        return
    model.fit(X, y)
    assert model.n_features_in_ == rival.n_features_in_
    assert hasattr(model, "feature_names_in_") == hasattr(rival, "feature_names_in_")
    if hasattr(rival, "feature_names_in_"):
        assert model.feature_names_in_.dtype == rival.feature_names_in_.dtype
        assert model.feature_names_in_.tolist() == rival.feature_names_in_.tolist()


def test_a_refit_forgets_the_first_fit() -> None:
    """Names of columns and the family of trees of an earlier fit are gone after a new one."""
    X, y = flowers()
    model = OptimalTreeClassifier(max_depth=1, structure="tree").fit(X, y)
    model.set_params(structure="rules").fit(X.to_numpy(), y)
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(model, "loss_by_leaves_")


def test_columns_that_do_not_vary_are_left_out_with_a_warning() -> None:
    """A constant and an all-missing column are named in a warning and not in the graph."""
    X, y = flowers()
    X = X.assign(same=1.0, nothing=np.nan)
    with pytest.warns(UserWarning, match="'same'.*'nothing'"):
        model = OptimalTreeClassifier(max_depth=1).fit(X, y)
    assert {level.feature.name for level in model.graph_}.isdisjoint({"same", "nothing"})
    assert model.n_features_in_ == 6


@pytest.mark.parametrize("structure", STRUCTURES)
def test_nothing_but_constant_columns(structure: Any) -> None:
    """Without a column that varies the model is the one rule without conditions, and optimal."""
    with pytest.warns(UserWarning, match="left out"):
        model = OptimalTreeClassifier(structure=structure, smoothing=0.0).fit(np.ones((5, 2)), [0, 1, 1, 1, 0])
    assert [rule.conditions for rule in model.rules_] == [()]
    assert model.predict(np.zeros((3, 2))).tolist() == [1, 1, 1]
    assert (model.certificate_.status, model.certificate_.value) == ("optimal", 2.0)
    assert model.predict_proba(np.zeros((1, 2))).tolist() == [[0.4, 0.6]]


def test_text_of_a_model() -> None:
    """`to_text` shows the tree where there is one."""
    X, y = flowers()
    model = OptimalTreeClassifier(max_depth=1, structure="tree").fit(X, y)
    assert to_text(model) == str(model.tree_)
    assert to_text(model.rules_) == str(model.rules_)
    assert "setosa" in to_text(model)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_verbose_prints_a_table(structure: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """verbose=1 prints a table with a head, verbose=0 nothing."""
    X, y = flowers()
    OptimalTreeClassifier(max_depth=2, structure=structure, verbose=0).fit(X, y)
    assert capsys.readouterr().out == ""
    OptimalTreeClassifier(max_depth=2, structure=structure, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["seconds", "phase", "value", "bound", "gap", "done", "columns", "rows"]
    assert len(lines) > 1


@pytest.mark.parametrize("structure", STRUCTURES)
def test_progress_goes_to_the_logger(structure: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Who listens to the package's logger hears of the progress."""
    X, y = flowers()
    with caplog.at_level(logging.INFO, logger="omtree"):
        OptimalTreeClassifier(max_depth=2, structure=structure).fit(X, y)
    assert caplog.records


def test_the_certificate_of_a_smaller_tree_speaks_of_smaller_trees() -> None:
    """`with_leaves` proves its model among the trees of that size, also when asked of a smaller tree again."""
    model = OptimalTreeClassifier(max_depth=2, binning="quantile").fit(*flowers())
    small = model.with_leaves(1)
    assert "at most 1 leaf over" in small.certificate_.search_space
    assert "at most 3 leaves over" in small.with_leaves(3).certificate_.search_space
    assert small.with_leaves(4).certificate_ == model.certificate_


@pytest.mark.parametrize("leaves", [0, 5, 2.5, True, "two", None])
def test_impossible_sizes(leaves: Any) -> None:
    """`with_leaves` says which sizes there are."""
    model = OptimalTreeClassifier(max_depth=2, binning="quantile").fit(*flowers())
    with pytest.raises(ValueError, match="use a whole number from 1 to 4"):
        model.with_leaves(leaves)


def test_a_proof_at_the_limit_is_one_of_the_largest_tree_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound that meets the loss is a proof, whatever ended the search; smaller trees are not proven by it."""
    honest = omtree.engines.trees.solve

    def late(*args: Any, **kwargs: Any) -> Any:
        return dataclasses.replace(honest(*args, **kwargs), status="time_limit")

    monkeypatch.setattr(omtree.engines.trees, "solve", late)
    model = OptimalTreeClassifier(max_depth=2, binning="quantile").fit(*flowers())
    assert model.certificate_.status == "optimal"
    smaller = model.with_leaves(1).certificate_
    assert (smaller.status, smaller.bound) == ("time_limit", model.certificate_.bound)


def test_parameters_changed_after_the_fit_do_not_change_the_model() -> None:
    """A fitted model reads new data the way it read the training data, whatever its parameters say by then."""
    frame = pd.DataFrame({"size": ["1", "2", "10", "1", "2", "10"] * 5})
    y = [0, 1, 1, 0, 1, 1] * 5
    model = OptimalTreeClassifier(max_depth=1, feature_kinds={"size": ["1", "2", "10"]}).fit(frame, y)
    model.set_params(feature_kinds=None)
    assert model.predict(frame).tolist() == y


def test_warnings_are_at_the_line_of_the_user() -> None:
    """However deep in the package something is found out, the warning names the file that called `fit`."""
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0] * 5, "constant": 1.0})
    with pytest.warns(UserWarning, match="constant") as caught:
        OptimalTreeClassifier(max_depth=1).fit(X, [0, 0, 1, 1] * 5)
    assert {warning.filename for warning in caught} == {__file__}
