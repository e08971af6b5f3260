"""Runs are processes, rows are kept, and what is done is not done again."""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from benchmarks.__main__ import arguments, wanted
from benchmarks.estimate import Estimate
from benchmarks.experiment import Choice, Parts, choose, run
from benchmarks.protocols import PROTOCOLS, Task
from benchmarks.runner import Runner, clock, run_task
from benchmarks.store import Store, key

TASK = Task("sample", "cart", "synthetic-300", 2, 0, 5.0)


def quiet() -> Console:
    """A console that nobody sees."""
    return Console(file=io.StringIO())


def script(text: str) -> tuple[str, ...]:
    """A stand-in for the process of a run."""
    return (sys.executable, "-c", text)


def test_a_task_in_its_process_gives_a_row(tmp_path: Path) -> None:
    """A real run in a process of its own tells accuracy, errors, seconds and memory."""
    row = run_task(TASK, tmp_path)
    assert row["status"] == "ok"
    assert 0 < row["test"] <= 1
    assert row["errors"] == round((1 - row["train"]) * row["n"])
    assert row["wall"] > row["seconds"]
    assert row["peak_mb"] > 20


def test_a_set_that_is_not_there_is_not_run(tmp_path: Path) -> None:
    """Missing data is a row that says so."""
    row = run_task(Task("huge", "cart", "SUSY", 2), tmp_path)
    assert row["status"] == "not run"
    assert "SUSY" in row["reason"]


def test_a_crash_is_a_row() -> None:
    """A process that dies leaves its exit code and its last words."""
    row = run_task(TASK, None, command=script("import os; print('oh', flush=True); os.abort()"))
    assert row["status"] == "crash"
    assert row["reason"].startswith("exit -6")
    assert "oh" in row["reason"]


def test_a_process_that_does_not_end_is_killed() -> None:
    """A run beyond its time is a row with the status timeout."""
    row = run_task(TASK, None, seconds=0.3, command=script("import time; time.sleep(600)"))
    assert row["status"] == "timeout"
    assert row["wall"] < 60


def test_peak_memory_is_that_of_the_process() -> None:
    """What a process took shows, and what the process that started it has does not."""
    row = run_task(TASK, None, command=script("import time; x = bytearray(80 << 20); time.sleep(0.5)"))
    assert 80 < row["peak_mb"] < 120


def test_an_error_of_a_method_is_a_row(tmp_path: Path) -> None:
    """An exception inside the run is told by its class and message."""
    (tmp_path / "broken.csv").write_text("a,target\n1,x\n")
    row = run_task(Task("today", "cart", "broken", 2), tmp_path)
    assert row["status"] == "error"
    assert row["reason"]


def fake(task: Task, **more: Any) -> dict[str, Any]:
    """A finished row."""
    return {**task.to_dict(), "version": "1", "status": "ok", "wall": 4.0, **more}


def test_a_store_resumes(tmp_path: Path) -> None:
    """Rows are read back by key, the last of a key counts, and half a line at the end does no harm."""
    path = tmp_path / "results.jsonl"
    store = Store(path)
    store.add(fake(TASK, test=0.1))
    store.add(fake(TASK, test=0.2))
    with path.open("a") as file:
        file.write('{"protocol": "sam')
    again = Store(path)
    assert [row["test"] for row in again.rows] == [0.2]
    assert again.done(key(fake(TASK)))
    other = Task("sample", "cart", "synthetic-300", 3)
    again.add(fake(other))
    assert len(Store(path).rows) == 2


def test_a_damaged_store_is_refused(tmp_path: Path) -> None:
    """A line that is not JSON but looks whole is an error that names the line."""
    path = tmp_path / "results.jsonl"
    path.write_text("{oops}\n")
    with pytest.raises(ValueError, match="line 1"):
        Store(path)


def test_not_run_is_tried_again_but_told_once(tmp_path: Path) -> None:
    """What could not start is not finished, and repeating it adds no line."""
    store = Store(tmp_path / "results.jsonl")
    store.add(fake(TASK, status="not run", reason="no data"))
    store.add(fake(TASK, status="not run", reason="no data"))
    assert not store.done(key(fake(TASK)))
    assert len(store.path.read_text().splitlines()) == 1


def test_a_runner_does_each_task_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs of the same tasks do the work of one; a budget of nothing does none; `again` does it all."""
    calls: list[Task] = []

    def stand_in(task: Task, folder: Path | None) -> dict[str, Any]:
        calls.append(task)
        return {"status": "ok", "wall": 0.1}

    monkeypatch.setattr("benchmarks.runner.run_task", stand_in)
    tasks = [Task("sample", "cart", "synthetic-300", depth) for depth in (1, 2, 3)]

    def runner() -> Runner:
        return Runner(Store(tmp_path / "results.jsonl"), None, quiet(), jobs=2)

    assert runner().run(tasks, budget=-1.0) == 0
    assert runner().run(tasks[:2]) == 2
    assert runner().run(tasks) == 1
    assert runner().run(tasks, again=True) == 3
    assert Counter(task.depth for task in calls) == {1: 2, 2: 2, 3: 2}


def test_an_absent_method_is_not_started(tmp_path: Path) -> None:
    """A method without its package gives a row of its own, and no process."""
    runner = Runner(Store(tmp_path / "results.jsonl"), None, quiet())
    runner._versions["iai"] = ("absent", "interpretableai is not installed")
    row = runner.row(Task("today", "iai", "synthetic-300", 2))
    assert row["status"] == "not run"
    assert row["version"] == "absent"


def test_parts_are_disjoint_and_the_same_for_every_method() -> None:
    """A split has 50, 25 and 25 % of the rows, each row once, by its number alone."""
    parts = Parts.draw(200, 3)
    assert [len(parts.train), len(parts.validation), len(parts.test)] == [100, 50, 50]
    assert sorted(np.concatenate([parts.both, parts.test])) == list(range(200))
    assert (Parts.draw(200, 3).test == parts.test).all()
    assert (Parts.draw(200, 4).test != parts.test).any()


def test_choosing_takes_the_fewest_errors_then_the_fewest_leaves() -> None:
    """Of several that are equal on validation the smallest is chosen, and the first of several as small."""
    one, two = {"n_bins": 8}, {"n_bins": 5}
    choices = [Choice(5, 2, one, 2), Choice(4, 5, one, 5), Choice(4, 4, one, 4), Choice(4, 4, two, 4)]
    assert choose(choices) == Choice(4, 4, one, 4)
    assert choose([Choice(1, 0, {"p": p}, None) for p in (0, 1, 2)]) == Choice(1, 0, {"p": 0}, None)
    assert choose([*choices, Choice(3, 7, two, 7)]) == Choice(3, 7, two, 7)


def test_tuning_refits_on_both_parts() -> None:
    """A tuned run tells what was chosen, and is fitted to 75 % of the rows."""
    row = run(Task("sample", "tree", "synthetic-400", 2, 1, 20.0, 20.0), None)
    assert row["n"] == 300
    assert row["fits"] == 5
    assert row["options"]["n_bins"] in (3, 4, 5, 8)
    assert row["size"] >= row["leaves"]
    assert row["full_errors"] <= row["errors"]
    assert json.loads(json.dumps(row)) == row


def test_protocols_cover_the_experiments() -> None:
    """The small protocol has the paper's 240 instances of ours first, and no task is there twice."""
    small = PROTOCOLS["paper-small"]()
    assert {task.method for task in small[:240]} == {"tree"}
    assert Counter(task.method for task in small)["rules"] == 240
    assert Counter(task.method for task in small)["oct"] == 48
    for name, build in PROTOCOLS.items():
        tasks = build()
        assert len(set(tasks)) == len(tasks)
        assert {task.protocol for task in tasks} == {name}


def test_the_command_line_selects() -> None:
    """Methods, sets, depths and splits narrow a protocol down."""
    asked = arguments().parse_args(
        ["run", "paper-small", "--methods", "cart", "--sets", "monks-1", "--depths", "2", "--splits", "0", "1"]
    )
    assert [task.label for task in wanted(asked)] == [
        f"paper-small: cart monks-1 d=2 split {split}" for split in (0, 1)
    ]


def test_an_estimate_learns() -> None:
    """Before any run there is a guess, afterwards the mean of runs of the same kind."""
    task = Task("paper-small", "oct", "monks-1", 3, 0, 60.0, 10.0)
    estimate = Estimate()
    assert estimate.seconds(task) > 10
    for wall in (3.0, 5.0):
        estimate.learn({**task.to_dict(), "data": "monks-2", "wall": wall})
    assert estimate.seconds(task) == 4.0
    assert estimate.total([task, task]) == 8.0


def test_times_are_readable() -> None:
    """Seconds, minutes, hours."""
    assert [clock(30), clock(600), clock(7200)] == ["30 s", "10 min", "2.0 h"]
