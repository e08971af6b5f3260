"""Test accuracy of the optimal multiway tree against scikit-learn's greedy tree, on six large data sets.

Every data set is cut at random into 75 % training and 25 % test rows, several times; files that come in two parts are
put together first. The greedy tree of depth d has at most 2^d leaves, and the multiway tree is allowed as many. Both
trees get the same least support, so that the difference is one of search and thresholds; run it with `--support 1`
for scikit-learn's default.

    python benchmarks/accuracy.py --data DIR [--support 0.01] [--depths 2 3] [--splits 5] [--sets htru2 shuttle]

DIR holds one `NAME.csv` or `NAME.parquet` per set, and possibly `NAME_test.csv`, with the class in the column `target`.
"""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from omtree import OptimalTreeClassifier

SETS = ("pendigits", "avila", "eeg-eye-state", "htru2", "shuttle", "skin-segmentation")


def load(directory: Path, name: str) -> tuple[pd.DataFrame, pd.Series]:
    """All rows of a data set and their classes."""
    parquet = directory / f"{name}.parquet"
    parts = [directory / f"{name}.csv", directory / f"{name}_test.csv"]
    if parquet.exists():
        frame = pd.read_parquet(parquet)
    else:
        frame = pd.concat([pd.read_csv(part) for part in parts if part.exists()], ignore_index=True)
    return frame.drop(columns="target"), frame["target"]


def support(text: str) -> float:
    """A whole number of rows, or a share of them."""
    return int(text) if text.isdigit() else float(text)


def main() -> None:
    """Fit both trees on every split and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--depths", nargs="+", type=int, default=[2, 3])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--support", type=support, default=0.01)
    parser.add_argument("--binning", default="adaptive")
    parser.add_argument("--n-bins", type=int, default=8)
    parser.add_argument("--time-limit", type=float, default=120.0)
    args = parser.parse_args()

    print(f"Python {platform.python_version()}, scikit-learn {sklearn.__version__}, {platform.machine()};", end=" ")
    print(f"binning={args.binning}, n_bins={args.n_bins}, min_samples_leaf={args.support}, {args.splits} splits\n")
    print("| data | depth | omtree | CART | difference | train | train CART | seconds | seconds CART | proven |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in args.sets:
        X, y = load(args.data, name)
        for depth in args.depths:
            ours = OptimalTreeClassifier(
                max_depth=depth,
                min_samples_leaf=args.support,
                binning=args.binning,
                n_bins=args.n_bins,
                time_limit=args.time_limit,
            )
            greedy = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=args.support, random_state=0)
            test, train, seconds, proven = np.empty((2, args.splits)), np.empty((2, args.splits)), np.zeros(2), 0
            for seed in range(args.splits):
                X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed)
                for which, model in enumerate((ours, greedy)):
                    start = time.perf_counter()
                    model.fit(X_train, y_train)
                    seconds[which] += time.perf_counter() - start
                    train[which, seed] = model.score(X_train, y_train)
                    test[which, seed] = model.score(X_test, y_test)
                proven += ours.certificate_.status == "optimal"
            (a, b), (c, d), (s, t) = test.mean(axis=1), train.mean(axis=1), seconds / args.splits
            print(
                f"| {name} | {depth} | {a:.4f} | {b:.4f} | {a - b:+.4f} | {c:.4f} | {d:.4f} "
                f"| {s:.2f} | {t:.2f} | {proven}/{args.splits} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
