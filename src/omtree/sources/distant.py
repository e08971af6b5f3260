"""Samples that are not in memory: they stay where they are, and a search may ask for joint counts of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from omtree.data.binning import Binning
from omtree.data.summaries import ColumnSummary, features_of
from omtree.data.table import CodeArray, Feature, FloatArray, Table
from omtree.deadline import Deadline
from omtree.problem.problem import Path, Problem
from omtree.sources.samples import Training

if TYPE_CHECKING:
    from omtree.objectives import Objective
    from omtree.sources.counts import Counts


@dataclass(frozen=True, eq=False)
class DistantTraining(Training):
    """Samples that are not in memory; the arrays of a `Training` are empty here, and `coded` gives one to work with.

    Attributes
    ----------
    deadline : Deadline
        Of the fit; reading does not count.
    """

    deadline: Deadline = field(kw_only=True)
    _known: dict[str, Any] = field(kw_only=True, default_factory=dict)

    def features(
        self, n_bins: int, binning: Binning, group_levels: bool = True, deadline: Deadline | None = None
    ) -> tuple[tuple[Feature, ...], list[tuple[str, str]]]:
        """The columns that vary as features, and name and reason for each that was dropped."""
        with self.deadline.outside():
            summaries = self._summaries(n_bins, binning)
        self._known["summaries"] = summaries
        return features_of(summaries, len(self.target.classes), n_bins, binning, group_levels, len(self))

    def many_valued(self, feature: Feature, n_bins: int) -> bool:
        """Whether a numeric feature has more distinct values than this."""
        summary: ColumnSummary = self._known["summaries"][feature.column]
        return summary.n_distinct(n_bins + 1) > n_bins

    def coded(self, features: tuple[Feature, ...]) -> Training:
        """The samples coded by these features, made once for each choice of features."""
        known = self._known.get("features", ())
        if len(known) != len(features) or any(old is not new for old, new in zip(known, features, strict=True)):
            self._forget_codes()
            with self.deadline.outside():
                self._known.update(coded=self._code(features), features=features)
        coded: Training = self._known["coded"]
        return coded

    def _summaries(self, n_bins: int, binning: Binning) -> list[ColumnSummary]:
        """What is in each column."""
        raise NotImplementedError

    def _code(self, features: tuple[Feature, ...]) -> Training:
        """The samples coded by these features."""
        raise NotImplementedError

    def _forget_codes(self) -> None:
        """Make room for other codes."""
        self._known.pop("features", None)
        self._known.pop("coded", None)


@dataclass(frozen=True, eq=False)
class CountedTraining(Training):
    """Coded samples behind a source of counts; the arrays of a `Training` are empty here.

    Attributes
    ----------
    counts : Counts
    merge : callable
        Reads all samples and gives them in memory, merged, after replacing codes: entry ``[f, c]`` of the array it is
        given stands for the code ``c`` of feature ``f``.
    gather : callable
        Gives all samples in memory, coded, for what joint counts do not decide; complains where they do not fit.
    summed : callable or None
        Where the target is a number: its different values are the `target` here, with their weights, and this gives
        sums over the samples in place of counts, from what a unit of weight of each value adds to them.
    """

    counts: Counts = field(kw_only=True)
    merge: Callable[[CodeArray], Training] = field(kw_only=True)
    gather: Callable[[], Training] = field(kw_only=True)
    summed: Callable[[FloatArray], Counts] | None = field(kw_only=True, default=None)

    def __len__(self) -> int:
        return int(self.columns.n_samples)

    @cached_property
    def rows(self) -> Training:
        """All samples in memory."""
        return self.gather()

    def table_and_means(self, features: tuple[Feature, ...]) -> tuple[Table, FloatArray | None]:
        """Of the samples in memory: joint counts do not say how important a feature is beside others."""
        return self.rows.table_and_means(features)

    def totals(self, features: tuple[Feature, ...], counts: Counts) -> Table:
        """All samples as one row, of which the counts or sums are true and the codes are not."""
        codes = np.zeros((len(features), 1), dtype=np.uint8)
        priced = self.target.charges is not None
        weight = np.array([self.total]) if self.target.is_number or priced else None
        # What answers cost comes after the weight.
        sums = counts.totals[None, 1:] if priced else counts.totals[None, :]
        return Table(features, codes, sums, np.empty(0, dtype=np.int64), row_weight=weight)


def rows_of(
    problem: Problem, training: Training, paths: Iterable[Path], objective: Objective
) -> tuple[Problem, Training]:
    """The samples in memory that the rules of a model are read off, and the problem with their table.

    Parameters
    ----------
    problem : Problem
    training : Training
        What the problem was posed for.
    paths : iterable of Path
        The rules.
    objective : Objective
    """
    samples = training.coded(problem.table.features)
    if isinstance(samples, CountedTraining) and problem.counts is None:
        return problem, samples.rows
    if isinstance(samples, CountedTraining):
        samples = samples.merge(_alike(problem, paths))
        features = problem.table.features
        if samples.target.charges is not None:
            table = samples.charged_table(features)
        elif samples.target.is_number:
            table = samples.number_table(features, objective.sums(samples.target, samples.weight))
        else:
            table = samples.table(features)
        problem = replace(problem, table=table, counts=None)
    return problem, samples


def _alike(problem: Problem, paths: Iterable[Path]) -> CodeArray:
    """For every code of every feature the first one that no condition of the rules tells from it."""
    conditions = {condition for path in paths for condition in path.conditions}
    alike = np.zeros((len(problem.table.features), 256), dtype=np.uint8)
    for position, feature in enumerate(problem.table.features):
        own = [set(condition.codes) for condition in conditions if condition.feature == position]
        first: dict[tuple[bool, ...], int] = {}
        for code in range(feature.n_codes):
            alike[position, code] = first.setdefault(tuple(code in codes for codes in own), code)
    return alike
