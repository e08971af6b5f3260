"""Trees at any depth after any time, against the greedy tree of the same depth, leaves and support.

    python -m benchmarks.anytime --data DIR [--sets adult avila ...] [--depths 3 5 7 10] [--seconds 1 5 20]

Training loss (errors, or squared error) of default fits that end after so many seconds, divided by that of
scikit-learn's tree, with leaves of at least 1 % of the rows and of one row. `DIR` holds `NAME.csv` or `NAME.parquet` a
set, the target in the column `target`.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from omtree import OptimalTreeClassifier, OptimalTreeRegressor

#: The file of each set, and whether its target is a number.
SETS = {
    "adult": ("adult_train.csv.gz", False),
    "avila": ("avila.csv", False),
    "pendigits": ("pendigits.csv", False),
    "eeg": ("eeg-eye-state.csv", False),
    "covertype": ("covertype.parquet", False),
    "bike": ("bike-sharing-hour.csv", True),
}
#: Columns that give the target away, or name the row.
LEFT_OUT = ("casual", "registered", "instant", "dteday")
MOST_ROWS = 100_000


def main() -> None:
    """Fit, and print a table in Markdown and the mean ratio for each time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--depths", nargs="+", type=int, default=[3, 5, 7, 10])
    parser.add_argument("--seconds", nargs="+", type=float, default=[1.0, 5.0, 20.0])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    times = [f"{seconds:g} s" for seconds in args.seconds]
    print("| set | d | least leaf | CART | CART's seconds | " + " | ".join(times) + " | longest over |")
    print("|---" * (6 + len(times)) + "|")
    ratios: list[list[float]] = []
    for name in args.sets:
        X, y, number = load(args.data, name)
        for depth in args.depths:
            for support in (0.01, 1):
                before = time.monotonic()
                greedy = greedy_loss(X, y, number, depth, support)
                spent = time.monotonic() - before
                found = [loss_after(X, y, number, depth, support, seconds) for seconds in args.seconds]
                ratios.append([loss / greedy if greedy else 1.0 for loss, _ in found])
                cells = " | ".join(f"{ratio:.3f}" for ratio in ratios[-1])
                over = max(took - seconds for (_, took), seconds in zip(found, args.seconds, strict=True))
                print(
                    f"| {name} | {depth} | {support} | {greedy:.6g} | {spent:.2f} | {cells} | {over:.2f} |", flush=True
                )
    for seconds, column in zip(args.seconds, zip(*ratios, strict=True), strict=True):
        mean = math.exp(sum(math.log(max(ratio, 1e-3)) for ratio in column) / len(column))
        worse = sum(ratio > 1.0 + 1e-9 for ratio in column)
        print(f"after {seconds:g} s: geometric mean {mean:.3f}, worse than CART in {worse} of {len(column)}")


def load(folder: Path, name: str) -> tuple[pd.DataFrame, np.ndarray, bool]:
    """Columns and target, and whether that is a number."""
    file, number = SETS[name]
    frame = pd.read_parquet(folder / file) if file.endswith("parquet") else pd.read_csv(folder / file)
    frame = frame.drop(columns=[column for column in LEFT_OUT if column in frame])
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    y = frame.pop("target")
    return frame, y.to_numpy(dtype=float) if number else y.astype(str).to_numpy(), number


def loss_of(model: Any, X: Any, y: np.ndarray, number: bool) -> float:
    """The loss on the rows of the fit, from its predictions."""
    answers = model.predict(X)
    return float(((answers - y) ** 2).sum() if number else (answers != y).sum())


def greedy_loss(X: pd.DataFrame, y: np.ndarray, number: bool, depth: int, support: float) -> float:
    """That of scikit-learn's tree; texts are numbered in their order."""
    numbers = X.copy()
    texts = [column for column in X if not pd.api.types.is_numeric_dtype(X[column])]
    if texts:
        numbers[texts] = OrdinalEncoder().fit_transform(X[texts].astype(str))
    kind = DecisionTreeRegressor if number else DecisionTreeClassifier
    least = support if support >= 1 else math.ceil(support * len(y))
    return loss_of(
        kind(max_depth=depth, min_samples_leaf=int(least), random_state=0).fit(numbers, y), numbers, y, number
    )


def loss_after(
    X: pd.DataFrame, y: np.ndarray, number: bool, depth: int, support: float, seconds: float
) -> tuple[float, float]:
    """That of a fit with so many seconds, and how many it took."""
    kind = OptimalTreeRegressor if number else OptimalTreeClassifier
    before = time.monotonic()
    model = kind(max_depth=depth, min_samples_leaf=support, time_limit=seconds).fit(X, y)
    return loss_of(model, X, y, number), time.monotonic() - before


if __name__ == "__main__":
    main()
