"""Samples that are too many for memory: they stay where they are, and a search asks for joint counts of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from omtree.data.table import CodeArray, Feature, FloatArray, Table
from omtree.problem import Path, Problem
from omtree.training import Training

if TYPE_CHECKING:
    from omtree.search.sources import Counts


@dataclass(frozen=True, eq=False)
class CountedTraining(Training):
    """Coded samples behind a source of counts; the arrays of a `Training` are empty here.

    Attributes
    ----------
    counts : Counts
    merge : callable
        Reads all samples and gives them in memory, merged, after replacing codes: entry ``[f, c]`` of the array it is
        given stands for the code ``c`` of feature ``f``.
    instead : str
        What to do about a fit that needs the rows in memory.
    """

    counts: Counts = field(kw_only=True)
    merge: Callable[[CodeArray], Training] = field(kw_only=True)
    instead: str = field(kw_only=True, default="raise memory_limit, or use fewer columns or bins")

    def __len__(self) -> int:
        return int(self.columns.n_samples)

    def table_and_means(self, features: tuple[Feature, ...]) -> tuple[Table, FloatArray | None]:
        """There is no table: an order of features that looks at one is refused."""
        raise ValueError(f"feature_order='importance' needs the rows in memory; name the columns, or {self.instead}.")

    def totals(self, features: tuple[Feature, ...]) -> Table:
        """All samples as one row, of which the weights of the classes are true and the codes are not."""
        codes = np.zeros((len(features), 1), dtype=np.uint8)
        return Table(features, codes, self.counts.totals[None, :], np.empty(0, dtype=np.int64))


def rows_of(problem: Problem, training: Training, paths: Iterable[Path]) -> tuple[Problem, Training]:
    """The samples in memory that the rules of a model are read off, and the problem with their table.

    Parameters
    ----------
    problem : Problem
    training : Training
        What the problem was posed for.
    paths : iterable of Path
        The rules.
    """
    samples = training.coded(problem.table.features)
    if isinstance(samples, CountedTraining):
        samples = samples.merge(_alike(problem, paths))
        problem = replace(problem, table=samples.table(problem.table.features), counts=None)
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
