"""The page for R is run as it stands, where R and reticulate are installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from omtree import load

PAGE = Path(__file__).resolve().parents[2] / "docs" / "from-r.md"


def test_the_page_runs(tmp_path: Path) -> None:
    """What the page shows fits, finds every long stay, says the rules, and saves a model that Python reads."""
    has_reticulate = ["Rscript", "-e", 'stopifnot(requireNamespace("reticulate", quietly = TRUE))']
    if shutil.which("Rscript") is None or subprocess.run(has_reticulate, capture_output=True).returncode != 0:
        pytest.skip("R with reticulate is not installed")
    (code,) = re.findall(r"```r\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    # The only line that is the reader's own: where omtree is installed.
    here, changes = re.subn(
        r"^use_virtualenv\(.*$", f'use_python("{sys.executable}", required = TRUE)', code, flags=re.M
    )
    assert changes == 1
    (tmp_path / "page.R").write_text(here)
    done = subprocess.run(["Rscript", "page.R"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "ward = surgery then long" in done.stdout
    table = dict(re.findall(r"^\s+(long|short)((?:\s+\d+){2})$", done.stdout, flags=re.M))
    counts = {said: [int(count) for count in row.split()] for said, row in table.items()}
    assert counts["long"][1] == counts["short"][0] == 0
    assert sum(map(sum, counts.values())) == 300
    assert len(load(tmp_path / "model.json").rules_) == 3
