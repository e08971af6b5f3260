"""The source distribution has what a build needs and nothing that lies about in a developer's folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def test_only_sources(tmp_path: Path) -> None:
    """Every file of the package and the kernel, and no file that the repository does not keep."""
    pytest.importorskip("scikit_build_core")
    program = f"from scikit_build_core.build import build_sdist; build_sdist({os.fspath(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        packed = {name.partition("/")[2] for name in files.getnames()}
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    if listed.returncode != 0:
        pytest.skip("not a clone")
    kept = {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
    assert packed - kept == {"PKG-INFO"}
    assert {name for name in kept if name.startswith(("src/", "native/"))} <= packed
    assert {"CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"} <= packed
