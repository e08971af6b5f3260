"""Messy files are read as what they mean, with a note, or refused in one sentence."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import xlsxwriter

from helpers.messy_files import ENCODINGS, MESSY, lines, one_of
from omtree import OptimalTreeClassifier, OptimalTreeRegressor, Reading, load
from omtree.cli.notes import Notes
from omtree.cli.tables import FileOptions, read_table
from omtree.data.parsing.understand import understand

READ = [name for name, messy in MESSY.items() if not messy.fault]
REFUSED = [name for name, messy in MESSY.items() if messy.fault]
#: What needs no file, since it is about the command alone.
PYTHON = [
    name
    for name in READ
    if not MESSY[name].options and not any(word in name for word in ("titles", "rows with names", "target", "predict"))
]


def kinds_of(model) -> dict[str, str]:
    """The columns that a model could have conditions on, and what they are."""
    return {feature.name: feature.unit or feature.kind for feature in model.rules_.features}


def fit(run, path, out, *options):
    """Fit a small tree by the command line."""
    return run("fit", str(path), "-t", "y", "-d", "2", "-l", "4", "-o", str(out), *options)


@pytest.mark.parametrize("name", READ)
def test_the_zoo_by_command(run, tmp_path, name):
    """Every file gives columns of the right kinds and the right notes, and its model predicts from the same file."""
    messy, path, model = MESSY[name], tmp_path / "t.csv", tmp_path / "m.json"
    path.write_text(messy.text, encoding="utf-8")
    result = fit(run, path, model, *messy.options)
    assert result.code == 0, result.err
    place = 0
    for part in messy.notes:
        place = result.err.find(part, place)
        assert place >= 0, (part, result.err)
    if not messy.notes:
        assert result.err == ""
    assert kinds_of(load(model)) == messy.kinds
    answers = run("predict", str(model), str(path)).out.splitlines()
    assert len(answers) - 1 == len(read_table(str(path)))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", READ)
def test_the_zoo_in_every_encoding(tmp_path, name, encoding):
    """The encoding is found, and the columns are the same in each; letters that it lacks are not tried in it."""
    messy = MESSY[name]
    path = tmp_path / "t.csv"
    path.write_bytes(messy.text.encode(encoding))
    options = FileOptions(decimal=",") if "--decimal" in messy.options else FileOptions()
    table = read_table(str(path), options)
    path.write_bytes(messy.text.encode("utf-8"))
    assert table.equals(read_table(str(path), options))


@pytest.mark.parametrize("name", REFUSED)
def test_the_zoo_of_no_tables(fails, tmp_path, name):
    """A file that is no good table gives one sentence."""
    path = tmp_path / "t.csv"
    path.write_text(MESSY[name].text, encoding="utf-8")
    assert MESSY[name].fault in fails("fit", str(path), "-t", "y")


@pytest.mark.parametrize("name", PYTHON)
def test_the_zoo_in_python(name):
    """The same texts in a frame of pandas are read as the same columns."""
    rows = list(csv.reader(io.StringIO(MESSY[name].text), delimiter=_delimiter(name)))
    head = [cell or "unnamed 1" for cell in rows[0]]
    frame = pd.DataFrame(rows[1:], columns=head).drop(columns="y")
    found = {column.name: column.unit or column.kind for column in understand(frame)}
    if name == "an empty column":
        assert found.pop("a") == "numeric"
    assert found == MESSY[name].kinds


def _delimiter(name: str) -> str:
    head = MESSY[name].text.splitlines()[0]
    return max(",;\t|", key=head.count)


def test_new_rows_are_read_as_in_training(run, tmp_path):
    """Commas, dates and words for missing mean at prediction what they meant in the fit; other columns may be gone."""
    path, model = tmp_path / "t.csv", tmp_path / "m.json"
    cells = {
        "a": lambda r: f"{2 * (r % 2)}.{100 + r},5" if r % 2 else f"{r},5",
        "when": lambda r: f"{r // 2 % 28 + 1}.{r // 2 % 12 + 1}.2024",
    }
    path.write_text(lines(cells, ";"), encoding="utf-8")
    assert fit(run, path, model, "--drop", "x", "-d", "1", "-l", "2").code == 0
    assert [str(c) for rule in load(model).rules_ for c in rule.conditions] == ["a < 1000", "a >= 1000"]
    (tmp_path / "new.csv").write_text("a\n2.100\n999\nn/a\n", encoding="utf-8")
    assert run("predict", str(model), str(tmp_path / "new.csv")).out.split()[1:3] == ["yes", "no"]
    (tmp_path / "new.csv").write_text("a\nmany\n", encoding="utf-8")
    result = run("predict", str(model), str(tmp_path / "new.csv"))
    assert "Column 'a' held numbers in training, but has the cell 'many' here" in result.err


def test_excel(run, tmp_path):
    """The first sheet of an Excel file is read with its types, a title above left out, and predictions are written."""
    path, model, out = tmp_path / "t.xlsx", tmp_path / "m.json", tmp_path / "out.xlsx"
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet("data")
    book.add_worksheet("more")
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    sheet.write(0, 0, "Patients")
    sheet.write_row(2, 0, ["when", "size", "colour", "y"])
    for row in range(60):
        sheet.write_datetime(3 + row, 0, datetime.datetime(2024, 1, 1) + datetime.timedelta(days=3 * (row % 40)), day)
        sheet.write_row(3 + row, 1, [row % 7 + 10 * (row % 2), ["red", "blue"][row % 3 == 0], ["no", "yes"][row % 2]])
    book.close()
    result = fit(run, path, model)
    assert result.code == 0, result.err
    assert "has 2 sheets, and the first, 'data', is read" in result.err
    assert "the first 2 rows of" in result.err
    assert {"when": "date", "size": "numeric", "colour": "nominal"}.items() <= kinds_of(load(model)).items()
    assert run("predict", str(model), str(path), "--out", str(out), "--keep").code == 0
    again = read_table(str(out))
    assert again.column_names == ["when", "size", "colour", "y", "prediction"]
    assert again["prediction"].to_pylist() == again["y"].to_pylist()


@pytest.mark.parametrize("kind", ["lines", "list", "gzip"])
def test_json(run, tmp_path, kind):
    """One object a line, a list of objects, and compressed lines are tables."""
    rows = [{"a": ["red", "blue", None][r % 3], "x": r % 5 + 9 * (r % 2), "y": bool(r % 2)} for r in range(60)]
    text = json.dumps(rows) if kind == "list" else "\n".join(map(json.dumps, rows))
    path, model = tmp_path / "t.json", tmp_path / "m.json"
    path.write_bytes(gzip.compress(text.encode()) if kind == "gzip" else text.encode())
    assert fit(run, path, model).code == 0
    assert kinds_of(load(model)) == {"a": "nominal", "x": "numeric"}
    result = run("fit", str(model), "-t", "y")
    assert "is a model of omtree, not a table" in result.err


def test_what_is_no_file(fails):
    """An address is not printed with a slash less, and the advice is to download it."""
    assert "https://example.org/t.csv is an address" in fails("fit", "https://example.org/t.csv", "-t", "y")


def test_encodings(tmp_path, fails):
    """A guess of an encoding is said, one that is named is followed, and a wrong one is refused."""
    path = tmp_path / "t.csv"
    text = "größe,stadt\n" + "5,Zürich\n6,Köln\n" * 20
    for encoding in ("latin-1", "cp1252", "utf-16-le", "utf-16-be", "utf-8"):
        path.write_bytes(text.encode(encoding))
        notes = Notes()
        table = read_table(str(path), notes=notes)
        assert table["stadt"].to_pylist()[:2] == ["Zürich", "Köln"]
        assert bool(notes) == (encoding in ("latin-1", "cp1252"))
    path.write_bytes("имя,город\n".encode("cp1251") + "Иван,Москва\nОльга,Казань\n".encode("cp1251") * 10)
    assert read_table(str(path))["город"][0].as_py() == "Москва"
    path.write_bytes("a,b\nŐ,1\n".encode("cp1250"))
    assert read_table(str(path), FileOptions(encoding="cp1250"))["a"][0].as_py() == "Ő"
    assert "--encoding 'klingon' is not known" in fails("fit", str(path), "-t", "b", "--encoding", "klingon")
    assert "is not utf-8 text" in fails("fit", str(path), "-t", "b", "--encoding", "utf-8")


def test_files_are_not_overwritten(fails, tmp_path):
    """A model, a report and the data have files of their own, and predictions are of the kind their file says."""
    path = tmp_path / "t.csv"
    path.write_text(lines({"a": one_of("red", "blue")}), encoding="utf-8")
    same = str(tmp_path / "same")
    assert "--report and --out are the same file" in fails("fit", str(path), "-t", "y", "-o", same, "--report", same)
    assert "--out and the data are the same file" in fails("fit", str(path), "-t", "y", "-o", str(path))
    assert "use .csv, .parquet or .xlsx" in fails("predict", same, str(path), "-o", str(tmp_path / "x.ods"))


def test_a_class_of_new_rows_only(run, tmp_path):
    """Rows of a class that the model does not know are counted as errors and shown in the table."""
    path, model = tmp_path / "t.csv", tmp_path / "m.json"
    path.write_text(lines({"a": one_of("red", "blue")}), encoding="utf-8")
    assert fit(run, path, model, "-q").code == 0
    path.write_text("a,x,y\nred,1,no\nblue,120,maybe\nred,3,\n", encoding="utf-8")
    result = run("audit", str(model), str(path))
    assert "1 error in 2 rows" in result.out
    assert [line.split() for line in result.out.splitlines()][-1] == ["maybe", "0", "1"]
    assert "1 row is of classes the model does not know (maybe), and count as errors" in result.err
    assert "1 row without a target is left out" in result.err


def test_advice_in_words_of_the_command(fails, tmp_path):
    """Sentences name options, not Python."""
    path = tmp_path / "t.csv"
    path.write_text(lines({"a": one_of("low", "mid", "high")}), encoding="utf-8")
    sentence = fails("fit", str(path), "-t", "y", "--kind", "a=ordinal")
    assert "give its levels in order, such as --kind 'a=low,middle,high'" in sentence


def test_positive_class(run, fails, tmp_path):
    """The positive class of F1 can be named, on the command line and in Python; scikit-learn's order stays."""
    path, model = tmp_path / "t.csv", tmp_path / "m.json"
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    y = np.where(frame["a"] + rng.normal(size=200) > 1.0, "bad", "good")
    frame.assign(y=y).to_csv(path, index=False)
    values = {}
    for positive in ("bad", "good"):
        options = ("--objective", "f1", "--positive", positive)
        assert fit(run, path, model, *options).code == 0
        found = load(model)
        python = OptimalTreeClassifier(max_depth=2, max_leaves=4, objective="f1", positive=positive).fit(frame, y)
        assert found.certificate_.value == pytest.approx(python.certificate_.value)
        assert found.classes_.tolist() == python.classes_.tolist() == ["bad", "good"]
        predicted = python.predict(frame)
        right = ((predicted == positive) & (y == positive)).sum()
        f1 = 2 * right / ((predicted == positive).sum() + (y == positive).sum())
        assert 1 - f1 == pytest.approx(python.certificate_.value)
        assert found.predict_proba(frame).tolist() == python.predict_proba(frame).tolist()
        assert (python.classes_[python.predict_proba(frame).argmax(axis=1)] == "good").any()
        values[positive] = f1
    assert values["bad"] != pytest.approx(values["good"])
    assert "--positive 'ugly' is not a class of the target" in fails("fit", str(path), "-t", "y", "--positive", "ugly")
    with pytest.raises(ValueError, match="positive='a' is for a target of two classes, and y has 3"):
        OptimalTreeClassifier(positive="a").fit([[1], [2], [3]], ["a", "b", "c"])


def test_model_files_do_not_list_people(run, tmp_path):
    """Texts of columns without a condition, and rare values, are not in the file; the model stays the same."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=400)})
    frame["city"] = [f"Town{place:03d}" for place in rng.integers(0, 300, 400)]
    frame["nurse"] = [f"Nurse{place:02d}" for place in rng.integers(0, 30, 400)]
    y = np.where(frame["x"] > 0, "ill", "well")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = OptimalTreeClassifier(max_depth=1, max_leaves=2).fit(frame, y)
    text = model.to_json()
    assert "Town" not in text
    assert "Nurse" not in text
    path = tmp_path / "m.json"
    path.write_text(text, encoding="utf-8")
    assert load(path).predict(frame).tolist() == model.predict(frame).tolist()


def test_exports_read_as_the_model_does(tmp_path):
    """SQL and Python read commas, dates, times and words for missing as the model; dates in a format of their own are
    refused in SQL."""
    import duckdb

    rng = np.random.default_rng(2)
    n = 300
    days = rng.integers(0, 400, n)
    amount = rng.normal(100, 50, n).round(1)
    hour = rng.integers(0, 24, n)
    frame = pd.DataFrame(
        {
            "amount": ["?" if r % 11 == 0 else f"{a:.1f} €".replace(".", ",") for r, a in enumerate(amount)],
            "visit": [str(np.datetime64("2024-01-01") + day) for day in days],
            "at": [f"{h:02d}:30" for h in hour],
            "colour": rng.choice(["red", "blue", "n/a"], n),
        }
    )
    weekend = (days + 0) % 7 >= 5
    y = (amount > 110).astype(float) * 3 + weekend * 5 + (hour > 12) + (frame["colour"] == "red") * 2
    for columns in (["amount", "visit"], ["amount", "at", "colour"], ["visit", "colour"]):
        model = OptimalTreeRegressor(max_depth=3, max_leaves=8).fit(frame[columns], y)
        expected = model.predict(frame[columns])
        module: dict[str, object] = {}
        exec(model.to_python(), module)
        assert [module["predict"](row) for row in frame[columns].to_dict("records")] == expected.tolist()
        with duckdb.connect() as connection:
            connection.register("t", pa.Table.from_pandas(frame[columns].assign(no=range(n))))
            query = model.to_sql("t", dialect="duckdb")
            found = connection.execute(f"SELECT prediction FROM ({query}) ORDER BY no").fetchall()
        np.testing.assert_allclose([float(row[0]) for row in found], expected)
    german = frame[["visit"]].map(lambda text: ".".join(reversed(text.split("-"))))
    model = OptimalTreeRegressor(max_depth=1, reading=Reading(day_first=True)).fit(german, days)
    with pytest.raises(ValueError, match=r"'visit' holds dates as text \(day.month.year\)"):
        model.to_sql()
    with pytest.raises(ValueError, match="written for the dialects 'ansi', 'postgres' and 'duckdb' only"):
        model.to_sql(dialect="mysql")


def test_too_many_classes(fails, tmp_path):
    """More classes than a search counts are refused in a sentence that says what to do."""
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{row % 7},c{row % 400}\n" for row in range(800)), encoding="utf-8")
    sentence = fails("fit", str(path), "-t", "y")
    assert (
        "the target has 400 classes, and at most 256 are possible; merge the rare ones, or use --task regression"
        in sentence
    )


def test_folders_of_different_files(fails, tmp_path):
    """A folder with a file that is no such table names the file and the column."""
    (tmp_path / "one.csv").write_text("a,y\n1,a\n2,b\n", encoding="utf-8")
    (tmp_path / "three.csv").write_text("b,y\n1,a\n", encoding="utf-8")
    sentence = fails("fit", str(tmp_path), "-t", "y")
    assert "three.csv lacks the column 'a', which" in sentence
    (tmp_path / "three.csv").write_text("<html>\n", encoding="utf-8")
    sentence = fails("fit", str(tmp_path), "-t", "y")
    assert "three.csv is a web page or XML, not a table" in sentence


def test_reports_say_how_and_do_not_list_people(run, tmp_path):
    """A report has the notes, dates as dates, and no texts of columns without a condition."""
    rows = 120
    rng = np.random.default_rng(3)
    days = rng.integers(0, 600, rows)
    frame = pd.DataFrame({"seen": [str(np.datetime64("2023-01-01") + day) for day in days]})
    frame["nurse"] = [f"Nurse{place:02d}" for place in rng.integers(0, 30, rows)]
    frame["name"] = [f"Person{place:03d}" for place in range(rows)]
    frame["y"] = np.where(days > 300, "late", "early")
    path, report = tmp_path / "t.csv", tmp_path / "r.html"
    frame.to_csv(path, index=False)
    assert run("fit", str(path), "-t", "y", "-d", "1", "-l", "2", "--report", str(report)).code == 0
    page = report.read_text(encoding="utf-8")
    assert "How the table was read" in page
    assert "Column &#39;name&#39; is left out" in page
    assert "seen ≥ 2023-" in page
    assert "Nurse" not in page
    assert "Person" not in page
