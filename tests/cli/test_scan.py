"""``omtree fit`` and ``omtree predict`` on folders, patterns and under a memory limit."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from helpers.credit_tables import write_credit
from omtree import load, to_text
from omtree.cli import fit_rows


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


@pytest.fixture(params=["memory", "disk"])
def place(request, monkeypatch) -> str:
    """Whether the files of a folder are small enough to be read into memory."""
    if request.param == "disk":
        monkeypatch.setattr(fit_rows, "_SMALL_FILES", 0)
    return request.param


@pytest.mark.parametrize("how", ["folder", "pattern", "limit"])
def test_fit_to_many_files(folder, run, how, place):
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


def messy_line(i: int) -> str:
    ill = "yes" if i % 40 > 20 else "no"
    return f"{i},{1 + i % 28:02d}.{1 + i % 12:02d}.2024,{1 + i % 40}.000 EUR,{i % 50 + 1}%,{ill}"


MESSY = [",when,price,share,ill", *map(messy_line, range(120))]


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_messy_files_of_a_folder(tmp_path, run, ending):
    """Dates, currencies, shares and an index without a name are read in a folder as in a single file."""
    (tmp_path / "whole.csv").write_text("\n".join(MESSY) + "\n")
    parts = tmp_path / "parts"
    parts.mkdir()
    for number in range(3):
        # The columns of the last file stand in another order.
        lines = [MESSY[0], *MESSY[1 + 40 * number : 41 + 40 * number]]
        if number == 2:
            lines = [",".join(line.split(",")[place] for place in (0, 3, 1, 2, 4)) for line in lines]
        content = ("\n".join(lines) + "\n").encode()
        (parts / f"{number}.{ending}").write_bytes(gzip.compress(content) if ending == "csv.gz" else content)
    options = ["-t", "ill", "-d", "2"]
    plain = run("fit", str(tmp_path / "whole.csv"), *options, "-o", str(tmp_path / "plain.json"))
    found = run("fit", str(parts), *options, "-o", str(tmp_path / "m.json"))
    assert (plain.code, found.code) == (0, 0), found.err
    here, there = load(tmp_path / "plain.json"), load(tmp_path / "m.json")
    assert to_text(here.rules_) == to_text(there.rules_)
    assert here.reading_ == there.reading_
    assert here.certificate_.value == there.certificate_.value == 0
    wanted = run("predict", str(tmp_path / "m.json"), str(tmp_path / "whole.csv")).out
    assert run("predict", str(tmp_path / "m.json"), str(parts)).out == wanted


def test_texts_and_types_do_not_mix(folder, fails, run):
    """A Parquet file beside CSV files is joined to them where the cells are of the same kind."""
    parts = folder / "parts"
    texts = pa.csv.ConvertOptions(column_types={"zip code": pa.string()})
    pq.write_table(pa.csv.read_csv(parts / "2.csv", convert_options=texts), parts / "2.parquet")
    (parts / "2.csv").unlink()
    assert run("fit", str(parts), "-t", "outcome", "-d", "1").code == 0
    table = pq.read_table(parts / "2.parquet")
    days = pa.array(np.arange(table.num_rows).astype("datetime64[D]"))
    pq.write_table(table.set_column(table.column_names.index("income"), "income", days), parts / "2.parquet")
    assert "The cells of 'income' are of another kind in" in fails("fit", str(parts), "-t", "outcome", "-d", "1")


def test_files_that_are_passed_over_are_named(folder, run, place):
    """A folder may hold tables that are not read: a fit to part of the rows is not to look like one to all of them."""
    (folder / "parts" / "more.xlsx").write_bytes(b"PK")
    (folder / "parts" / ".hidden").write_text("")
    found = run("fit", str(folder / "parts"), "-t", "outcome", "-d", "1")
    assert found.code == 0
    assert f"of the folder {folder / 'parts'} only Parquet, CSV and Arrow files are read, not more.xlsx;" in found.err


def test_options_reach_the_scan(folder, run, place):
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


def test_faults(folder, fails, place):
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
