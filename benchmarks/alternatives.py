"""How long the other good trees take, beside the fit and beside TreeFARMS, in one run::

    python -m benchmarks.alternatives --data DIR [--sets breast-cancer adult] [--trees 1000] [--depth 3]
    python -m benchmarks.alternatives --rival [--margin 0.05] [--price 0.02]

The first asks for the best 1,000 different trees of default fits: breast-cancer of scikit-learn, a table drawn at
random with columns like those of COMPAS, and adult from ``DIR/adult_train.csv.gz``, the class last. It gives the
seconds of the processor, of the fit, of the trees and of their models. The second lists all trees of depth 3 within a
margin over the same 0/1 columns as TreeFARMS (``pip install treefarms``).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from omtree import OptimalTreeClassifier


def seconds_of(run: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and the processor's seconds."""
    before = time.process_time()
    answer = run()
    return answer, time.process_time() - before


def table(name: str, folder: Path | None) -> tuple[pd.DataFrame, Any]:
    """Columns and labels of a set."""
    if name == "breast-cancer":
        return load_breast_cancer(return_X_y=True, as_frame=True)  # type: ignore[no-any-return]
    if name == "compas-like":
        rng = np.random.default_rng(0)
        n = 6907
        frame = pd.DataFrame(
            {
                "age": rng.gamma(3, 8, n).round() + 18,
                "priors": rng.poisson(rng.gamma(0.7, 4, n)),
                "juvenile": rng.poisson(0.2, n),
                "charge": rng.choice(["felony", "misdemeanour"], n, p=[0.65, 0.35]),
                "sex": rng.choice(["f", "m"], n, p=[0.2, 0.8]),
                "stay": rng.gamma(0.5, 30, n).round(),
            }
        )
        odds = 0.9 - frame.age / 30 + np.sqrt(frame.priors) / 1.5 + 0.4 * frame.juvenile + 0.3 * (frame.sex == "m")
        return frame, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)
    if folder is None:
        raise SystemExit(f"{name} needs --data, a folder that holds it.")
    frame = pd.read_csv(folder / "adult_train.csv.gz")
    return frame.iloc[:, :-1], frame.iloc[:, -1]


def beside_the_fit(sets: list[str], folder: Path | None, n: int, depth: int) -> Iterator[str]:
    """A line for every set and kind of tree."""
    yield "| set | trees | fit, s | search, s | models, s | search / fit | both / fit | first and last loss |"
    yield "|---|---|---|---|---|---|---|---|"
    for name in sets:
        X, y = table(name, folder)
        for splits in ("multiway", "binary"):
            model, fit = seconds_of(
                lambda X=X, y=y, splits=splits: OptimalTreeClassifier(max_depth=depth, splits=splits).fit(X, y)
            )
            found = model.alternatives(n, None, time_limit=300.0)
            losses, search = seconds_of(lambda found=found: found.losses)
            _, models = seconds_of(lambda found=found: list(found))
            said = "" if found.complete else " (not complete)"
            yield (
                f"| {name}, {splits} | {len(losses):,}{said} | {fit:.2f} | {search:.2f} | {models:.2f} | "
                f"{search / fit:.1f} | {(search + models) / fit:.1f} | {losses[0]:g}, {losses[-1]:g} |"
            )


def flags() -> tuple[pd.DataFrame, np.ndarray]:
    """A table of 0/1 columns: thresholds of breast cancer's first columns."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    columns = {}
    for name in X.columns[:8]:
        for share in (0.25, 0.5, 0.75):
            cut = X[name].quantile(share)
            columns[f"{name} < {cut:.4g}"] = (X[name] < cut).astype(int)
    return pd.DataFrame(columns), np.asarray(y)


def rival(margin: float, price: float) -> Iterator[str]:
    """All trees within a margin of the best, by both; a leaf costs a price in errors per row."""
    from treefarms import TREEFARMS

    X, y = flags()
    config = {"regularization": price, "rashomon_bound_multiplier": margin, "depth_budget": 4, "verbose": False}
    theirs, seconds = seconds_of(lambda: TREEFARMS(config).fit(X, pd.Series(y, name="y")))
    yield f"TreeFARMS: {theirs.get_tree_count():,} trees in {seconds:.2f} s"
    # A price of a leaf is not a part of the fit: of all trees within the errors that it allows, those within remain.
    model, fit = seconds_of(lambda: OptimalTreeClassifier(max_depth=3, splits="binary", min_samples_leaf=1).fit(X, y))
    n = len(y)
    sizes = model.loss_by_leaves_
    best = min(sizes[m] / n + price * (m + 1) for m in range(len(sizes)))
    most = (1 + margin) * best

    def listed() -> set[tuple[tuple[int, ...], ...]]:
        within = set()
        for leaves in range(1, len(sizes) + 1):
            spare = most - price * leaves - sizes[leaves - 1] / n
            if spare >= 0:
                for other in model.with_leaves(leaves).alternatives(None, spare + 1e-9, time_limit=300.0):
                    if other.certificate_.value / n + price * other.tree_.n_leaves <= most + 1e-12:
                        rule = other.apply(X)
                        within.add(tuple(sorted(tuple(np.flatnonzero(rule == r)) for r in set(rule.tolist()))))
        return within

    ours, search = seconds_of(listed)
    yield f"omtree: fit {fit:.2f} s, {len(ours):,} trees in {search:.2f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="+", default=["breast-cancer", "compas-like", "adult"])
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--rival", action="store_true")
    parser.add_argument("--margin", type=float, default=0.05)
    parser.add_argument("--price", type=float, default=0.02)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = rival(given.margin, given.price)
    if not given.rival:
        lines = beside_the_fit(given.sets, given.data, given.trees, given.depth)
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
