"""What an installation pulls is what the package uses, and nothing of it is loaded before it is needed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: Packages whose distribution has another name.
MODULES = {"scikit-learn": "sklearn"}
#: Parts of the package that say in a sentence which extra they need.
EXTRAS = ("cli", "studio")


def declared() -> set[str]:
    """The modules of the packages that ``pip install omtree`` pulls."""
    names = {re.split(r"[><=\[]", requirement)[0] for requirement in PROJECT["dependencies"]}
    return {MODULES.get(name, name) for name in names}


def loaded_with(path: Path) -> Iterator[str]:
    """Modules that a file imports as soon as it is imported itself."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def test_what_is_imported_is_declared() -> None:
    """Outside the extras a module imports at once what is declared, and all that is declared is imported somewhere."""
    package = ROOT / "src" / "omtree"
    files = [path for path in package.rglob("*.py") if path.relative_to(package).parts[0] not in EXTRAS]
    imported = {module for path in files for module in loaded_with(path)} - set(sys.stdlib_module_names) - {"omtree"}
    assert imported == declared()


def test_few_packages_beyond_scikit_learn() -> None:
    """Four of those that scikit-learn needs itself, the program's solver, any kind of frame, and the pages."""
    own = declared() - {"sklearn", "numpy", "scipy", "joblib", "threadpoolctl"}
    assert own == {"highspy", "narwhals", "jinja2", "markupsafe"}


def test_importing_loads_nothing() -> None:
    """``import omtree`` and ``omtree --help`` load no package of those that take time."""
    program = (
        "import sys, omtree; from omtree.cli import main; first = set(sys.modules);"
        "main(['--help']); print(sorted(first), sorted(sys.modules), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    first, then = (set(ast.literal_eval(line)) for line in done.stdout.splitlines()[-2:])
    heavy = declared() | {"pandas", "polars", "pyarrow", "matplotlib", "dask", "duckdb", "onnx", "starlette"}
    assert not first & (heavy | {"typer", "rich"})
    assert not then & heavy


def test_the_oldest_versions_are_those_declared() -> None:
    """`make test-oldest` installs the least version of every package that is declared, and not a later one."""
    lines = (ROOT / "tests" / "oldest.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    for requirement in PROJECT["dependencies"]:
        name, least = requirement.split(">=")
        assert pinned[name] == least or pinned[name].startswith(f"{least}.")
