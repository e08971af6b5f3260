"""Rows on disk: seconds and peak memory of a depth-3 multiway tree under a memory limit.

Writes synthetic rows as Parquet in pieces, fits in a process of its own and prints a line per size::

    python -m benchmarks.disk FOLDER [--rows 1e6 1e7 1e8] [--memory 2GB] [--jobs 2] [--bins 8]

The files stay in the folder, so that a second run need not write them again; about 60 bytes a row.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.machine import peak_mb

#: Rows of a file.
PIECE = 1_000_000
N_NUMBERS = 14
#: What the events of a fit are part of.
PHASES = {"column": "bins", "sample": "codes", "reading": "codes", "counting": "counts"}
CATEGORIES = {"colour": 4, "region": 8, "plan": 3, "source": 6}


def piece(number: int, n_rows: int = PIECE) -> dict[str, np.ndarray]:
    """The columns of one file: 14 numbers, 4 categories, and a label that follows a hidden tree, with noise."""
    rng = np.random.default_rng([7, number])
    columns: dict[str, np.ndarray] = {}
    for i in range(N_NUMBERS):
        values = rng.normal(size=n_rows) if i % 2 else rng.exponential(size=n_rows)
        columns[f"x{i}"] = values.astype(np.float32)
    for name, n_levels in CATEGORIES.items():
        columns[name] = rng.integers(0, n_levels, n_rows).astype(np.int8)
    x, colour, region = columns, columns["colour"], columns["region"]
    low = np.where(x["x1"] < -0.4, x["x2"] > 0.8, np.where(x["x1"] < 0.7, region < 3, x["x5"] > 0.2))
    high = np.where(x["x3"] > 0.5, x["x4"] < 1.2, region >= 5)
    label = np.where(colour < 2, low, high) ^ (rng.random(n_rows) < 0.15)
    columns["y"] = label.astype(np.int8)
    return columns


def write(folder: Path, n_rows: int) -> list[str]:
    """The files of so many rows, written where they are not there yet."""
    import pyarrow as pa
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for number in range(math.ceil(n_rows / PIECE)):
        size = min(PIECE, n_rows - number * PIECE)
        path = folder / f"piece-{number:05d}-{size}.parquet"
        if not path.exists():
            columns = piece(number, size)
            table = pa.table(
                {
                    name: pa.array(values).cast(pa.string()) if name in CATEGORIES else values
                    for name, values in columns.items()
                }
            )
            unfinished = path.with_suffix(".part")
            pa.parquet.write_table(table, unfinished, row_group_size=1 << 17)
            os.replace(unfinished, path)
        files.append(str(path))
    return files


def fit(files: list[str], memory: str, jobs: int, bins: int) -> dict[str, object]:
    """Fit in this process and say what it took."""
    from omtree import OptimalTreeClassifier, scan
    from omtree.progress import Event, listen

    # Seconds by the clock and of the processor, by phase.
    phases: dict[str, list[float]] = {}
    at = [time.monotonic(), time.process_time()]
    current = "facts"

    def note(event: Event) -> None:
        nonlocal current
        now = [time.monotonic(), time.process_time()]
        spent = phases.setdefault(current, [0.0, 0.0])
        for i in range(2):
            spent[i] += now[i] - at[i]
        at[:] = now
        current = PHASES.get(event.phase.split()[0], "search")

    model = OptimalTreeClassifier(max_depth=3, n_bins=bins, binning="quantile", n_jobs=jobs, time_limit=None)
    with listen(note):
        model.fit(scan(files, target="y", memory_limit=memory))
    note(Event("end", 0.0))
    certificate = model.certificate_
    return {
        "rows": certificate.weight,
        "seconds": sum(spent[0] for spent in phases.values()),
        "cpu": sum(spent[1] for spent in phases.values()),
        "peak": peak_mb() * 2**20,
        "status": certificate.status,
        "errors": certificate.value,
        "phases": phases,
    }


def main() -> None:
    """Run the sizes one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7, 1e8])
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--bins", type=int, default=8)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(fit(json.load(sys.stdin), options.memory, options.jobs, options.bins)))
        return
    found = []
    for n_rows in map(int, options.rows):
        files = write(options.folder, n_rows)
        command = [sys.executable, "-m", "benchmarks.disk", str(options.folder), "--child"]
        command += ["--memory", options.memory, "--jobs", str(options.jobs), "--bins", str(options.bins)]
        run = subprocess.run(command, input=json.dumps(files), capture_output=True, text=True, check=False)
        if run.returncode:
            sys.exit(run.stderr)
        result = json.loads(run.stdout)
        found.append(result)
        on_disk = sum(os.path.getsize(file) for file in files)
        parts = ", ".join(f"{name} {clock:.1f} ({cpu:.1f})" for name, (clock, cpu) in result["phases"].items())
        print(
            f"{n_rows:>12,} rows, {on_disk / 1e9:.2f} GB on disk: {result['seconds']:.1f} s "
            f"({result['cpu']:.1f} s of the processor), peak {result['peak'] / 1e9:.2f} GB, "
            f"{result['errors']:.0f} errors, {result['status']}; {parts}",
            flush=True,
        )
    for less, more in itertools.pairwise(found):
        ratio = math.log(more["rows"] / less["rows"])
        slopes = [math.log(more[key] / less[key]) / ratio for key in ("seconds", "cpu")]
        print(
            f"growth from {less['rows']:,.0f} to {more['rows']:,.0f} rows: "
            f"seconds ~ rows^{slopes[0]:.2f}, of the processor rows^{slopes[1]:.2f}"
        )


if __name__ == "__main__":
    main()
