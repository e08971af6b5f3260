"""Ways through the code that rows take by their number, for few rows."""

from __future__ import annotations

import pytest

import omtree.data.merging
import omtree.sources.disk.disk_samples
import omtree.sources.disk.rows


@pytest.fixture(params=["as they are", "merged"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Rows that are read as they are, and rows that are counted, coded and merged."""
    if request.param == "merged":
        monkeypatch.setattr(omtree.sources.disk.disk_samples, "SMALL_SHARE", 0.0)
    return request.param


@pytest.fixture
def merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are counted, coded and merged as many would be."""
    monkeypatch.setattr(omtree.sources.disk.disk_samples, "SMALL_SHARE", 0.0)


@pytest.fixture
def spilled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are too many for memory, and go to a file."""
    monkeypatch.setattr(omtree.sources.disk.disk_samples, "SMALL_SHARE", 0.0)
    monkeypatch.setattr(omtree.sources.disk.rows, "TABLE_SHARE", 1e-7)
    monkeypatch.setattr(omtree.data.merging, "_FIRST_MERGE", 50)
