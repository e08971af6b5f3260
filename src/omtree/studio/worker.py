"""The process that fits: it holds the rows, works on the latest wishes only, and can be interrupted at any time.

Two numbers are shared with the server: the revision that is wanted, and the last one that was stopped. A signal ends
the fit that runs if it is for an older or for a stopped revision, and is ignored otherwise, so a late one does no harm.
"""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from omtree.cli.modelling import estimator_class
from omtree.constraints import Force
from omtree.deadline import Deadline
from omtree.estimators.refit import over_cuts_of
from omtree.export.saving import from_json
from omtree.studio.around import prices_around, trees_around
from omtree.studio.source import Source
from omtree.studio.view import view_of
from omtree.studio.wishes import Wishes

#: Seconds until the first tree is shown, whatever it is.
QUICK = 0.08
#: Of more rows than these it would be a single leaf: so many of them, taken at random, give a better first impression.
MANY, SAMPLE, SAMPLE_SECONDS = 125_000, 20_000, 2.0
_FOLDS = 5
_NO_TIME = (
    "The time did not suffice to find out what to expect of each size on new rows; start the studio with a larger "
    "--time-limit."
)
#: A search takes all the processor it gets; a page that shows what was found must not wait for it.
_GIVES_WAY = 10
#: Where Linux says how much memory a process has.
_MAPPED = "/proc/self/statm"


@dataclass(frozen=True)
class Kin:
    """What came of other wishes that a tree can be compared with.

    Attributes
    ----------
    number : int
        Of their revision.
    wishes : Wishes
    leaves : int
    value : float
        The loss.
    model : str
        As JSON.
    looser : bool
        Whether all trees of the job meet them; else their tree meets the wishes of the job.
    """

    number: int
    wishes: Wishes
    leaves: int
    value: float
    model: str
    looser: bool

    @property
    def most_leaves(self) -> int:
        """The leaves that were asked for, or those of the tree where folds chose them."""
        return self.wishes.leaves or self.leaves


@dataclass(frozen=True)
class Job:
    """What a worker is asked to do: a tree for wishes, that goes with those of others."""

    revision: int
    wishes: Wishes
    kin: tuple[Kin, ...] = ()


@dataclass(frozen=True)
class Limits:
    """What a worker may use: seconds for a fit, and bytes beyond what it starts with; None is no limit."""

    seconds: float = 60.0
    memory: int | None = None


class Superseded(Exception):
    """The revision that is worked on is no longer wanted."""


class Worker:
    """Fits what it is asked for.

    Parameters
    ----------
    source : Source
    limits : Limits
    connection : Connection
        Jobs come in, and messages ``(kind, revision, content)`` go out.
    wanted, stopped : shared whole numbers
    """

    def __init__(self, source: Source, limits: Limits, connection: Any, wanted: Any, stopped: Any) -> None:
        self._source = source
        self._limits = limits
        self._connection = connection
        self._wanted = wanted
        self._stopped = stopped
        self._running: int | None = None
        # Wishes, the cross-validated model of them that has trees of all sizes, and the one that is shown for them.
        self._judged: tuple[Wishes, Any, Any] | None = None

    def run(self) -> None:
        """Work until the connection is closed."""
        signal.signal(signal.SIGINT, self._on_signal)
        self._connection.send(("ready", 0, None))
        while True:
            try:
                job = self._connection.recv()
            except EOFError:
                return
            self._answer(job)

    def _on_signal(self, *_: Any) -> None:
        if self._running is not None and (self._running < self._wanted.value or self._running <= self._stopped.value):
            raise KeyboardInterrupt

    def _answer(self, job: Job) -> None:
        try:
            self._fit(job)
        except Superseded:
            pass
        except MemoryError:
            self._judged = None
            self._send("failed", job, "There is not enough memory for this; ask for less depth or fewer columns.")
        except ValueError as fault:
            self._send("failed", job, _in_words(str(fault), job.wishes))
        self._send("done", job, None)

    def _fit(self, job: Job) -> None:
        """First any tree, then the best one, then what to expect of it; what is known already is shown at once."""
        wishes = job.wishes
        judged = known = None
        if self._judged is not None and self._judged[0] == wishes.whole:
            judged = self._judged[1]
            if wishes.leaves is None:
                self._finish(job, self._judged[2], "validated")
                return
            known = judged.with_leaves(min(wishes.leaves, len(judged.loss_by_leaves_)))
            self._show(job, known, "known")
        model = self._best(job, known)
        if model is None or self._is_stopped(job):
            return
        if judged is None:
            try:
                judged = self._try(job, self._limits.seconds, folds=_FOLDS)
            except ValueError as fault:
                raise ValueError(f"What to expect on new rows cannot be found out: {fault}") from None
        if judged is None:
            return
        if judged.certificate_.total_seconds > 0.9 * self._limits.seconds:
            # Folds that were cut short say little about sizes.
            self._finish(job, model, "full", _NO_TIME)
            return
        if wishes.leaves is None:
            model = self._no_worse(job, judged, model)
        elif not _adds_up(wishes):
            model = _better(judged, model)
        # What to expect of a tree of this size, and of all others, is from the same folds.
        by_size = vars(judged).get("_expected_by_size", {})
        model.expectation_ = by_size.get(len(model.rules_), judged.expectation_)
        model.cv_results_ = judged.cv_results_
        self._finish(job, model, "validated")
        self._keep(job, judged, model)

    def _no_worse(self, job: Job, judged: Any, model: Any) -> Any:
        """A tree of the size that the folds chose: theirs, whose time they shared, or a better one."""
        leaves = len(judged.rules_)
        if len(model.rules_) > leaves and judged.certificate_.total_seconds > 0.3 * self._limits.seconds:
            model = self._try(job, self._limits.seconds, leaves=leaves) or judged
        return _better(judged, model) if len(model.rules_) <= leaves else judged

    def _keep(self, job: Job, judged: Any, model: Any) -> None:
        """Know the trees of all sizes, so that the slider of leaves is answered at once."""
        if "_family" not in vars(judged) or self._is_stopped(job):
            return
        if self._interruptibly(job, lambda: judged.loss_by_leaves_) is not None:
            self._judged = (job.wishes.whole, judged, model if job.wishes.leaves is None else judged)

    def _finish(self, job: Job, model: Any, phase: str, warning: str = "") -> None:
        """Show what is known in the end, and what is around it."""
        model = self._over_better_cuts(job, model)
        self._show(job, model, phase, warning)
        if not self._is_stopped(job):
            X = self._source.X if len(self._source.y) <= MANY else self._source.X.take(self._sample())
            around = self._interruptibly(job, lambda: {**trees_around(model, X), "prices": prices_around(model)})
            if around is not None:
                self._send("around", job, around)
        self._improve_looser(job, model)

    def _over_better_cuts(self, job: Job, model: Any) -> Any:
        """Every fit chooses its own cuts; where a tree of other wishes is the better one, its cuts are used, too.

        A tree of stricter wishes cannot be better then, and of one of looser wishes it is known what the rest costs.
        """
        for kin in job.kin:
            most = job.wishes.leaves or len(model.rules_)
            if kin.leaves <= most and _is_less(kin.value, model.certificate_.value):
                model = self._over_cuts(job, model, most, from_json(kin.model).tree_) or model
        return model

    def _improve_looser(self, job: Job, model: Any) -> None:
        """Where this tree is better than that of looser wishes, those are worked on again, with its cuts."""
        for kin in job.kin:
            if self._is_stopped(job) or model.tree_ is None:
                return
            most = kin.most_leaves
            if kin.looser and len(model.rules_) <= most and _is_less(model.certificate_.value, kin.value):
                own = self._try(replace(job, wishes=kin.wishes), self._limits.seconds, leaves=most)
                better = None if own is None else self._over_cuts(job, own, most, model.tree_)
                if better is not None and _is_less(better.certificate_.value, kin.value):
                    _take_figures(better, from_json(kin.model))
                    view = view_of(better, self._source, most_leaves=kin.wishes.most_leaves, phase="validated")
                    content = {"number": kin.number, "view": view, "model": better.to_json(sizes=False)}
                    self._send("improved", job, content)

    def _over_cuts(self, job: Job, model: Any, most_leaves: int, tree: Any) -> Any:
        """The model with the cuts of another tree beside its own; None where a signal ended the search."""
        bench = vars(model).get("_bench")
        if bench is None or tree is None or model.tree_ is None:
            return model
        limit = Deadline(self._limits.seconds)
        found = self._interruptibly(job, lambda: over_cuts_of(model, bench.with_leaves(most_leaves), tree, limit))
        if found is not None and found is not model:
            _take_figures(found, model)
        return found

    def _best(self, job: Job, known: Any) -> Any:
        """The best tree, after a first one where none is known yet; None where there is none before a stop."""
        model = known
        if known is None:
            many = len(self._source.y) > MANY
            try:
                if many:
                    model = self._try(job, min(SAMPLE_SECONDS, self._limits.seconds), rows=self._sample())
                else:
                    model = self._try(job, min(QUICK, self._limits.seconds))
            except ValueError:
                # In so short a time constraints may not be met yet; the fit that follows says why there is no tree.
                model = None
            if model is not None:
                if many:
                    said = f"This first tree is of {SAMPLE:,} rows taken at random; that of all rows follows."
                    self._show(job, model, "sample", said)
                else:
                    self._show(job, model, "quick")
                    # A search that ended before its limit had nothing left to do.
                    if model.certificate_.total_seconds < 0.8 * QUICK:
                        return model
            if self._is_stopped(job):
                return model
            if many:
                model = None  # its loss is that of other rows
        best = self._try(job, self._limits.seconds)
        if best is None:
            return model
        best = best if model is None else _better(best, model)
        self._show(job, best, "full")
        return best

    def _sample(self) -> Any:
        """Some rows, always the same ones."""
        return np.sort(np.random.default_rng(0).choice(len(self._source.y), SAMPLE, replace=False))

    def _try(self, job: Job, seconds: float, *, folds: int | None = None, leaves: Any = None, rows: Any = None) -> Any:
        """A model of all rows or of some, or None where the fit was interrupted before there was one."""
        self._check_wanted(job)
        wishes, source = job.wishes, self._source
        X = source.X.drop_columns(list(wishes.left_out)) if wishes.left_out else source.X
        y = source.y
        if rows is not None:
            X, y = X.take(rows), y[rows]
        leaves = leaves or wishes.leaves or wishes.most_leaves
        if folds is not None and (wishes.leaves is None or _adds_up(wishes)):
            leaves = "auto"
        model = estimator_class(source.task)(
            **wishes.parameters(source),
            max_leaves=leaves,
            time_limit=seconds,
            cv=folds,
            # Folds in threads could not be interrupted.
            n_jobs=-1 if folds is None else None,
        )
        model = self._interruptibly(job, lambda: model.fit(X, y))
        if model is not None:
            model.target_name_ = source.target
            model.origin_ = dict(source.origin)
        return model

    def _interruptibly(self, job: Job, work: Callable[[], Any]) -> Any:
        """What some work gives; None where a signal ended it."""
        self._running = job.revision
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = work()
        except KeyboardInterrupt:
            found = None
        finally:
            self._running = None
        self._check_wanted(job)
        return found

    def _check_wanted(self, job: Job) -> None:
        if self._wanted.value > job.revision:
            raise Superseded

    def _is_stopped(self, job: Job) -> bool:
        return bool(self._stopped.value >= job.revision)

    def _show(self, job: Job, model: Any, phase: str, warning: str = "") -> None:
        view = view_of(model, self._source, most_leaves=job.wishes.most_leaves, phase=phase)
        if warning:
            view["warnings"].append(warning)
        self._check_wanted(job)
        self._send("view", job, {"view": view, "model": model.to_json(sizes=False)})

    def _send(self, kind: str, job: Job, content: Any) -> None:
        self._connection.send((kind, job.revision, content))


def _better(first: Any, second: Any) -> Any:
    """The one with the lower loss, the first where both have the same."""
    return second if second.certificate_.value < first.certificate_.value else first


def _is_less(value: float, other: float) -> bool:
    return value < other - 1e-9 * max(1.0, abs(other))


def _take_figures(model: Any, other: Any) -> None:
    """What folds said of trees of this size holds for the same size over better cuts."""
    for name in ("expectation_", "cv_results_", "_expected_by_size"):
        if name in vars(other):
            setattr(model, name, vars(other)[name])


def _in_words(fault: str, wishes: Wishes) -> str:
    """A complaint for someone who points at nodes and has never seen the constraint that this makes."""
    for each in wishes.constraint_objects():
        if isinstance(each, Force):
            fault = fault.replace(each.title, "what is kept of the tree")
    return fault[:1].upper() + fault[1:]


def _adds_up(wishes: Wishes) -> bool:
    """Whether one search gives the best trees of all sizes."""
    coupling = any(each.level == "sample" for each in wishes.constraint_objects())
    return not coupling and wishes.objective not in ("f1", "mcc")


def main(source: Source, limits: Limits, connection: Any, wanted: Any, stopped: Any) -> None:
    """The life of a worker process."""
    # Ctrl-C in the terminal reaches every process; the server ends this one in good order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(_GIVES_WAY)
    if limits.memory is not None and os.path.exists(_MAPPED):
        _limit_memory(limits.memory)
    Worker(source, limits, connection, wanted, stopped).run()


def _limit_memory(more: int) -> None:
    """Allow so many bytes beyond what the process has now."""
    import resource

    with open(_MAPPED, encoding="ascii") as file:
        pages = int(file.read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, resource.RLIM_INFINITY))
