"""Models in other languages answer as the model itself does."""

from __future__ import annotations

import ast
import sqlite3
from typing import Any

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pytest

from helpers.flowchart import walk_flowchart
from helpers.model_zoo import SEEDS, cells_of, kind_of, model_and_rows
from helpers.pmml_evaluator import evaluate_pmml
from omtree import OptimalTreeClassifier
from omtree.estimators.base import OptimalTreeBase


def expected(model: OptimalTreeBase, rows: pd.DataFrame) -> list[Any]:
    """The predictions, as Python values."""
    found: list[Any] = model.predict(rows).tolist()
    return found


def table(connection: Any, model: OptimalTreeBase, rows: pd.DataFrame, types: dict[str, str]) -> None:
    """The rows as a table named with a quote and a space, with their position in the column "no"."""
    features = model.rules_.features
    columns = [f'"{f.name.replace(chr(34), 2 * chr(34))}" {types[kind_of(f)]}' for f in features]
    connection.execute(f'CREATE TABLE "my ""rows" ({", ".join(columns)}, no INTEGER)')
    marks = ", ".join("?" * (len(features) + 1))
    cells = [(*row, number) for number, row in enumerate(cells_of(rows))]
    connection.executemany(f'INSERT INTO "my ""rows" VALUES ({marks})', cells)


def asked(connection: Any, model: OptimalTreeBase, **options: Any) -> list[Any]:
    """The last column of the exported query, in the order of the rows."""
    query = model.to_sql('my "rows', **options)
    answer = connection.execute(f"SELECT * FROM ({query}) AS answers ORDER BY no").fetchall()
    return [row[-1] for row in answer]


@pytest.mark.parametrize("seed", SEEDS)
def test_sql_in_sqlite(seed):
    """The SQL expression gives in SQLite what predict gives, for missing, unseen and borderline cells as well."""
    model, rows = model_and_rows(seed)
    with sqlite3.connect(":memory:") as connection:
        table(connection, model, rows, {"number": "REAL", "text": "TEXT", "flag": "BOOLEAN"})
        assert asked(connection, model, dialect="sqlite") == expected(model, rows)


@pytest.mark.parametrize("seed", SEEDS)
def test_sql_in_duckdb(seed):
    """The SQL expression gives in DuckDB what predict gives; decimals of predictions are compared as floats."""
    model, rows = model_and_rows(seed)
    with duckdb.connect() as connection:
        table(connection, model, rows, {"number": "DOUBLE", "text": "VARCHAR", "flag": "BOOLEAN"})
        assert asked(connection, model, dialect="duckdb") == expected(model, rows)


@pytest.mark.parametrize("seed", [1, 2, 3, 5])
def test_sql_probability(seed):
    """With probability_of, the SQL expression gives the share that predict_proba gives."""
    model, rows = model_and_rows(seed)
    with duckdb.connect() as connection:
        table(connection, model, rows, {"number": "DOUBLE", "text": "VARCHAR", "flag": "BOOLEAN"})
        for place, label in enumerate(model.classes_.tolist()):
            shares = [float(share) for share in asked(connection, model, probability_of=label)]
            assert shares == model.predict_proba(rows)[:, place].tolist()


def test_sql_unknown_class():
    """A class the model does not have is refused by name."""
    model, _ = model_and_rows(1)
    with pytest.raises(ValueError, match="probability_of='maybe' is not a class of the model"):
        model.to_sql(probability_of="maybe")


@pytest.mark.parametrize("seed", SEEDS)
def test_python(seed):
    """The Python source imports nothing and gives what predict and predict_proba give."""
    model, rows = model_and_rows(seed)
    source = model.to_python()
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert not imports
    module: dict[str, Any] = {}
    exec(compile(source, "exported.py", "exec"), module)
    dicts = [dict(zip(rows.columns, row, strict=True)) for row in rows.itertuples(index=False, name=None)]
    assert [module["predict"](row) for row in dicts] == expected(model, rows)
    if model.rules_.classes:
        shares = [list(module["predict_proba"](row).values()) for row in dicts]
        assert shares == model.predict_proba(rows).tolist()


def test_python_absent_column():
    """A column that the row lacks is missing."""
    model, rows = model_and_rows(4)
    module: dict[str, Any] = {}
    exec(model.to_python(), module)
    empty = pd.DataFrame({name: pd.Series([None], dtype=object) for name in rows.columns})
    assert module["predict"]({}) == expected(model, empty)[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_pmml(seed):
    """The PMML document, evaluated by the rules of its specification, gives what predict gives."""
    model, rows = model_and_rows(seed)
    answers = evaluate_pmml(model.to_pmml(), [dict(zip(rows.columns, row, strict=True)) for row in cells_of(rows)])
    wanted = expected(model, rows)
    assert [str(answer) for answer, _ in answers] == [str(value) for value in wanted]
    if model.rules_.classes:
        shares = [list(share.values()) for _, share in answers]
        np.testing.assert_allclose(shares, model.predict_proba(rows))


def test_pmml_target_name():
    """The target does not take the name of a column."""
    model, rows = model_and_rows(1)
    used = model.rules_.features[model.rules_[0].conditions[0].feature].name
    text = model.to_pmml(target=used)
    answers = evaluate_pmml(text, [dict(zip(rows.columns, row, strict=True)) for row in cells_of(rows)])
    assert [answer for answer, _ in answers] == expected(model, rows)


@pytest.mark.parametrize("seed", SEEDS)
def test_onnx(seed):
    """The ONNX graph gives in onnxruntime what predict and predict_proba give."""
    model, rows = model_and_rows(seed)
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    kinds = {feature.name: kind_of(feature) for feature in model.rules_.features}
    inputs = {}
    for needed in session.get_inputs():
        cells = rows[needed.name]
        if needed.type == "tensor(string)":
            assert kinds[needed.name] == "text"
            values = np.array(["" if cell is None else cell for cell in cells], dtype=object)
        else:
            values = np.array([np.nan if cell is None else float(cell) for cell in cells])
        inputs[needed.name] = values.reshape(-1, 1)
    outputs = session.run(None, inputs)
    wanted = expected(model, rows)
    empty_text_is_a_value = any(
        "" in (feature.levels or ()) and feature.name in inputs and rows[feature.name].isna().any()
        for feature in model.rules_.features
    )
    keep = np.ones(len(rows), dtype=bool)
    if empty_text_is_a_value:
        # There a missing text cannot be told from the empty one, as the documentation says.
        keep = ~rows[[f.name for f in model.rules_.features if "" in (f.levels or ())]].isna().any(axis=1).to_numpy()
    assert outputs[0][keep].tolist() == [value for value, kept in zip(wanted, keep, strict=True) if kept]
    if model.rules_.classes:
        assert outputs[1][keep].tolist() == model.predict_proba(rows)[keep].tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_mermaid(seed):
    """Every row finds its prediction by following the arrows whose text holds for it."""
    model, rows = model_and_rows(seed)
    if model.tree_ is None:
        chart = model.to_mermaid(direction="LR")
        assert chart.startswith("flowchart LR\n")
        assert chart.count("-->") == len(model.rules_)
    else:
        weights = walk_flowchart(model.to_mermaid(), model, rows)
        leaves = model.apply(rows)
        assert weights == [leaf_text(model, leaf) for leaf in leaves]


def leaf_text(model: OptimalTreeBase, leaf: int) -> str:
    """The first line of a leaf in the chart."""
    from omtree.data.wording import number

    prediction = model.rules_[leaf].prediction
    return str(prediction) if model.rules_.classes else number(prediction)


def test_mermaid_direction():
    """An unknown direction is refused."""
    model, _ = model_and_rows(1)
    with pytest.raises(ValueError, match="direction='up' is not known"):
        model.to_mermaid(direction="up")


@pytest.mark.parametrize("cells", [["a", "b"], [1.5, 2.5], [True, False]], ids=str)
def test_onnx_of_a_single_leaf(cells):
    """A model that asks nothing takes a column of the type it was fitted with, and answers for every row."""
    X = pd.DataFrame({"c": cells * 20})
    model = OptimalTreeClassifier(max_leaves=1, smoothing=0.0).fit(X, ["no"] * 30 + ["yes"] * 10)
    assert len(model.rules_) == 1
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    given = np.array(cells * 2, dtype=object if isinstance(cells[0], str) else float).reshape(-1, 1)
    label, shares = session.run(None, {"c": given})
    assert label.tolist() == ["no"] * 4
    assert shares.tolist() == [[0.75, 0.25]] * 4
