"""The rules generated so far, with the rows they cover and what they cost."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from omtree import _native
from omtree.data.table import FloatArray
from omtree.graph import Condition
from omtree.problem import Path, Problem

IntArray = npt.NDArray[np.int32]
#: What makes two rules the same: the rows they cover, their label, and (where it matters) their conditions.
RuleKey = tuple[bytes, int, bytes]


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

    Parameters
    ----------
    problem : Problem
    pricer : Pricer
        The kernel's pricer.
    general : GeneralPricer, optional
        Judges rules of a problem that is not plain; losses are in its unit.

    Attributes
    ----------
    conditions : array of int, shape (n_columns, max_depth)
        Numbers of the graph's conditions, padded with -1.
    label, loss : arrays, shape (n_columns,)
    cover : sparse matrix, shape (n_columns, n_rows)
    extra : array, shape (n_columns, n_global_rows + n_sums)
        What each rule adds to the constraints over the whole model.
    """

    def __init__(self, problem: Problem, pricer: _native.Pricer, general: _native.GeneralPricer | None = None) -> None:
        self.problem = problem
        self._pricer = pricer
        self._general = general
        self._row_costs = problem.row_costs() if general is None else np.empty((0, 0))
        self._extra_values = [problem.table.statistics @ row.coefficient for row in problem.rows]
        self._places = [(level, i) for level in problem.graph for i in range(len(level.code_sets))]
        self._number = {(level.position, level.code_sets[i]): n for n, (level, i) in enumerate(self._places)}
        self._nodes: dict[int, Condition] = {}
        self._width = max(1, problem.max_depth)
        self._known: dict[RuleKey, int] = {}  # the column of each rule, in the order of the columns
        prices = problem.limits.prices
        self._costs_differ = prices is not None and prices.weight != 0.0  # between rules for the same rows
        n_rows = problem.table.n_rows
        self._weight = problem.table.weight
        self.conditions: IntArray = np.empty((0, self._width), dtype=np.int32)
        self.label: IntArray = np.empty(0, dtype=np.int32)
        self.loss: FloatArray = np.empty(0)
        self.cover = sparse.csr_matrix((0, n_rows))
        self.extra: FloatArray = np.empty((0, len(problem.rows) + len(problem.sums)))

    def __len__(self) -> int:
        return len(self.loss)

    def add(self, conditions: IntArray, label: IntArray) -> int:
        """Adds rules that are not in the pool yet, or that are there at a higher price; says how many.

        Rules that are not allowed are left out.
        """
        if len(conditions) == 0:
            return 0
        conditions = np.ascontiguousarray(conditions)
        start, rows = self._pricer.cover(conditions)
        keys = self._keys(conditions, start, rows, label)
        if self._general is None:
            loss = np.zeros(len(conditions))
        else:
            loss = np.full(len(conditions), np.inf)
            asked = [j for j, key in enumerate(keys) if self._costs_differ or key not in self._known]
            loss[asked], _ = self._general.losses(conditions[asked], np.asarray(label[asked], dtype=np.int32))
        fresh: list[int] = []
        cheaper = 0
        for j in np.argsort(loss, kind="stable") if self._costs_differ else range(len(loss)):
            column = self._known.get(keys[j])
            if column is None and np.isfinite(loss[j]):
                self._known[keys[j]] = len(self._known)
                fresh.append(int(j))
            elif column is not None and self._costs_differ and column < len(self) and loss[j] < self.loss[column]:
                self.conditions[column], self.loss[column] = conditions[j], loss[j]
                cheaper += 1
        if not fresh:
            return cheaper
        shape = (len(conditions), self.problem.table.n_rows)
        cover = sparse.csr_matrix((np.ones(len(rows)), rows, start), shape=shape)[fresh]
        label = np.asarray(label[fresh], dtype=np.int32)
        loss = self._by_label(cover, self._row_costs, label) if self._general is None else loss[fresh]
        self.conditions = np.concatenate([self.conditions, conditions[fresh]])
        self.label = np.concatenate([self.label, label])
        self.loss = np.concatenate([self.loss, loss])
        self.cover = sparse.vstack([self.cover, cover], format="csr")
        extra = [self._by_label(cover, values, label) for values in self._extra_values]
        extra += list(self._numbers(conditions[fresh], cover, label))
        self.extra = np.concatenate([self.extra, np.array(extra).reshape(len(extra), len(label)).T])
        return len(fresh) + cheaper

    def add_paths(self, paths: Iterable[Path]) -> IntArray:
        """Adds rules that fit, and returns the column of each."""
        conditions, label = self._as_arrays(list(paths))
        self.add(conditions, label)
        keys = self._keys(conditions, *self._pricer.cover(conditions), label)
        return np.array([self._known[key] for key in keys], dtype=np.int32)

    def fits(self, path: Path) -> bool:
        """Whether the path is a rule of the problem: conditions of the graph, not too many, and within the limits."""
        if len(path.conditions) > self.problem.max_depth:
            return False
        if any((c.feature, c.codes) not in self._number for c in path.conditions):
            return False
        if self._general is not None:
            return bool(np.isfinite(self._general.losses(*self._as_arrays([path]))[0][0]))
        support = float(self._weight[path.covers(self.problem.table.codes)].sum())
        return support > 0.0 and support >= self.problem.min_support * (1.0 - 1e-9) - 1e-12

    def with_best_label(self, path: Path) -> Path:
        """The same rule with the label that costs least."""
        if self._general is not None:
            conditions, _ = self._as_arrays([path])
            _, label = self._general.losses(conditions, np.array([-1], dtype=np.int32))
            return Path(path.conditions, int(label[0]))
        costs = self._row_costs[path.covers(self.problem.table.codes)].sum(axis=0)
        return Path(path.conditions, int(costs.argmin()))

    def _as_arrays(self, paths: Sequence[Path]) -> tuple[IntArray, IntArray]:
        """Numbers of the conditions of each path, and the labels."""
        conditions = np.full((len(paths), self._width), -1, dtype=np.int32)
        for row, path in zip(conditions, paths, strict=True):
            numbers = sorted(self._number[c.feature, c.codes] for c in path.conditions)
            row[: len(numbers)] = numbers
        return conditions, np.array([path.label for path in paths], dtype=np.int32)

    def _keys(
        self, conditions: IntArray, start: npt.NDArray[np.int64], rows: IntArray, label: IntArray
    ) -> list[RuleKey]:
        """The key of each rule, from the rows of all of them one after the other."""
        apart = self.problem.conditions_matter
        return [
            (rows[start[j] : start[j + 1]].tobytes(), int(own), conditions[j].tobytes() if apart else b"")
            for j, own in enumerate(label)
        ]

    def path(self, column: int) -> Path:
        """The rule behind a column."""
        numbers = [int(number) for number in self.conditions[column] if number >= 0]
        return Path(tuple(self._node(number) for number in numbers), int(self.label[column]))

    def _node(self, number: int) -> Condition:
        """A condition of the graph; its words take time, so each is made once."""
        if number not in self._nodes:
            level, i = self._places[number]
            self._nodes[number] = level.node(i)
        return self._nodes[number]

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

    def credits_for(self, duals: Duals) -> FloatArray:
        """What the duals pay for each merged row, for the general pricer; by label where labels are free."""
        credit = np.repeat(duals.cover[:, None], self.problem.loss.n_labels if self.problem.free_labels else 1, axis=1)
        for values, price in zip(self._extra_values, duals.rows, strict=True):
            credit = credit + price * values
        return np.ascontiguousarray(credit)

    def in_conflict(self, one: int, other: int) -> bool:
        """Whether two columns may not be chosen together."""
        return self.problem.conflict is not None and self.problem.conflict(self.path(one), self.path(other))

    def conflicts(self, columns: Sequence[int] | IntArray) -> list[tuple[int, int]]:
        """Pairs of these columns that may not be chosen together."""
        if self.problem.conflict is None:
            return []
        return [(int(i), int(j)) for i, j in itertools.combinations(columns, 2) if self.in_conflict(i, j)]

    def is_model(self, columns: Sequence[int] | IntArray) -> bool:
        """Whether these columns cover every merged row exactly once, within leaf limit and constraints."""
        if len(columns) == 0 or len(columns) > self.problem.max_leaves:
            return False
        covered = np.asarray(self.cover[columns].sum(axis=0)).ravel()
        return bool((covered == 1).all()) and self.meets_limits(columns) and not self.conflicts(columns)

    def meets_limits(self, columns: Sequence[int] | IntArray) -> bool:
        """Whether these columns together keep the limits of the constraints over the whole model, up to rounding."""
        limits = self.problem.at_least
        slack = self.extra[columns].sum(axis=0) - limits
        return bool((slack >= -1e-9 * np.maximum(1.0, np.abs(limits))).all())

    def _numbers(self, conditions: IntArray, cover: sparse.csr_matrix, label: IntArray) -> FloatArray:
        """What each rule adds to the sums over rules, shape (n_sums, n_rules)."""
        numbers = np.empty((len(self.problem.sums), len(label)))
        for j in range(len(label) if len(numbers) else 0):
            places = [self._places[number] for number in conditions[j] if number >= 0]
            tested = [(level.position, level.code_sets[i]) for level, i in places]
            rows = np.sort(cover.indices[cover.indptr[j] : cover.indptr[j + 1]]).astype(np.uint32)
            numbers[:, j] = [part.number(tested, rows, int(label[j])) for part in self.problem.sums]
        return numbers

    @staticmethod
    def _by_label(cover: sparse.csr_matrix, values: FloatArray, label: IntArray) -> FloatArray:
        """Sum of values[row, label] over the rows of each rule."""
        return np.asarray((cover @ values)[np.arange(len(label)), label])
