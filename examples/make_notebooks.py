"""Make a notebook from each example: `python examples/make_notebooks.py`.

In a script ``# %%`` starts a cell of code and ``# %% [markdown]`` one of text.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parent
SCRIPTS = ("fair_tree.py", "cheap_diagnosis.py", "regression.py", "policy.py", "survival.py")


def notebook_of(script: str) -> dict[str, Any]:
    """The cells of a script as a notebook without outputs."""
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


def text_of(script: Path) -> str:
    """The text of the notebook file."""
    return json.dumps(notebook_of(script.read_text(encoding="utf-8")), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all notebooks."""
    for name in SCRIPTS:
        script = EXAMPLES / name
        script.with_suffix(".ipynb").write_text(text_of(script), encoding="utf-8")


if __name__ == "__main__":
    main()
