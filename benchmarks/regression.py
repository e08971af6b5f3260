"""Has a part of the package become slower since the last release?

    python -m benchmarks.regression           # compare; ends with 1 if a ratio has grown by more than a fifth
    python -m benchmarks.regression --write   # at a release: store the ratios

Every case is a whole fit on a generated table, in the processor's seconds of one thread, divided by those of
scikit-learn's random forests of fixed size on the same machine in the same run: the yardstick. Of several rounds the
smallest times count.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from omtree import OptimalTreeClassifier, OptimalTreeRegressor

STORED = Path(__file__).with_name("regression.json")
#: By how much a ratio may grow.
SLACK = 1.2


def tables() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, 0/1 columns, classes and targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 8))
    bits = (rng.normal(0, 0.5, 8) < X).astype(np.int8)
    score = X[:, 0] * (X[:, 1] > 0) + X[:, 2] * (X[:, 3] > 0.5) + rng.normal(0, 0.7, 3000)
    return X, bits, (score > 0).astype(int), score


def cases() -> dict[str, Callable[[], object]]:
    """A fit by each part of the package."""
    X, bits, label, score = tables()
    few, few_label = X[:300, :4], label[:300]
    quantile = {"binning": "quantile", "n_bins": 8, "n_jobs": 1, "time_limit": None}
    return {
        "errors, multiway": lambda: OptimalTreeClassifier(max_depth=3, **quantile).fit(X, label),
        "errors, 0/1 columns": lambda: OptimalTreeClassifier(max_depth=4, n_jobs=1, time_limit=None).fit(bits, label),
        "errors, all cuts": lambda: OptimalTreeClassifier(
            max_depth=2, splits="binary", binning="exact", n_jobs=1, time_limit=None
        ).fit(X, label),
        "errors, default": lambda: OptimalTreeClassifier(max_depth=2, n_jobs=1, time_limit=None).fit(X, label),
        "entropy, multiway": lambda: OptimalTreeClassifier(max_depth=2, objective="entropy", **quantile).fit(X, label),
        "squared, multiway": lambda: OptimalTreeRegressor(max_depth=3, **quantile).fit(X, score),
        "squared, 0/1 columns": lambda: OptimalTreeRegressor(max_depth=3, n_jobs=1, time_limit=None).fit(bits, score),
        "f1": lambda: OptimalTreeClassifier(max_depth=2, objective="f1", **quantile).fit(X, label),
        "rules": lambda: OptimalTreeClassifier(max_depth=2, structure="rules", **quantile).fit(few, few_label),
    }


def seconds_of(run: Callable[[], object]) -> float:
    """The processor's seconds of a call."""
    before = time.process_time()
    run()
    return time.process_time() - before


def ratios(rounds: int) -> dict[str, float]:
    """Each case's seconds per second of the yardstick."""
    X, _, label, _ = tables()
    measured = {"yardstick": lambda: RandomForestClassifier(100, n_jobs=1, random_state=0).fit(X, label), **cases()}
    least = dict.fromkeys(measured, np.inf)
    for _ in range(rounds):
        for name, run in measured.items():
            least[name] = min(least[name], seconds_of(run))
    yardstick = least.pop("yardstick")
    return {name: round(seconds / yardstick, 4) for name, seconds in least.items()}


def slower(now: dict[str, float], before: dict[str, float]) -> list[str]:
    """The cases whose ratio has grown by more than the slack, in words."""
    return [
        f"{name}: {now[name]:.3f} of the yardstick, {before[name]:.3f} at the last release"
        for name in before
        if name in now and now[name] > SLACK * before[name]
    ]


def main() -> int:
    """Measure, and compare or store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="store the ratios")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    now = ratios(options.rounds)
    for name, ratio in now.items():
        print(f"{name:<22} {ratio:.4f}")
    if options.write:
        STORED.write_text(json.dumps(now, indent=1) + "\n")
        return 0
    found = slower(now, json.loads(STORED.read_text()))
    print(*found or ["nothing has become slower by a fifth"], sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
