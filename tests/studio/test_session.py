"""A session and its worker, without a browser."""

from __future__ import annotations

import json
import math
import os
import queue
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from helpers.studio_tables import hostile_source, is_running
from omtree.export.saving import from_json
from omtree.studio.saving import FILES, saved, script
from omtree.studio.session import Session
from omtree.studio.source import Source, demo_source
from omtree.studio.wishes import Wishes
from omtree.studio.worker import QUICK, SAMPLE, Job, Limits, Worker
from omtree.studio.workers import WorkerProcess


class Bench:
    """A session in this thread: what its worker says is taken in when one waits."""

    def __init__(self, source: Source, limits: Limits) -> None:
        self._todo: queue.Queue[Callable[[], None]] = queue.Queue()
        self.session = Session(source, WorkerProcess(source, limits), lambda: None, self._todo.put)

    def wait(self, until: Callable[[], bool], seconds: float = 60.0) -> None:
        """Listen to the worker until something holds."""
        end = time.monotonic() + seconds
        while not until():
            self._todo.get(timeout=max(0.01, end - time.monotonic()))()

    def rest(self) -> None:
        """Listen until nothing is done any more."""
        self.wait(lambda: self.session.busy is None)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """One session for all tests of this file; its process is gone at the end."""
    made = Bench(hostile_source(), Limits(20.0))
    yield made
    number = made.session.process_id
    made.session.close()
    assert number is None or not is_running(number)


def view(session: Session) -> dict[str, Any]:
    """What is shown now."""
    found = session.revisions[session.current].view
    assert found is not None
    return found


def test_fit_undo_and_the_same_model_as_the_script(bench, tmp_path):
    """A session begins with the tree that its script makes; undo and redo go along the changes."""
    session = bench.session
    first = Wishes.first(session.source)
    start = session.ask(first)
    bench.rest()
    assert view(session)["phase"] == "validated"
    assert view(session)["curve"] is not None
    session.ask(replace(first, depth=2))
    bench.rest()
    second = session.current
    assert session.snapshot()["undo"]
    session.undo()
    assert session.current == start.number
    session.redo()
    assert session.current == second
    session.visit(start.number)
    assert not session.snapshot()["redo"]
    with pytest.raises(ValueError, match="no revision 999"):
        session.visit(999)
    model = from_json(session.revisions[start.number].model)
    assert model.certificate_.value == view(session)["value"]


def test_hundred_quick_changes_leave_one_fit(bench):
    """A hundred changes in a row are one step of the history, and only the last one is worked on."""
    session = bench.session
    if not session.revisions:
        session.ask(Wishes.first(session.source))
    bench.rest()
    before, start = session.current, session.revisions[session.current].wishes
    for step in range(100):
        session.ask(replace(start, min_leaf=round(0.02 + 0.001 * step, 3)))
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=True
    ).stdout.split()
    assert str(session.process_id) in children
    bench.rest()
    assert session.revisions[session.current].parent == before
    assert session.revisions[session.current].wishes.min_leaf == pytest.approx(0.119)
    model = from_json(session.revisions[session.current].model)
    assert model.min_samples_leaf == pytest.approx(0.119)
    assert min(rule.support for rule in model.rules_) >= 0.119 * len(session.source.y) - 1e-9


def test_what_was_undone_keeps_its_parent(bench):
    """A quick change after an undo takes no step away that another one was made from: the history can be saved."""
    session = bench.session
    session.ask(replace(Wishes.first(session.source), min_leaf=0.3))
    here = session.ask(replace(session.revisions[session.current].wishes, depth=2))
    session.ask(replace(here.wishes, leaves=2))
    session.undo()
    assert session.current == here.number
    here.made = math.inf  # just now, however slow the machine is
    session.ask(replace(here.wishes, depth=1))
    assert here.number in session.revisions
    assert session.to_json()
    bench.rest()


def test_what_cannot_be_kept_is_said_in_words(bench):
    """A leaf that is too small for another question: no names of constraints are shown."""
    session = bench.session
    session.ask(replace(Wishes.first(session.source), min_leaf=0.4))
    bench.rest()
    leaf = next(place for place, node in enumerate(view(session)["nodes"]) if node["leaf"] is not None)
    failed = session.edit(leaf, "grow", None)
    bench.rest()
    assert "what is kept of the tree" in failed.failed
    assert "Force" not in failed.failed
    session.undo()


def test_slider_of_leaves_is_answered_from_what_is_known(bench):
    """After a cross-validation every size is shown at once, with what to expect of it."""
    session = bench.session
    session.ask(replace(Wishes.first(session.source), depth=3))
    bench.rest()
    phases = []
    session.ask(replace(session.revisions[session.current].wishes, leaves=3))
    number = session.current
    bench.wait(lambda: (phases.append(view(session)["phase"]) or True) and view(session)["phase"] in ("known", "full"))
    assert view(session)["leaves"] <= 3
    bench.rest()
    assert session.current == number
    assert view(session)["validated"]
    around = view(session)["around"]
    assert around["trees"]
    assert min(tree["value"] for tree in around["trees"]) >= view(session)["value"] - 1e-9
    assert all(tree["leaves"] <= 3 for tree in around["trees"])


def test_constraints_and_why_there_is_no_tree(bench):
    """A constraint is kept on the tree that is shown; one that cannot be met is a sentence, and the old tree stays."""
    session = bench.session
    first = Wishes.first(session.source)
    recall = {"type": "recall", "class": "<b>yes</b>", "at_least": 0.95}
    session.ask(replace(first, depth=2, leaves=4, constraints=(recall,)))
    bench.rest()
    assert [check["met"] for check in view(session)["constraints"]] == [True]
    both = (recall, {"type": "precision", "class": "<b>yes</b>", "at_least": 1.0}, {"type": "root", "feature": "sex"})
    session.ask(replace(first, depth=1, leaves=2, constraints=both))
    bench.rest()
    assert session.revisions[session.current].failed
    assert view(session)["leaves"] <= 4


def test_everything_can_be_saved_and_opened_again(bench, tmp_path):
    """Every file has content; a session that is opened has the same wishes, and no code is run by it."""
    session = bench.session
    session.ask(replace(Wishes.first(session.source), depth=2, leaves=3, left_out=("plain",)))
    bench.rest()
    texts = {what: saved(session, what, 20.0) for what in FILES}
    assert all(texts.values())
    assert from_json(texts["model"]).get_params()["max_depth"] == 2
    assert "<img" not in texts["card"].replace("&lt;img", "")
    document = json.loads(texts["session"])
    other = Bench(session.source, Limits(20.0))
    try:
        other.session.open(texts["session"], "session.json")
        assert other.session.revisions[other.session.current].wishes == session.revisions[session.current].wishes
        assert len(other.session.revisions) == len(session.revisions)
    finally:
        other.session.close()
    for broken in (
        "{}",
        "[]",
        "no",
        json.dumps({**document, "current": 999}),
        json.dumps({**document, "revisions": 3}),
    ):
        bad = Bench(session.source, Limits(20.0))
        with pytest.raises(ValueError, match="session"):
            bad.session.open(broken, "session.json")
        bad.session.close()


def test_script_makes_the_tree(tmp_path):
    """The script of a session runs on its own and saves the same model."""
    source = demo_source()
    wishes = replace(Wishes.first(source), depth=1, leaves=2)
    file = tmp_path / "fit.py"
    file.write_text(script(source, wishes, 20.0), encoding="utf-8")
    subprocess.run([sys.executable, str(file)], cwd=tmp_path, check=True, capture_output=True)
    model = from_json((tmp_path / "model.json").read_text(encoding="utf-8"))
    assert len(model.rules_) == 2


def test_stop_and_a_worker_that_ends(bench):
    """A stop ends the work with the best tree known; a worker that is gone is replaced at the next change."""
    session = bench.session
    hard = replace(Wishes.first(session.source), depth=6, min_leaf=0.005, objective="f1")
    session.ask(hard)
    bench.wait(lambda: view(session)["phase"] == "quick" or session.busy is None)
    session.stop()
    bench.rest()
    assert view(session)["svg"]
    old = session.process_id
    assert old is not None
    os.kill(old, 9)
    session.ask(replace(hard, depth=1, objective="error"))
    bench.rest()
    if session.revisions[session.current].failed:  # it was killed after the question had reached it
        session.ask(replace(hard, depth=2, objective="error"))
        bench.rest()
    assert not session.revisions[session.current].failed
    assert session.process_id not in (None, old)


@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="no priorities on this system")
def test_a_worker_gives_way(bench):
    """A search takes all the processor that it gets; the server and the browser come first."""
    session = bench.session
    session.ask(replace(Wishes.first(session.source), depth=1))
    bench.rest()
    assert session.process_id is not None
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, session.process_id) == min(19, own + 10)


def test_a_quick_fit_without_a_tree_is_not_the_end(monkeypatch):
    """Where the short limit suffices for no tree under constraints, the long one is tried before anything is said."""
    source = demo_source()
    number = SimpleNamespace(value=0)
    worker = Worker(source, Limits(20.0), None, number, SimpleNamespace(value=-1))
    found = SimpleNamespace(certificate_=SimpleNamespace(value=1.0))
    shown, limits = [], []

    def fit(job: Job, seconds: float) -> Any:
        limits.append(seconds)
        if len(limits) == 1:
            raise ValueError("time_limit ended before any model met the constraints; raise it.")
        return found

    monkeypatch.setattr(worker, "_try", fit)
    monkeypatch.setattr(worker, "_show", lambda job, model, phase: shown.append(phase))
    assert worker._best(Job(0, Wishes.first(source)), None) is found
    assert limits == [QUICK, 20.0]
    assert shown == ["full"]


def test_many_rows_start_with_some_of_them():
    """The first tree of many rows is a real one, of a sample, and says so; the one that counts is of all rows."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=130_000)
    source = Source("many", "y", "classification", pa.table({"a": a, "b": rng.normal(size=len(a))}), a > 0.5)
    said: list[tuple[str, int, Any]] = []
    pipe = SimpleNamespace(send=said.append)
    worker = Worker(source, Limits(20.0), pipe, SimpleNamespace(value=0), SimpleNamespace(value=-1))
    model = worker._best(Job(0, replace(Wishes.first(source), depth=1)), None)
    first, last = (content["view"] for kind, _, content in said if kind == "view")
    assert (first["phase"], last["phase"], first["leaves"]) == ("sample", "full", 2)
    assert f"This first tree is of {SAMPLE:,} rows" in first["warnings"][-1]
    assert model.certificate_.value == last["value"] == 0
    assert sum(rule.support for rule in model.rules_) == len(a)
