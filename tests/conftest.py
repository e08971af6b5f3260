"""What takes long to start and is shared: a real browser, where there is one, and a studio."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings

# No test depends on the clock, and the first example of one may import much.
settings.register_profile("any pace", deadline=None)
settings.load_profile("any pace")

#: Files of one name in several folders, which cannot be looked through for examples; they hold none.
collect_ignore_glob = ["*conftest.py", "*run.py"]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Headless Chromium from the system's packages; without one the tests skip, unless it was promised."""
    program = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
    if program is None:
        if os.environ.get("OMTREE_NEEDS_BROWSER"):
            pytest.fail("OMTREE_NEEDS_BROWSER is set, but there is no Chromium.")
        pytest.skip("there is no Chromium on this machine (Debian: apt-get install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def running() -> Iterator[Any]:
    """A studio over a table with hostile names; no worker is left at the end."""
    from helpers.studio_server import TOKEN, Running
    from helpers.studio_tables import hostile_source, is_running
    from omtree.studio.worker import Limits

    server = Running(hostile_source(), Limits(20.0))
    yield SimpleNamespace(server=server, studio=server.studio, token=TOKEN, address=server.address, host=server.host)
    for number in server.close():
        assert not is_running(number)
