"""Rows in memory, in a file and on a cluster: the same model, and what counting costs.

    python benchmarks/scale.py --data DIR [--part same losses slopes] [--workers 3]

`same` fits covertype three ways, `losses` adult by Gini, by costs and under statistical parity and flights by squared
loss. `slopes` measures the pieces from which the cost of a larger fit is estimated: seconds
of a core for counting, coding and adding up, and the bytes of the tables that are moved.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.base import clone

from omtree import OptimalTreeClassifier, OptimalTreeRegressor, Reading, scan
from omtree.constraints import StatisticalParity
from omtree.data.spill import Block, Spill
from omtree.sources.cluster.frames import Cluster
from omtree.sources.counts import BlockCounts, count_block, joint_size

#: Features, classes and, in the estimate, rows, machines and cores of each.
N_FEATURES, N_CLASSES = 18, 2
ROWS, MACHINES, CORES = 10**10, 100, 16
#: Bytes a second between two machines.
NETWORK = 1.0e9


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        help="folder with covertype.parquet, adult_train.csv.gz and flights-3m.parquet",
    )
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--workers", type=int, default=3)
    arguments = parser.parse_args()
    for part in arguments.part:
        PARTS[part](arguments)


def same(arguments: argparse.Namespace) -> None:
    """Covertype at depth three: the value, and whether the model is that of the rows in memory."""
    path = arguments.data / "covertype.parquet"
    heading("covertype, depth 3", "binning")
    with cluster(arguments.workers) as client:
        for binning in ("quantile", "adaptive"):
            compare(client, path, binning, OptimalTreeClassifier(binning=binning, time_limit=None), "400MB")


def losses(arguments: argparse.Namespace) -> None:
    """Other losses and a constraint over groups, at depth three."""
    classes = partial(OptimalTreeClassifier, binning="quantile", n_bins=5, time_limit=None)
    numbers = OptimalTreeRegressor(binning="quantile", n_bins=8, time_limit=None)
    heading("adult and flights, depth 3", "loss")
    with tempfile.TemporaryDirectory() as folder, cluster(arguments.workers) as client:
        adult, flights = Path(folder) / "adult.parquet", Path(folder) / "flights.parquet"
        pd.read_csv(arguments.data / "adult_train.csv.gz").to_parquet(adult)
        frame = pd.read_parquet(arguments.data / "flights-3m.parquet")
        # On disk and on a cluster dates are given as numbers: days since the first.
        frame["date"] = (frame["date"] - frame["date"].min()).dt.days
        frame.to_parquet(flights)
        del frame
        compare(client, adult, "adult, Gini", classes(objective="gini"), "25MB")
        compare(client, adult, "adult, costs", classes(costs=[[0, 1], [3, 0]]), "25MB")
        # Constraints over groups need the merged rows in memory.
        fair = classes(max_depth=2, constraints=[StatisticalParity("sex", 0.05, class_=">50K")])
        compare(client, adult, "adult, parity of the sexes, depth 2", fair, None)
        compare(client, flights, "flights, squared", numbers, "400MB")


def heading(title: str, what: str) -> None:
    """The first lines of a table of `compare`."""
    print(f"\n### {title}\n\n| {what} | rows | value | bound | same model | seconds |\n|---|---|---|---|---|---|")


def compare(client: Any, path: Path, name: str, model: Any, little: str | None) -> None:
    """Fit copies of a model to the column "target" of a file, in memory, on disk and on a cluster.

    With so `little` memory the rows on disk are counted in a file; None where that cannot be.
    """
    import dask.dataframe as dd

    frame = pd.read_parquet(path)
    workers = len(client.run(os.getpid))
    whole = dd.read_parquet(path).repartition(npartitions=2 * workers).persist()
    X, y, there = frame.drop(columns="target"), frame["target"], whole.drop(columns="target")
    plain = clone(model).set_params(reading=Reading(guess=False))
    ways: dict[str, Callable[[], Any]] = {
        "in memory": lambda: plain.fit(X, y),
        "on disk, merged in memory": lambda: clone(model).fit(scan(path, target="target")),
        "on disk, counted in a file": lambda: clone(model).fit(scan(path, target="target", memory_limit=little)),
        f"on {workers} Dask workers": lambda: clone(model).fit(there, whole["target"]),
        "the same, one worker killed": lambda: with_a_death(client, lambda: clone(model).fit(there, whole["target"])),
    }
    if little is None:
        del ways["on disk, counted in a file"]
    expected = None
    for rows, fit in ways.items():
        started = time.perf_counter()
        fitted = fit()
        seconds = time.perf_counter() - started
        found = fitted.certificate_
        told = f"{found.value:.17g} | {found.bound:.17g}"
        known = told, str(fitted.tree_), [rule.prediction for rule in fitted.rules_]
        expected = expected or known
        is_same = "yes" if known == expected else "NO"
        print(f"| {name} | {rows} | {told} | {is_same} | {seconds:.1f} |", flush=True)


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """Workers that are processes of this machine."""
    import distributed

    local = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
    with local, distributed.Client(local) as client:
        yield client


def with_a_death(client: Any, fit: Callable[[], Any]) -> Any:
    """Fit, and kill a worker once all rows are coded and before anything is done with them."""
    import distributed

    keep, victims = Cluster.keep, list(client.run(os.getpid).values())[:1]

    def killing(own: Cluster, tasks: Any) -> Any:
        kept = keep(own, tasks)
        if victims:
            distributed.wait(kept)
            os.kill(victims.pop(), signal.SIGKILL)
        return kept

    with mock.patch.object(Cluster, "keep", killing):
        return fit()


def slopes(arguments: argparse.Namespace) -> None:
    """What a row and a table cost, and from that a fit of very many rows."""
    print(
        f"\n### What counting costs: {N_FEATURES} features, {N_CLASSES} classes\n\n"
        "| bins | depth | tables | MB of tables | rows | ns a row | from a file, ns a row | adding two tables, ms |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    rng = np.random.default_rng(0)
    cost: dict[tuple[int, int], tuple[float, float]] = {}
    for bins, depth in ((5, 3), (8, 3), (5, 4), (8, 4)):
        for n_rows in (250_000, 1_000_000) if depth == 4 else (250_000, 1_000_000, 4_000_000):
            codes = rng.integers(0, bins, (N_FEATURES, n_rows)).astype(np.uint8)
            labels = rng.integers(0, N_CLASSES, n_rows).astype(np.uint16)
            n_codes = [bins] * N_FEATURES
            sets = np.array(list(itertools.combinations(range(N_FEATURES), depth)), dtype=np.int32)
            size = joint_size(sets, n_codes, N_CLASSES)
            out = np.zeros(size)
            block = Block(codes, labels)
            seconds = used(lambda: count_block(block, sets, n_codes, out, N_CLASSES))  # noqa: B023
            from_file = spilled(codes, labels, sets, n_codes)
            other = out.copy()
            adding = used(lambda: np.add(out, other, out=out))  # noqa: B023
            cost[bins, depth] = seconds / n_rows, 8.0 * size
            shape = f"{bins} | {depth} | {len(sets):,} | {8 * size / 1e6:.1f} | {n_rows:,}"
            times = f"{1e9 * seconds / n_rows:.0f} | {1e9 * from_file / n_rows:.0f} | {1e3 * adding:.1f}"
            print(f"| {shape} | {times} |", flush=True)
    print(
        f"\n### {ROWS:,} rows on {MACHINES} machines of {CORES} cores\n\n"
        "| bins | depth | GB of codes a machine | seconds of counting | MB moved a machine | seconds of moving |\n"
        "|---|---|---|---|---|---|"
    )
    for (bins, depth), (a_row, table) in cost.items():
        codes_gb = ROWS / MACHINES * (N_FEATURES + 2) / 1e9
        counting = ROWS * a_row / (MACHINES * CORES)
        # A tree of sums: each machine sends its table once; the levels of the tree come after each other.
        moving = np.ceil(np.log(MACHINES) / np.log(8)) * 8 * table / NETWORK
        print(f"| {bins} | {depth} | {codes_gb:.1f} | {counting:.1f} | {table / 1e6:.1f} | {moving:.2f} |")


def used(call: Callable[[], Any], repeats: int = 3) -> float:
    """Seconds of a core, the best of some runs."""
    best = np.inf
    for _ in range(repeats):
        started = time.process_time()
        call()
        best = min(best, time.process_time() - started)
    return float(best)


def spilled(codes: np.ndarray, labels: np.ndarray, sets: np.ndarray, n_codes: list[int]) -> float:
    """The same from a file, in blocks."""
    with tempfile.TemporaryDirectory() as folder, Spill.create(Path(folder) / "rows", len(codes)) as spill:
        spill.append(codes, labels)
        spill.close()
        counts = BlockCounts(spill, n_codes, N_CLASSES)
        return used(lambda: counts.tables(sets, lambda: False), repeats=1)


PARTS = {"same": same, "losses": losses, "slopes": slopes}

if __name__ == "__main__":
    main()
