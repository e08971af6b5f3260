"""What the page for those who come from elsewhere shows of other packages is run where they are installed."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming-from.md"
BLOCKS = re.findall(r"^```(python|py)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
TABLE = BLOCKS[0][1]
OTHERS = [code for kind, code in BLOCKS if kind == "py"]


def package_of(code: str) -> str:
    """The other package that a block is about."""
    return re.findall(r"^from (\w+)", code, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("package", [package_of(code) for code in OTHERS])
def test_the_same_job_there(package: str) -> None:
    """The page's table goes through the other package as the page shows it, and a model comes out."""
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    # A block may use what one before it made of the table, but not the packages of that one.
    *before, last = OTHERS[: [package_of(code) for code in OTHERS].index(package) + 1]
    made = [line for code in before for line in code.splitlines() if line.startswith(("zeros_and_ones", "is_long"))]
    namespace: dict[str, object] = {}
    exec("\n".join([TABLE, *made, last]), namespace)
    assert type(namespace["model"]).__module__.split(".")[0] == package


def test_all_four_are_there() -> None:
    """The title names four packages, and each has its block."""
    assert [package_of(code) for code in OTHERS] == ["sklearn", "pystreed", "gosdt", "CHAID"]
