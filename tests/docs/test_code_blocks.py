"""What the pages show is what happens."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _runner() -> Any:
    """The script that runs pages, as a module."""
    spec = importlib.util.spec_from_file_location("docs_code_blocks", ROOT / "docs" / "code_blocks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


runner = _runner()
WITH_CODE = [
    page
    for page in runner.pages()
    if any(block.kind in ("python", "console") for block in runner.blocks_of(page.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_code_of_a_page_runs_and_prints_what_is_shown(page: Path) -> None:
    """Every Python block and every omtree command of the page runs; an output shown below it is what it prints."""
    ran = list(runner.run_page(page))
    assert ran
    for block in ran:
        if block.shown is not None:
            assert runner.same_output(block.printed, block.shown.body), (
                f"{page.name}, line {block.shown.line}: it prints\n{block.printed}\n"
                f"python docs/code_blocks.py --write docs/{page.name} writes that"
            )


def test_no_page_is_forgotten() -> None:
    """Every page is in the navigation of the site, and every page of the navigation exists."""
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert listed - pages == set()
    assert {page for page in pages if "/" not in page} <= listed


def test_links_between_pages_lead_somewhere() -> None:
    """Pages and pictures that README and the pages link to exist."""
    found = 0
    for page in runner.pages():
        prose = runner.FENCE.sub("", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", prose):
            # The site has the notebooks of the examples beside its pages.
            place = (
                runner.ROOT / "examples" / Path(target).name
                if target.startswith("notebooks/")
                else page.parent / target
            )
            assert place.exists(), f"{page.name} links to {target}"
            found += 1
    assert found > 20
