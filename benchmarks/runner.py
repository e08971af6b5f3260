"""Runs tasks, each in a process of its own, and appends what came of them to the results file."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from benchmarks.estimate import Estimate
from benchmarks.machine import machine, peak_mb
from benchmarks.protocols import Task
from benchmarks.rivals import Absent, find
from benchmarks.store import Store, key

ROOT = Path(__file__).resolve().parent.parent
#: What runs one task; the file for its answer follows.
CHILD = (sys.executable, "-m", "benchmarks.child")
#: Beyond the sum of its limits a process gets this long for reading data, importing and predicting.
SPARE_SECONDS = 90.0
#: No method's grid has more options than this.
MOST_FITS = 12


def patience(task: Task) -> float:
    """Seconds after which a process is killed."""
    return 1.2 * (task.limit + MOST_FITS * task.tuning_limit) + SPARE_SECONDS


def version_of(method: str) -> tuple[str, str | None]:
    """Version of a method, and why it cannot run if it cannot."""
    try:
        return find(method).version(), None
    except Absent as reason:
        return "absent", str(reason)


def run_task(
    task: Task, folder: Path | None, seconds: float | None = None, command: Sequence[str] = CHILD
) -> dict[str, Any]:
    """The row of one task, run in a process of its own: a crash or a timeout is a row as well."""
    with tempfile.TemporaryDirectory() as scratch:
        answer = Path(scratch) / "answer.json"
        noise = Path(scratch) / "noise.txt"
        started = time.perf_counter()
        with noise.open("w") as output:
            process = subprocess.Popen(
                [*command, str(answer)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            )
            assert process.stdin is not None
            with suppress(BrokenPipeError), process.stdin:  # a process that is dead already is told by its exit code
                process.stdin.write(json.dumps({**task.to_dict(), "folder": str(folder) if folder else None}).encode())
            code, peak = _wait(process, started + (patience(task) if seconds is None else seconds))
        wall = time.perf_counter() - started
        if code is None:
            row: dict[str, Any] = {"status": "timeout", "reason": f"killed after {wall:.0f} s"}
        elif answer.exists():
            row = json.loads(answer.read_text())
        else:
            last = noise.read_text(errors="replace").strip().splitlines()[-1:]
            row = {"status": "crash", "reason": f"exit {code}: {' '.join(last)}"[:500]}
    return {**row, "wall": round(wall, 3), "peak_mb": round(max(peak, row.pop("peak_mb", 0.0)), 1)}


def _wait(process: subprocess.Popen[bytes], until: float) -> tuple[int | None, float]:
    """Exit code (None after a kill at the deadline) and peak memory in MB.

    The usage that the system tells of a dead process does not do: it counts what its parent had before it started.
    """
    killed = False
    peak, pause = 0.0, 0.005
    while process.poll() is None:
        peak = max(peak, peak_mb(process.pid))
        if not killed and time.perf_counter() > until:
            process.kill()
            killed = True
        time.sleep(pause)
        pause = min(0.1, 1.5 * pause)
    return (None if killed else process.returncode), peak


class Runner:
    """Tasks against a results file: what is there already is not run again."""

    def __init__(self, store: Store, folder: Path | None, console: Console | None = None, jobs: int = 1) -> None:
        self.store = store
        self.folder = folder
        self.console = console or Console()
        self.jobs = jobs
        self._versions: dict[str, tuple[str, str | None]] = {}
        self._machine = machine()

    def version(self, method: str) -> tuple[str, str | None]:
        """Looked up once."""
        if method not in self._versions:
            self._versions[method] = version_of(method)
        return self._versions[method]

    def identity(self, task: Task) -> dict[str, Any]:
        """What the row of a task is known by."""
        return {**task.to_dict(), "version": self.version(task.method)[0]}

    def missing(self, tasks: Iterable[Task], again: bool = False) -> list[Task]:
        """The tasks that are still to be run, in their order."""
        return [task for task in tasks if again or not self.store.done(key(self.identity(task)))]

    def run(self, tasks: Iterable[Task], *, again: bool = False, budget: float | None = None) -> int:
        """Run what is missing until the budget of seconds is used up; how many were run."""
        tasks = list(tasks)
        todo = self.missing(tasks, again)
        estimate = Estimate(self.store.rows)
        self.console.print(
            f"{len(tasks)} tasks, {len(tasks) - len(todo)} already there; the rest takes about "
            f"{clock(estimate.total(todo) / self.jobs)} on {self.jobs} process{'es' if self.jobs > 1 else ''}"
            + (f", of which {clock(budget)} are allowed" if budget else "")
        )
        begun = time.perf_counter()
        done = 0
        left = estimate.total(todo)
        lock = threading.Lock()
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
        )
        with Progress(*columns, console=self.console) as progress, ThreadPoolExecutor(self.jobs) as pool:
            bar = progress.add_task("", total=len(todo), left="")

            def one(task: Task) -> None:
                nonlocal done, left
                if budget is not None and time.perf_counter() - begun > budget:
                    return
                progress.update(bar, description=task.label)
                row = self.row(task)
                self.store.add(row)
                with lock:
                    done += 1
                    left -= estimate.seconds(task)
                    estimate.learn(row)
                    passed = time.perf_counter() - begun
                    progress.update(bar, advance=1, left=f"{clock(passed)} gone, about {clock(left / self.jobs)} left")
                if row["status"] not in ("ok", "not run"):
                    progress.console.print(f"{task.label}: {row['status']}, {row['reason']}")

            futures = [pool.submit(one, task) for task in todo]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                for future in futures:
                    future.cancel()
                raise
        return done

    def row(self, task: Task) -> dict[str, Any]:
        """The whole row of a task."""
        absent = self.version(task.method)[1]
        got = {"status": "not run", "reason": absent} if absent else run_task(task, self.folder)
        today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
        return {**self.identity(task), **got, "date": today, "machine": self._machine}


def clock(seconds: float) -> str:
    """Hours, minutes or seconds."""
    if seconds < 90:
        return f"{max(0, seconds):.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
