"""One task, from data to a row of results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from benchmarks.data import DataSet, load
from benchmarks.protocols import Task
from benchmarks.rivals import Fitted, Limits, Rival, find


@dataclass(frozen=True, eq=False)
class Parts:
    """The rows of a split: 50 % training, 25 % validation, 25 % test."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray

    @classmethod
    def draw(cls, n: int, seed: int) -> Parts:
        """At random, by the number of the split alone: every method gets the same rows."""
        rest, test = train_test_split(np.arange(n), test_size=0.25, random_state=seed)
        train, validation = train_test_split(rest, test_size=1 / 3, random_state=seed)
        return cls(train, validation, test)

    @property
    def both(self) -> np.ndarray:
        """What the last fit sees."""
        return np.concatenate([self.train, self.validation])


class Choice(NamedTuple):
    """What validation compares: errors, leaves, options, and the limit on leaves where a fit gives several sizes."""

    errors: int
    leaves: int
    options: dict[str, Any]
    size: int | None


def run(task: Task, folder: Path | None) -> dict[str, Any]:
    """The row of a task; whatever goes wrong is raised."""
    name, _, question = task.data.partition("?")
    data = load(name, folder)
    rival = find(task.method)
    if task.protocol == "growth":
        return grown(task, rival, data, {key: int(value) for key, value in parse_qsl(question)})
    if task.protocol == "ceiling":
        found = rival.fit(data.X, data.y, task.depth, Limits(task.limit))
        return {**_about(found, data), "n": len(data.y), "k": data.X.shape[1]}
    if task.tuning_limit > 0:
        return tuned(task, rival, data)
    return plain(task, rival, data)


def tuned(task: Task, rival: Rival, data: DataSet) -> dict[str, Any]:
    """Options and size chosen on the validation rows, then a fit to training and validation rows together."""
    parts = Parts.draw(len(data.y), task.split)
    X, y = data.X.iloc[parts.train], data.y[parts.train]
    held_X, held_y = data.X.iloc[parts.validation], data.y[parts.validation]
    limits = Limits(task.tuning_limit)
    choices: list[Choice] = []
    spent = 0.0
    for options in rival.grid(X, task.depth):
        found = rival.fit(X, y, task.depth, limits, **options)
        spent += found.seconds
        choices += [
            Choice(_errors(model.predict, held_X, held_y), model.leaves or 0, options, size)
            for size, model in _sizes(found)
        ]
    errors, _, options, size = choose(choices)
    both = parts.both
    final = rival.fit(data.X.iloc[both], data.y[both], task.depth, Limits(task.limit), **options)
    # The whole fit was timed and proven, of whatever size the model is that is kept.
    kept = final.smaller(size) if size and final.smaller else final
    row = _row(replace(kept, proven=final.proven, seconds=final.seconds), data, parts.test, both)
    return {
        **row,
        "validation": 1 - errors / len(held_y),
        "options": options,
        "size": size,
        "full_errors": final.errors,
        "tuning_seconds": round(spent, 4),
        "fits": len(rival.grid(X, task.depth)) + 1,
    }


def choose(choices: list[Choice]) -> Choice:
    """The fewest errors; of equals the fewest leaves, where a method tells them; of equals the first."""
    return min(choices, key=lambda choice: (choice.errors, choice.leaves))


def plain(task: Task, rival: Rival, data: DataSet) -> dict[str, Any]:
    """One fit with default options to 75 % of the rows."""
    parts = Parts.draw(len(data.y), task.split)
    both = parts.both
    final = rival.fit(data.X.iloc[both], data.y[both], task.depth, Limits(task.limit))
    return _row(final, data, parts.test, both)


def grown(task: Task, rival: Rival, data: DataSet, size: dict[str, int]) -> dict[str, Any]:
    """One fit to rows drawn with replacement and the first columns; fixed bins, so that only the size changes."""
    drawn = np.random.default_rng(0).integers(0, len(data.y), size["rows"])
    X, y = data.X.iloc[drawn, : size["columns"]].reset_index(drop=True), data.y[drawn]
    leaves = size["leaves"] or None
    found = rival.fit(X, y, task.depth, Limits(task.limit), n_bins=size["bins"], max_leaves=leaves, binning="quantile")
    return {**_about(found, data), "n": len(y), "k": X.shape[1], **size}


def _sizes(found: Fitted) -> list[tuple[int | None, Fitted]]:
    if found.smaller is None:
        return [(None, found)]
    return [(size, found.smaller(size)) for size in found.sizes]


def _errors(predict: Callable[[pd.DataFrame], np.ndarray], X: pd.DataFrame, y: np.ndarray) -> int:
    return int((predict(X) != y).sum())


def _row(found: Fitted, data: DataSet, test: np.ndarray, train: np.ndarray) -> dict[str, Any]:
    return {
        **_about(found, data),
        "n": len(train),
        "k": data.X.shape[1],
        "test": 1 - _errors(found.predict, data.X.iloc[test], data.y[test]) / len(test),
        "train": 1 - found.errors / len(train),
    }


def _about(found: Fitted, data: DataSet) -> dict[str, Any]:
    return {
        "errors": found.errors,
        "proven": found.proven,
        "seconds": round(found.seconds, 5),
        "leaves": found.leaves,
        "source": data.source,
        **found.more,
    }
