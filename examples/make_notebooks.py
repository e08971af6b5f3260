"""Make a notebook with its outputs from each example: `make notebooks`. Needs nbclient and ipykernel.

In a script ``# %%`` starts a cell of code and ``# %% [markdown]`` one of text.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parent
SCRIPTS = ("fair_tree.py", "cheap_diagnosis.py", "regression.py", "policy.py", "survival.py")


def notebook_of(script: str) -> dict[str, Any]:
    """The cells of a script as a notebook, not yet run."""
    cells: list[dict[str, Any]] = []
    for text, body in re.findall(r"^# %%( \[markdown\])?\n(.*?)(?=^# %%|\Z)", script, re.MULTILINE | re.DOTALL):
        body = body.strip("\n")
        cell: dict[str, Any] = {"cell_type": "markdown" if text else "code", "id": f"cell-{len(cells)}", "metadata": {}}
        if text:
            body = re.sub(r"^# ?", "", body, flags=re.MULTILINE)
        else:
            cell |= {"execution_count": None, "outputs": []}
        cells.append(cell | {"source": body.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with what its cells print and show; files they write go to a folder that is thrown away."""
    import nbformat
    from nbclient import NotebookClient

    done = nbformat.reads(json.dumps(notebook), as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(done, timeout=300, record_timing=False, resources={"metadata": {"path": folder}}).execute()
    done.metadata.pop("language_info", None)  # of the machine it ran on
    written: dict[str, Any] = json.loads(nbformat.writes(done))
    return written


def main() -> None:
    """Write all notebooks."""
    for name in SCRIPTS:
        script = EXAMPLES / name
        notebook = run(notebook_of(script.read_text(encoding="utf-8")))
        text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
        script.with_suffix(".ipynb").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
