"""How long it takes in the studio from a slider to a new tree: `python -m benchmarks.studio`. Needs Chromium.

A table of 10,000 rows, depth 3, in a real browser: the time from the slider to the new picture on the page.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import statistics
import sys
import threading
import time
from typing import Any

import numpy as np
import pyarrow as pa
import uvicorn
from playwright.sync_api import sync_playwright

from omtree.studio.server import Studio, make_app
from omtree.studio.source import Source
from omtree.studio.worker import Limits

#: The picture is replaced as a whole, which an observer sees.
WATCH = """(move) => new Promise((resolve) => {
  const stage = document.getElementById("stage");
  const start = performance.now();
  const watch = new MutationObserver(() => { watch.disconnect(); resolve(performance.now() - start); });
  watch.observe(stage, { childList: true });
  const slider = document.getElementById(move.slider);
  slider.value = move.value;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  setTimeout(() => { watch.disconnect(); resolve(null); }, 20000);
})"""


def table(rows: int) -> Source:
    """Numbers and categories with noise."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"x{place}": rng.normal(size=rows) for place in range(8)}
    columns["kind"] = rng.choice(list("abcde"), rows).tolist()
    kind = np.isin(columns["kind"], ["a", "b"])
    score = (columns["x0"] > 0) ^ ((columns["x1"] > 0.5) & kind)
    y = np.where(score ^ (rng.random(rows) < 0.1), "yes", "no").astype(object)
    return Source("table", "answer", "classification", pa.table(columns), y)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=30.0, help="the limit of a fit")
    options = parser.parse_args()
    program = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
    if program is None:
        sys.exit("There is no Chromium on this machine.")
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    app = make_app(Studio(table(options.rows), Limits(options.seconds)), "token", [f"127.0.0.1:{port}"])
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(f"http://127.0.0.1:{port}/?token=token")
        page.wait_for_selector("body[data-busy=false]", timeout=120_000)
        for name, values in (
            ("leaves", [2, 4, 3, 5, 2, 6, 3, 7] * options.times),
            ("support", [2, 8, 4, 12, 6, 16, 3, 10] * options.times),
        ):
            found = []
            for value in values[: options.times]:
                waited = page.evaluate(WATCH, {"slider": name, "value": value})
                if waited is not None:
                    found.append(waited)
                page.wait_for_selector("body[data-busy=false]", timeout=120_000)
                time.sleep(0.05)
            print(
                f"{name:>8}: median {statistics.median(found):5.0f} ms, largest {max(found):5.0f} ms, "
                f"{len(found)} moves, {options.rows:,} rows, depth 3",
                flush=True,
            )
        browser.close()
    server.should_exit = True
    thread.join()


if __name__ == "__main__":
    main()
