"""A saved model and a way to run commands."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from helpers.credit_tables import write_credit
from omtree.cli import main


@pytest.fixture(scope="session")
def credit(tmp_path_factory):
    """A table, rows that the model has not seen, and a model saved by the command line."""
    folder = tmp_path_factory.mktemp("credit")
    data = write_credit(folder / "data.csv")
    unseen = write_credit(folder / "unseen.csv", 40, seed=1)
    model = str(folder / "model.json")
    assert main(["fit", data, "--target", "outcome", "--depth", "2", "--out", model, "--quiet"]) == 0
    return SimpleNamespace(folder=folder, data=data, unseen=unseen, model=model)


@pytest.fixture
def run(capsys):
    """Runs a command; gives exit code, output and errors."""

    def command(*arguments: str) -> SimpleNamespace:
        capsys.readouterr()
        code = main(list(arguments))
        captured = capsys.readouterr()
        return SimpleNamespace(code=code, out=captured.out, err=captured.err)

    return command


@pytest.fixture
def fails(run):
    """Runs a command that must fail with one sentence; gives the sentence."""

    def command(*arguments: str, code: int = 1) -> str:
        result = run(*arguments)
        assert result.code == code
        lines = result.err.strip().splitlines()
        assert len(lines) == 1, result.err
        assert lines[0].startswith("omtree: ")
        assert lines[0].endswith((".", "?"))
        assert "Traceback" not in result.err
        return lines[0]

    return command
