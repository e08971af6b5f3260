"""Everyday arguments of ``omtree predict`` are read without typer, and as typer reads them."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from omtree.cli import predict_command
from omtree.cli.commands import only
from omtree.cli.plain_predict import plain_arguments, run_plainly

LINES = [
    ["m.json", "d.csv"],
    ["m.json", "-", "--keep"],
    ["-p", "m.json", "-o", "out.csv", "d.csv", "-k"],
    ["m.json", "d.csv", "-pk", "--out=x.csv"],
    ["m.json", "d.csv", "--missing", "-", "--missing", "k. A.", "--delimiter", ";", "--encoding", "cp1252"],
    ["m.json", "d.csv", "--out", "a.csv", "--out", "b.csv", "--log", "log.jsonl"],
    ["m.json", "d.csv", "-oout.csv", "--probabilities"],
]
NOT_PLAIN = [
    [],
    ["m.json"],
    ["m.json", "d.csv", "e.csv"],
    ["--help"],
    ["m.json", "d.csv", "-h"],
    ["m.json", "d.csv", "--ke"],
    ["m.json", "d.csv", "--keep=yes"],
    ["m.json", "d.csv", "--out"],
    ["--", "m.json", "d.csv"],
    ["m.json", "d.csv", "--unknown", "1"],
]


@pytest.fixture
def handed_on(monkeypatch):
    """What the command is called with."""
    calls = []
    monkeypatch.setattr(predict_command, "run_predict", lambda *arguments: calls.append(arguments))
    return calls


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_as_typer_reads_them(line, handed_on):
    """Both ways call the command with the same arguments."""
    read = plain_arguments(line)
    assert read is not None
    run_plainly(read)
    only(["predict"])(args=["predict", *line], prog_name="omtree", standalone_mode=False)
    assert handed_on[0][:6] == handed_on[1][:6]
    assert handed_on[0][6] == handed_on[1][6]


@pytest.mark.parametrize("line", NOT_PLAIN, ids=" ".join)
def test_the_rest_is_left_to_typer(line):
    """Wrong or unusual arguments get typer's sentences."""
    assert plain_arguments(line) is None


def test_every_option_is_known():
    """An option that the command gains is read here, too."""
    command = typer.main.get_command(only(["predict"]))
    inner = command.commands["predict"] if hasattr(command, "commands") else command
    names = {parameter.name for parameter in inner.params} - {"help"}
    assert names == set(plain_arguments(["m.json", "d.csv"]))


def test_nothing_more_is_imported(credit):
    """A prediction needs neither typer nor scikit-learn nor pandas, whose imports take longer than its answers."""
    script = (
        "import sys; from omtree.cli import main; "
        f"sys.argv = ['omtree', 'predict', {credit.model!r}, {credit.unseen!r}]; code = main(); "
        "taken = {'typer', 'pydantic', 'sklearn', 'pandas', 'scipy', 'joblib'} & set(sys.modules); "
        "assert code == 0 and not taken, taken"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
