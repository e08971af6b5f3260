"""Policies of the sizes that `policytree` names: seconds of the whole fit, on generated rows.

    python -m benchmarks.policy_sizes [--part small wide disk] [--folder DIR] [--rows 1e7] [--memory 2GB]

`small` has 40,000 rows of 5 numbers and 2 actions, `wide` 100,000 rows of 200 numbers and 20 actions, `disk` writes
rows of 5 numbers and 2 actions as Parquet files into the folder and reads them under a memory limit.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import peak_mb
from omtree import OptimalPolicyTree, scan

#: Rows of a file.
PIECE = 1_000_000
HEAD = ("rows", "columns", "actions", "depth", "splits", "seconds", "processor", "status", "gap", "peak memory")


def generated(n_rows: int, n_columns: int, n_actions: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers, and what each action brings: more where a number of its own is high, with much noise."""
    rng = np.random.default_rng([11, seed])
    X = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    rewards = rng.normal(size=(n_rows, n_actions))
    for action in range(n_actions):
        rewards[:, action] += np.where(X[:, action % n_columns] > 0.3, 0.5, -0.2) + 0.2 * (X[:, -1 - action % 3] > 0)
    return X, rewards


def line(model: OptimalPolicyTree, shape: tuple[int, int, int], began: tuple[float, float]) -> tuple[str, ...]:
    """What a fit took."""
    seconds, processor = time.perf_counter() - began[0], time.process_time() - began[1]
    known = model.certificate_
    gap = f"{100 * known.gap:.1f} %"
    return (
        *(f"{size:,}" for size in shape),
        str(model.max_depth),
        model.splits,
        f"{seconds:.1f}",
        f"{processor:.1f}",
        known.status,
        gap,
        f"{peak_mb() / 1e3:.2f} GB",
    )


def in_memory(n_rows: int, n_columns: int, n_actions: int, depths: tuple[int, ...]) -> Iterator[tuple[str, ...]]:
    """Trees of each depth, of rows in memory."""
    X, rewards = generated(n_rows, n_columns, n_actions, 0)
    for depth in depths:
        for splits in ("binary", "multiway"):
            began = time.perf_counter(), time.process_time()
            model = OptimalPolicyTree(max_depth=depth, splits=splits, time_limit=600, n_jobs=-1)
            model.fit(X, rewards=rewards)
            yield line(model, (n_rows, n_columns, n_actions), began)


def on_disk(folder: Path, n_rows: int, memory: str) -> Iterator[tuple[str, ...]]:
    """Trees of rows in files."""
    import pyarrow as pa
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    for number in range(math.ceil(n_rows / PIECE)):
        size = min(PIECE, n_rows - number * PIECE)
        path = folder / f"policy-{number:05d}-{size}.parquet"
        if not path.exists():
            X, rewards = generated(size, 5, 2, number)
            columns: dict[str, Any] = {f"x{place}": values for place, values in enumerate(X.T)}
            columns |= {"wait": rewards[:, 0], "treat": rewards[:, 1]}
            pyarrow.parquet.write_table(pa.table(columns), path)
    for depth in (2, 3):
        began = time.perf_counter(), time.process_time()
        rows = scan(str(folder / "policy-*.parquet"), ["wait", "treat"], memory_limit=memory)
        model = OptimalPolicyTree(max_depth=depth, time_limit=None, n_jobs=-1).fit(rows)
        yield line(model, (n_rows, 5, 2), began)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=["small", "wide", "disk"], default=["small", "wide", "disk"])
    parser.add_argument("--folder", type=Path, default=Path("policy-rows"), help="of the files of rows")
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--memory", default="2GB")
    given = parser.parse_args()
    print("| " + " | ".join(HEAD) + " |")
    print("|" + "---|" * len(HEAD))
    parts = {
        "small": lambda: in_memory(40_000, 5, 2, (2, 3)),
        "wide": lambda: in_memory(100_000, 200, 20, (1, 2)),
        "disk": lambda: on_disk(given.folder, int(given.rows), given.memory),
    }
    for part in given.part:
        for cells in parts[part]():
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
