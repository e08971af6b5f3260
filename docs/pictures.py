"""Make the pictures of the pages: `python docs/pictures.py`. Needs Chromium and what the tests need.

Models are fitted to data that scikit-learn bundles; everything goes to docs/images.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import train_test_split

from omtree import OptimalTreeClassifier, OptimalTreeRegressor
from omtree.constraints import Recall
from omtree.report.graph_picture import graph_to_svg

IMAGES = Path(__file__).resolve().parent / "images"
EXAMPLES = IMAGES.parents[1] / "examples"
WIDTH = 1180


def wines() -> tuple[pd.DataFrame, pd.Series]:
    """178 wines of three cultivars."""
    wine = load_wine(as_frame=True)
    return wine.data, "cultivar " + (wine.target + 1).astype(str)


def vector_pictures() -> None:
    """Trees, a table of rules and a feature graph as SVG."""
    X, y = wines()
    tree = OptimalTreeClassifier(max_depth=2, max_leaves=5, time_limit=10).fit(X, y)
    _write("wine.svg", tree.to_svg())
    patients, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    numbers = OptimalTreeRegressor(max_depth=3, max_leaves=6, time_limit=20).fit(patients, progression)
    _write("diabetes.svg", numbers.to_svg())
    few = X[["flavanoids", "proline", "color_intensity"]]
    small = OptimalTreeClassifier(max_depth=2, max_leaves=4, n_bins=3, binning="quantile").fit(few, y)
    _write("graph.svg", graph_to_svg(small))
    rules = OptimalTreeClassifier(structure="rules", max_depth=3, max_leaves=5).fit(*three_questions())
    _write("rules.svg", rules.to_svg())


def gallery() -> None:
    """The trees that the examples fit."""
    models = {"fair_tree": "fair", "cheap_diagnosis": "frugal"} | dict.fromkeys(
        ("regression", "policy", "survival"), "model"
    )
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for example, name in models.items():
            _write(f"gallery-{example}.svg", runpy.run_path(str(EXAMPLES / f"{example}.py"))[name].to_svg())


def three_questions() -> tuple[pd.DataFrame, list[str]]:
    """Cases in which five disjoint rules are right, and no tree of five leaves is."""
    rules = {
        "treat": {"smoker": "no", "biopsy": "yes"},
        "wait": {"biopsy": "no", "history": "yes"},
        "refer": {"smoker": "yes", "history": "no"},
        "operate": {"smoker": "no", "biopsy": "no", "history": "no"},
        "leave": {"smoker": "yes", "biopsy": "yes", "history": "yes"},
    }
    kinds = itertools.product(("no", "yes"), repeat=3)
    cases = [
        dict(zip(("smoker", "biopsy", "history"), kind, strict=True))
        for number, kind in enumerate(kinds)
        for _ in range(10 + 5 * number)
    ]
    answers = [
        next(name for name, rule in rules.items() if all(case[key] == value for key, value in rule.items()))
        for case in cases
    ]
    return pd.DataFrame(cases), answers


def terminal(browser: Any, folder: Path) -> None:
    """What `omtree fit` shows in a terminal."""
    X, y = wines()
    X.assign(cultivar=y).to_csv(folder / "wine.csv", index=False)
    command = ["fit", "wine.csv", "--target", "cultivar", "--depth", "2", "--leaves", "5"]
    # The colours of a terminal without one.
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "112", "TERM": "xterm-256color"}
    shown = subprocess.run(
        [sys.executable, "-m", "omtree", *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    console = Console(record=True, width=114, file=io.StringIO())
    console.print(Text(f"$ omtree {' '.join(command)}", style="bold"))
    console.print(Text.from_ansi(shown))
    style = "background: #fff; margin: 0; padding: 14px; display: inline-block; font: 14px/1.4 monospace"
    html = f"<body style='margin: 0'><pre style='{style}'>{{code}}</pre></body>"
    page = browser.new_page(viewport={"width": WIDTH, "height": 600})
    page.set_content(console.export_html(inline_styles=True, code_format=html))
    page.locator("pre").screenshot(path=str(IMAGES / "terminal.png"))
    page.close()


def report(browser: Any, folder: Path) -> None:
    """The report in light and dark, and as it is printed."""
    data = load_breast_cancer(as_frame=True)
    diagnosis = data.target.map({0: "malignant", 1: "benign"})
    X, X_test, y, y_test = train_test_split(data.data, diagnosis, random_state=0)
    floor = Recall("malignant", at_least=0.97)
    model = OptimalTreeClassifier(max_depth=2, time_limit=20, constraints=[floor]).fit(X, y)
    file = model.report(folder / "report.html", X, y, X_test, y_test, title="Which tumours are malignant?")
    for scheme in ("light", "dark"):
        page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme=scheme)
        page.goto(file.as_uri())
        page.wait_for_timeout(300)
        page.screenshot(path=str(IMAGES / f"report-{scheme}.png"))
        page.close()
    page = browser.new_page(viewport={"width": 794, "height": 1123})
    page.goto(file.as_uri())
    page.emulate_media(media="print")
    page.add_style_tag(content="body { padding: 40px }")  # the margins of the paper
    page.wait_for_timeout(300)
    page.screenshot(path=str(IMAGES / "report-print.png"))
    page.close()


def _write(name: str, svg: str) -> None:
    (IMAGES / name).write_text(svg, encoding="utf-8")


def main() -> None:
    """Make all pictures."""
    IMAGES.mkdir(exist_ok=True)
    vector_pictures()
    gallery()
    program = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
    if program is None:
        sys.exit("There is no Chromium on this machine (Debian: apt-get install chromium).")
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as name:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        terminal(browser, Path(name))
        report(browser, Path(name))
        browser.close()
    for file in sorted(IMAGES.iterdir()):
        print(f"{file.stat().st_size / 1000:8.0f} kB  {file.name}")


if __name__ == "__main__":
    main()
