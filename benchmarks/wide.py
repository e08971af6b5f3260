"""Tables of very many cells, made up: errors after some seconds, beside scikit-learn's greedy tree.

    python -m benchmarks.wide --tables numbers --depths 2 3 --seconds 5 20 60

`numbers` has 300,000 rows of 175 numbers and four classes, `bits` 5,000 rows of 2,000 0/1 columns and two. The greedy
tree has no limit; `over` is how much later than its limit a fit ended, memory is that of the process so far.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from omtree import OptimalTreeClassifier

TABLES = ("numbers", "bits")


def numbers() -> tuple[np.ndarray, np.ndarray]:
    """Four classes by the largest of four waves of eight columns, and 167 columns of noise."""
    rng = np.random.default_rng(7)
    n, k = 300_000, 4
    X = rng.normal(size=(n, 175))
    X[:, 100:] = np.round(X[:, 100:], 2)
    scores = [
        np.sin(2 * X[:, 0]) * X[:, 1] + 0.5 * X[:, 2],
        X[:, 3] * (X[:, 4] > 0.3) - X[:, 5],
        X[:, 0] * (X[:, 120] > 0) + X[:, 6] - 0.5 * X[:, 1],
        0.3 * X[:, 7] + 0.8 * (X[:, 2] > 1),
    ]
    return X, np.argmax(np.stack(scores, axis=1) + rng.normal(0, 0.4, (n, k)), axis=1)


def bits() -> tuple[np.ndarray, np.ndarray]:
    """Two classes by sums and products of ten columns, and 1,990 columns of noise."""
    rng = np.random.default_rng(7)
    n, m = 5000, 2000
    X = (rng.random((n, m)) < rng.uniform(0.1, 0.9, m)).astype(np.int64)
    pairs = X[:, 1] * X[:, 2] - X[:, 3] * (1 - X[:, 4]) + X[:, 5] * X[:, 6]
    score = X[:, 0] + pairs - X[:, 7] + 0.5 * X[:, 8] - 0.5 * X[:, 9]
    return X, (score + rng.normal(0, 0.5, n) > np.median(score)).astype(int)


def table(name: str, depths: Sequence[int], limits: Sequence[float], *, greedy: bool) -> Iterator[str]:
    """Its lines."""
    X, y = numbers() if name == "numbers" else bits()
    for depth in depths:
        cart = "-"
        if greedy:
            model = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=0.01, random_state=0).fit(X, y)
            cart = f"{(model.predict(X) != y).sum()}"
        for limit in limits:
            started = time.monotonic()
            found = OptimalTreeClassifier(max_depth=depth, time_limit=limit).fit(X, y).certificate_
            over = max(0.0, time.monotonic() - started - limit)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            proven = f"{found.value:g} | {found.bound:g}"
            yield f"| {name} | {depth} | {cart} | {limit:g} | {proven} | {over:.2f} | {memory:.0f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--depths", nargs="+", type=int, default=[2, 3])
    parser.add_argument("--seconds", nargs="+", type=float, default=[1.0, 5.0, 60.0])
    parser.add_argument("--without-greedy", action="store_true", help="the greedy tree takes half a minute")
    arguments = parser.parse_args()
    print("| table | d | CART | limit, s | errors | bound | over, s | memory, MB |")
    print("|---|---|---|---|---|---|---|---|")
    for name in arguments.tables:
        for line in table(name, arguments.depths, arguments.seconds, greedy=not arguments.without_greedy):
            print(line, flush=True)


if __name__ == "__main__":
    main()
