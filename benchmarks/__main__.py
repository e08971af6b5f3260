"""The command line: `python -m benchmarks run PROTOCOL ...`, `estimate`, `report`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.protocols import PROTOCOLS, Task
from benchmarks.runner import ROOT, Runner, clock
from benchmarks.store import Store

RESULTS = ROOT / "benchmarks" / "results.jsonl"


def arguments() -> argparse.ArgumentParser:
    """What can be asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("run", "run what is missing of a protocol"),
        ("estimate", "how long what is missing will take"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("protocols", nargs="+", choices=PROTOCOLS)
        command.add_argument("--data", type=Path, default=os.environ.get("OMTREE_DATA"), help="folder; else OpenML")
        command.add_argument("--results", type=Path, default=RESULTS)
        command.add_argument("--methods", nargs="+", help="only these")
        command.add_argument("--sets", nargs="+", help="only these data sets")
        command.add_argument("--depths", nargs="+", type=int)
        command.add_argument("--splits", nargs="+", type=int)
        command.add_argument("--jobs", type=int, default=1, help="processes at a time")
        command.add_argument("--budget", type=float, help="start nothing after this many seconds")
        command.add_argument("--again", action="store_true", help="also what is there already; the last row counts")
    report = commands.add_parser("report", help="write docs/benchmarks.md")
    report.add_argument("--results", type=Path, default=RESULTS)
    report.add_argument("--to", type=Path, default=ROOT / "docs" / "benchmarks.md")
    return parser


def wanted(asked: argparse.Namespace) -> list[Task]:
    """The tasks asked for, in the order of their protocols."""
    return [
        task
        for protocol in asked.protocols
        for task in PROTOCOLS[protocol]()
        if (not asked.methods or task.method in asked.methods)
        and (not asked.sets or task.data.partition("?")[0] in asked.sets)
        and (not asked.depths or task.depth in asked.depths)
        and (not asked.splits or task.split in asked.splits)
    ]


def main(line: list[str] | None = None) -> None:
    """Do what is asked."""
    asked = arguments().parse_args(line)
    if asked.command == "report":
        from benchmarks.report.page import write

        write(Store(asked.results).rows, asked.to)
        print(f"wrote {asked.to}")
        return
    folder = Path(asked.data).resolve() if asked.data else None
    runner = Runner(Store(asked.results), folder, jobs=asked.jobs)
    if asked.command == "run":
        runner.run(wanted(asked), again=asked.again, budget=asked.budget)
        return
    from benchmarks.estimate import Estimate

    estimate = Estimate(runner.store.rows)
    todo = runner.missing(wanted(asked))
    for name in dict.fromkeys((task.protocol, task.method) for task in todo):
        mine = [task for task in todo if (task.protocol, task.method) == name]
        print(f"{name[0]:<12} {name[1]:<8} {len(mine):>4} tasks  {clock(estimate.total(mine)):>8}")
    print(f"in all {clock(estimate.total(todo) / asked.jobs)} on {asked.jobs} process(es)")


if __name__ == "__main__":
    main()
