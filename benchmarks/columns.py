"""Column generation, data set by data set: seconds per phase, LP value, value, bound and gap.

    python -m benchmarks.columns --data DIR [--part small|large|huge] [--depths 2 3 4 5] [--time-limit 60]
                                 [--preset paper]

Small sets use 75 % of their rows, drawn once; the others all rows. Leaves 2^d, support 1 %, at most 8 quantile bins.
Every fit runs in a process of its own, so that its peak memory can be told. Huge sets are fitted a second time, as a
tree, to compare. With `--preset paper` rules are found by the paper's method, and the gap to the LP is the paper's. The
last lines compare the median seconds of each depth with those of the AAAI-23 paper (3.9, 9.3, 15.6 and 21.9 s on an
8-core i7 with CPLEX).
"""

from __future__ import annotations

import argparse
import multiprocessing
import platform
import resource
import statistics
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from sklearn.model_selection import train_test_split

import omtree
from benchmarks import sets
from benchmarks.data import synthetic
from omtree import OptimalTreeClassifier

PARTS = {
    "small": (sets.SMALL, (2, 3, 4, 5)),
    "large": (sets.LARGE, (2, 3)),
    "huge": (("synthetic-1000000", *sets.HUGE), (2, 3)),
}
PAPER_MEDIAN_SECONDS = {2: 3.9, 3: 9.3, 4: 15.6, 5: 21.9}
PHASES = ("data", "start", "tables", "lp", "pricing", "improve", "proof", "mip")


def run(folder: Path, name: str, depth: int, share: float, options: dict[str, Any]) -> dict[str, Any]:
    """One fit: what its certificate says, how long it took and how much memory."""
    if name.startswith("synthetic-"):
        made = synthetic(int(name.removeprefix("synthetic-")))
        X, y, kinds = made.X, made.y, {}
    else:
        X, y, kinds = sets.load(folder, name)
        if name in sets.SMALL:  # digits are names there, unless their order is given
            kinds = {**dict.fromkeys(X, "nominal"), **kinds}
    if share < 1.0:
        X, _, y, _ = train_test_split(X, y, train_size=share, random_state=0, stratify=y)
    model = OptimalTreeClassifier(max_depth=depth, binning="quantile", feature_kinds=kinds, **options)
    started, worked = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # constant columns of a small split
        model.fit(X, y)
    seconds = time.perf_counter() - started
    worked = time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**model.certificate_.to_dict(), "wall": seconds, "cpu": worked, "peak_mb": peak, "n": len(X)}


def run_apart(*arguments: Any) -> dict[str, Any]:
    """The same in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(run, *arguments).result()


def main() -> None:
    """Run the part and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=PARTS, default="small")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--depths", nargs="+", type=int)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--categories", choices=("groups", "values"), default="groups")
    parser.add_argument("--n-jobs", type=int, default=-1)
    parser.add_argument("--preset", choices=("paper",))
    args = parser.parse_args()
    names, depths = PARTS[args.part]
    options = {"time_limit": args.time_limit, "categories": args.categories, "n_jobs": args.n_jobs}
    print(f"omtree {omtree.__version__}, Python {platform.python_version()}, {multiprocessing.cpu_count()} cores\n")
    with_tree = args.part == "huge"
    print(
        "| data | n | d | status | errors | bound | gap % | LP | gap to LP % | columns | rows | rounds | s | cpu s |",
        end=" ",
    )
    print(" | ".join(PHASES), "| pricing a round | MB |", "tree | tree s |" if with_tree else "")
    print("|---" * (16 + len(PHASES) + 2 * with_tree) + "|")
    seconds: dict[int, list[float]] = {}
    proven = late = count = 0
    for name in args.sets or names:
        for depth in args.depths or depths:
            share = 0.75 if args.part == "small" else 1.0
            got = run_apart(args.data, name, depth, share, {**options, "structure": "rules", "preset": args.preset})
            tree = ""
            if with_tree:
                other = run_apart(args.data, name, depth, share, {**options, "structure": "tree"})
                tree = f" {other['value']:g} | {other['wall']:.2f} |"
            lp = " | " if got["lp_value"] is None else f"{got['lp_value']:.2f} | {100 * got['lp_gap']:.2f}"
            phases = " | ".join(f"{got['seconds'].get(phase, 0.0):.2f}" for phase in PHASES)
            priced = got["seconds"].get("pricing", 0.0) / max(1, got["iterations"])
            print(
                f"| {name} | {got['n']} | {depth} | {got['status']} | {got['value']:g} | {got['bound']:g} "
                f"| {100 * got['gap']:.1f} | {lp} | {got['columns']} | {got['rows']} | {got['iterations']} "
                f"| {got['wall']:.2f} | {got['cpu']:.2f} | {phases} | {priced:.3f} | {got['peak_mb']:.0f} |{tree}",
                flush=True,
            )
            seconds.setdefault(depth, []).append(got["wall"])
            count += 1
            proven += got["status"] == "optimal"
            late += got["wall"] > args.time_limit + 2.0
    print(f"\n{proven} of {count} proven optimal, {late} more than 2 s above the limit of {args.time_limit:g} s.\n")
    for depth, values in sorted(seconds.items()):
        median = statistics.median(values)
        paper = PAPER_MEDIAN_SECONDS.get(depth) if args.part == "small" else None
        ratio = f", {paper / median:.1f} times below the paper's {paper} s" if paper else ""
        print(f"- depth {depth}: median {median:.2f} s{ratio}")


if __name__ == "__main__":
    main()
