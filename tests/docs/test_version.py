"""The version is the same wherever it is told."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import omtree

ROOT = Path(__file__).resolve().parent.parent.parent


def test_version_is_told_once() -> None:
    """Package and citation have the version of the module."""
    assert importlib.metadata.version("omtree") == omtree.__version__
    assert f"\nversion: {omtree.__version__}\n" in (ROOT / "CITATION.cff").read_text()
