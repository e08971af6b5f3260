"""Leaves that answer by lines, against brute force written apart from the engines."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import omtree
from omtree import OptimalTreeRegressor
from omtree.constraints import Forbid, Monotone
from omtree.export.predictor import load_predictor
from omtree.model.line import Line

Leaf = Callable[[np.ndarray], float]


def table(seed: int, missing: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two numbers of few values, a 0/1 column, targets that follow another number in each half, and weights."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 4, 26), rng.choice([0.5, 2.0, 7.0], 26), rng.integers(0, 2, 26)]).astype(float)
    y = np.where(X[:, 2] == 1, 3.0 * X[:, 0], -2.0 * X[:, 1]) + rng.normal(size=26)
    if missing:
        X[rng.random(26) < 0.2, 0] = np.nan
    return X, y, rng.integers(1, 4, 26).astype(float)


def line_loss(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray, columns: list[int], ridge: float, together: bool
) -> Leaf:
    """Of a leaf: least squares of rows and of one more equation for every slope, over the chosen columns."""
    there = ~np.isnan(X)
    mean = np.array([np.average(X[there[:, c], c], weights=weight[there[:, c]]) for c in range(X.shape[1])])
    spread = [np.average((X[there[:, c], c] - mean[c]) ** 2, weights=weight[there[:, c]]) for c in range(X.shape[1])]
    units = np.where(there, (X - mean) / np.sqrt(spread), 0.0)

    def leaf(rows: np.ndarray) -> float:
        root = np.sqrt(weight[rows])
        losses = []
        for chosen in [columns] if together else [[column] for column in columns]:
            design = np.column_stack([np.ones(len(rows)), units[rows][:, chosen]]) * root[:, None]
            price = np.sqrt(ridge * weight[rows].sum()) * np.eye(len(chosen) + 1)[1:]
            full = np.concatenate([design, price])
            wanted = np.concatenate([y[rows] * root, np.zeros(len(chosen))])
            slopes = np.linalg.lstsq(full, wanted, rcond=None)[0]
            losses.append(float(((wanted - full @ slopes) ** 2).sum()))
        return min(losses)

    return leaf


def conditions(X: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Every interval of the values of each column, with and without its missing cells, and these alone."""
    for column, cells in enumerate(X.T):
        values = np.unique(cells[~np.isnan(cells)])
        absent = np.isnan(cells)
        for low, high in itertools.combinations_with_replacement(values, 2):
            inside = (cells >= low) & (cells <= high)
            yield column, inside
            if absent.any():
                yield column, inside | absent
        if absent.any():
            yield column, absent


def best_tree(X: np.ndarray, leaf: Leaf, weight: np.ndarray, depth: int, support: float, most: int) -> float:
    """The least loss of a binary tree of at most so many leaves, by trying all of them."""
    # One side of a split is an interval from one end, or missing cells with such a one.
    tests = []
    for column, inside in conditions(X):
        cells, absent = X[:, column], np.isnan(X[:, column])
        known = inside & ~absent
        values = cells[known]
        others = cells[~known & ~absent]
        if not len(values) or not len(others) or values.max() < others.min():
            tests.append(inside)

    def best(rows: np.ndarray, left: int) -> list[float]:
        least = [np.inf] * (most + 1)
        least[1:] = [leaf(rows) if weight[rows].sum() >= support else np.inf] * most
        if left:
            for test in tests:
                inside = test[rows]
                if 0 < inside.sum() < len(rows):
                    one, two = best(rows[inside], left - 1), best(rows[~inside], left - 1)
                    for size in range(2, most + 1):
                        ways = [one[part] + two[size - part] for part in range(1, size)]
                        least[size] = min(least[size], *ways)
        return least

    return best(np.arange(len(X)), depth)[most]


def loss_of(model: OptimalTreeRegressor, X: np.ndarray, y: np.ndarray, weight: np.ndarray, ridge: float) -> float:
    """What the model costs by its own answers, with the price of its slopes."""
    total = float(weight @ (y - model.predict(X)) ** 2)
    for rule in model.rules_:
        for part in rule.prediction.slopes:
            cells = X[:, part.column]
            there = ~np.isnan(cells)
            mean = np.average(cells[there], weights=weight[there])
            variance = np.average((cells[there] - mean) ** 2, weights=weight[there])
            total += ridge * rule.support * part.slope**2 * variance
    return total


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("slopes", ["best", "all"])
def test_trees_equal_brute_force(seed: int, slopes: str) -> None:
    """The least loss over all trees and all lines in their leaves, with weights and missing cells; the model has it."""
    X, y, weight = table(seed, missing=seed % 2 == 1)
    ridge = (0.01, 1.0)[seed % 3 == 0]
    leaf = line_loss(X, y, weight, [0, 1], ridge, slopes == "all")
    for depth, most, support in ((1, 2, 1.0), (2, 4, 6.0), (2, 3, 4.0)):
        model = OptimalTreeRegressor(
            leaves="linear",
            leaf_columns=["x0", "x1"],
            leaf_slopes=slopes,
            ridge=ridge,
            max_depth=depth,
            max_leaves=most,
            min_samples_leaf=int(support),
            splits="binary",
            binning="exact",
        ).fit(X, y, sample_weight=weight)
        expected = best_tree(X, leaf, weight, depth, support, most)
        assert model.certificate_.status == "optimal"
        assert model.certificate_.value == pytest.approx(expected)
        assert model.certificate_.bound <= model.certificate_.value
        assert loss_of(model, X, y, weight, ridge) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("slopes", ["best", "all"])
def test_rules_equal_brute_force(seed: int, slopes: str) -> None:
    """The same over all sets of disjoint rules."""
    X, y, weight = table(seed)
    X[:, 0] = np.minimum(X[:, 0], 2.0)
    leaf = line_loss(X, y, weight, [0, 1], 0.1, slopes == "all")
    single = list(conditions(X))
    sets = {tuple(range(len(X)))} | {tuple(np.flatnonzero(inside).tolist()) for _, inside in single}
    for (one, a), (two, b) in itertools.combinations(single, 2):
        if one != two:
            sets.add(tuple(np.flatnonzero(a & b).tolist()))
    usable = {frozenset(rows): leaf(np.array(rows)) for rows in sets if weight[list(rows)].sum() >= 5}

    def cover(left: frozenset[int], room: int) -> float:
        if not left:
            return 0.0
        first, least = min(left), np.inf
        for rows, loss in usable.items() if room else ():
            if first in rows and rows <= left:
                least = min(least, loss + cover(left - rows, room - 1))
        return least

    model = OptimalTreeRegressor(
        structure="rules",
        leaves="linear",
        leaf_columns=["x0", "x1"],
        leaf_slopes=slopes,
        ridge=0.1,
        max_depth=2,
        max_leaves=3,
        min_samples_leaf=5,
        binning="exact",
    ).fit(X, y, sample_weight=weight)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.value == pytest.approx(cover(frozenset(range(len(X))), 3))


def test_multiway_trees_and_constraints_are_between_their_neighbours() -> None:
    """More children are never worse than binary splits, a constraint never better, and both lines beat constants."""
    binding = 0
    for seed in range(5):
        X, y, _ = table(seed)
        options: dict[str, Any] = {"max_depth": 2, "max_leaves": 4, "min_samples_leaf": 3, "binning": "exact"}
        constant = OptimalTreeRegressor(**options).fit(X, y)
        binary = OptimalTreeRegressor(leaves="linear", splits="binary", **options).fit(X, y)
        multiway = OptimalTreeRegressor(leaves="linear", **options).fit(X, y)
        apart = OptimalTreeRegressor(leaves="linear", constraints=[Forbid({"x1", "x2"})], **options).fit(X, y)
        assert constant.certificate_.value >= multiway.certificate_.value
        assert binary.certificate_.value >= multiway.certificate_.value - 1e-9
        assert apart.certificate_.value >= multiway.certificate_.value - 1e-9
        binding += apart.certificate_.value > multiway.certificate_.value + 1e-6
        for rule in apart.rules_:
            assert not {"x1", "x2"} <= {apart.rules_.features[c.feature].name for c in rule.conditions}
    assert binding > 0


@pytest.mark.parametrize("slopes", ["best", "all"])
def test_units_do_not_matter(slopes: str) -> None:
    """Targets, weights and columns in other units give the same trees, and answers in those units."""
    X, y, weight = table(2)
    options: dict[str, Any] = {"leaves": "linear", "leaf_slopes": slopes, "max_depth": 2, "min_samples_leaf": 0.1}
    plain = OptimalTreeRegressor(**options).fit(X, y, sample_weight=weight)
    for target, mass, column in ((2.0**40, 1.0, 1.0), (1.0, 2.0**-30, 1.0), (1.0, 1.0, 2.0**60), (1e140, 1e-100, 1e-9)):
        other = OptimalTreeRegressor(**options).fit(X * column, y * target, sample_weight=weight * mass)
        value = plain.certificate_.value * target * target * mass
        assert other.certificate_.value == pytest.approx(value, rel=1e-8)
        assert other.predict(X * column) / target == pytest.approx(plain.predict(X), rel=1e-7, abs=1e-9)


def test_far_from_zero_no_digits_are_lost() -> None:
    """Targets and columns a billion deviations away from zero have the loss they have near it."""
    X, y, _ = table(3)
    options: dict[str, Any] = {"leaves": "linear", "max_depth": 2, "min_samples_leaf": 3}
    near = OptimalTreeRegressor(**options).fit(X, y)
    far = OptimalTreeRegressor(**options).fit(X + 2.0**30, y + 2.0**30)
    assert far.certificate_.value == pytest.approx(near.certificate_.value, rel=1e-6)
    assert far.predict(X + 2.0**30) - 2.0**30 == pytest.approx(near.predict(X), abs=1e-5)


def test_every_size_and_what_to_expect() -> None:
    """Losses fall with leaves, the models of fewer leaves have them, and expectations are of the lines' answers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 2] > 0, 4.0 * X[:, 0], -3.0 * X[:, 1]) + rng.normal(size=300)
    model = OptimalTreeRegressor(leaves="linear", max_depth=2, max_leaves="auto", stability=3).fit(X[:200], y[:200])
    assert model.get_n_leaves() >= 2
    assert (np.diff(model.loss_by_leaves_) <= 1e-9).all()
    ones = np.ones(200)
    for leaves, loss in enumerate(model.loss_by_leaves_, start=1):
        assert loss_of(model.with_leaves(leaves), X[:200], y[:200], ones, 0.01) == pytest.approx(loss)
    found = model.expect(X[200:], y[200:])
    assert found.value.value > 0.7
    assert found.rmse is not None
    assert found.rmse.value == pytest.approx(np.sqrt(((y[200:] - model.predict(X[200:])) ** 2).mean()))
    assert model.expectation_.value.value == pytest.approx(found.value.value, abs=0.15)
    # Two lines are far from the mean of either half.
    assert model.stability_.change < 0.5


def named_model() -> tuple[OptimalTreeRegressor, pd.DataFrame, np.ndarray]:
    """A model whose lines go along columns with missing cells, one of which no condition is on."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "group": rng.choice(["a", "b", "c"], 120),
            "size in m": rng.normal(50.0, 10.0, 120).round(1),
            "age": rng.integers(20, 80, 120).astype(float),
        }
    )
    y = np.where(frame["group"] == "a", 2.0 * frame["size in m"], 300.0 - frame["age"]) + rng.normal(size=120)
    frame.loc[rng.random(120) < 0.15, "age"] = np.nan
    model = OptimalTreeRegressor(leaves="linear", max_depth=1, leaf_columns=["size in m", "age"]).fit(frame, y)
    return model, frame, np.asarray(y)


def new_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows with missing cells, values beyond those of training, and a group that it did not have."""
    odd = frame.head(4).copy()
    odd["group"] = ["a", "b", "z", None]
    odd["size in m"] = [np.nan, 1e4, -5.0, 0.0]
    odd["age"] = [1.0, np.nan, 200.0, np.nan]
    return pd.concat([frame, odd], ignore_index=True)


def test_missing_cells_count_as_the_mean_of_their_column() -> None:
    """A row without a cell is answered as one with the mean of the training rows there."""
    model, frame, _ = named_model()
    rows = new_rows(frame)
    filled = rows.copy()
    for name in ("age", "size in m"):
        filled[name] = filled[name].fillna(frame[name].mean())
    assert rows["age"].isna().any()
    assert model.predict(rows) == pytest.approx(model.predict(filled), rel=1e-12)
    assert len({rule.prediction.slopes[0].name for rule in model.rules_}) == 2


def test_files_and_languages_answer_as_the_model(tmp_path: Path) -> None:
    """Saved models, the small reader, Python and SQL give the model's answers; others refuse in a sentence."""
    model, frame, _ = named_model()
    rows = new_rows(frame)
    said = model.predict(rows)
    model.save(tmp_path / "model.json")
    again = omtree.load(tmp_path / "model.json")
    assert again.predict(rows).tolist() == said.tolist()
    assert [str(rule) for rule in again.rules_] == [str(rule) for rule in model.rules_]
    assert load_predictor(tmp_path / "model.json").predict(rows).tolist() == said.tolist()
    space: dict[str, Any] = {}
    exec(model.to_python(), space)
    assert [space["predict"](row) for row in rows.to_dict("records")] == said.tolist()
    alone = pd.DataFrame([{"group": "a", "size in m": np.nan, "age": np.nan}])
    assert space["predict"]({"group": "a"}) == model.predict(alone)[0]
    found = duckdb.sql(model.to_sql("rows", dialect="duckdb")).fetchnumpy()["prediction"]
    assert np.asarray(found, dtype=float) == pytest.approx(said, rel=1e-12)
    for export in (model.to_pmml, model.to_onnx, model.to_sklearn):
        with pytest.raises(ValueError, match="one number a leaf, and this model has lines"):
            export()


def test_people_see_the_line(tmp_path: Path) -> None:
    """Text, rules, explanation and report name the column and its slope; the page can compute it."""
    model, frame, target = named_model()
    lines = [rule.prediction for rule in model.rules_]
    assert all(isinstance(line, Line) for line in lines)
    text = model.to_text()
    for line in lines:
        assert str(line) in text
        assert f"* {line.slopes[0].name}" in str(line)
    assert "with a line along one of size in m, age in every leaf" in str(model.certificate_)
    explained = model.explain(frame.head(1))
    assert str(lines[model.apply(frame.head(1))[0]]) in str(explained[0] if isinstance(explained, list) else explained)
    model.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert f"* {lines[0].slopes[0].name}" in page
    assert '"line":[' in page
    # How far rows are from the line, not from the mean of the leaf.
    inside = model.apply(frame) == 0
    away = np.sqrt(((target[inside] - model.predict(frame)[inside]) ** 2).mean())
    assert lines[0].deviation == pytest.approx(away)
    assert f"± {lines[0].deviation:.4g}" in page


def test_what_does_not_go_with_lines_is_said() -> None:
    """One sentence that names the parameter."""
    X, y, _ = table(0)
    frame = pd.DataFrame({"a": X[:, 0], "word": np.where(X[:, 2] == 1, "u", "v")})
    for options, text in (
        ({"objective": "absolute"}, "objective='squared'"),
        ({"constraints": [Monotone("a", 1)]}, "does not go with the constraint"),
        ({"leaf_columns": ["b"]}, "'b', which X does not have"),
        ({"leaf_columns": ["word"]}, "'word', which is nominal"),
        ({"leaf_columns": []}, "at least one"),
        ({"leaf_columns": "a"}, "a list of names of columns"),
        ({"ridge": 0.0}, "ridge=0.0 is not possible"),
        ({"leaf_slopes": "two"}, "leaf_slopes='two' is not known"),
    ):
        with pytest.raises(ValueError, match=text):
            OptimalTreeRegressor(leaves="linear", **options).fit(frame, y)
    with pytest.raises(ValueError, match="does not go with several targets"):
        OptimalTreeRegressor(leaves="linear").fit(frame, np.stack([y, y], axis=1))
    with pytest.raises(ValueError, match="a numeric column that varies"):
        OptimalTreeRegressor(leaves="linear").fit(frame[["word"]], y)
    many = np.random.default_rng(0).normal(size=(26, 9))
    with pytest.raises(ValueError, match="at most 6 are possible"):
        OptimalTreeRegressor(leaves="linear", leaf_slopes="all", leaf_columns=[f"x{i}" for i in range(9)]).fit(many, y)
    model = OptimalTreeRegressor(leaves="linear", max_depth=1).fit(frame, y)
    with pytest.raises(ValueError, match="shap_values are of leaves that answer by one number"):
        model.shap_values(frame)
    with pytest.raises(AttributeError, match="these have lines"):
        model.feature_importances_  # noqa: B018


def test_without_names_the_columns_that_explain_most_are_taken() -> None:
    """Of twelve numbers the eight that follow the target most closely, either way."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 12))
    y = X @ np.where(np.arange(12) % 3 == 0, 0.0, 1.0) * np.array(1.0) + rng.normal(size=200) * 0.1
    model = OptimalTreeRegressor(leaves="linear", max_depth=1).fit(X, y)
    assert "a line along one of x1, x2, x4, x5, x7, x8, x10, x11 in every leaf" in model.certificate_.search_space


@pytest.mark.parametrize("slopes", ["best", "all"])
def test_a_fit_without_time_has_a_true_certificate(slopes: str) -> None:
    """After no time there is a model whose value is what it costs, and a bound below it."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 12))
    y = rng.normal(size=400) + X[:, 0] * X[:, 1]
    model = OptimalTreeRegressor(leaves="linear", leaf_slopes=slopes, max_depth=4, time_limit=1e-9).fit(X, y)
    assert model.certificate_.value == pytest.approx(loss_of(model, X, y, np.ones(400), 0.01))
    assert model.certificate_.bound <= model.certificate_.value
