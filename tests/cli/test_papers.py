"""Reasons, the decision log, monitor and card from the command line."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from helpers.credit_tables import write_credit
from omtree import load


def test_reasons(credit, run, tmp_path):
    """A table to fill in comes from the model, and its codes are given for every row."""
    codes = tmp_path / "codes.toml"
    assert run("reasons", credit.model, "-o", str(codes)).code == 0
    codes.write_text(codes.read_text(encoding="utf-8").replace("R01", "LOW"), encoding="utf-8")
    result = run("reasons", credit.model, credit.unseen, "--codes", str(codes), "-n", "2")
    assert result.code == 0
    lines = list(csv.DictReader(io.StringIO(result.out)))
    model = load(credit.model)
    frame = pd.read_csv(credit.unseen, dtype={"zip code": str})
    wanted = model.reasons(frame.drop(columns="outcome"), 2, codes)
    assert [line["reason 1"] for line in lines] == [str(found[0]) for found in wanted]
    assert any(line["reason 1"].startswith("LOW: ") for line in lines)


def test_reasons_golden(credit, run, tmp_path):
    """The table to fill in for a stored model, and its reasons for the training rows, are what is kept here."""
    golden = Path(__file__).parent / "golden" / "reasons.txt"
    codes = tmp_path / "codes.toml"
    assert run("reasons", str(golden.with_name("credit.json")), "-o", str(codes)).code == 0
    given = tmp_path / "reasons.csv"
    asked = (str(golden.with_name("credit.json")), credit.data, "--codes", str(codes), "-n", "3", "-o", str(given))
    assert run("reasons", *asked).code == 0
    kept = "\n".join(file.read_text(encoding="utf-8") for file in (codes, given))
    assert kept == golden.read_text(encoding="utf-8")


def test_reasons_in_exports(credit, run, fails, tmp_path):
    """SQL with reasons runs in DuckDB and gives the codes; formats that have none refuse them."""
    codes = tmp_path / "codes.toml"
    run("reasons", credit.model, "-o", str(codes))
    out = tmp_path / "model.sql"
    arguments = ("--table", "loans", "--dialect", "duckdb", "--reasons", "2", "--codes", str(codes))
    assert run("export", credit.model, "-o", str(out), *arguments).code == 0
    frame = pd.read_csv(credit.unseen, dtype={"zip code": str})
    with duckdb.connect() as connection:
        connection.register("loans", frame)
        found = connection.execute(out.read_text(encoding="utf-8")).fetchdf()
    wanted = load(credit.model).reasons(frame.drop(columns="outcome"), 2, codes)
    assert found["reason_1"].tolist() == [reasons[0].code for reasons in wanted]
    assert "sql and python only" in fails("export", credit.model, "-f", "pmml", "--reasons", "2")
    assert "--table" in fails("export", credit.model, "-f", "sql", "--reasons", "2")
    assert "--reasons" in fails("export", credit.model, "-f", "python", "--codes", str(codes))


def test_decision_log(credit, run, fails, tmp_path):
    """Every prediction is appended with the model's hash and the cells that decided; older lines stay as they are."""
    log = tmp_path / "decisions.jsonl"
    first = run("predict", credit.model, credit.unseen, "--log", str(log))
    assert first.code == 0
    before = log.read_bytes()
    assert run("predict", credit.model, credit.unseen, "--log", str(log)).code == 0
    assert log.read_bytes().startswith(before)
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    answers = first.out.splitlines()[1:]
    assert [line["answer"] for line in lines] == answers * 2
    digest = hashlib.sha256(Path(credit.model).read_bytes()).hexdigest()
    assert {line["model"] for line in lines} == {digest}
    model = load(credit.model)
    frame = pd.read_csv(credit.unseen, dtype={"zip code": str}).drop(columns="outcome")
    assert [line["leaf"] for line in lines[: len(frame)]] == (model.apply(frame) + 1).tolist()
    assert all("outcome" not in line["cells"] for line in lines)
    again = pd.DataFrame([line["cells"] for line in lines[: len(frame)]])
    assert model.predict(again).tolist() == answers
    other = tmp_path / "notes.txt"
    other.write_text("not a log\n", encoding="utf-8")
    assert "is no log of decisions" in fails("predict", credit.model, credit.unseen, "--log", str(other))
    assert other.read_text(encoding="utf-8") == "not a log\n"


def test_a_torn_line_is_left_alone(credit, run, tmp_path):
    """After a crash in the middle of a line the next decision starts a line of its own."""
    log = tmp_path / "decisions.jsonl"
    run("predict", credit.model, credit.unseen, "--log", str(log))
    torn = log.read_bytes()[:-20]
    log.write_bytes(torn)
    run("predict", credit.model, credit.unseen, "--log", str(log))
    assert log.read_bytes().startswith(torn + b"\n")
    assert json.loads(log.read_bytes().splitlines()[-1])["row"] == 40


def test_monitor_golden(credit, run, tmp_path):
    """What is shown of the training rows of a stored model, and of rows with other incomes, is what is kept here."""
    shifted = tmp_path / "shifted.csv"
    frame = pd.read_csv(credit.data, dtype={"zip code": str})
    frame["income"] = frame["income"] / 4
    frame.to_csv(shifted, index=False)
    golden = Path(__file__).parent / "golden" / "monitor.txt"
    model = str(golden.with_name("credit.json"))
    same = run("monitor", model, credit.data)
    other = run("monitor", model, str(shifted), "--out", str(tmp_path / "now.json"))
    assert (same.code, other.code) == (0, 3)
    shown = other.out.replace(str(tmp_path), "FOLDER")
    assert same.out + "\n" + shown == golden.read_text(encoding="utf-8")
    written = json.loads((tmp_path / "now.json").read_text(encoding="utf-8"))
    assert written["alarms"][0].startswith("Column income has shifted")
    assert written["rows"] == 120


def test_monitor_against_older_rows(credit, run, tmp_path):
    """With older rows every column is compared; rows need no target."""
    bare = tmp_path / "bare.csv"
    pd.read_csv(credit.unseen, dtype={"zip code": str}).drop(columns="outcome").to_csv(bare, index=False)
    result = run("monitor", credit.model, str(bare), "--against", credit.data)
    assert result.code == 0
    for column in ("age", "income", "home", "zip code"):
        assert column in result.out
    assert "nothing is said about accuracy" in result.err
    alone = run("monitor", credit.model, str(bare))
    assert "--against" in alone.err


@pytest.mark.parametrize("name", ["card.html", "card.md"])
def test_card(credit, run, tmp_path, name):
    """The card is written in both formats, and what is blank is said."""
    out = tmp_path / name
    result = run(
        "card", credit.model, "--test", credit.unseen, "--data", credit.data, "--group", "home", "-o", str(out)
    )
    assert result.code == 0
    text = out.read_text(encoding="utf-8")
    assert hashlib.sha256(Path(credit.unseen).read_bytes()).hexdigest() in text
    assert hashlib.sha256(Path(credit.data).read_bytes()).hexdigest() in text
    assert "to be filled in" in text
    assert "family, of a kind" in text
    assert "the purpose is blank" in result.err
    assert "not the file" not in text


def test_card_faults(credit, fails, tmp_path):
    """Groups without test rows, unknown columns and other kinds of file are refused in a sentence."""
    out = str(tmp_path / "card.md")
    assert "--test" in fails("card", credit.model, "--group", "home", "-o", out)
    assert "has no column 'house'" in fails(
        "card", credit.model, "--test", credit.unseen, "--group", "house", "-o", out
    )
    assert ".html or .md" in fails("card", credit.model, "-o", str(tmp_path / "card.pdf"))


def test_other_training_data_are_noticed(credit, run, tmp_path):
    """A file that is not the one the model was fitted to is said to be another."""
    other = write_credit(tmp_path / "other.csv", 50, seed=3)
    out = tmp_path / "card.md"
    result = run("card", credit.model, "--data", other, "-o", str(out))
    assert "are not the file" in result.err
    assert "not the file the model was fitted to" in out.read_text(encoding="utf-8")
