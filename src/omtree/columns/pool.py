"""The rules generated so far, with the rows they cover and what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from omtree import _native
from omtree.data.table import FloatArray
from omtree.problem import Path, Problem

IntArray = npt.NDArray[np.int32]
#: What makes two rules the same: the rows they cover, and their label.
RuleKey = tuple[bytes, int]


@dataclass(frozen=True, eq=False)
class Duals:
    """Prices of the master's rows.

    Attributes
    ----------
    cover : array, shape (n_rows,)
        Of covering each merged row once.
    leaf : float
        Of using one rule; never positive.
    rows : array, shape (n_global_rows,)
        Of the constraints over the whole model; never negative.
    """

    cover: FloatArray
    leaf: float
    rows: FloatArray

    def value(self, problem: Problem) -> float:
        """The dual objective."""
        limits = np.array([row.at_least for row in problem.rows])
        return float(self.cover.sum() + problem.max_leaves * self.leaf + self.rows @ limits)

    def mix(self, other: Duals, share: float) -> Duals:
        """This point moved towards `other` by `share`."""
        return Duals(
            (1 - share) * self.cover + share * other.cover,
            (1 - share) * self.leaf + share * other.leaf,
            (1 - share) * self.rows + share * other.rows,
        )


class ColumnPool:
    """Rules as columns of the master.

    Attributes
    ----------
    conditions : array of int, shape (n_columns, max_depth)
        Numbers of the graph's conditions, padded with -1.
    label, loss : arrays, shape (n_columns,)
    cover : sparse matrix, shape (n_columns, n_rows)
    extra : array, shape (n_columns, n_global_rows)
        What each rule adds to the constraints over the whole model.
    """

    def __init__(self, problem: Problem, pricer: _native.Pricer) -> None:
        self.problem = problem
        self._pricer = pricer
        self._row_costs = problem.row_costs()
        self._extra_values = [problem.table.statistics @ row.coefficient for row in problem.rows]
        self._places = [(level, i) for level in problem.graph for i in range(len(level.code_sets))]
        self._number = {(level.position, level.code_sets[i]): n for n, (level, i) in enumerate(self._places)}
        self._width = max(1, problem.max_depth)
        self._known: dict[RuleKey, int] = {}  # the column of each rule, in the order of the columns
        n_rows = problem.table.n_rows
        self._weight = problem.table.weight
        self.conditions: IntArray = np.empty((0, self._width), dtype=np.int32)
        self.label: IntArray = np.empty(0, dtype=np.int32)
        self.loss: FloatArray = np.empty(0)
        self.cover = sparse.csr_matrix((0, n_rows))
        self.extra: FloatArray = np.empty((0, len(problem.rows)))

    def __len__(self) -> int:
        return len(self.loss)

    def add(self, conditions: IntArray, label: IntArray) -> int:
        """Adds rules that are not in the pool yet; two rules are the same when rows and label are. Says how many."""
        if len(conditions) == 0:
            return 0
        start, rows = self._pricer.cover(np.ascontiguousarray(conditions))
        fresh = []
        for j, key in enumerate(_keys(start, rows, label)):
            if key not in self._known:
                self._known[key] = len(self._known)
                fresh.append(j)
        if not fresh:
            return 0
        shape = (len(conditions), self.problem.table.n_rows)
        cover = sparse.csr_matrix((np.ones(len(rows)), rows, start), shape=shape)[fresh]
        label = np.asarray(label[fresh], dtype=np.int32)
        self.conditions = np.concatenate([self.conditions, conditions[fresh]])
        self.label = np.concatenate([self.label, label])
        self.loss = np.concatenate([self.loss, self._by_label(cover, self._row_costs, label)])
        self.cover = sparse.vstack([self.cover, cover], format="csr")
        extra = [self._by_label(cover, values, label) for values in self._extra_values]
        self.extra = np.concatenate([self.extra, np.array(extra).reshape(len(extra), len(label)).T])
        return len(fresh)

    def add_paths(self, paths: Iterable[Path]) -> IntArray:
        """Adds given rules, and returns the column of each; one with conditions that are no nodes is refused."""
        paths = list(paths)
        conditions = np.full((len(paths), self._width), -1, dtype=np.int32)
        for row, path in zip(conditions, paths, strict=True):
            numbers = sorted(self._number[c.feature, c.codes] for c in path.conditions)
            row[: len(numbers)] = numbers
        label = np.array([path.label for path in paths], dtype=np.int32)
        self.add(conditions, label)
        keys = _keys(*self._pricer.cover(conditions), label)
        return np.array([self._known[key] for key in keys], dtype=np.int32)

    def fits(self, path: Path) -> bool:
        """Whether the path is a rule of the problem: conditions of the graph, not too many, and enough support."""
        if len(path.conditions) > self.problem.max_depth:
            return False
        if any((c.feature, c.codes) not in self._number for c in path.conditions):
            return False
        support = float(self._weight[path.covers(self.problem.table.codes)].sum())
        return support > 0.0 and support >= self.problem.min_support * (1.0 - 1e-9) - 1e-12

    def path(self, column: int) -> Path:
        """The rule behind a column."""
        places = [self._places[number] for number in self.conditions[column] if number >= 0]
        return Path(tuple(level.node(i) for level, i in places), int(self.label[column]))

    def reduced_costs(self, duals: Duals) -> FloatArray:
        """Of every column."""
        return np.asarray(self.loss - self.cover @ duals.cover - duals.leaf - self.extra @ duals.rows)

    def keep(self, columns: npt.NDArray[np.bool_]) -> None:
        """Drops every other column."""
        kept = (key for key, keep in zip(self._known, columns, strict=True) if keep)
        self._known = {key: column for column, key in enumerate(kept)}
        self.conditions, self.label, self.loss = self.conditions[columns], self.label[columns], self.loss[columns]
        self.cover, self.extra = self.cover[columns], self.extra[columns]

    def values_for(self, duals: Duals) -> FloatArray:
        """What each merged row adds to a rule's reduced cost under each label, for the pricers."""
        value = self._row_costs - duals.cover[:, None]
        for values, price in zip(self._extra_values, duals.rows, strict=True):
            value = value - price * values
        return np.ascontiguousarray(value)

    def is_model(self, columns: Sequence[int] | IntArray) -> bool:
        """Whether these columns cover every merged row exactly once and meet leaf limit and constraints."""
        if len(columns) == 0 or len(columns) > self.problem.max_leaves:
            return False
        covered = np.asarray(self.cover[columns].sum(axis=0)).ravel()
        slack = self.extra[columns].sum(axis=0) - [row.at_least for row in self.problem.rows]
        return bool((covered == 1).all() and (slack >= -1e-9 * (1 + np.abs(slack))).all())

    @staticmethod
    def _by_label(cover: sparse.csr_matrix, values: FloatArray, label: IntArray) -> FloatArray:
        """Sum of values[row, label] over the rows of each rule."""
        return np.asarray((cover @ values)[np.arange(len(label)), label])


def _keys(start: npt.NDArray[np.int64], rows: IntArray, label: IntArray) -> Iterator[RuleKey]:
    """The key of each rule, from the rows of all of them one after the other."""
    for j, own in enumerate(label):
        yield rows[start[j] : start[j + 1]].tobytes(), int(own)
