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
from omtree.engines.rules.model_rows import ModelRows
from omtree.engines.rules.rule_counts import HashArray, IntArray, RuleCounts
from omtree.problem.graph import Condition
from omtree.problem.problem import Path, Problem

#: What makes two rules the same: the rows they cover (by a hash), their label, and (where it matters) their conditions.
RuleKey = tuple[int, int, bytes]

Numbers = IntArray | npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Duals:
    """Prices of the master's rows.

    Attributes
    ----------
    at : array of int
        Merged rows whose coverage has a price of its own, in order.
    own : array of float
        That price.
    even : float
        Price of covering a unit of weight, whichever row it is in.
    leaf : float
        Of using one rule; never positive.
    rows : array, shape (n_global_rows,)
        Of the constraints over the whole model; never negative.
    """

    at: IntArray
    own: FloatArray
    even: float
    leaf: float
    rows: FloatArray

    @classmethod
    def of_each_row(cls, cover: FloatArray, leaf: float, rows: FloatArray) -> Duals:
        """Every merged row has a price of its own."""
        return cls(np.arange(len(cover), dtype=np.int32), cover, 0.0, leaf, rows)

    def cover(self, weight: FloatArray) -> FloatArray:
        """Price of covering each merged row once."""
        prices = self.even * weight
        prices[self.at] += self.own
        return prices

    def value(self, problem: Problem, total: float) -> float:
        """The dual objective, where the weights of all rows add up to `total`."""
        limits = np.array([row.at_least for row in problem.model_limits])
        covered = self.own.sum() + self.even * total
        return float(covered + problem.max_leaves * self.leaf + self.rows @ limits)

    def mix(self, other: Duals, share: float) -> Duals:
        """This point moved towards `other` by `share`."""
        at = np.union1d(self.at, other.at)
        own = np.zeros(len(at))
        own[np.searchsorted(at, self.at)] += (1 - share) * self.own
        own[np.searchsorted(at, other.at)] += share * other.own
        return Duals(
            at,
            own,
            (1 - share) * self.even + share * other.even,
            (1 - share) * self.leaf + share * other.leaf,
            (1 - share) * self.rows + share * other.rows,
        )


class ColumnPool:
    """Rules as columns of the master.

    Which rows a rule covers is not kept: it is found again for the rows that are asked about, which are few.

    Parameters
    ----------
    problem : Problem
    pricer : Pricer
        The kernel's pricer.
    general : GeneralPricer, optional
        Judges rules of a problem that is not plain; losses are in its unit.

    Attributes
    ----------
    counts : RuleCounts
    model_rows : ModelRows
    conditions : array of int, shape (n_columns, max_depth)
        Numbers of the graph's conditions, padded with -1.
    label, loss, support : arrays, shape (n_columns,)
    rows_hash : array of int, shape (n_columns,)
        Equal for rules that cover the same rows.
    extra : array, shape (n_columns, n_global_rows + n_sums)
        What each rule adds to the constraints over the whole model.
    """

    def __init__(self, problem: Problem, pricer: _native.Pricer, general: _native.GeneralPricer | None = None) -> None:
        self.problem = problem
        self.counts = RuleCounts(problem, pricer)
        self.model_rows = ModelRows(problem)
        self._pricer = pricer
        self._general = general
        self._nodes: dict[int, Condition] = {}
        self._width = max(1, problem.max_depth)
        self._known: dict[RuleKey, int] = {}  # the column of each rule, in the order of the columns
        prices = problem.limits.prices
        self._costs_differ = prices is not None and prices.weight != 0.0  # between rules for the same rows
        self._all_rows = np.arange(problem.table.n_rows, dtype=np.int32)
        self.conditions: IntArray = np.empty((0, self._width), dtype=np.int32)
        self.label: IntArray = np.empty(0, dtype=np.int32)
        self.loss: FloatArray = np.empty(0)
        self.support: FloatArray = np.empty(0)
        self.rows_hash: HashArray = np.empty(0, dtype=np.uint64)
        self.extra: FloatArray = np.empty((0, len(problem.model_limits) + len(problem.sums)))

    def __len__(self) -> int:
        return len(self.loss)

    def add(self, conditions: IntArray, label: IntArray) -> int:
        """Adds rules that are not in the pool yet, or that are there at a higher price; says how many.

        Rules that are not allowed are left out.
        """
        if len(conditions) == 0:
            return 0
        conditions = np.ascontiguousarray(conditions)
        strata, support, hashes = self.counts.totals(conditions)
        keys = self._keys(conditions, hashes, label)
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
        label, strata = np.asarray(label[fresh], dtype=np.int32), strata[fresh]
        loss = _by_label(strata @ self.problem.costs, label) if self._general is None else loss[fresh]
        self.conditions = np.concatenate([self.conditions, conditions[fresh]])
        self.label = np.concatenate([self.label, label])
        self.loss = np.concatenate([self.loss, loss])
        self.support = np.concatenate([self.support, support[fresh]])
        self.rows_hash = np.concatenate([self.rows_hash, hashes[fresh]])
        self.extra = np.concatenate([self.extra, self._extra(conditions[fresh], strata, label)])
        return len(fresh) + cheaper

    def add_paths(self, paths: Iterable[Path]) -> IntArray:
        """Adds rules that fit, and returns the column of each."""
        return self.columns_of(*self._as_arrays(list(paths)))

    def columns_of(self, conditions: IntArray, label: IntArray) -> IntArray:
        """The column of each rule, all of which are allowed; those that are not in the pool yet are added."""
        self.add(conditions, label)
        keys = self._keys(conditions, self.counts.totals(conditions)[2], label)
        return np.array([self._known[key] for key in keys], dtype=np.int32)

    def worth(self, conditions: IntArray, label: IntArray) -> tuple[FloatArray, FloatArray]:
        """Loss of each rule and what it adds to the constraints, in the pool or not; infinite if it is not allowed."""
        strata, _, _ = self.counts.totals(conditions)
        extra = self._extra(conditions, strata, label)
        if self._general is not None:
            return self._general.losses(conditions, label)[0], extra
        return _by_label(strata @ self.problem.costs, label), extra

    def _extra(self, conditions: IntArray, strata: FloatArray, label: IntArray) -> FloatArray:
        """What each rule adds to the constraints over the whole model."""
        extra = [_by_label(strata @ row.coefficient, label) for row in self.problem.model_limits]
        extra += list(self._numbers(conditions, label))
        return np.ascontiguousarray(np.array(extra).reshape(len(extra), len(label)).T)

    def fits(self, path: Path) -> bool:
        """Whether the path is a rule of the problem: conditions of the graph, not too many, and within the limits."""
        if len(path.conditions) > self.problem.max_depth:
            return False
        if any(self.problem.graph.number_of(c.feature, c.codes) is None for c in path.conditions):
            return False
        if self._general is not None:
            return bool(np.isfinite(self._general.losses(*self._as_arrays([path]))[0][0]))
        support = float(self.counts.totals(self._as_arrays([path])[0])[1][0])
        return support > 0.0 and support >= self.problem.min_support * (1.0 - 1e-9) - 1e-12

    def with_best_label(self, path: Path) -> Path:
        """The same rule with the label that costs least."""
        conditions, _ = self._as_arrays([path])
        if self._general is not None:
            _, label = self._general.losses(conditions, np.array([-1], dtype=np.int32))
            return Path(path.conditions, int(label[0]))
        strata, _, _ = self.counts.totals(conditions)
        return Path(path.conditions, int((strata[0] @ self.problem.costs).argmin()))

    def _as_arrays(self, paths: Sequence[Path]) -> tuple[IntArray, IntArray]:
        """Numbers of the conditions of each path, and the labels."""
        conditions = np.full((len(paths), self._width), -1, dtype=np.int32)
        for row, path in zip(conditions, paths, strict=True):
            numbers = [self.problem.graph.number_of(c.feature, c.codes) for c in path.conditions]
            row[: len(numbers)] = sorted(number for number in numbers if number is not None)
        return conditions, np.array([path.label for path in paths], dtype=np.int32)

    def _keys(self, conditions: IntArray, hashes: HashArray, label: IntArray) -> list[RuleKey]:
        apart = self.problem.conditions_matter
        return [
            (int(rows), int(own), conditions[j].tobytes() if apart else b"")
            for j, (rows, own) in enumerate(zip(hashes, label, strict=True))
        ]

    def path(self, column: int) -> Path:
        """The rule behind a column."""
        numbers = [int(number) for number in self.conditions[column] if number >= 0]
        return Path(tuple(self._node(number) for number in numbers), int(self.label[column]))

    def _node(self, number: int) -> Condition:
        """A condition of the graph; its words take time, so each is made once."""
        if number not in self._nodes:
            level, i = self.problem.graph.place_of(number)
            self._nodes[number] = level.node(i)
        return self._nodes[number]

    def cover(
        self, columns: npt.NDArray[np.int64] | IntArray | None = None, rows: IntArray | None = None
    ) -> sparse.csr_matrix:
        """Which of the rows (by default all) each of the columns (by default all) covers; 0/1, columns x rows."""
        return self.cover_of(self.conditions if columns is None else self.conditions[columns], rows)

    def cover_of(self, conditions: IntArray, rows: IntArray | None = None) -> sparse.csr_matrix:
        """The same for any rules, in the pool or not."""
        rows = self._all_rows if rows is None else rows
        start, places = self._pricer.cover(conditions, rows)
        return sparse.csr_matrix((np.ones(len(places)), places, start), shape=(len(conditions), len(rows)))

    def coverage(self, weights: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """How often each of the rows (by default all) is covered when the columns have these weights."""
        used = np.flatnonzero(weights)
        rows = self._all_rows if rows is None else rows
        return self._pricer.coverage(self.conditions[used], weights[used], rows)

    def reduced_costs(self, duals: Duals) -> FloatArray:
        """Of every column."""
        paid = self.cover(rows=duals.at) @ duals.own + duals.even * self.support
        return np.asarray(self.loss - paid - duals.leaf - self.extra @ duals.rows)

    def keep(self, columns: npt.NDArray[np.bool_]) -> None:
        """Drops every other column."""
        kept = (key for key, keep in zip(self._known, columns, strict=True) if keep)
        self._known = {key: column for column, key in enumerate(kept)}
        self.conditions, self.label, self.loss = self.conditions[columns], self.label[columns], self.loss[columns]
        self.support, self.rows_hash = self.support[columns], self.rows_hash[columns]
        self.extra = self.extra[columns]

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
        once = bool((self._pricer.coverage(self.conditions[columns], np.ones(len(columns)), self._all_rows) == 1).all())
        return once and self.meets_limits(columns) and not self.conflicts(columns)

    def meets_limits(self, columns: Sequence[int] | IntArray) -> bool:
        """Whether these columns together keep the limits of the constraints over the whole model, up to rounding."""
        limits = self.problem.at_least
        slack = self.extra[columns].sum(axis=0) - limits
        return bool((slack >= -1e-9 * np.maximum(1.0, np.abs(limits))).all())

    def _numbers(self, conditions: IntArray, label: IntArray) -> FloatArray:
        """What each rule adds to the sums over rules, shape (n_sums, n_rules)."""
        numbers = np.empty((len(self.problem.sums), len(label)))
        if not len(numbers):
            return numbers
        start, covered = self._pricer.cover(conditions, self._all_rows)
        for j in range(len(label)):
            places = [self.problem.graph.place_of(int(number)) for number in conditions[j] if number >= 0]
            tested = [(level.position, level.code_sets[i]) for level, i in places]
            rows = covered[start[j] : start[j + 1]].astype(np.uint32)
            numbers[:, j] = [part.number(tested, rows, int(label[j])) for part in self.problem.sums]
        return numbers


def _by_label(values: FloatArray, label: IntArray) -> FloatArray:
    """The value of each rule under its label."""
    return np.asarray(values[np.arange(len(label)), label])
