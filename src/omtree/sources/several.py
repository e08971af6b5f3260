"""Several targets at once: what a `y` of several columns becomes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray
from omtree.data.wording import text_of
from omtree.sources.target import MAX_CLASSES, Target, check_numbers, encode_labels


def several_columns(y: Any) -> tuple[list[str], list[npt.NDArray[Any]]] | None:
    """The names and the columns of a `y` that has more than one; None of any other.

    >>> names, columns = several_columns([[1, 5], [2, 6], [3, 7]])
    >>> names, [column.tolist() for column in columns]
    (['y0', 'y1'], [[1, 2, 3], [5, 6, 7]])
    """
    if y is None or isinstance(y, str):
        return None
    if hasattr(y, "columns") and hasattr(y, "shape") and len(y.shape) == 2:
        names = [str(name) for name in y.columns]
        return None if len(names) < 2 else (names, [np.asarray(y[name]) for name in y.columns])
    if isinstance(y, (list, tuple)) and not (len(y) and all(isinstance(row, (list, tuple, np.ndarray)) for row in y)):
        return None
    if isinstance(y, (list, tuple)) and len({len(row) for row in y}) != 1:
        raise ValueError("y has rows of different lengths; give one entry per row and target.")
    cells = y if isinstance(y, np.ndarray) else np.array(y)
    if cells.ndim != 2 or cells.shape[1] < 2:
        return None
    return [f"y{place}" for place in range(cells.shape[1])], [np.ascontiguousarray(column) for column in cells.T]


def several_names(X: Any, y: Any) -> tuple[list[str], list[npt.NDArray[Any]]] | None:
    """The same of a `y` for a Dask frame: names of its columns, or another such frame; the columns stay there."""
    names = y if isinstance(y, (list, tuple)) else getattr(y, "columns", ())
    return ([str(name) for name in names], []) if len(names) > 1 else None


def check_output_weights(weights: Any, n_targets: int) -> FloatArray | None:
    """What the losses of the targets are multiplied by, checked; None where that is left open."""
    if weights is None:
        return None
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (n_targets,) or not np.isfinite(given).all() or (given < 0).any() or not given.any():
        raise ValueError(
            f"output_weights must be {n_targets} numbers, one for each column of y, none below 0 and one above; "
            f"they are {weights!r}."
        )
    return given


@dataclass(frozen=True, eq=False)
class JointClasses:
    """Several targets that are classes, seen as one: a class for every combination of theirs.

    Attributes
    ----------
    names : sequence of str
        Of the targets.
    classes : sequence of arrays
        The classes of each target, sorted.
    """

    names: Sequence[str]
    classes: Sequence[npt.NDArray[Any]]

    @classmethod
    def of(cls, names: Sequence[str], columns: Sequence[npt.NDArray[Any]]) -> JointClasses:
        """Those of the training rows."""
        classes = []
        for name, column in zip(names, columns, strict=True):
            try:
                classes.append(encode_labels(column)[0])
            except ValueError as error:
                raise ValueError(f"Target {name!r}: {error}") from None
        n_joint = math.prod(len(own) for own in classes)
        if n_joint > MAX_CLASSES:
            raise ValueError(
                f"The {len(names)} targets have {n_joint:,} combinations of classes, and at most {MAX_CLASSES} are "
                "possible; fit fewer targets at once."
            )
        return cls(names, classes)

    @cached_property
    def places(self) -> npt.NDArray[np.intp]:
        """For every combination, the position of its class in each target: the last target changes first."""
        return np.array(list(itertools.product(*(range(len(own)) for own in self.classes))), dtype=np.intp)

    @property
    def texts(self) -> list[str]:
        """The combinations for people."""
        said = [[f"{name}={text_of(one)}" for one in own.tolist()] for name, own in self.named]
        return [", ".join(parts) for parts in itertools.product(*said)]

    @property
    def named(self) -> list[tuple[str, npt.NDArray[Any]]]:
        """Name and classes of each target."""
        return list(zip(self.names, self.classes, strict=True))

    def positions(self, columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.intp]:
        """The combination of every row; -1 where a class is not known."""
        joint = np.zeros(len(columns[0]), dtype=np.intp)
        unknown = np.zeros(len(joint), dtype=bool)
        for column, own in zip(columns, self.classes, strict=True):
            known = {label: place for place, label in enumerate(own.tolist())}
            found = np.array([known.get(label, -1) for label in column.tolist()], dtype=np.intp)
            unknown |= found < 0
            joint = joint * len(own) + found
        return np.where(unknown, -1, joint)

    def target(self, columns: Sequence[npt.NDArray[Any]], weights: FloatArray | None) -> Target:
        """The targets as one, where an answer costs the weight of every target that it is wrong about."""
        labels = self.positions(columns)
        worth = np.ones(len(self.classes)) if weights is None else weights
        wrong = (self.places[:, None, :] != self.places[None, :, :]) @ worth
        return Target(np.array(self.texts, dtype=object), labels, np.empty(0), np.ascontiguousarray(wrong[labels]))

    def answers(self, labels: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
        """The classes of each target behind some combinations, shape (n, n_targets)."""
        kinds = {own.dtype for own in self.classes}
        found = [own[self.places[labels, place]] for place, own in enumerate(self.classes)]
        return np.stack(found if len(kinds) == 1 else [own.astype(object) for own in found], axis=1)

    def marginals(self, shares: FloatArray) -> list[FloatArray]:
        """For each target the shares of its classes, given those of the combinations."""
        found = []
        for place, own in enumerate(self.classes):
            inside = self.places[:, place][:, None] == np.arange(len(own))
            found.append(shares @ inside)
        return found


@dataclass(frozen=True)
class NumberTargets:
    """Several targets that are numbers.

    Attributes
    ----------
    names : tuple of str
    weights : tuple of float
        What the squared distances of each target are multiplied by in the loss.
    """

    names: tuple[str, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        columns: Sequence[npt.NDArray[Any]],
        asked: FloatArray | None,
        sample_weight: FloatArray,
    ) -> tuple[NumberTargets, Target]:
        """The targets, and their numbers as one target; by default each counts in units of its own variance."""
        outputs = np.stack([_numbers(name, column) for name, column in zip(names, columns, strict=True)], axis=1)
        if len(sample_weight) != len(outputs) or not sample_weight.any():
            variance = np.ones(len(columns))  # what is wrong is said where the rows are read
        else:
            away = outputs - np.average(outputs, axis=0, weights=sample_weight)
            variance = np.average(away**2, axis=0, weights=sample_weight)
        weights = 1.0 / np.where(variance > 0, variance, 1.0) if asked is None else asked
        return cls(tuple(names), tuple(weights.tolist())), Target.of_outputs(outputs, weights)

    def numbers(self, y: Any) -> FloatArray:
        """The targets of new rows."""
        several = several_columns(y)
        if several is None or len(several[0]) != len(self.names):
            raise ValueError(f"y must have {len(self.names)} columns, one for each target of the model.")
        return np.stack([_numbers(name, column) for name, column in zip(*several, strict=True)], axis=1)


def _numbers(name: str, column: npt.NDArray[Any]) -> FloatArray:
    try:
        return check_numbers(column)
    except ValueError as error:
        raise ValueError(f"Target {name!r}: {error}") from None
