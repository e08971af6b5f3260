"""Inputs at random for everything that reads what it did not write: `make fuzz`, or in tests `python -m fuzz.run`.

Four targets: model files, tables from files, texts in Arrow's arrays, and the kernel's own tables. Input number n of a
target is always the same, so a failure is a target and a number: ``--target texts --first 17 --count 1`` shows it.
Batches run in processes of their own; one that dies is a failure like one that raises what no reader may raise.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from fuzz import kernel_tables, model_files, table_files, texts

#: What takes input number n, and the share of all inputs that it gets.
TARGETS: dict[str, tuple[Callable[[int], None], float]] = {
    "models": (model_files.check, 0.1),
    "tables": (table_files.check, 0.05),
    "texts": (texts.check, 0.4),
    "kernel": (kernel_tables.check, 0.45),
}
BATCH = 5000


def run_batch(target: str, first: int, count: int) -> int:
    """Check inputs here; the number of those that failed."""
    check, failed = TARGETS[target][0], 0
    for number in range(first, first + count):
        try:
            check(number)
        except Exception as fault:
            failed += 1
            print(f"{target} {number}: {type(fault).__name__}: {str(fault)[:300]}", flush=True)
    return failed


def run_all(inputs: int, start: int) -> int:
    """Check all targets, batch by batch; the number of batches that failed or died."""
    bad = 0
    for target, (_, share) in TARGETS.items():
        total, began, bad_here = round(inputs * share), time.monotonic(), 0
        for first in range(start, start + total, BATCH):
            count = min(BATCH, start + total - first)
            command = [
                sys.executable,
                "-m",
                "fuzz.run",
                "--target",
                target,
                "--first",
                str(first),
                "--count",
                str(count),
            ]
            code = subprocess.run(command, check=False, cwd=Path(__file__).parent.parent).returncode
            if code < 0:
                print(f"{target} {first}..{first + count - 1}: the process died of signal {-code}", flush=True)
            bad_here += code != 0
        print(f"{target}: {total} inputs in {time.monotonic() - began:.0f} s, {bad_here} batches failed", flush=True)
        bad += bad_here
    return bad


def main() -> int:
    """One batch of a target, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--target", choices=TARGETS)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    options = parser.parse_args()
    if options.target:
        return min(run_batch(options.target, options.first, options.count), 100)
    return bool(run_all(options.inputs, options.first))


if __name__ == "__main__":
    sys.exit(main())
