"""What the forge runs is there: its files can be read, and every target and script they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def commands(path: Path) -> list[str]:
    """Every line that a workflow runs."""
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    return [line for job in jobs for step in job["steps"] for line in step.get("run", "").splitlines()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_a_workflow_runs_exists(path: Path) -> None:
    """Targets of make, scripts of the tests and modules of the benchmarks."""
    for line in commands(path):
        for target in re.findall(r"\bmake ([a-z-]+)", line):
            assert target in TARGETS
        for script in re.findall(r"(?:^|\s)(tests/[\w/.-]+)", line):
            assert (ROOT / script).exists()
        for module in re.findall(r"-m (benchmarks\.\w+)", line):
            assert (ROOT / (module.replace(".", "/") + ".py")).exists()


def test_versions_of_the_pages_find_their_builder() -> None:
    """The program that publishes versions of the site calls another one by its name, which is in `.venv` only."""
    lines = commands(ROOT / ".github" / "workflows" / "docs.yml")
    calls = [number for number, line in enumerate(lines) if "mike " in line and "pip install" not in line]
    assert 'export PATH="$PWD/.venv/bin:$PATH"' in lines[: calls[0]]
    assert any("mike deploy" in lines[number] for number in calls)


def test_every_kind_of_job_is_there() -> None:
    """Style, tests by system, tools, the oldest versions, a compiler, sanitizers, speed, fuzzing, pages and wheels."""
    jobs = {name for path in FILES for name in yaml.safe_load(path.read_text())["jobs"]}
    assert jobs >= {
        "lint",
        "test",
        "windows",
        "interop",
        "oldest",
        "clang",
        "sanitize",
        "speed",
        "fuzz",
        "docs",
        "wheels",
        "source",
    }
    matrix = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]["test"]["strategy"]["matrix"]
    assert {"3.11", "3.14"} <= set(matrix["python"])


def test_continuous_integration_here() -> None:
    """The one script of this repository names targets that are there, the pages and the wheel among them."""
    targets = re.findall(r"^make ([a-z-]+)", (ROOT / ".ci" / "run").read_text(), flags=re.MULTILINE)
    assert set(targets) <= TARGETS
    assert {"lint", "test", "docs", "wheel"} <= set(targets)
