"""Several targets at once, against brute force written apart from the engines."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import omtree
from omtree import OptimalTreeClassifier, OptimalTreeRegressor
from omtree.constraints import AnswerShare, Forbid, Monotone

Leaf = Callable[[np.ndarray], float]


def best_tree(X: np.ndarray, leaf: Leaf, depth: int, support: int, apart: frozenset[int] = frozenset()) -> float:
    """The least loss of a binary tree over 0/1 columns, by trying all of them; not two of those `apart` on a path."""
    if len(X) < support:
        return np.inf

    def best(rows: np.ndarray, left: int, asked: frozenset[int] = frozenset()) -> float:
        least = leaf(rows) if len(rows) >= support else np.inf
        if left:
            for column in range(X.shape[1]):
                inside = X[rows, column] == 1
                after = asked | {column}
                if 0 < inside.sum() < len(rows) and len(after & apart) < 2:
                    least = min(least, best(rows[inside], left - 1, after) + best(rows[~inside], left - 1, after))
        return least

    return best(np.arange(len(X)), depth)


def partitions(X: np.ndarray, depth: int, support: int, most: int) -> Iterator[list[np.ndarray]]:
    """All ways to share the rows among at most so many rules of at most `depth` conditions."""
    sets = {tuple(range(len(X)))}
    for size in range(1, depth + 1):
        for columns in itertools.combinations(range(X.shape[1]), size):
            for cells in itertools.product((0, 1), repeat=size):
                sets.add(tuple(np.flatnonzero((X[:, columns] == cells).all(axis=1)).tolist()))
    usable = [frozenset(rows) for rows in sets if len(rows) >= support]

    def cover(left: frozenset[int], taken: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
        if not left:
            yield taken
        elif len(taken) < most:
            first = min(left)
            for rows in usable:
                if first in rows and rows <= left:
                    yield from cover(left - rows, [*taken, np.array(sorted(rows))])

    yield from cover(frozenset(range(len(X))), [])


def classes(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three 0/1 columns, two targets of two and three classes, and weights of the targets."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (24, 3))
    y = np.stack([(X[:, 0] + rng.integers(0, 2, 24)) % 2, (X[:, 1] + X[:, 2] + rng.integers(0, 2, 24)) % 3], axis=1)
    return X, y, rng.integers(1, 4, 2).astype(float)


def errors(y: np.ndarray, weights: np.ndarray) -> Leaf:
    """Of a leaf: every target has its most frequent class."""
    return lambda rows: float(sum(w * (len(rows) - np.bincount(y[rows, k]).max()) for k, w in enumerate(weights)))


def wrong(y: np.ndarray, said: np.ndarray, weights: np.ndarray) -> float:
    return float(((y != said) @ weights).sum())


@pytest.mark.parametrize("seed", range(6))
def test_trees_of_classes_equal_brute_force(seed: int) -> None:
    """The least weighted sum of errors over both targets, and the model has it."""
    X, y, weights = classes(seed)
    for support, depth in ((1, 1), (1, 2), (3, 2), (2, 3)):
        model = OptimalTreeClassifier(
            max_depth=depth, splits="binary", min_samples_leaf=support, output_weights=weights
        ).fit(X, y)
        expected = best_tree(X, errors(y, weights), depth, support)
        assert model.certificate_.status == "optimal"
        assert model.certificate_.value == pytest.approx(expected)
        assert wrong(y, model.predict(X), weights) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(4))
def test_rules_of_classes_equal_brute_force(seed: int) -> None:
    """The same over all sets of disjoint rules."""
    X, y, weights = classes(seed)
    leaf = errors(y, weights)
    expected = min(sum(map(leaf, parts)) for parts in partitions(X, 2, 2, 4))
    model = OptimalTreeClassifier(
        structure="rules", max_depth=2, max_leaves=4, min_samples_leaf=2, output_weights=weights
    ).fit(X, y)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.value == pytest.approx(expected)
    assert wrong(y, model.predict(X), weights) == pytest.approx(expected)


@pytest.mark.parametrize("structure", ["tree", "rules"])
def test_a_limit_on_an_answer_equals_brute_force(structure: str) -> None:
    """At most a share of the rows gets one combination; leaves may say another than their best one then."""
    X, y, _ = classes(1)
    free = OptimalTreeClassifier(max_depth=2, min_samples_leaf=2).fit(X, y)
    scarce = max(free.rules_, key=lambda rule: rule.support).label
    limit = AnswerShare(free.classes_[scarce], at_most=0.2)
    answers = free.outputs_.answers(np.arange(len(free.classes_)))
    least = np.inf
    for parts in partitions(X, 2, 2, 4):
        costs = [[wrong(y[rows], answer[None, :], np.ones(2)) for answer in answers] for rows in parts]
        for said in itertools.product(range(len(answers)), repeat=len(parts)):
            treated = sum(len(rows) for rows, label in zip(parts, said, strict=True) if label == scarce)
            if treated <= 0.2 * len(X):
                least = min(least, sum(costs[p][label] for p, label in enumerate(said)))
    model = OptimalTreeClassifier(
        structure=structure, max_depth=2, max_leaves=4, min_samples_leaf=2, constraints=[limit]
    ).fit(X, y)
    assert model.certificate_.status == "optimal"
    assert (model.predict(X) == answers[scarce]).all(axis=1).mean() <= 0.2
    if structure == "rules":
        assert model.certificate_.value == pytest.approx(least)
    else:
        assert model.certificate_.value >= least - 1e-9


def test_classes_of_several_kinds_are_saved_and_read(tmp_path: Path) -> None:
    """Names, texts and numbers survive a file; probabilities are those of each target and agree with the answers."""
    X, y, _ = classes(3)
    frame = pd.DataFrame({"ill": np.where(y[:, 0] == 1, "yes", "no"), "grade": y[:, 1]})
    model = OptimalTreeClassifier(max_depth=2, min_samples_leaf=2).fit(X, frame)
    model.save(tmp_path / "model.json")
    again = omtree.load(tmp_path / "model.json")
    said = again.predict(X)
    assert said.shape == (24, 2)
    assert said.tolist() == model.predict(X).tolist()
    assert set(said[:, 0]) <= {"yes", "no"}
    shares = again.predict_proba(X)
    assert [part.shape for part in shares] == [(24, 2), (24, 3)]
    for place, part in enumerate(shares):
        assert part.sum(axis=1) == pytest.approx(np.ones(24))
        assert (np.array(again.outputs_.classes[place])[part.argmax(axis=1)] == said[:, place]).all()
    assert model.score(X, frame) == pytest.approx((model.predict(X) == frame.to_numpy()).all(axis=1).mean())
    assert "ill=" in model.to_text()
    model.report(tmp_path / "report.html")
    assert "ill=" in (tmp_path / "report.html").read_text()


def test_what_does_not_go_with_several_targets_is_said() -> None:
    """One sentence that names the parameter."""
    X, y, _ = classes(0)
    for options, text in (
        ({"class_weight": "balanced"}, "class_weight goes with one target"),
        ({"objective": "gini"}, "objective='error'"),
        ({"output_weights": [1.0]}, "output_weights must be 2 numbers"),
    ):
        with pytest.raises(ValueError, match=text):
            OptimalTreeClassifier(**options).fit(X, y)
    with pytest.raises(ValueError, match="combinations of classes"):
        OptimalTreeClassifier().fit(np.arange(400)[:, None], np.stack([np.arange(400) % 20] * 2, axis=1))


def numbers(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three 0/1 columns, three targets of very different sizes, and weights of the targets."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (24, 3))
    y = X @ rng.normal(size=(3, 3)) + rng.normal(size=(24, 3))
    return X, y * np.array([1.0, 50.0, 0.02]) + np.array([0.0, 1e4, 3.0]), rng.uniform(0.5, 2.0, 3)


def squares(y: np.ndarray, weights: np.ndarray) -> Leaf:
    """Of a leaf: every target has its mean."""
    return lambda rows: float(((y[rows] - y[rows].mean(axis=0)) ** 2 @ weights).sum())


@pytest.mark.parametrize("seed", range(5))
def test_trees_of_numbers_equal_brute_force(seed: int) -> None:
    """The least weighted sum of squared errors, by default in units of the variance of each target."""
    X, y, weights = numbers(seed)
    for asked in (None, weights):
        worth = 1.0 / y.var(axis=0) if asked is None else weights
        for support, depth in ((1, 1), (1, 2), (3, 2), (2, 3)):
            for splits in ("binary", "multiway"):
                model = OptimalTreeRegressor(
                    max_depth=depth, splits=splits, min_samples_leaf=support, output_weights=asked
                ).fit(X, y)
                expected = best_tree(X, squares(y, worth), depth, support)
                assert model.certificate_.status == "optimal"
                assert model.certificate_.value == pytest.approx(expected)
                assert float(((y - model.predict(X)) ** 2 @ worth).sum()) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(3))
def test_rules_of_numbers_equal_brute_force(seed: int) -> None:
    """The same over all sets of disjoint rules."""
    X, y, weights = numbers(seed)
    expected = min(sum(map(squares(y, weights), parts)) for parts in partitions(X, 2, 2, 4))
    model = OptimalTreeRegressor(
        structure="rules", max_depth=2, max_leaves=4, min_samples_leaf=2, output_weights=weights
    ).fit(X, y)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.value == pytest.approx(expected)


def test_weights_of_rows_and_forbidden_columns() -> None:
    """A row of weight two is two rows, and columns that may not be asked about together are not."""
    binding = 0
    for seed in range(5):
        X, y, weights = numbers(seed)
        twice = np.arange(24) % 2 + 1.0
        model = OptimalTreeRegressor(
            max_depth=2, min_samples_leaf=1, output_weights=weights, constraints=[Forbid({"x0", "x1"})]
        ).fit(X, y, sample_weight=twice)
        many = np.repeat(np.arange(24), twice.astype(int))
        leaf = squares(y[many], weights)
        expected = best_tree(X[many], leaf, 2, 1, frozenset({0, 1}))
        assert model.certificate_.value == pytest.approx(expected)
        binding += expected > best_tree(X[many], leaf, 2, 1) + 1e-9
    assert binding > 0


def test_one_target_twice_is_one_target() -> None:
    """Two equal targets give the tree of one, with twice its loss."""
    X, y, _ = numbers(4)
    one = OptimalTreeRegressor(max_depth=2, min_samples_leaf=2).fit(X, y[:, 0])
    two = OptimalTreeRegressor(max_depth=2, min_samples_leaf=2, output_weights=[1.0, 1.0]).fit(X, y[:, [0, 0]])
    assert two.certificate_.value == pytest.approx(2.0 * one.certificate_.value)
    assert two.r2_by_leaves_ == pytest.approx(one.r2_by_leaves_)


def test_numbers_are_saved_read_and_shown(tmp_path: Path) -> None:
    """A file gives the same answers; the report, the text and Python have them; what cannot is refused."""
    X, y, _ = numbers(0)
    rng = np.random.default_rng(0)
    X = np.concatenate([X, rng.normal(size=(24, 1))], axis=1)
    frame = pd.DataFrame(y, columns=["a", "b", "c"])
    model = OptimalTreeRegressor(max_depth=2, max_leaves="auto", min_samples_leaf=2).fit(X, frame)
    assert model.expectation_.measure == "R2"
    model.save(tmp_path / "model.json")
    again = omtree.load(tmp_path / "model.json")
    assert again.predict(X) == pytest.approx(model.predict(X))
    assert again.outputs_.names == ("a", "b", "c")
    assert again.expect(X, frame).value.value == pytest.approx(model.score(X, frame))
    model.report(tmp_path / "report.html")
    assert model.predict(X).shape == (24, 3)
    assert "(" in model.to_text()
    with pytest.raises(ValueError, match="several targets; export to Python or SQL"):
        model.to_pmml(tmp_path / "model.pmml")
    with pytest.raises(ValueError, match="name the table"):
        model.to_sql()


@pytest.mark.parametrize("structure", ["tree", "rules"])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_query_has_a_column_for_each_target(kind: str, structure: str) -> None:
    """In two databases it answers what `predict` does, missing cells included; reasons go with it."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"size": rng.normal(size=200).round(3), "colour": rng.choice(["red", "blue", "o'k"], 200)})
    X.loc[::9, "size"] = np.nan
    high, red = X["size"] > 0.2, X["colour"] == "red"
    if kind == "classes":
        y = pd.DataFrame({"it's ill": np.where(high, "yes", "no"), "grade": np.where(red, 2, np.where(high, 1, 0))})
        model = OptimalTreeClassifier(max_depth=2, min_samples_leaf=5, structure=structure).fit(X, y)
    else:
        y = pd.DataFrame({"it's ill": high * 3.25, "grade": red * 1e4 + high + rng.normal(size=200)})
        model = OptimalTreeRegressor(max_depth=2, min_samples_leaf=5, structure=structure).fit(X, y)
    cells = X.astype(object).where(X.notna(), None).to_numpy().tolist()
    for dialect, connection in (("sqlite", sqlite3.connect(":memory:")), ("duckdb", duckdb.connect())):
        connection.execute("CREATE TABLE patients (no INTEGER, size DOUBLE, colour VARCHAR(9))")
        connection.executemany("INSERT INTO patients VALUES (?, ?, ?)", [(no, *row) for no, row in enumerate(cells)])
        query = model.to_sql("patients", dialect=dialect, reasons=1)
        found = connection.execute(f"SELECT * FROM ({query}) AS answered ORDER BY no")
        names = [column[0] for column in found.description]
        assert names == ["no", "size", "colour", "prediction_it's ill", "prediction_grade", "reason_1"]
        assert [list(row[3:5]) for row in found.fetchall()] == model.predict(X).tolist()
        connection.close()
    assert len(model.rules_) > 2


def test_what_does_not_go_with_several_numbers_is_said() -> None:
    """One sentence that names the parameter."""
    X, y, _ = numbers(0)
    for options, text in (
        ({"objective": "absolute"}, "objective='squared'"),
        ({"constraints": [Monotone("x0", 1)]}, "goes with one target"),
        ({"output_weights": [1.0, -1.0, 1.0]}, "output_weights must be 3 numbers"),
    ):
        with pytest.raises(ValueError, match=text):
            OptimalTreeRegressor(**options).fit(X, y)
    with pytest.raises(ValueError, match="Target 'y1'"):
        OptimalTreeRegressor().fit(X, np.where(np.arange(3) == 1, np.nan, y))
