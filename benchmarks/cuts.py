"""Trees over all cut points: whole fits against ConTree, multiway trees, and squared loss beside CART, in one run::

    python -m benchmarks.cuts --data DIR [--what binary default multiway squares] [--depths 2 3] [--seconds 60]
        [--sets bank]

DIR has the numeric sets of ConTree's own test as ``continuous/NAME.parquet`` and the regression sets as ``NAME.csv``,
the target last. Leaves of one row; seconds are those of the processor, of the whole fit, on one thread.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

SETS = ("bank", "raisin", "wilt", "bidding", "page", "segment", "occupancy", "avila", "eeg")
NUMBERS = {"airfoil": [], "energy-heating": [], "wine-quality-red": [], "bike-sharing-hour": ["casual", "registered"]}
#: Columns that only number the rows.
ROW_NUMBERS = ["instant", "dteday"]


def seconds_of(run: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and the processor's seconds."""
    before = time.process_time()
    answer = run()
    return answer, time.process_time() - before


def classes(folder: Path, name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns and labels of a set of `SETS`."""
    frame = pd.read_parquet(folder / "continuous" / f"{name}.parquet")
    return frame.iloc[:, :-1], np.unique(frame.iloc[:, -1], return_inverse=True)[1]


def numbers(folder: Path, name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns and targets of a set of `NUMBERS`."""
    frame = pd.read_csv(folder / f"{name}.csv")
    dropped = [column for column in (*NUMBERS[name], *ROW_NUMBERS) if column in frame]
    frame = frame.drop(columns=dropped)
    return frame.iloc[:, :-1].astype(float), frame.iloc[:, -1].to_numpy(float)


def contree(X: pd.DataFrame, y: np.ndarray, depth: int, limit: float) -> tuple[float, float]:
    """Errors of ConTree's tree, and seconds; infinite where its limit ended it."""
    from pycontree import ConTree

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model, seconds = seconds_of(lambda: ConTree(max_depth=depth, time_limit=limit).fit(X, y))
    late = any("time limit" in str(warning.message) for warning in heard)
    return float((np.asarray(model.predict(X)) != y).sum()), math.inf if late else seconds


def binary(folder: Path, sets: list[str], depths: list[int], limit: float) -> Iterator[str]:
    """Binary trees against ConTree."""
    from omtree import OptimalTreeClassifier

    # What is loaded with the first fit is part of none.
    first = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]}), np.array([0, 1, 0, 1])
    OptimalTreeClassifier(max_depth=1, splits="binary", binning="exact", min_samples_leaf=1).fit(*first)
    contree(*first, 1, limit)
    yield "| set | depth | errors | bound | seconds | ConTree's errors | ConTree's seconds | ratio |"
    yield "|---|---|---|---|---|---|---|---|"
    for depth in depths:
        ratios = []
        for name in sets:
            X, y = classes(folder, name)
            ours = OptimalTreeClassifier(
                max_depth=depth, splits="binary", binning="exact", min_samples_leaf=1, time_limit=limit
            )
            certificate, seconds = seconds_of(lambda m=ours, X=X, y=y: m.fit(X, y).certificate_)
            theirs, rival = contree(X, y, depth, limit)
            times = "- | -"
            if math.isfinite(rival):
                ratios.append(seconds / rival)
                times = f"{rival:.3f} | {seconds / rival:.3f}"
            yield (
                f"| {name} | {depth} | {certificate.value:g} | {certificate.bound:g} | {seconds:.3f} | {theirs:g} | "
                f"{times} |"
            )
        mean = f"{np.exp(np.log(ratios).mean()):.3f}" if ratios else "-"
        yield f"| geometric mean | {depth} | | | | | | {mean} |"


def certified(
    folder: Path, sets: list[str], depths: list[int], limit: float, *, classification: bool, **options: Any
) -> Iterator[str]:
    """Trees beside CART's of the same depth: what they cost, and what is proven over all cuts."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    from omtree import OptimalTreeClassifier, OptimalTreeRegressor

    kind, greedy = OptimalTreeRegressor, DecisionTreeRegressor
    if classification:
        kind, greedy = OptimalTreeClassifier, DecisionTreeClassifier
    loss = "errors" if classification else "squared error"
    yield f"| set | depth | {loss} | bound over all cuts | gap | seconds | CART's |"
    yield "|---|---|---|---|---|---|---|"
    for depth in depths:
        for name in sets:
            X, y = classes(folder, name) if classification else numbers(folder, name)
            model = kind(max_depth=depth, min_samples_leaf=1, time_limit=limit, **options)
            known, seconds = seconds_of(lambda m=model, X=X, y=y: m.fit(X, y).certificate_)
            bound = known.bound if known.cuts == "all" else known.all_cuts_bound or 0.0
            gap = 1.0 - bound / known.value if known.value > bound else 0.0
            answers = greedy(max_depth=depth, random_state=0).fit(X, y).predict(X)
            rival = (answers != y).sum() if classification else ((answers - y) ** 2).sum()
            figures = f"{known.value:.6g} | {bound:.6g} | {100 * gap:.1f} % | {seconds:.2f} | {rival:.6g}"
            yield f"| {name} | {depth} | {figures} |"


def main() -> None:
    """Print the tables that were asked for."""
    tables = {
        "binary": (binary, SETS),
        "default": (partial(certified, classification=True, splits="binary"), SETS),
        "multiway": (partial(certified, classification=True, binning="exact"), SETS),
        "squares": (partial(certified, classification=False, splits="binary", binning="exact"), tuple(NUMBERS)),
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--what", nargs="+", choices=list(tables), default=list(tables))
    parser.add_argument("--depths", nargs="+", type=int, default=[2, 3])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--sets", nargs="+", choices=[*SETS, *NUMBERS])
    arguments = parser.parse_args()
    for what in arguments.what:
        table, sets = tables[what]
        chosen = [name for name in sets if arguments.sets is None or name in arguments.sets]
        for line in table(arguments.data, chosen, arguments.depths, arguments.seconds):
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
