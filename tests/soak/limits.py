"""Fits that are cut short: every objective, structure, way to split and constraint, by a limit or by Ctrl-C.

``python tests/soak/limits.py`` walks over all of them and prints those that came back late; `sample` is a part of the
walk for the test suite. Tables have 100 to 200,000 rows and 2 to 2,000 columns.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))

import omtree
import omtree.constraints
from helpers.reference_demands import DEMANDS
from omtree.errors import InfeasibleError

#: Seconds after which a fit has to be back once its time is up, and the share of the limit that comes on top.
GRACE, SHARE = 1.0, 0.05
LIMITS = (0.05, 0.5)
SHAPES = ((100, 2), (250, 2_000), (5_000, 15), (5_000, 100), (40_000, 60), (2_000, 2_000), (200_000, 15))
CLASS_OBJECTIVES = (
    "error",
    "balanced_error",
    "gini",
    "entropy",
    "f1",
    "fbeta",
    "jaccard",
    "mcc",
    "fowlkes_mallows",
)
NUMBER_OBJECTIVES = ("squared", "absolute", "quantile", "huber", "poisson")
STRUCTURES: tuple[dict[str, Any], ...] = (
    {"structure": "tree", "splits": "multiway"},
    {"structure": "tree", "splits": "binary"},
    {"structure": "tree", "max_children": 3},
    {"structure": "rules"},
)
BINNINGS = ("adaptive", "quantile", "supervised", "exact")


@dataclass(frozen=True)
class Case:
    """One fit.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    parameters : dict
        Of the estimator, without the limit.
    regression : bool
    constraint : str or None
        A name in ``reference_demands.DEMANDS``.
    kind : {"numbers", "flags", "mixed"}
        What the columns are.
    """

    shape: tuple[int, int]
    parameters: dict[str, Any]
    regression: bool = False
    constraint: str | None = None
    kind: str = "numbers"

    def __str__(self) -> str:
        words = [f"{self.shape[0]} x {self.shape[1]} {self.kind}", *(f"{k}={v}" for k, v in self.parameters.items())]
        return ", ".join([*words, *([self.constraint] if self.constraint else [])])


@dataclass(frozen=True)
class Data:
    """A table, its labels (0 and 1) or its counts, and two groups."""

    X: pd.DataFrame
    labels: np.ndarray
    numbers: np.ndarray
    groups: pd.DataFrame


@dataclass
class Outcome:
    """How a fit ended: seconds it was late by clock and by processor time, whichever is less, and what it said."""

    case: Case
    limit: float
    late: float
    status: str
    interrupted: bool = False
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether it was back in time and what it returned is sound."""
        return self.late <= GRACE + SHARE * self.limit and not self.problems

    def __str__(self) -> str:
        cut = "Ctrl-C after" if self.interrupted else "limit"
        return f"{self.late:6.2f} s late, {cut} {self.limit} s, {self.status}: {self.case} {' '.join(self.problems)}"


@lru_cache(maxsize=2)
def data(shape: tuple[int, int], kind: str) -> Data:
    """Columns of which a few matter, with noise: no small tree is right everywhere."""
    rows, columns = shape
    rng = np.random.default_rng(rows + columns)
    X = rng.normal(size=(rows, columns))
    signal_ = X[:, 0] * np.sign(X[:, 1 % columns]) + 0.7 * np.abs(X[:, min(2, columns - 1)])
    numbers = rng.poisson(np.exp(np.clip(signal_, -3.0, 3.0)))
    labels = (signal_ + rng.normal(size=rows) > 0.3).astype(int)
    labels[:2] = 0, 1
    frame = pd.DataFrame(X > 0 if kind == "flags" else X, columns=[f"c{i}" for i in range(columns)])
    if kind == "mixed":
        for i in range(0, columns, 2):
            frame[f"c{i}"] = pd.Categorical.from_codes(np.digitize(X[:, i], [-1.0, -0.3, 0.3, 1.0]), list("abcde"))
    group = np.where(X[:, 0] + rng.normal(size=rows) > 0, "u", "v")
    return Data(frame, labels, numbers.astype(float), pd.DataFrame({"group": group}))


def every_case() -> Iterator[Case]:
    """The whole walk: about two thousand fits."""
    for shape, structure in itertools.product(SHAPES, STRUCTURES):
        for objective in CLASS_OBJECTIVES:
            yield Case(shape, {**structure, "objective": objective, "max_depth": 3})
        for objective in NUMBER_OBJECTIVES:
            yield Case(shape, {**structure, "objective": objective, "max_depth": 3}, regression=True)
        for depth, kind in itertools.product((2, 4, 6, 10), ("numbers", "flags", "mixed")):
            yield Case(shape, {**structure, "max_depth": depth}, kind=kind)
            yield Case(shape, {**structure, "max_depth": depth}, regression=True, kind=kind)
        for binning in BINNINGS:
            yield Case(shape, {**structure, "binning": binning, "max_depth": 3})
            yield Case(shape, {**structure, "binning": binning, "max_depth": 3}, regression=True)
        yield Case(shape, {**structure, "max_depth": 3, "costs": [[0.0, 1.5], [4.25, 0.0]]})
        yield Case(shape, {**structure, "max_depth": 3, "categories": "values"}, kind="mixed")
    for name, structure, shape in itertools.product(DEMANDS, STRUCTURES, SHAPES[2:]):
        yield Case(shape, {**structure, "max_depth": 3}, constraint=name)
    for shape in SHAPES:
        yield Case(shape, {"structure": "rules", "preset": "paper", "max_depth": 3})


def sample(size: int, seed: int = 0) -> list[Case]:
    """So many cases at random, and those that were late once."""
    known = [
        Case((5_000, 15), {"splits": "binary", "max_depth": 6}),
        Case((5_000, 15), {"splits": "binary", "max_depth": 10}),
        Case((200_000, 15), {"splits": "binary", "max_depth": 5}),
        Case((250, 2_000), {"binning": "exact", "max_depth": 3}),
        Case((2_000, 2_000), {"structure": "rules", "max_depth": 10}, kind="flags"),
        Case((2_000, 2_000), {"splits": "multiway", "max_depth": 3}, constraint="Requires"),
        Case((20_000, 500), {"binning": "supervised", "max_depth": 3}),
        Case((200_000, 15), {"splits": "binary", "max_depth": 10}, kind="mixed"),
    ]
    everything = list(every_case())
    chosen = np.random.default_rng(seed).choice(len(everything), size, replace=False)
    return [*known, *(everything[i] for i in sorted(chosen))]


@lru_cache(maxsize=1)
def _import_everything() -> None:
    """What is imported when it is first needed would otherwise count as late."""
    table = data((100, 2), "numbers")
    for structure in ("tree", "rules"):
        omtree.OptimalTreeClassifier(structure=structure, max_depth=1).fit(table.X, table.labels)


def run(case: Case, limit: float, *, interrupt: bool = False) -> Outcome:
    """Fit with this limit, or without one and Ctrl-C after so many seconds."""
    _import_everything()
    table = data(case.shape, case.kind)
    first = SimpleNamespace(name="c0", kind="numeric")
    world = SimpleNamespace(a="c0", b="c1", data=SimpleNamespace(X=table.X), coded=SimpleNamespace(features=[first]))
    constraints = [] if case.constraint is None else [DEMANDS[case.constraint].constraint(omtree.constraints, world)]
    kind = omtree.OptimalTreeRegressor if case.regression else omtree.OptimalTreeClassifier
    model = kind(**case.parameters, constraints=constraints, time_limit=None if interrupt else limit)
    target = table.numbers if case.regression else table.labels
    groups = {"groups": table.groups} if constraints else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        late, status = _cut(lambda: _fit(model, table.X, target, groups), limit, interrupt)
    outcome = Outcome(case, limit, late, status, interrupt)
    if hasattr(model, "certificate_") and model.certificate_.bound > model.certificate_.value * (1 + 1e-9) + 1e-9:
        outcome.problems.append(f"bound {model.certificate_.bound} above value {model.certificate_.value}")
    return outcome


def _fit(model: Any, X: pd.DataFrame, target: np.ndarray, groups: dict[str, pd.DataFrame]) -> str:
    try:
        model.fit(X, target, **groups)
    except InfeasibleError:
        return "infeasible"
    except ValueError as error:
        # What cannot be had is refused in a sentence, and the end of the time before any model is one too.
        return f"refused ({error})"
    return str(model.certificate_.status)


def _cut(fit: Callable[[], str], after: float, interrupt: bool) -> tuple[float, str]:
    """Seconds from the moment the time is up to the end, by clock or processor, whichever is less, and the status."""
    up: list[tuple[float, float]] = []

    def time_is_up() -> None:
        up.append((time.monotonic(), time.process_time()))
        if interrupt:
            os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, time_is_up)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        status = fit()
        timer.cancel()
        timer.join()
    except KeyboardInterrupt:
        status = "KeyboardInterrupt"
    finally:
        signal.signal(signal.SIGINT, before)
    if not up:
        return 0.0, status
    return min(time.monotonic() - up[0][0], time.process_time() - up[0][1]), status


def walk(cases: Sequence[Case], report: Callable[[Outcome], None]) -> int:
    """Cut all of these short in turns by each limit and by Ctrl-C; how many were late or wrong."""
    wrong = 0
    for number, case in enumerate(cases):
        limits = LIMITS if number % 10 else (*LIMITS, 1.0)
        for limit, interrupt in [*((limit, False) for limit in limits), (0.3, True)]:
            outcome = run(case, limit, interrupt=interrupt)
            wrong += not outcome.ok
            report(outcome)
    return wrong


def main() -> int:
    """The whole walk, or the part of it that the arguments tell: every n-th case, from the k-th on."""
    step, first = (int(argument) for argument in (*sys.argv[1:], *"10"[len(sys.argv) - 1 :]))
    cases = list(every_case())[first::step]
    wrong = walk(cases, lambda outcome: None if outcome.ok else print(outcome, flush=True))
    print(f"{len(cases)} cases, {wrong} outcomes late or wrong.")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
