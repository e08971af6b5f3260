"""What rules say of the training rows they cover: support, prediction, loss, and how the target is spread."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray
from omtree.model.survival_curve import SurvivalCurve
from omtree.model.target_summary import Summary, TargetSummary
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
    targets: TargetSummary | None = None
    values: tuple[float, ...] = ()
    survival: SurvivalCurve | None = None


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

    def facts(self, rule_of_row: Assignment, labels: Sequence[int]) -> list[RuleFacts]:
        """Of every rule, given the rule of each merged row and the label of each rule."""
        return self._numbers(rule_of_row, len(labels)) if self.target.is_number else self._classes(rule_of_row, labels)

    def summaries(self, rule_of_row: Assignment, n_rules: int) -> Summary | None:
        """What tells the spread of the target over several rules; None where it is no number."""
        if not self.target.is_number or self.target.lifetimes is not None or self.target.outputs is not None:
            return None
        samples = self._samples(rule_of_row, n_rules)

        def summary(rules: Sequence[int]) -> TargetSummary:
            inside = np.concatenate([samples[rule] for rule in rules])
            return TargetSummary.of(self.target.values[inside], self.weight[inside])

        return summary

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

    def _numbers(self, rule_of_row: Assignment, n_rules: int) -> list[RuleFacts]:
        facts = []
        for samples in self._samples(rule_of_row, n_rules):
            targets, weights = self.target.values[samples], self.weight[samples]
            rule = RuleStatistics.of_samples(self.target, self.weight, samples)
            loss = float(self.objective.loss(rule))
            if rule.outputs is not None and rule.output_weights is not None:
                means = self.objective.predict(rule)
                scaled = tuple((np.array(means) * np.sqrt(rule.output_weights)).tolist())
                facts.append(RuleFacts(float(weights.sum()), (), means, loss, 0, values=scaled))
                continue
            if rule.leaf_columns is not None:
                spread = TargetSummary.of(targets, weights)
                facts.append(RuleFacts(float(weights.sum()), (), self.objective.predict(rule), loss, 0, spread))
                continue
            prediction = float(self.objective.predict(rule))
            if rule.lifetimes is not None:
                curve = SurvivalCurve.of(rule.lifetimes, weights)
                facts.append(RuleFacts(float(weights.sum()), (), prediction, loss, 0, survival=curve))
                continue
            summary = TargetSummary.of(targets, weights)
            facts.append(RuleFacts(float(weights.sum()), (), prediction, loss, 0, summary))
        return facts

    def _samples(self, rule_of_row: Assignment, n_rules: int) -> list[Assignment]:
        """The samples of every rule, in their order."""
        rule_of_sample = self._rule_of_sample(rule_of_row)
        order = np.argsort(rule_of_sample, kind="stable")
        bounds = np.searchsorted(rule_of_sample[order], np.arange(n_rules + 1)).tolist()
        return [order[first:end] for first, end in itertools.pairwise(bounds)]

    def _rule_of_sample(self, rule_of_row: Assignment) -> Assignment:
        # A sample of weight zero has row -1 and belongs to no rule.
        return np.append(rule_of_row, -1)[self.problem.table.row_of]
