"""The best tree of any depth with a price per leaf: whole fits against GOSDT and STreeD, in one run::

    python -m benchmarks.leaf_price --data DIR [--sets monks-1 car-evaluation] [--prices 1 0.5 0.1] [--seconds 20]

DIR has the sets as ``NAME.csv``, the class in the column ``target``; "forest-floor" is made here. All three methods get
the same 0/1 columns: one for every value of a nominal column, one for every cut of an ordered one. Leaves of one row.
Seconds are those of the processor, of whole fits on one thread; the limit is by the clock, and "> 2" means that it came
after two seconds of the processor. STreeD has the deepest trees it allows.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.sets import load

SETS = (
    "monks-1",
    "monks-2",
    "monks-3",
    "balance-scale",
    "car-evaluation",
    "tic-tac-toe",
    "kr-vs-kp",
    "forest-floor",
)
#: The depth that STreeD allows at most.
STREED_DEPTH = 20


def forest_floor(rows: int = 2000, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Twelve nominal columns of two to six values; what is edible follows three of them, with some exceptions."""
    rng = np.random.default_rng(seed)
    sizes = (6, 5, 4, 4, 3, 3, 3, 2, 2, 2, 2, 2)
    codes = np.column_stack([rng.integers(0, size, rows) for size in sizes])
    smell, cap, ring = codes[:, 0], codes[:, 1], codes[:, 4]
    edible = ((smell < 3) & (cap != 2)) | ((smell == 4) & (ring == 1)) | (rng.random(rows) < 0.02)
    names = [f"trait {place}" for place in range(len(sizes))]
    return pd.DataFrame(codes.astype(str), columns=names), edible.astype(int)


def columns_of(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray, pd.DataFrame, dict[str, Any]]:
    """0/1 columns and labels of a set; and its columns as they are, with the orders of some."""
    if name == "forest-floor":
        X, labels = forest_floor()
        orders: dict[str, Any] = {}
    else:
        X, y, orders = load(folder, name)
        labels = np.unique(y, return_inverse=True)[1]
    columns = []
    for column in X:
        if column in orders:
            values = list(orders[column])
            columns += [X[column].isin(values[:cut]).to_numpy() for cut in range(1, len(values))]
        else:
            values = sorted(X[column].unique())
            columns += [(X[column] == value).to_numpy() for value in (values if len(values) > 2 else values[:1])]
    return np.array(columns).T.astype(np.int32), labels, X, orders


def seconds_of(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """What a call returns, the processor's seconds and those of the clock."""
    clock, before = time.monotonic(), time.process_time()
    answer = run()
    return answer, time.process_time() - before, time.monotonic() - clock


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Nothing of what a library prints."""
    sys.stdout.flush()
    kept, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nothing)


@dataclass(frozen=True)
class Found:
    """What a method came to: the value of its tree, its seconds, and whether these are all that it needed."""

    value: float
    seconds: float
    ended: bool

    def __str__(self) -> str:
        return f"{self.value:.5f} | {'' if self.ended else '> '}{self.seconds:.2f}"


def gosdt(X: np.ndarray, y: np.ndarray, price: float, limit: float) -> Found:
    """GOSDT's tree."""
    from gosdt import GOSDTClassifier

    model = GOSDTClassifier(regularization=price, allow_small_reg=True, time_limit=max(1, int(limit)))
    with silence():
        _, seconds, clock = seconds_of(lambda: _fit(model, X.astype(bool), y))
    return Found(float(model.result_.upperbound), seconds, clock < limit)


def _fit(model: Any, X: np.ndarray, y: np.ndarray) -> None:
    with contextlib.suppress(TimeoutError):
        model.fit(X, y)


def streed(X: np.ndarray, y: np.ndarray, price: float, limit: float) -> Found:
    """STreeD's tree."""
    from pystreed import STreeDClassifier

    model = STreeDClassifier(
        optimization_task="cost-complex-accuracy", cost_complexity=price, max_depth=STREED_DEPTH, time_limit=limit
    )
    _, seconds, clock = seconds_of(lambda: model.fit(X, y))
    value = float((model.predict(X) != y).mean()) + price * model.get_n_leaves()
    return Found(value, seconds, clock < limit)


def ours(X: Any, y: np.ndarray, price: float, limit: float, **options: Any) -> tuple[Any, float]:
    """A fitted model, and seconds."""
    from omtree import OptimalTreeClassifier

    model = OptimalTreeClassifier(
        max_depth=None, leaf_price=price, min_samples_leaf=1, binning="quantile", time_limit=limit, **options
    )
    fitted, seconds, _ = seconds_of(lambda: model.fit(X, y))
    return fitted, seconds


def table(folder: Path, sets: list[str], prices: list[float], limit: float) -> Iterator[str]:
    """One line a set and price."""
    few = np.array([[0], [1], [0], [1]] * 5), np.array([0, 1, 0, 1] * 5)
    ours(*few, 0.1, limit)  # what is loaded with the first fit is part of none
    gosdt(*few, 0.1, limit)
    streed(*few, 0.1, limit)
    yield (
        "| set | price | value | bound | leaves, depth | seconds | multiway value | seconds | STreeD's value | "
        "seconds | GOSDT's value | seconds | ratio |"
    )
    yield "|" + "---|" * 13
    ratios = []
    for name in sets:
        Z, y, X, orders = columns_of(folder, name)
        for percent in prices:
            price = percent / 100
            model, seconds = ours(Z, y, price, limit, splits="binary")
            wide, wide_seconds = ours(X, y, price, limit, feature_kinds=dict.fromkeys(X, "nominal") | orders)
            found = model.certificate_
            rivals = [streed(Z, y, price, limit), gosdt(Z, y, price, limit)]
            ended = [rival.seconds for rival in rivals if rival.ended]
            ratio = "-"
            if found.status == "optimal":
                # Where none ended, the faster one would have needed more than it had.
                least = min(ended, default=min(rival.seconds for rival in rivals))
                ratio = f"{'' if ended else '< '}{seconds / least:.3f}"
                ratios.append(seconds / least)
            theirs = " | ".join(map(str, rivals))
            yield (
                f"| {name} | {percent:g} % | {found.value / len(y):.5f} | {found.bound / len(y):.5f} | "
                f"{found.leaves}, {found.depth} | {seconds:.2f} | {wide.certificate_.value / len(y):.5f} | "
                f"{wide_seconds:.2f} | {theirs} | {ratio} |"
            )
    mean = f"{np.exp(np.log(ratios).mean()):.3f} over {len(ratios)}" if ratios else "-"
    yield f"| geometric mean | | | | | | | | | | | | {mean} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--prices", nargs="+", type=float, default=[1.0, 0.5, 0.1], help="in per cent of the rows")
    parser.add_argument("--seconds", type=float, default=20.0)
    arguments = parser.parse_args()
    for line in table(arguments.data, arguments.sets, arguments.prices, arguments.seconds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
