"""Make the pictures of the studio: `python docs/studio_pictures.py`. Needs Chromium and what the tests need."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).resolve().parent / "images"
RESTING = "body[data-busy=false]"


def opened(browser: Any, address: str, **options: Any) -> Any:
    """The page of a studio, once it has nothing left to do."""
    page = browser.new_page(**options)
    page.goto(address)
    page.wait_for_selector(RESTING, timeout=240_000)
    return page


def wish(page: Any, act: Any) -> None:
    """Change something, and wait for what comes of it."""
    before = page.get_attribute("body", "data-revision")
    act()
    page.wait_for_selector(f"body:not([data-revision='{before}'])")
    page.wait_for_selector(RESTING, timeout=240_000)


def slide(page: Any, name: str, value: float) -> None:
    """Move a slider."""
    page.eval_on_selector(
        f"#{name}", "(e, v) => { e.value = v; e.dispatchEvent(new Event('input', {bubbles: true})); }", value
    )


def take(browser: Any, address: str) -> None:
    """All pictures: the page in light and dark, on a phone, and two states side by side."""
    page = opened(browser, address, viewport={"width": 1500, "height": 1060}, color_scheme="light")
    page.locator("#stage [data-node]").last.click()
    wish(page, lambda: page.get_by_role("button", name="End here").click())
    page.locator("#stage [data-node]").nth(1).click()
    page.evaluate("() => scrollTo(0, 0)")
    page.screenshot(path=str(IMAGES / "studio.png"))
    wish(page, lambda: page.select_option("#add", "recall"))
    wish(page, lambda: slide(page, "card-1-1", 0.97))
    page.evaluate("() => scrollTo(0, 0)")
    page.click("#compare")
    page.wait_for_selector("#side-by-side[open] #right-tree svg")
    page.screenshot(path=str(IMAGES / "studio-compare.png"))
    page.close()
    page = opened(browser, address, viewport={"width": 1500, "height": 1060}, color_scheme="dark")
    page.screenshot(path=str(IMAGES / "studio-dark.png"))
    page.close()
    page = opened(browser, address, viewport={"width": 390, "height": 844}, color_scheme="light", device_scale_factor=2)
    page.screenshot(path=str(IMAGES / "studio-phone.png"))
    page.close()


def main() -> None:
    """Start a studio on the data that come along, and look at it."""
    program = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
    if program is None:
        sys.exit("There is no Chromium on this machine (Debian: apt-get install chromium).")
    command = [sys.executable, "-m", "omtree", "studio", "--no-browser"]
    studio = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert studio.stdout is not None
    try:
        found = next(filter(None, (re.search(r"http://\S+", line) for line in studio.stdout)))
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
            take(browser, found[0])
            browser.close()
    finally:
        studio.send_signal(signal.SIGINT)
        studio.wait()


if __name__ == "__main__":
    main()
