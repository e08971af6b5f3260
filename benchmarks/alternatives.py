"""How long the other good trees take, beside the fit and beside TreeFARMS, in one run::

    python -m benchmarks.alternatives --data DIR [--sets breast-cancer adult] [--trees 1000] [--depth 3]
    python -m benchmarks.alternatives --rival

The first asks for the best 1,000 different trees of default fits: breast-cancer of scikit-learn, a table drawn at
random with columns like those of COMPAS, and adult from ``DIR/adult_train.csv.gz``, the class last. It gives the
seconds of the processor, of the fit, of the trees and of their models. The second lists all trees of depth 3 within a
margin over the same 0/1 columns as TreeFARMS (``pip install treefarms tqdm IPython gmpy2``), as sets of leaves.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from omtree import OptimalTreeClassifier

#: A call of fewer seconds than this is repeated so often.
_SHORT, _OFTEN = 0.1, 15


def seconds_of(run: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and the processor's seconds; of a short one the median of many, the first of which loads
    what the others find there."""
    times: list[float] = []
    while not times or (times[0] < _SHORT and len(times) < _OFTEN):
        before = time.process_time()
        answer = run()
        times.append(time.process_time() - before)
    return answer, statistics.median(times)


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

            def listed(model: Any = model) -> Any:
                found = model.alternatives(n, None, time_limit=300.0)
                return found, found.losses

            (found, losses), search = seconds_of(listed)
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


def tiny(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Forty rows of four 0/1 columns."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 2, (40, 4)), columns=list("abcd"))
    return X, ((X.a & X.b) | (rng.random(40) < 0.2)).to_numpy().astype(int)


Leaves = frozenset[frozenset[int]]


def canonical(
    tree: dict[str, Any], rows: np.ndarray, X: np.ndarray, y: np.ndarray, price: float
) -> tuple[Leaves, float]:
    """The leaves of a tree of TreeFARMS as sets of rows, and its loss, without splits into leaves that do not pay."""
    ones = int(y[rows].sum())
    whole: Leaves = frozenset([frozenset(rows.tolist())])
    alone = min(ones, len(rows) - ones) + price
    if "prediction" in tree:
        return whole, alone
    inside = X[rows, tree["feature"]] == 1
    sides = [canonical(tree[name], rows[part], X, y, price) for name, part in (("true", inside), ("false", ~inside))]
    loss = sum(side[1] for side in sides)
    leaves = sides[0][0] | sides[1][0]
    return (whole, alone) if len(leaves) == 2 and loss >= alone - 1e-9 else (leaves, loss)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Without what libraries print."""
    sys.stdout.flush()
    kept = os.dup(1)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        os.dup2(nowhere.fileno(), 1)
        try:
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)


def beside_the_rival() -> Iterator[str]:
    """All trees of depth 3 within a margin of the best, by both; a leaf costs a price in errors per row."""
    yield "| table | margin, price | its trees | as sets of leaves | ours | in one only | its s | our fit and list, s |"
    yield "|---|---|---|---|---|---|---|---|"
    for seed in range(4):
        yield both(f"tiny {seed}", *tiny(seed), 0.3, 0.02)
    for margin, price in ((0.05, 0.02), (0.05, 0.01), (0.2, 0.02), (0.2, 0.01)):
        yield both("breast-cancer, 24 columns", *flags(), margin, price)


def both(name: str, X: pd.DataFrame, y: np.ndarray, margin: float, price: float) -> str:
    """A line of the table."""
    from treefarms import TREEFARMS

    config = {"regularization": price, "rashomon_bound_multiplier": margin, "depth_budget": 4, "verbose": False}
    with silence():
        found, its = seconds_of(lambda: TREEFARMS(config).fit(X, pd.Series(y, name="y")).model_set)
    raw = [found.get_tree_at_idx_raw(i) for i in range(found.get_tree_count())]
    theirs = {canonical(tree, np.arange(len(y)), X.to_numpy(), y, price * len(y))[0] for tree in raw}
    model = OptimalTreeClassifier(max_depth=3, splits="binary", min_samples_leaf=1, leaf_price=price)
    _, fit = seconds_of(lambda: model.fit(X, y))
    within = margin * model.certificate_.value / len(y) + 1e-9

    def listed() -> Any:
        found = model.alternatives(None, within, time_limit=300.0)
        return found, found.losses

    (trees, _), search = seconds_of(listed)
    ours = set()
    for other in trees:
        rule = other.apply(X)
        ours.add(frozenset(frozenset(np.flatnonzero(rule == r).tolist()) for r in set(rule.tolist())))
    counts = f"{len(raw):,} | {len(theirs):,} | {len(ours):,} | {len(theirs ^ ours)}"
    return f"| {name} | {margin:.0%}, {price} | {counts} | {its:.4f} | {fit + search:.4f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="+", default=["breast-cancer", "compas-like", "adult"])
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--rival", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = beside_the_rival()
    if not given.rival:
        lines = beside_the_fit(given.sets, given.data, given.trees, given.depth)
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
