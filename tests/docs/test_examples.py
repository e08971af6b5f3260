"""The examples run, as scripts and as notebooks."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import nbformat
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MAKER: dict[str, Any] = runpy.run_path(str(EXAMPLES / "make_notebooks.py"))
SCRIPTS = [EXAMPLES / name for name in MAKER["SCRIPTS"]]


def test_every_example_is_known() -> None:
    """Each script but the demo, the quickstart and the maker has a notebook, and each notebook a script."""
    scripts = {path.stem for path in EXAMPLES.glob("*.py")} - {"demo", "make_notebooks", "quickstart"}
    assert scripts == {path.stem for path in SCRIPTS} == {path.stem for path in EXAMPLES.glob("*.ipynb")}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_notebook_is_made_from_its_script(script: Path) -> None:
    """The notebook file has the cells that `make_notebooks.py` makes of the script, run in order to their ends."""
    made = MAKER["notebook_of"](script.read_text(encoding="utf-8"))["cells"]
    kept = json.loads(script.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]
    assert [cell["cell_type"] for cell in kept] == [cell["cell_type"] for cell in made]
    assert [cell["source"] for cell in kept] == [cell["source"] for cell in made]
    code = [cell for cell in kept if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    shown = [output for cell in code for output in cell["outputs"]]
    assert {output["output_type"] for output in shown} <= {"stream", "execute_result", "display_data"}
    assert all(cell["outputs"] for cell in code if "print(" in "".join(cell["source"]))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_cells_run_in_order(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The notebook is valid, has all code of the script, runs cell by cell and leaves a report."""
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(script.with_suffix(".ipynb").read_text(encoding="utf-8"))
    nbformat.validate(notebook)
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    lines = [line for line in script.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert lines == [line for cell in code for line in cell.splitlines() if line and not line.startswith("#")]
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in code:
        exec(compile(cell, str(script), "exec"), names)
    assert "it is proven that" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == [script.stem.replace("_", "-") + ".html"]
