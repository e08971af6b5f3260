"""Reasons: what decided about a row, in order, in words, in SQL and in Python."""

from __future__ import annotations

import itertools
import math
import sqlite3
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from helpers.model_zoo import SEEDS, cells_of, kind_of, model_and_rows
from omtree import OptimalTreeClassifier, OptimalTreeRegressor
from omtree.export.logic import predicts_as_tree
from omtree.model.reason_codes import ReasonCodes
from omtree.model.reasons import leaf_reasons, table_to_fill
from omtree.model.tree import Tree


def expected_answer(tree: Tree, node: int, known: dict[int, frozenset[int]], values: np.ndarray) -> np.ndarray:
    """The average answer below a node where only some conditions are known, by walking the tree."""
    here = tree.nodes[node]
    if here.rule is not None:
        return values[here.rule]
    children = [tree.nodes[child] for child in here.children]
    if here.feature in known:
        met = [child for child in children if known[here.feature] & set(child.condition.codes)]
        children = met or [tree.nodes[here.default]]
    total = sum(child.support for child in children)
    shares = [child.support / total if total > 0 else 1 / len(children) for child in children]
    return sum(
        share * expected_answer(tree, child.index, known, values) for share, child in zip(shares, children, strict=True)
    )


def by_hand(model: Any, leaf: int) -> dict[int, np.ndarray]:
    """The Shapley value of every condition of a leaf: its mean gain over all orders of learning them."""
    tree, values = model.tree_, model._leaf_values()
    conditions = {c.feature: frozenset(c.codes) for c in model.rules_[leaf].conditions}
    gains = {feature: np.zeros(values.shape[1]) for feature in conditions}
    for order in itertools.permutations(conditions):
        known: dict[int, frozenset[int]] = {}
        before = expected_answer(tree, 0, known, values)
        for feature in order:
            known[feature] = conditions[feature]
            after = expected_answer(tree, 0, known, values)
            gains[feature] += (after - before) / math.factorial(len(conditions))
            before = after
    return gains


def some_models() -> list[Any]:
    """Trees of classes and of numbers that test columns again further down."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300), "c": rng.choice(list("xyz"), 300)})
    score = X["a"] ** 2 + X["b"] * (X["c"] == "x") + rng.normal(scale=0.3, size=300)
    classes = np.where(score > 1, "many", np.where(score > 0.2, "some", "few"))
    return [
        OptimalTreeClassifier(max_depth=3, max_leaves=7).fit(X, classes),
        OptimalTreeClassifier(max_depth=2, max_leaves=4, splits="binary").fit(X, classes),
        OptimalTreeRegressor(max_depth=3, max_leaves=6).fit(X, score),
    ]


def test_order_is_that_of_shapley_values_by_hand():
    """How much a condition mattered is its mean gain over all orders, and reasons come in that order."""
    for model in some_models():
        average = model.expected_value_
        for leaf, (rule, found) in enumerate(zip(model.rules_, leaf_reasons(model, 9), strict=True)):
            gains = by_hand(model, leaf)
            whole = sum(gains.values(), np.zeros(len(average)))
            assert whole == pytest.approx(model._leaf_values()[leaf] - average, abs=1e-9)
            if model.rules_.classes:
                mine = {f: gain[model.classes_.tolist().index(rule.prediction)] for f, gain in gains.items()}
            else:
                sign = 1 if rule.prediction >= average[0] else -1
                mine = {f: sign * gain[0] for f, gain in gains.items()}
            assert [r.mattered for r in found] == pytest.approx([mine[r.condition.feature] for r in found], abs=1e-9)
            assert [r.mattered for r in found] == sorted((r.mattered for r in found), reverse=True)
            left_out = set(mine) - {r.condition.feature for r in found}
            assert all(mine[f] <= 1e-9 for f in left_out)


def test_two_questions_that_only_together_decide_matter_alike():
    """In an exclusive or neither column says anything alone, and both are reasons of equal weight."""
    X = pd.DataFrame({"a": [0, 0, 1, 1] * 10, "b": [0, 1, 0, 1] * 10})
    y = ["no", "yes", "yes", "no"] * 10
    model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    (found,) = model.reasons(X[:1])
    assert {reason.column for reason in found} == {"a", "b"}
    assert found[0].mattered == pytest.approx(found[1].mattered)
    assert {reason.cell for reason in found} == {"0"}


CODES = """
[[reason]]
column = "income"
when = "low"
answer = "lost"
code = "R01"
sentence = "The income is too low."

[[reason]]
column = "income"
code = "R02"
sentence = "The income is high enough."
"""


def lending() -> tuple[OptimalTreeClassifier, pd.DataFrame]:
    """A tree over income and age."""
    X = pd.DataFrame({"income": [10, 12, 30, 35] * 10, "age": [20, 60, 30, 50] * 10})
    return OptimalTreeClassifier(max_depth=1).fit(X, ["lost", "lost", "paid", "paid"] * 10), X


def test_codes_and_sentences():
    """The first line of the table that fits a condition and an answer gives code and sentence."""
    model, X = lending()
    lost, paid = model.reasons(X.iloc[[0, 2]], codes=ReasonCodes.loads(CODES))
    assert [str(reason) for reason in (*lost, *paid)] == [
        "R01: The income is too low.",
        "R02: The income is high enough.",
    ]
    assert (lost[0].condition, lost[0].cell) == ("income < 20", "10")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[reason]]\ncolumn = 3", "Reason 1 has 3 as 'column'; write a text."),
        ('[[reason]]\ncolumn = "a"', "Reason 1 lacks the key 'sentence'."),
        ('[[reason]]\ncolumn = "a"\nsentence = "s"\nwhen = "huge"', "use one of low, high, between, missing, among"),
        ('[[reason]]\ncolour = "a"', "unknown key 'colour'"),
        ('title = "a"', "nothing but tables [[reason]]"),
        ("=", "This is not TOML"),
    ],
)
def test_faulty_tables(text, sentence):
    """A table that makes no sense is refused in a sentence."""
    with pytest.raises(ValueError) as fault:
        ReasonCodes.loads(text)
    assert sentence in str(fault.value)


def test_unknown_column_and_number():
    """A table for another model, and no reasons at all, are refused."""
    model, X = lending()
    codes = ReasonCodes.loads('[[reason]]\ncolumn = "height"\nsentence = "s"')
    with pytest.raises(ValueError, match="Reason 1 names the column 'height'"):
        model.reasons(X, codes=codes)
    with pytest.raises(ValueError, match="n=0 is not possible"):
        model.reasons(X, n=0)


def test_table_to_fill_in():
    """The table that is made of a model has a line for every reason that the model can give."""
    for model in some_models():
        codes = ReasonCodes.loads(table_to_fill(model))
        assert all(reason.code for found in leaf_reasons(model, 9, codes) for reason in found)


@pytest.mark.parametrize("seed", SEEDS)
def test_exports_give_the_same_reasons(seed):
    """SQL in DuckDB and SQLite and the Python module give the sentences of `reasons`, for strange cells as well."""
    model, rows = model_and_rows(seed)
    wanted = [[reason.sentence for reason in found] for found in model.reasons(rows, 2)]
    if not predicts_as_tree(model):
        assert all(reason.mattered is None for found in model.reasons(rows) for reason in found)
    padded = [tuple([*texts, None, None, None][:3]) for texts in wanted]
    features = model.rules_.features
    for connection, dialect, types in (
        (duckdb.connect(), "duckdb", {"number": "DOUBLE", "text": "VARCHAR", "flag": "BOOLEAN"}),
        (sqlite3.connect(":memory:"), "sqlite", {"number": "REAL", "text": "TEXT", "flag": "BOOLEAN"}),
    ):
        columns = [f'"{f.name.replace(chr(34), 2 * chr(34))}" {types[kind_of(f)]}' for f in features]
        connection.execute(f"CREATE TABLE rows_ ({', '.join(columns)}, no INTEGER)")
        marks = ", ".join("?" * (len(features) + 1))
        connection.executemany(
            f"INSERT INTO rows_ VALUES ({marks})", [(*row, number) for number, row in enumerate(cells_of(rows))]
        )
        query = model.to_sql("rows_", dialect=dialect, reasons=3)
        answers = connection.execute(
            f"SELECT reason_1, reason_2, reason_3 FROM ({query}) AS answers ORDER BY no"
        ).fetchall()
        connection.close()
        third = [found[2].sentence if len(found) > 2 else None for found in model.reasons(rows, 3)]
        assert answers == [(*pair[:2], last) for pair, last in zip(padded, third, strict=True)]
    alone: dict[str, Any] = {}
    exec(model.to_python(reasons=2), alone)
    cells = [dict(zip((f.name for f in features), row, strict=True)) for row in cells_of(rows)]
    assert [[sentence for _, sentence in alone["reasons"](row)] for row in cells] == wanted


def test_reasons_in_sql_need_a_table():
    """Reasons are columns of a query, and an expression has none."""
    with pytest.raises(ValueError, match="name the table"):
        lending()[0].to_sql(reasons=2)


def test_a_missing_cell_is_said():
    """A row that went a way for want of a value is not told that it has one."""
    X = pd.DataFrame({"income": [10.0, 12.0, 30.0, 35.0] * 10})
    model = OptimalTreeClassifier(max_depth=1).fit(X, ["lost", "lost", "paid", "paid"] * 10)
    known, unknown = model.reasons(pd.DataFrame({"income": [10.0, None]}))
    assert [str(each) for each in known] == ["income < 20"]
    assert [each.cell for each in unknown] == ["missing"]
    assert str(unknown[0]).endswith("(income is missing, and counts as this)")
    X["income"] = X["income"].mask(np.arange(40) % 4 == 0)
    seen = OptimalTreeClassifier(max_depth=1).fit(X, ["lost", "paid", "paid", "paid"] * 10)
    assert [str(each) for each in seen.reasons(X[:1])[0]] == ["income is missing"]
