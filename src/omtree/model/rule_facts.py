"""What rules say of the training rows they cover: support, prediction, loss, and how the target is spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray
from omtree.model.survival_curve import SurvivalCurve
from omtree.model.target_summary import TargetSummary
from omtree.objectives.objective import Objective, RuleStatistics, Score
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Problem
from omtree.sources.target import Target

Assignment = npt.NDArray[np.intp]


@dataclass(frozen=True)
class RuleFacts:
    """What is known of one rule from its rows."""

    support: float
    class_weights: tuple[float, ...]
    prediction: Any
    loss: float
    label: int
    targets: Callable[[], TargetSummary] | None = None
    values: tuple[float, ...] = ()
    survival: SurvivalCurve | None = None


@dataclass(frozen=True, eq=False)
class RuleSamples:
    """The samples of rules whose target is a number, those of a rule side by side, in their order.

    Attributes
    ----------
    order : array of int
        Positions of the samples.
    starts : array of int, shape (n_rules + 1,)
        Where those of each rule begin, and the end of all.
    targets, weights : arrays of float
        Of the samples, in this order.
    """

    order: Assignment
    starts: Assignment
    targets: FloatArray
    weights: FloatArray

    def summary(self, rules: Sequence[int]) -> TargetSummary:
        """The spread of the target over some of the rules."""
        inside = [np.arange(self.starts[rule], self.starts[rule + 1]) for rule in rules]
        places = np.concatenate(inside)
        return TargetSummary.of(self.targets[places], self.weights[places])


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads rules off a problem's rows.

    Attributes
    ----------
    problem : Problem
    objective : Objective
    target : Target
    weight : array of float
        Of the samples.
    """

    problem: Problem
    objective: Objective
    target: Target
    weight: FloatArray

    def facts(
        self, rule_of_row: Assignment, labels: Sequence[int], samples: RuleSamples | None = None
    ) -> list[RuleFacts]:
        """Of every rule, given the rule of each merged row and the label of each rule.

        Where the target is a number, `samples` are those of the rules, if they are known already.
        """
        if not self.target.is_number:
            return self._classes(rule_of_row, labels)
        return self._numbers(samples or self._samples(rule_of_row, len(labels)))

    def samples(self, rule_of_row: Assignment, n_rules: int) -> RuleSamples | None:
        """The samples of the rules, which tell the spread of the target; None where that is not one number."""
        if not self.target.is_number or self.target.lifetimes is not None or self.target.outputs is not None:
            return None
        return self._samples(rule_of_row, n_rules)

    def _classes(self, rule_of_row: Assignment, labels: Sequence[int]) -> list[RuleFacts]:
        problem, n_rules = self.problem, len(labels)
        if self.target.charges is not None:
            return self._charged(self.target.charges, rule_of_row, labels)
        columns = problem.table.statistics.T
        sums = [np.bincount(rule_of_row, weights=column, minlength=n_rules) for column in columns]
        strata: FloatArray = np.stack(sums, axis=1).astype(np.float64)
        classes = self.target.classes.tolist()
        weights = strata
        if problem.class_of_stratum is not None:
            weights = np.zeros((n_rules, len(classes)))
            np.add.at(weights.T, problem.class_of_stratum, strata.T)
        facts = []
        for r, (own, label) in enumerate(zip(weights.tolist(), labels, strict=True)):
            facts.append(RuleFacts(sum(own), tuple(own), classes[label], self._loss(strata[r], own, label), label))
        return facts

    def _charged(self, charges: FloatArray, rule_of_row: Assignment, labels: Sequence[int]) -> list[RuleFacts]:
        rule_of_sample = self._rule_of_sample(rule_of_row)
        classes = self.target.classes.tolist()
        facts = []
        for r, label in enumerate(labels):
            inside = np.flatnonzero(rule_of_sample == r)
            weight = self.weight[inside]
            own: list[float] = []
            if self.target.rewards is None:
                own = np.bincount(self.target.labels[inside], weights=weight, minlength=len(classes)).tolist()
            loss = float(weight @ charges[inside, label])
            of_answers = charges if self.target.rewards is None else self.target.rewards
            values = tuple((weight @ of_answers[inside] / weight.sum()).tolist())
            facts.append(RuleFacts(float(weight.sum()), tuple(own), classes[label], loss, label, None, values))
        return facts

    def _loss(self, strata: FloatArray, class_weights: Sequence[float], label: int) -> float:
        if isinstance(self.objective, Score):
            # The score of the model is no sum over rules; the errors of a rule say best what it does to it.
            return sum(class_weights) - class_weights[label]
        if isinstance(self.problem.loss, LinearLoss):
            return float(strata @ self.problem.costs[:, label])
        return float(self.objective.loss(RuleStatistics(np.array(class_weights), self.target.classes.tolist())))

    def _numbers(self, samples: RuleSamples) -> list[RuleFacts]:
        facts = []
        masses = np.add.reduceat(samples.weights, samples.starts[:-1]).tolist()
        answers = self.objective.of_rules(self.target, self.weight, samples.order, samples.starts)
        for r, (mass, (loss, prediction)) in enumerate(zip(masses, answers, strict=True)):
            first, end = samples.starts[r : r + 2]
            if self.target.outputs is not None and self.target.output_weights is not None:
                scaled = tuple((np.array(prediction) * np.sqrt(self.target.output_weights)).tolist())
                facts.append(RuleFacts(mass, (), prediction, loss, 0, values=scaled))
            elif self.target.lifetimes is not None:
                lifetimes = self.target.lifetimes.take(samples.order[first:end])
                curve = SurvivalCurve.of(lifetimes, samples.weights[first:end])
                facts.append(RuleFacts(mass, (), float(prediction), loss, 0, survival=curve))
            else:
                is_line = self.target.leaf_columns is not None
                spread = partial(TargetSummary.of, samples.targets[first:end], samples.weights[first:end])
                facts.append(RuleFacts(mass, (), prediction if is_line else float(prediction), loss, 0, spread))
        return facts

    def _samples(self, rule_of_row: Assignment, n_rules: int) -> RuleSamples:
        rule_of_sample = self._rule_of_sample(rule_of_row)
        if n_rules < 2**15:
            rule_of_sample = rule_of_sample.astype(np.int16)  # these are sorted by their digits, which is faster
        order = np.argsort(rule_of_sample, kind="stable")
        starts = np.searchsorted(rule_of_sample[order], np.arange(n_rules + 1))
        return RuleSamples(order, starts, self.target.values[order], self.weight[order])

    def _rule_of_sample(self, rule_of_row: Assignment) -> Assignment:
        # A sample of weight zero has row -1 and belongs to no rule.
        return np.append(rule_of_row, -1)[self.problem.table.row_of]
