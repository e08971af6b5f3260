"""What is done with a saved model: predict, explain, audit, report, export, graph, demo."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pandas as pd
import pyarrow.parquet
import pytest

from helpers.credit_tables import credit_lines
from omtree import OptimalTreeClassifier, load
from omtree.cli.tables import read_table
from omtree.constraints import ConstraintCheck, StatisticalParity
from omtree.export.plain import to_plain


def frame_of(path):
    """The table as the model knows it."""
    return pd.read_csv(path, dtype={"zip code": str})


def test_predict(credit, run):
    """Predictions on the screen are those of the model in Python."""
    result = run("predict", credit.model, credit.unseen)
    assert result.code == 0
    frame = frame_of(credit.unseen)
    wanted = load(credit.model).predict(frame.drop(columns="outcome")).tolist()
    assert result.out.splitlines() == ["prediction", *wanted]


def test_predict_keep_and_probabilities(credit, run, tmp_path):
    """The columns of the data can be kept, the shares added, and the table written to CSV or Parquet."""
    for name in ("answers.csv", "answers.parquet"):
        path = tmp_path / name
        assert run("predict", credit.model, credit.unseen, "-k", "-p", "-o", str(path)).code == 0
        table = pyarrow.parquet.read_table(path) if name.endswith("parquet") else read_table(str(path))
        assert table.column_names[:5] == ["age", "income", "home", "zip code", "outcome"]
        assert table.column_names[5:] == ["prediction", "probability lost", "probability paid"]
        assert table["home"].to_pylist() == read_table(credit.unseen)["home"].to_pylist()
        shares = load(credit.model).predict_proba(frame_of(credit.unseen).drop(columns="outcome"))
        assert table["probability paid"].to_pylist() == pytest.approx(shares[:, 1].tolist())


def test_predict_types_follow_the_model(credit, run, tmp_path):
    """Codes that look like numbers in the new file are still the texts they were in training."""
    path = tmp_path / "new.csv"
    path.write_text("zip code,income,home,age,more\n10115,100,own,,x\n80331,100,own,30,y\n", encoding="utf-8")
    result = run("predict", credit.model, str(path))
    frame = pd.DataFrame(
        {"age": [None, 30.0], "income": [100.0, 100.0], "home": ["own", "own"], "zip code": ["10115", "80331"]}
    )
    assert result.out.splitlines()[1:] == load(credit.model).predict(frame).tolist()


def test_predict_faults(credit, fails, tmp_path):
    """A column that is not there, text in a number, a taken name and a file that is no model are named."""
    lines = credit_lines(5)
    path = tmp_path / "new.csv"
    path.write_text("\n".join(line.replace("income", "incom") for line in lines), encoding="utf-8")
    assert "lacks the column 'income' of the model; the nearest name is 'incom'" in fails(
        "predict", credit.model, str(path)
    )
    path.write_text("age,income,home,zip code\n1,much,own,10115\n", encoding="utf-8")
    sentence = fails("predict", credit.model, str(path))
    assert "Column 'income' was numeric in training but is nominal now, with the cell 'much'; give numbers" in sentence
    path.write_text("age,income,home,zip code,prediction\n1,1,own,10115,x\n", encoding="utf-8")
    assert "has a column 'prediction' already" in fails("predict", credit.model, str(path), "--keep")
    assert "is not a model of omtree" in fails("predict", credit.data, credit.data)
    assert "nothing.json: no such file or directory" in fails("predict", "nothing.json", credit.data)


def test_closed_pipe(credit):
    """A reader that leaves early gives no message."""
    command = f"{sys.executable} -m omtree predict {credit.model} {credit.unseen} | true"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1)
    assert done.stderr == ""


def test_explain(credit, run):
    """Rows are explained in the words of the model."""
    result = run("explain", credit.model, credit.unseen, "--row", "2", "--row", "7")
    assert result.code == 0
    model = load(credit.model)
    frame = frame_of(credit.unseen).drop(columns="outcome").iloc[[1, 6]]
    wanted = [f"row {row}: {text}" for row, text in zip((2, 7), model.explain(frame), strict=True)]
    assert result.out == "\n".join(wanted) + "\n"


def test_explain_first_rows(credit, run, fails):
    """Without a choice the first five rows are shown, and a note says so; a row that is not there is refused."""
    result = run("explain", credit.model, credit.unseen)
    assert result.out.count("prediction: ") == 5
    assert "note: 35 more rows are not shown" in result.err
    assert "--row 41 is not there" in fails("explain", credit.model, credit.unseen, "-r", "41")


def test_audit(credit, run):
    """Errors on new data are counted, with a table of classes."""
    result = run("audit", credit.model, credit.unseen)
    assert result.code == 0
    frame = frame_of(credit.unseen)
    predicted = load(credit.model).predict(frame.drop(columns="outcome"))
    wrong = int((predicted != frame["outcome"]).sum())
    assert f"{wrong} error{'' if wrong == 1 else 's'} in 40 rows" in result.out
    table = [line.split() for line in result.out.splitlines() if line.startswith("  ")]
    assert table[0] == ["lost", "paid"]
    assert sum(int(cell) for row in table[1:] for cell in row[1:]) == 40


def test_audit_target(credit, fails, run, tmp_path):
    """The target can have another name in the new data; where it is not found, it is named."""
    path = tmp_path / "new.csv"
    path.write_text(Path(credit.unseen).read_text(encoding="utf-8").replace("outcome", "truth"), encoding="utf-8")
    assert "has no column 'outcome' for the target" in fails("audit", credit.model, str(path))
    assert run("audit", credit.model, str(path), "--target", "truth").code == 0


def test_audit_type_of_target(run, fails, tmp_path):
    """Text where the model's classes are numbers is a fault, not a row of errors."""
    data, path = tmp_path / "data.csv", tmp_path / "model.json"
    data.write_text("a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(40)), encoding="utf-8")
    assert run("fit", str(data), "-t", "y", "-d", "1", "-o", str(path), "-q").code == 0
    data.write_text("a,y\n1,yes\n2,no\n", encoding="utf-8")
    assert "holds text such as 'yes'; the model's classes are numbers" in fails("audit", str(path), str(data))


@pytest.mark.parametrize(("slack", "code"), [(0.1, 0), (-0.1, 1)])
def test_audit_constraints(credit, run, monkeypatch, tmp_path, slack, code):
    """Constraints and their groups are checked on the new data; one that does not hold makes the exit code 1."""
    seen = {}

    def audit(self, X, y, groups=None):
        seen["groups"] = groups
        return (ConstraintCheck("parity", 0.8 + slack, 0.8, slack), ConstraintCheck("empty", np.nan, -np.inf, 0.0))

    monkeypatch.setattr(OptimalTreeClassifier, "audit", audit, raising=False)
    document = json.loads(Path(credit.model).read_text(encoding="utf-8"))
    document["parameters"]["constraints"] = [to_plain(StatisticalParity("home", 0.1))]
    model = tmp_path / "model.json"
    model.write_text(json.dumps(document), encoding="utf-8")
    result = run("audit", str(model), credit.unseen)
    assert result.code == code
    assert "parity" in result.out
    assert ("NO" in result.out) == (code == 1)
    assert seen["groups"].column_names == ["home"]


def test_report(credit, run, tmp_path):
    """Reports are written from a saved model, and at once with a fit."""
    path = tmp_path / "report.html"
    result = run("report", credit.model, credit.data, "--test", credit.unseen, "-o", str(path))
    assert (result.code, result.out) == (0, f"report  {path}\n")
    assert "income" in path.read_text(encoding="utf-8")
    path.unlink()
    result = run("fit", credit.data, "-t", "outcome", "-d", "1", "--test", credit.unseen, "--report", str(path))
    assert result.code == 0, result.err
    assert f"report  {path}" in result.out
    assert "<html" in path.read_text(encoding="utf-8")


def test_export_sql_runs(credit, run):
    """The exported query, run on the rows, gives what predict gives."""
    query = run("export", credit.model, "-f", "sql", "--table", "people", "--dialect", "sqlite").out
    frame = frame_of(credit.unseen)
    with sqlite3.connect(":memory:") as connection:
        frame.to_sql("people", connection, index=False)
        answers = [row[-1] for row in connection.execute(query)]
    assert answers == load(credit.model).predict(frame.drop(columns="outcome")).tolist()


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("m.sql", "CASE"),
        ("m.py", '"""A model'),
        ("m.pmml", "<?xml"),
        ("m.mmd", "flowchart"),
        ("m.dot", "digraph"),
        ("m.svg", "<svg"),
        ("m.txt", "all rows"),
        ("m.json", "{"),
    ],
)
def test_export_by_name(credit, run, tmp_path, name, start):
    """The file's name tells the format, and the file is named on the screen."""
    path = tmp_path / name
    result = run("export", credit.model, "-o", str(path))
    assert (result.code, result.out) == (0, f"{path}\n")
    assert path.read_text(encoding="utf-8").startswith(start)


def test_export_onnx(credit, run, tmp_path):
    """ONNX is written as a binary file that the checker accepts."""
    path = tmp_path / "m.onnx"
    assert run("export", credit.model, "-o", str(path)).code == 0
    onnx.checker.check_model(onnx.load(path))


def test_export_leaves(credit, run):
    """A smaller tree of the same fit can be exported."""
    text = run("export", credit.model, "-f", "text", "--leaves", "1").out
    assert text == str(load(credit.model).with_leaves(1).tree_) + "\n"


def test_export_faults(credit, fails):
    """An unknown format, and options that do not go together, are refused."""
    assert "--format is needed: the name x.foo does not tell it" in fails("export", credit.model, "-o", "x.foo")
    assert "--format is needed" in fails("export", credit.model)
    assert "--table is for --format sql only" in fails("export", credit.model, "-f", "python", "--table", "t")
    assert "leaves=99 is not possible" in fails("export", credit.model, "-f", "sql", "-l", "99")


def test_graph(credit, run, tmp_path, fails):
    """The feature graph is written in the DOT language, or drawn."""
    assert run("graph", credit.model).out == load(credit.model).graph_.to_dot() + "\n"
    path = tmp_path / "graph.dot"
    assert run("graph", credit.model, "-o", str(path)).code == 0
    assert path.read_text(encoding="utf-8").startswith("digraph")
    picture = tmp_path / "graph.svg"
    assert run("graph", credit.model, "-o", str(picture), "--feature", "age").code == 0
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    assert "--feature is for SVG files only" in fails("graph", credit.model, "--feature", "age")


def test_demo(run, tmp_path):
    """The demo runs and leaves its files where it was told to."""
    result = run("demo", "--out", str(tmp_path / "demo"))
    assert result.code == 0, result.err
    assert "$ omtree fit patients.csv" in result.out
    assert "row 1: prediction:" in result.out
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert {"patients.csv", "unseen.csv", "model.json"} <= names


def test_csv_of_booleans_and_gaps(run, tmp_path):
    """A model of flags from a typed file reads them from CSV, and writes what it reads."""
    frame = pd.DataFrame({"flag": [True, False, None] * 20, "n": range(60)}).astype({"flag": "boolean"})
    frame["y"] = (frame["flag"].fillna(False)).to_numpy(dtype=bool)
    frame.to_parquet(tmp_path / "t.parquet")
    model = tmp_path / "m.json"
    assert run("fit", str(tmp_path / "t.parquet"), "-t", "y", "-d", "1", "-o", str(model), "-q").code == 0
    (tmp_path / "new.csv").write_text("flag,n\nTRUE,1\nfalse,2\n,3\n", encoding="utf-8")
    result = run("predict", str(model), str(tmp_path / "new.csv"), "--keep")
    rows = list(csv.reader(io.StringIO(result.out)))
    assert rows == [["flag", "n", "prediction"], ["TRUE", "1", "true"], ["false", "2", "false"], ["", "3", "false"]]
