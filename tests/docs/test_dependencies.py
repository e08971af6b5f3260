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
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]
#: Packages whose distribution has another name.
MODULES = {"scikit-learn": "sklearn"}
#: Parts of the package that say in a sentence which extra they need.
EXTRAS = ("cli", "studio")


def modules_of(requirements: list[str]) -> set[str]:
    """The modules of packages."""
    names = {re.split(r"[><=\[]", requirement)[0] for requirement in requirements}
    return {MODULES.get(name, name) for name in names}


def declared() -> set[str]:
    """The modules of the packages that ``pip install omtree`` pulls."""
    return modules_of(PROJECT["dependencies"])


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


def test_the_tests_of_wheels_have_what_they_import() -> None:
    """An environment with a wheel has the packages that the tests run there import, their helpers' too."""
    wheels = SETTINGS["tool"]["cibuildwheel"]
    present = declared() | modules_of(wheels["test-requires"])
    for extra in wheels["test-extras"]:
        present |= modules_of(PROJECT["optional-dependencies"][extra])
    folders = re.findall(r"\{project\}/(tests/\w+)", wheels["test-command"])
    waiting = [ROOT / "tests" / "conftest.py", *(path for folder in folders for path in (ROOT / folder).glob("*.py"))]
    seen: set[Path] = set()
    while waiting:
        path = waiting.pop()
        seen.add(path)
        missing = set(loaded_with(path)) - present - set(sys.stdlib_module_names) - {"omtree", "helpers"}
        assert not missing, f"{path.relative_to(ROOT)} imports {missing}"
        used = re.findall(r"^from helpers(?:\.(\w+))? import (.+)$", path.read_text(), flags=re.MULTILINE)
        helpers = {name.strip() for module, names in used for name in ([module] if module else names.split(","))}
        waiting += {ROOT / "tests" / "helpers" / f"{name}.py" for name in helpers} - seen
    assert len(folders) > 1
    assert len(seen) > 10
