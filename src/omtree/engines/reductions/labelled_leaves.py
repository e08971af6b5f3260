"""What a leaf costs under every label that it may have, and what it adds to what is demanded of the whole model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree import _native
from omtree.problem.graph import Condition
from omtree.problem.judge import make_judge
from omtree.problem.limits import PathShape, Predicate
from omtree.problem.problem import Path, Problem

Rows = npt.NDArray[np.uint32]
Codes = tuple[int, ...]
#: Feature -> codes, in the order of the tests.
Tested = dict[int, Codes]


@dataclass(frozen=True, eq=False)
class LabelledLeaf:
    """A leaf with one of its labels.

    Attributes
    ----------
    label : int
    loss : float
    sums : list of float
        What it adds to the constraints over the model: those of `Problem.model_limits`, then those of `Problem.sums`.
    """

    label: int
    loss: float
    sums: list[float]


class LabelledLeaves:
    """The leaves of a problem; each is judged once.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._judges: list[_native.RuleJudge] = [
            make_judge(replace(problem, limits=replace(problem.limits, predicate=allows)))
            for allows in (_only(label, problem.limits.predicate) for label in range(problem.loss.n_labels))
        ]
        self._values = [problem.table.statistics @ row.coefficient for row in problem.model_limits]
        self._ordered = problem.limits.shape != PathShape()
        self._known: dict[Any, list[LabelledLeaf]] = {}

    def key(self, tested: Tested) -> Any:
        """By which the tests on the way to a node are known again."""
        return tuple(tested.items()) if self._ordered else frozenset(tested.items())

    def of(self, tested: Tested, rows: Rows | None = None) -> list[LabelledLeaf]:
        """The rows that these tests lead to as a leaf of each label that it may have."""
        key = self.key(tested)
        if key not in self._known:
            if rows is None:
                path = Path(tuple(Condition(feature, codes) for feature, codes in tested.items()), 0)
                rows = np.flatnonzero(path.covers(self._problem.table.codes)).astype(np.uint32)
            conditions = list(tested.items())
            found = []
            for label, judge in enumerate(self._judges):
                loss, _ = judge.judge(rows, conditions)
                if math.isfinite(loss):
                    sums = [float(values[rows, label].sum()) for values in self._values]
                    sums += [part.number(conditions, rows, label) for part in self._problem.sums]
                    found.append(LabelledLeaf(label, loss, sums))
            self._known[key] = found
        return self._known[key]


def _only(label: int, predicate: Predicate | None) -> Predicate:
    """What allows rules of one label, and of these only the ones that the predicate allows."""

    def allowed(conditions: Sequence[tuple[int, Codes]], rows: Rows, own: int) -> bool:
        return own == label and (predicate is None or predicate(conditions, rows, own))

    return allowed
