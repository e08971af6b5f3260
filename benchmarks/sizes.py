"""Test error of `max_leaves="auto"` against the largest tree, tuned greedy trees and STreeD's tuned trees.

Every data set is cut at random into 75 % training and 25 % test rows, several times. The rivals choose their size by
5-fold cross-validation on the training rows as well: CART its cost of complexity, STreeD (where pystreed is installed)
its number of nodes. A difference counts where it is more than one standard error over the splits.

    python benchmarks/sizes.py --data DIR [--depth 3] [--splits 5] [--sets avila htru2] [--time-limit 30] [--rows 50000]
    python benchmarks/sizes.py --data DIR --times

DIR holds one `NAME.csv`, `NAME.csv.gz` or `NAME.parquet` per set, with the class in the column `target`; without it the
sets that scikit-learn ships are taken. Of a set with more than `--rows` rows so many are drawn at random. `--times`
prints what choosing the size costs beside one fit, on the sets of over 10,000 rows, classes and numbers.
"""

from __future__ import annotations

import argparse
import platform
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.tree import DecisionTreeClassifier

from omtree import OptimalTreeClassifier, OptimalTreeRegressor

SHIPPED = {"iris": load_iris, "wine": load_wine, "breast-cancer-w": load_breast_cancer}
SMALL = [
    "soybean-small",
    "monks-1",
    "monks-2",
    "monks-3",
    "hayes-roth",
    "house-votes-84",
    "spect",
    "breast-cancer",
    "balance-scale",
    "tic-tac-toe",
    "car-evaluation",
    "kr-vs-kp",
    "heart-cleveland",
]
LARGE = ["avila", "eeg-eye-state", "htru2", "shuttle", "pendigits", "adult_train", "skin-segmentation", "covertype"]
#: Sets with a number to predict, and their columns that say it.
NUMBERS: dict[str, list[str]] = {
    "bike-sharing-hour": ["casual", "registered", "instant", "dteday"],
    "flights-3m": [],
}
READERS = {".csv": pd.read_csv, ".csv.gz": pd.read_csv, ".parquet": pd.read_parquet}


def sets(directory: Path | None, wanted: list[str], most: int) -> Iterator[tuple[str, pd.DataFrame, pd.Series]]:
    """Names, columns and targets."""
    for name in wanted:
        if name in SHIPPED:
            yield name, *SHIPPED[name](return_X_y=True, as_frame=True)
        for suffix, read in READERS.items():
            if directory is not None and (path := directory / f"{name}{suffix}").exists():
                frame = read(path).drop(columns=NUMBERS.get(name, []))
                frame = frame if len(frame) <= most else frame.sample(most, random_state=0)
                y = frame.pop("target")
                yield name, frame, (y > 0).astype(int) if name == "heart-cleveland" else y


def numbers(X: pd.DataFrame, columns: list[str] | None = None) -> pd.DataFrame:
    """The columns as 0/1 and numbers, which the greedy tree needs."""
    made = pd.get_dummies(X, dummy_na=False, dtype=float).fillna(-1.0)
    return made if columns is None else made.reindex(columns=columns, fill_value=0.0)


def cart(depth: int, X: pd.DataFrame, y: Any) -> Any:
    """A greedy tree whose cost of complexity is cross-validated."""
    greedy = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=0.01, random_state=0)
    path = np.unique(np.clip(greedy.cost_complexity_pruning_path(X, y).ccp_alphas, 0.0, None))
    path = path[:: max(1, len(path) // 30)]
    return GridSearchCV(greedy, {"ccp_alpha": path}, cv=5).fit(X, y)


def streed(depth: int, X: pd.DataFrame, y: Any) -> Any:
    """STreeD with its own tuning, over 0/1 columns of up to eight thresholds a number."""
    from pystreed import STreeDClassifier  # type: ignore[import-not-found]

    codes = pd.Series(y).astype("category").cat.codes.to_numpy()
    # Where its tuning runs over the limit it ends the whole process.
    model = STreeDClassifier("accuracy", max_depth=depth, hyper_tune=True, time_limit=3600, n_thresholds=8)
    model.fit(X.to_numpy(), codes)
    return model


def methods(depth: int, limit: float) -> dict[str, Callable[..., Any]]:
    """Each fits training rows and answers for test rows; X as given and as numbers."""

    def ours(**options: Any) -> Callable[..., Any]:
        def answer(X: Any, _numbers: Any, y: Any, X_test: Any, _numbers_test: Any) -> Any:
            model = OptimalTreeClassifier(max_depth=depth, time_limit=limit, **options)
            return model.fit(X, y).predict(X_test)

        return answer

    def tuned_cart(_X: Any, X: Any, y: Any, _X_test: Any, X_test: Any) -> Any:
        return cart(depth, X, y).predict(X_test)

    def tuned_streed(_X: Any, X: Any, y: Any, _X_test: Any, X_test: Any) -> Any:
        names = pd.Series(y).astype("category").cat.categories.to_numpy()
        return names[streed(depth, X, y).predict(X_test.to_numpy())]

    def baseline(_X: Any, X: Any, y: Any, _X_test: Any, X_test: Any) -> Any:
        return DummyClassifier().fit(X, y).predict(X_test)

    found: dict[str, Callable[..., Any]] = {
        "auto": ours(max_leaves="auto"),
        "one_se": ours(max_leaves="auto", selection="one_se"),
        f"{2**depth} leaves": ours(),
        "CART tuned": tuned_cart,
        "baseline": baseline,
    }
    try:
        import pystreed  # noqa: F401
    except ImportError:
        return found
    return {**found, "STreeD tuned": tuned_streed}


def main() -> None:
    """Print a table of test errors, or of times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--time-limit", type=float, default=30.0)
    parser.add_argument("--without", nargs="+", default=[], help="columns to leave out, such as one_se")
    parser.add_argument("--rows", type=int, default=50_000, help="most rows of a set")
    parser.add_argument("--times", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"Python {platform.python_version()}, scikit-learn {sklearn.__version__}, {platform.machine()};", end=" ")
    print(f"depth {args.depth}, {args.splits} splits, least support 1 %, at most {args.rows:,} rows of a set\n")
    (print_times if args.times else print_errors)(args)


def print_times(args: argparse.Namespace) -> None:
    """What choosing the size costs, on one thread, in time of the processor: the fastest of three runs each."""
    print("| data | rows | columns | one fit, s | auto, s | ratio | leaves |\n|---|---|---|---|---|---|---|")
    for name, X, y in sets(args.data, args.sets or [*LARGE, *NUMBERS], args.rows):
        if len(X) <= 10_000:
            continue
        kind = OptimalTreeRegressor if name in NUMBERS else OptimalTreeClassifier
        seconds: dict[Any, float] = {}
        for leaves in (None, "auto") * 3:
            model = kind(max_depth=args.depth, max_leaves=leaves, time_limit=None)
            start = time.process_time()
            model.fit(X, y)
            seconds[leaves] = min(seconds.get(leaves, np.inf), time.process_time() - start)
        one, auto = seconds.values()
        shape = f"{len(X):,} | {X.shape[1]}"
        print(f"| {name} | {shape} | {one:.2f} | {auto:.2f} | {auto / one:.1f} | {len(model.rules_)} |", flush=True)


def print_errors(args: argparse.Namespace) -> None:
    """Mean test errors in per cent, and how `auto` compares."""
    fits = {name: fit for name, fit in methods(args.depth, args.time_limit).items() if name not in args.without}
    print(f"| data | {' | '.join(fits)} |\n|---|{'---|' * len(fits)}")
    every: list[list[float]] = []
    worse = []
    for name, X, y in sets(args.data, args.sets or [*SHIPPED, *SMALL, *LARGE], args.rows):
        errors = np.empty((args.splits, len(fits)))
        coded = numbers(X)
        for seed in range(args.splits):
            train, test = train_test_split(np.arange(len(X)), random_state=seed, stratify=y)
            for place, fit in enumerate(fits.values()):
                said = fit(X.iloc[train], coded.iloc[train], y.iloc[train], X.iloc[test], coded.iloc[test])
                errors[seed, place] = 100 * np.mean(np.asarray(said) != y.iloc[test].to_numpy())
        means = errors.mean(axis=0)
        every.append(means.tolist())
        print(f"| {name} | {' | '.join(f'{mean:.1f}' for mean in means)} |", flush=True)
        gap = errors[:, 0] - errors[:, list(fits).index("baseline")]
        if gap.mean() > gap.std(ddof=1) / np.sqrt(args.splits):
            worse.append(name)
    means = np.mean(every, axis=0)
    print(f"| **mean** | {' | '.join(f'{mean:.2f}' for mean in means)} |")
    print(f"\n`auto` worse than the baseline by more than a standard error: {', '.join(worse) or 'nowhere'}")


if __name__ == "__main__":
    main()
