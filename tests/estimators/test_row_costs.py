"""Costs that differ from row to row: what the classifier minimises, against plain enumeration."""

from __future__ import annotations

import io

import numpy as np
import pytest

from helpers.charged_brute import best_charged, tiny_charged
from omtree import OptimalTreeClassifier, load
from omtree.constraints import MCC, Recall
from omtree.report.page import render_report


@pytest.mark.parametrize("structure", ["tree", "rules"])
@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_that_of_enumeration(structure: str, seed: int) -> None:
    """No model within depth, leaves and support costs less, whatever the rows cost."""
    cells, y, charges, weight = tiny_charged(seed)
    limits = {"max_depth": 2, "max_leaves": 4}
    model = OptimalTreeClassifier(
        structure=structure, min_samples_leaf=3, binning="quantile", time_limit=None, **limits
    ).fit(cells, y, sample_weight=weight, costs=charges)
    best = best_charged(cells, charges, weight, structure=structure, min_support=3, **limits)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.value == pytest.approx(best)
    paid = charges[np.arange(len(y)), model.predict(cells)] @ weight
    assert paid == pytest.approx(best)


@pytest.mark.parametrize("structure", ["tree", "rules"])
@pytest.mark.parametrize("seed", range(4))
def test_limits_on_the_whole_model_go_with_costs_by_row(structure: str, seed: int) -> None:
    """With a limit on the recall of a class the cheapest model that meets it is found."""
    cells, y, charges, weight = tiny_charged(seed)
    limits = {"max_depth": 2, "max_leaves": 3}
    model = OptimalTreeClassifier(
        structure=structure,
        min_samples_leaf=1,
        binning="quantile",
        time_limit=None,
        constraints=[Recall(1, at_least=0.7)],
        **limits,
    ).fit(cells, y, sample_weight=weight, costs=charges)
    of_class = weight * (y == 1)
    best = best_charged(
        cells,
        charges,
        weight,
        structure=structure,
        allowed=lambda owner, said: of_class @ (said == 1) >= 0.7 * of_class.sum() - 1e-9,
        **limits,
    )
    assert model.certificate_.status == "optimal"
    assert model.certificate_.value == pytest.approx(best)


@pytest.mark.parametrize("structure", ["tree", "rules"])
def test_costs_by_class_are_costs_by_row(structure: str) -> None:
    """Rows that cost what a matrix says of their class have the optimum of the matrix."""
    cells, y, _, weight = tiny_charged(7)
    matrix = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [5.0, 3.0, 0.0]])
    options = {"max_depth": 2, "structure": structure, "min_samples_leaf": 1}
    by_class = OptimalTreeClassifier(costs=matrix, **options).fit(cells, y, sample_weight=weight)
    by_row = OptimalTreeClassifier(**options).fit(cells, y, sample_weight=weight, costs=matrix[y])
    assert by_row.certificate_.value == pytest.approx(by_class.certificate_.value)


def test_sizes_are_chosen_by_what_rows_cost() -> None:
    """Cross-validation compares sizes by the costs of rows held out, and trees of every size are at hand."""
    rng = np.random.default_rng(0)
    X = rng.integers(4, size=(200, 3))
    charges = rng.exponential(1.0, size=(200, 2)) + 3.0 * np.column_stack([X[:, 0] > 1, X[:, 0] <= 1])
    y = charges.argmin(axis=1)
    model = OptimalTreeClassifier(max_depth=2, max_leaves="auto").fit(X, y, costs=charges)
    sizes = model.cv_results_["leaves"].tolist()
    one_leaf = model.cv_results_["mean_test_loss"][sizes.index(1)]
    two_leaves = model.cv_results_["mean_test_loss"][sizes.index(2)]
    assert one_leaf == pytest.approx(charges.mean(axis=0).min(), rel=0.1)
    assert two_leaves < one_leaf - 0.3
    assert model.loss_by_leaves_[0] == pytest.approx(charges.sum(axis=0).min())
    smaller = model.with_leaves(2)
    paid = charges[np.arange(200), smaller.predict(X)].sum()
    assert paid == pytest.approx(model.loss_by_leaves_[1])


@pytest.mark.parametrize("by_row", [False, True])
def test_a_model_that_saves_costs_is_not_called_useless(by_row: bool) -> None:
    """Being right less often than the most frequent class is no fault where the rare class is dear to miss."""
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(400, 1))
    y = (rng.random(400) < np.where(X[:, 0] == 1, 0.3, 0.02)).astype(int)
    matrix = np.array([[0.0, 1.0], [9.0, 0.0]])
    model = OptimalTreeClassifier(max_depth=1, cv=3, costs=None if by_row else matrix)
    model.fit(X, y, costs=matrix[y] if by_row else None)
    assert len(model.rules_) == 2
    assert not model.expectation_.beats_baseline
    assert model.certificate_.value < matrix[y].sum(axis=0).min()
    page = render_report(model)
    assert "does not beat the baseline" not in page
    assert "The model is fitted for costs" in page


def test_numbers_are_cut_where_costs_change() -> None:
    """Adaptive cuts find the number at which another answer becomes the cheaper one, though classes say nothing."""
    rng = np.random.default_rng(1)
    x = rng.uniform(size=(400, 1))
    charges = np.column_stack([np.where(x[:, 0] > 0.377, 2.0, 0.0), np.where(x[:, 0] > 0.377, 0.0, 2.0)])
    y = rng.integers(2, size=400)
    model = OptimalTreeClassifier(max_depth=1).fit(x, y, costs=charges)
    assert model.certificate_.value == 0.0


def test_a_saved_model_knows_what_answers_cost(tmp_path: object) -> None:
    """The mean cost of every answer in every rule is in the file, and the importances are those of before."""
    cells, y, charges, weight = tiny_charged(3)
    model = OptimalTreeClassifier(max_depth=2, min_samples_leaf=1).fit(cells, y, sample_weight=weight, costs=charges)
    for rule in model.rules_:
        assert rule.loss == pytest.approx(rule.support * min(rule.values))
    path = f"{tmp_path}/model.json"
    model.save(path)
    again = load(path)
    assert [rule.values for rule in again.rules_] == [rule.values for rule in model.rules_]
    np.testing.assert_allclose(again.feature_importances_, model.feature_importances_)


@pytest.mark.parametrize(
    ("costs", "parameters", "words"),
    [
        (np.ones((11, 3)), {}, "costs has shape"),
        (np.ones((12, 2)), {}, "costs has shape"),
        (-np.ones((12, 3)), {}, "zero or more"),
        (np.full((12, 3), np.nan), {}, "zero or more"),
        ([["x"] * 3] * 12, {}, "not numbers"),
        (np.ones((12, 3)), {"costs": np.ones((3, 3))}, "give one of them"),
        (np.ones((12, 3)), {"objective": "gini"}, "objective='error'"),
    ],
    ids=["rows", "columns", "negative", "missing", "texts", "twice", "objective"],
)
def test_costs_that_make_no_sense_are_refused(costs: object, parameters: dict[str, object], words: str) -> None:
    """The sentence names costs and says what to do."""
    cells, y, _, _ = tiny_charged(0)
    with pytest.raises(ValueError, match=words):
        OptimalTreeClassifier(**parameters).fit(cells, y, costs=costs)


def test_limits_that_are_curved_are_refused() -> None:
    """A limit on the correlation has no sums that go with costs by row."""
    cells, y, charges, _ = tiny_charged(0, n_answers=2)
    with pytest.raises(ValueError, match="does not go with costs by row"):
        OptimalTreeClassifier(constraints=[MCC(at_least=0.1)]).fit(cells, y, costs=charges)


def test_costs_by_row_need_rows_in_memory() -> None:
    """Rows on disk are refused in a sentence."""
    import polars as pl

    frame = pl.read_csv(io.StringIO("x,y\n1,a\n2,b\n3,a\n")).lazy()
    with pytest.raises(ValueError, match="costs by row need rows in memory"):
        OptimalTreeClassifier().fit(frame, "y", costs=np.ones((3, 2)))
