"""What a round of column generation costs on ten thousand to a million rows, in seconds of processor time.

    python -m benchmarks.rounds [--rows 10000 100000 1000000] [--depths 2 3]

The synthetic set, 18 columns in 8 bins. `tables` is counted once; the rest is one round with prices on 500 rows: the
scan of all rules from the tables, the same answer from the rows (the exact pricer of deeper rules), and the search
for rows that 500 rules cover too little or too often.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from benchmarks.data import synthetic
from omtree.data.build import make_features, make_table
from omtree.data.columns import read_columns
from omtree.deadline import Deadline
from omtree.engines.rules.master import LOOK_AT
from omtree.engines.rules.options import Options
from omtree.engines.rules.pool import ColumnPool, Duals
from omtree.engines.rules.pricing import RulePricer, native_pricer
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Problem

PRICED_ROWS = RULES = 500
#: The exact pricer over rows is left out beyond this many.
MOST_ROWS = 100_000


def main() -> None:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--depths", nargs="+", type=int, default=[2, 3])
    args = parser.parse_args()
    print("| rows | d | tables | scan | pricing from rows | violated rows |")
    print("|---" * 6 + "|")
    for depth in args.depths:
        for n_rows in args.rows:
            print(measure(n_rows, depth), flush=True)


def measure(n_rows: int, depth: int) -> str:
    """One line of the table."""
    problem = make_problem(n_rows, depth)
    native = native_pricer(problem, 1)
    pool, by_rows = ColumnPool(problem, native), ColumnPool(problem, native)
    counted = seconds(lambda: pool.counts.make_tables(Deadline()), 1)
    rng = np.random.default_rng(0)
    at = np.sort(rng.choice(n_rows, PRICED_ROWS, replace=False)).astype(np.int32)
    # Prices in the order of what they are near the end: a part of all losses on few rows.
    own = rng.normal(0.0, 0.1 * n_rows / PRICED_ROWS, PRICED_ROWS)
    duals = Duals(at, own, 0.2, -0.02 * n_rows, np.empty(0))
    options = Options(pricing="exact", batch=RULES)
    scan = RulePricer(problem, pool, native, options)
    found = scan.price_exactly(duals, -float(n_rows), Deadline())
    pool.add(found.conditions, found.label)
    weights = np.full(len(pool), 1.0 / max(1, len(pool)))
    some = np.unique(rng.integers(n_rows, size=LOOK_AT, dtype=np.int32))
    times = [
        f"{counted:.3f}",
        f"{seconds(lambda: scan.price_exactly(duals, 0.0, Deadline())):.3f}",
        "",
        f"{seconds(lambda: pool.coverage(weights, some)):.3f}",
    ]
    if n_rows <= MOST_ROWS:
        plain = RulePricer(problem, by_rows, native, options)
        times[2] = f"{seconds(lambda: plain.price_exactly(duals, 0.0, Deadline()), 1):.3f}"
    return f"| {n_rows} | {depth} | {' | '.join(times)} |"


def make_problem(n_rows: int, depth: int) -> Problem:
    """Errors of rules of this depth, at least 1 % of the rows in each."""
    made = synthetic(n_rows)
    columns = read_columns(made.X)
    labels = (made.y == "1").astype(np.int64)
    features, _ = make_features(columns, labels, 2)
    table = make_table(columns, features, labels, 2)
    graph = FeatureGraph(features, "groups")
    return Problem(table, graph, LinearLoss(1.0 - np.eye(2)), depth, 2**depth, 0.01 * n_rows)


def seconds(work: Callable[[], object], times: int = 5) -> float:
    """Processor time of a call, the median of some."""
    taken = []
    for _ in range(times):
        before = time.process_time()
        work()
        taken.append(time.process_time() - before)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
