"""Dask frames: what they are, how they are computed on, and predictions as lazy as they are."""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

#: How many partial results are added at once.
_SPLIT_EVERY = 8


def is_dask(X: Any) -> bool:
    """Whether X is a Dask frame; Dask itself is not loaded to find out."""
    kind = type(X)
    return kind.__module__.split(".")[0] in ("dask", "dask_expr") and kind.__name__ == "DataFrame"


class Cluster:
    """Runs tasks where Dask runs them: on the workers of the current client, or in threads where there is none."""

    def __init__(self) -> None:
        import dask

        self._dask: Any = dask
        self._client: Any = None
        try:
            import distributed
        except ImportError:
            return
        with contextlib.suppress(ValueError):  # there is none
            self._client = distributed.default_client()  # type: ignore[no-untyped-call]

    def tasks(self, function: Callable[..., Any], parts: Sequence[Any], *common: Any) -> list[Any]:
        """One task for each part; what they have in common is sent once."""
        lazy = self._dask.delayed(function, pure=True)
        shared = [self._dask.delayed(each, traverse=False) for each in common]
        return [lazy(part, *shared) for part in parts]

    def keep(self, tasks: Sequence[Any]) -> list[Any]:
        """The tasks, to be run once; their results stay on the workers, and a lost one is computed again."""
        if self._client is not None:
            return list(self._client.persist(list(tasks)))
        return list(self._dask.persist(*tasks))

    def add_up(
        self, tasks: Sequence[Any], add: Callable[[Sequence[Any]], Any], stopped: Callable[[], bool] | None = None
    ) -> Any:
        """The sum of all results, added in the form of a tree; None when it is no longer wanted."""
        lazy = self._dask.delayed(add, pure=True)
        parts = list(tasks)
        while len(parts) > 1:
            parts = [lazy(parts[i : i + _SPLIT_EVERY]) for i in range(0, len(parts), _SPLIT_EVERY)]
        return self.result(parts[0], stopped)

    def result(self, task: Any, stopped: Callable[[], bool] | None = None) -> Any:
        """The result of one task, or of a list of them."""
        if self._client is None:
            return self._dask.compute(task)[0]
        future = self._client.compute(task)
        if stopped is None or isinstance(task, list):
            return self._client.gather(future)
        finished = threading.Event()
        future.add_done_callback(lambda _: finished.set())
        while not finished.wait(0.2):
            if stopped():
                future.cancel()
                return None
        return future.result()


def partitions(frame: Any, labels: Any, weights: Any) -> list[Any]:
    """A task for each partition: the frame, the labels, and the weights or None."""
    parts = [frame, labels] if weights is None else [frame, labels, weights]
    tasks = [part.to_delayed() for part in parts]
    if len({len(own) for own in tasks}) > 1:
        # Dask reads several files at once where it needs few of their columns; as they are, the partitions match.
        tasks = [part.to_delayed(optimize_graph=False) for part in parts]
    if weights is None:
        tasks.append([None] * len(tasks[0]))
    return [list(part) for part in zip(*tasks, strict=True)]


def add_arrays(parts: Sequence[Any]) -> Any:
    """The sum of arrays, in their order."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def predict_lazily(model: Any, X: Any, method: str) -> Any:
    """What a method of a fitted model says of every row of a Dask frame, as a lazy series or frame.

    Parameters
    ----------
    model : estimator
    X : dask.dataframe.DataFrame
    method : str
        One that gives a number or an answer for every row, or a row of them.
    """
    light = copy.copy(model)
    # The trees of other sizes have nothing to say here, and finding them takes time.
    light.__dict__.pop("_family", None)
    nothing = _labelled(light, _no_answers(light, method), X._meta.index[:0])
    return X.map_partitions(_predict_part, light, method, meta=nothing)


def _no_answers(model: Any, method: str) -> Any:
    if method == "apply":
        return np.empty(0, dtype=np.intp)
    outputs = getattr(model, "outputs_", None)
    if method == "predict_proba":
        return np.empty((0, len(model.classes_)))
    if method == "predict" and outputs is not None:
        numbers = np.empty((0, len(outputs.names)))
        return outputs.answers(np.empty(0, dtype=np.intp)) if hasattr(outputs, "answers") else numbers
    answers = getattr(model, "classes_", getattr(model, "actions_", None))
    return np.empty(0) if answers is None or method != "predict" else answers[:0]


def _predict_part(part: Any, model: Any, method: str) -> Any:
    answers = getattr(model, method)(part) if len(part) else _no_answers(model, method)
    return _labelled(model, answers, part.index)


def _labelled(model: Any, answers: Any, index: Any) -> Any:
    import pandas as pd

    if answers.ndim == 2:
        outputs = getattr(model, "outputs_", None)
        return pd.DataFrame(answers, index=index, columns=model.classes_ if outputs is None else outputs.names)
    return pd.Series(answers, index=index)
