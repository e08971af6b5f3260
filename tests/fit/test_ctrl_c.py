"""Ctrl-C while the kernel works ends the whole fit, whatever is made of the kernel's answer."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from omtree import OptimalTreeClassifier, OptimalTreeRegressor, _native
from omtree.deadline import Deadline
from omtree.fit import thresholds
from omtree.fit.plan import Plan
from omtree.fit.quick_trees import QuickTrees


@pytest.fixture
def interrupted_search(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The first search by neighbourhoods would never end, and SIGINT comes in its midst."""
    search: Callable[..., Any] = _native.improve_trees
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))

    def cut_short(*given: Any, **options: Any) -> Any:
        if not timer.ident:
            timer.start()
        return search(*given, **options)

    monkeypatch.setattr(_native, "improve_trees", cut_short)
    monkeypatch.setattr(thresholds, "FIRST_WORK", np.inf)
    monkeypatch.setattr(thresholds, "FIRST_PATIENCE", 10**9)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def noisy(n: int = 3000, k: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """A table that no search of some depth ends on soon."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, k))
    return X, X[:, 0] * X[:, 1] + rng.normal(size=n)


@pytest.mark.usefixtures("interrupted_search")
def test_parts_of_the_time_end_together() -> None:
    """After Ctrl-C in a kernel call neither the deadline of the fit nor any part of it, old or new, has time left."""
    X, y = noisy()
    whole, other = Deadline(None), Deadline(60.0)
    part = whole.share(0.5)
    with pytest.warns(UserWarning, match="interrupted"):
        OptimalTreeClassifier(max_depth=8, time_limit=None).fit(X, (y > 0).astype(int))
    assert whole.interrupted
    assert [d.remaining for d in (whole, other, part, part.at_most(5.0), whole.share(1.0))] == [0.0] * 5
    assert not Deadline(None).expired


@pytest.mark.usefixtures("interrupted_search")
@pytest.mark.parametrize("structure", ["tree", "rules"])
def test_a_forgotten_flag_does_not_go_on(structure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fit ends and says why even where the answer that Ctrl-C cut short is taken for a whole one."""
    forgotten = []
    search = QuickTrees.search

    def forgetful(*given: Any, **options: Any) -> Any:
        found = search(*given, **options)
        if found is None or not found.interrupted:
            return found
        forgotten.append(found)
        return replace(found, interrupted=False)

    monkeypatch.setattr(QuickTrees, "search", forgetful)
    X, y = noisy()
    model = OptimalTreeRegressor(max_depth=4, structure=structure, time_limit=None)
    with pytest.warns(UserWarning, match="interrupted"):
        model.fit(X, y)
    assert forgotten
    assert model.certificate_.status == "interrupted"


@pytest.mark.usefixtures("interrupted_search")
def test_choosing_a_size_ends_without_a_model() -> None:
    """Ctrl-C during a cross-validation is one for the caller, too: no size is known yet."""
    X, y = noisy()
    model = OptimalTreeClassifier(max_depth=6, max_leaves="auto", time_limit=None)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, (y > 0).astype(int))


class Loses:
    """Ctrl-C comes while this is destroyed, where Python drops what is raised."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):  # the handler runs between two of these
            pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore:The fit was interrupted")
@pytest.mark.parametrize("structure", ["tree", "rules"])
def test_an_interrupt_whose_exception_is_lost(structure: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit without a limit ends all the same, with what it knows or with the interrupt; the handler is put back."""
    honest = Plan.solve

    def losing(self: Plan, *args: Any, **kwargs: Any) -> Any:
        Loses()
        return honest(self, *args, **kwargs)

    monkeypatch.setattr(Plan, "solve", losing)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 15)), rng.integers(0, 2, 3000)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    model = OptimalTreeClassifier(structure=structure, max_depth=8, time_limit=None)
    started = time.process_time()
    try:
        model.fit(X, y)
        assert model.certificate_.status == "interrupted"
    except KeyboardInterrupt:
        assert not hasattr(model, "certificate_")
    finally:
        put_back = signal.signal(signal.SIGINT, before)
    assert put_back is signal.default_int_handler
    assert time.process_time() - started < 10.0  # without the interrupt it is hours
