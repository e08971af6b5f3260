"""How often groups are given a class, compared over the whole model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from omtree.constraints.audit import Answers, ConstraintCheck, Sense
from omtree.constraints.confidence import Confident, Trial, difference_trial, worth
from omtree.constraints.constraint import Level, Setting, check_group, check_number, class_position, code_of
from omtree.constraints.demands import MetricLimit
from omtree.constraints.samples import Strata

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class Parity(Confident, abstract=True):
    """How often the groups get a class predicted differs by at most a tolerance."""

    group: str
    tolerance: float
    class_: Any = field(default=None, kw_only=True)
    level: ClassVar[Level] = "sample"

    @property
    def group_columns(self) -> tuple[str, ...]:
        return (self.group,)

    def check(self, setting: Setting) -> None:
        class_position(self, self.class_, setting)
        check_group(self, self.group, setting)
        check_number(self, "tolerance", 0.0, 1.0)
        self.check_confidence()

    def parts(self, label: Any, positive: int, groups: Any) -> Iterator[tuple[str, Mask]]:
        """Among which samples, or strata, the groups are compared: words and a mask for each comparison.

        `label` is the class of every sample or stratum, `groups` maps a group column to codes and levels.
        """
        raise NotImplementedError

    def on_model(self, strata: Strata, setting: Setting) -> Iterable[MetricLimit]:
        positive = class_position(self, self.class_, setting)
        columns = {name: (strata.groups[name], strata.levels[name]) for name in self.group_columns}
        codes, levels = columns[self.group]
        for words, among in self.parts(strata.label, positive, columns):
            total = np.bincount(codes[among], weights=strata.totals[among], minlength=len(levels))
            for high, low in permutations(np.flatnonzero(total > 0).tolist(), 2):
                # In units in which the smallest coefficient is one, so that a single sample is never rounding.
                unit = float(max(total[high], total[low]))
                coefficient = np.zeros((len(strata), setting.n_labels))
                coefficient[among & (codes == high), positive] = -unit / total[high]
                coefficient[among & (codes == low), positive] = unit / total[low]
                between = f"{code_of(levels[high])} above {code_of(levels[low])}{words}"
                yield MetricLimit(
                    f"{self.title}: {between}",
                    coefficient,
                    -self.tolerance * unit,
                    self,
                    f"the rate of {self.group} {between}",
                    self.tolerance,
                    "at most",
                    -unit,
                )

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        positive = answers.position(self.class_)
        columns = {name: (answers.groups[name].codes, answers.groups[name].levels) for name in self.group_columns}
        codes, levels = columns[self.group]
        for words, among in self.parts(answers.y, positive, columns):
            weight = answers.weight * among
            given = weight * (answers.predicted == positive)
            inside = [codes == g for g in range(len(levels)) if weight[codes == g].sum() > 0]
            rates = [given[members].sum() / weight[members].sum() for members in inside]
            difference = max(rates) - min(rates) if len(rates) > 1 else math.nan
            yield ConstraintCheck.of(self, difference, self.tolerance, "at most", part=words.strip())

    def trials(self, answers: Answers) -> Iterable[Trial]:
        positive = answers.position(self.class_)
        columns = {name: (answers.groups[name].codes, answers.groups[name].levels) for name in self.group_columns}
        codes, levels = columns[self.group]
        given = answers.predicted == positive
        for words, among in self.parts(answers.y, positive, columns):
            seen = []
            for g in range(len(levels)):
                weight = answers.weight[among & (codes == g)]
                total = float(weight.sum())
                rate = float(weight[given[among & (codes == g)]].sum()) / total if total > 0 else 0.0
                seen.append((rate, worth(weight)))
            for high, low in permutations(range(len(levels)), 2):
                between = f"{code_of(levels[high])} above {code_of(levels[low])}{words}"
                yield difference_trial(between, self.tolerance, seen[high], seen[low])

    def tightened(self, margins: Iterable[tuple[Sense, float]]) -> Self:
        worst_margin = max((margin for _, margin in margins), default=0.0)
        return replace(self, confidence=None, tolerance=max(0.0, round(self.tolerance - worst_margin, 10)))
