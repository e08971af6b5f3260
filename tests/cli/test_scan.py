"""``omtree fit`` and ``omtree predict`` on folders, patterns and under a memory limit."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from helpers.credit_tables import write_credit
from omtree import load, to_text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The table of the other tests in three CSV files, and a model of it fitted in memory."""
    whole = write_credit(tmp_path / "data.csv")
    header, *lines = Path(whole).read_text().splitlines()
    parts = tmp_path / "parts"
    parts.mkdir()
    for place in range(3):
        own = [header, *lines[40 * place : 40 * place + 40]]
        (parts / f"{place}.csv").write_text("\n".join(own) + "\n")
    return tmp_path


@pytest.mark.parametrize("how", ["folder", "pattern", "limit"])
def test_fit_from_disk(folder, run, how):
    """A folder, a pattern and a file under a limit give the model of the whole file, types and all."""
    source = {"folder": folder / "parts", "pattern": folder / "parts" / "*.csv", "limit": folder / "data.csv"}[how]
    options = ["-t", "outcome", "-d", "2"]
    limit = ["--memory-limit", "2GB"] if how == "limit" else []
    plain = run("fit", str(folder / "data.csv"), *options, "-o", str(folder / "plain.json"))
    found = run("fit", str(source), *options, *limit, "-o", str(folder / "disk.json"))
    assert (plain.code, found.code, found.err) == (0, 0, "")
    here, there = load(folder / "plain.json"), load(folder / "disk.json")
    assert to_text(here.rules_) == to_text(there.rules_)
    assert here.certificate_.value == there.certificate_.value
    assert there.target_name_ == "outcome"
    assert "cut points can make fewer" in found.out


def test_files_that_are_passed_over_are_named(folder, run):
    """A folder may hold tables that are not read: a fit to part of the rows is not to look like one to all of them."""
    (folder / "parts" / "more.xlsx").write_bytes(b"PK")
    (folder / "parts" / ".hidden").write_text("")
    found = run("fit", str(folder / "parts"), "-t", "outcome", "-d", "1")
    assert found.code == 0
    assert f"of the folder {folder / 'parts'} only Parquet, CSV and Arrow files are read, not more.xlsx;" in found.err


def test_options_reach_the_scan(folder, run):
    """Dropped columns, kinds, tasks, tests and reports work as with rows in memory."""
    report = folder / "report.html"
    arguments = ["-t", "outcome", "-d", "1", "--drop", "income", "--kind", "age=numeric", "--test"]
    found = run(
        "fit", str(folder / "parts"), *arguments, str(folder / "data.csv"), "--report", str(report), "-o",
        str(folder / "m.json"),
    )  # fmt: skip
    assert found.code == 0, found.err
    assert f"on {folder / 'data.csv'}: " in found.out
    assert report.exists()
    assert "income" not in load(folder / "m.json").feature_names_in_.tolist()
    found = run("fit", str(folder / "parts"), "-t", "income", "-d", "1")
    assert "is fitted as a quantity" in found.err + found.out


def test_faults(folder, fails):
    """One sentence each, in the words of the command line."""
    parts = str(folder / "parts")
    assert "No file matches" in fails("fit", f"{folder}/*.parquet", "-t", "outcome")
    assert "has no column 'result' for the target" in fails("fit", parts, "-t", "result")
    assert "has no column 'rent' to drop" in fails("fit", parts, "-t", "outcome", "--drop", "rent")
    assert "has no column 'rent' for --kind" in fails("fit", parts, "-t", "outcome", "--kind", "rent=nominal")
    assert "--memory-limit 'much' is no size" in fails("fit", parts, "-t", "outcome", "--memory-limit", "much")
    assert "standard input is read into memory" in fails("fit", "-", "-t", "outcome", "--memory-limit", "1GB")
    (folder / "parts" / "3.csv").write_text("age,outcome\n1,paid\n")
    assert "3.csv lacks the column 'income'" in fails("fit", parts, "-t", "outcome")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_several_files(folder, run, ending):
    """A folder is answered file by file, in order, into one file."""
    model, out = str(folder / "m.json"), folder / f"answers.{ending}"
    assert run("fit", str(folder / "data.csv"), "-t", "outcome", "-o", model, "-q").code == 0
    assert run("predict", model, str(folder / "data.csv"), "-p", "--out", str(folder / "all.csv")).code == 0
    assert run("predict", model, str(folder / "parts"), "-p", "--out", str(out)).code == 0
    wanted = pa.csv.read_csv(folder / "all.csv")
    found = pa.csv.read_csv(out) if ending == "csv" else pq.read_table(out)
    assert found.column_names == wanted.column_names
    assert found["prediction"].to_pylist() == wanted["prediction"].to_pylist()
    assert np.allclose(found["probability paid"].to_numpy(), wanted["probability paid"].to_numpy())
    shown = run("predict", model, str(folder / "parts" / "*.csv")).out
    assert [row[0] for row in csv.reader(shown.splitlines())][1:] == wanted["prediction"].to_pylist()
