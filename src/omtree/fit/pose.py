"""From samples and features to the problem that an engine solves."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from omtree.constraints import Constraint, Setting, compile_constraints, restrict_features
from omtree.constraints.monotone import Monotony
from omtree.constraints.samples import Strata
from omtree.data.table import Feature, FloatArray, Table
from omtree.fit.refusals import check_losses
from omtree.objectives import Objective, RuleStatistics
from omtree.problem.graph import Categories, FeatureGraph
from omtree.problem.loss_scale import most_loss
from omtree.problem.losses import LinearLoss, Loss, RowLoss, RowNumbers
from omtree.problem.problem import Path, Problem
from omtree.sources.distant import CountedTraining
from omtree.sources.samples import Training
from omtree.sources.target import Target, samples_by_row


@dataclass(frozen=True, eq=False)
class Pose:
    """What stays the same while the thresholds of the features change.

    Attributes
    ----------
    objective : Objective
    max_depth, max_leaves : int
    min_support : float
        Least weight of a rule when the samples weigh `total`; a part of them needs its share of it.
    total : float
    categories : {"groups", "values", "single"}
    order : sequence of int or None
        Positions of the features in the order of the graph's levels.
    constraints : sequence of Constraint
        Checked against the setting.
    setting : Setting or None
        Needed where there are constraints.
    leaf_price : float
        What one more leaf must save, as a share of the largest loss.
    relaxed : bool
        Leave out what constraints demand of rules and models; which features and values there are stays.
    limited : bool
        Whether the depth or the leaves are limited by who asks.
    """

    objective: Objective
    max_depth: int
    max_leaves: int
    min_support: float
    total: float
    categories: Categories
    order: Sequence[int] | None
    constraints: Sequence[Constraint] = ()
    setting: Setting | None = None
    leaf_price: float = 0.0
    relaxed: bool = False
    limited: bool = True

    def __call__(self, training: Training, features: tuple[Feature, ...]) -> Problem:
        """The problem for these samples, coded by these features."""
        if self.setting is not None:
            features = restrict_features(self.constraints, features, self.setting)
        graph = FeatureGraph(features, self.categories, self.order)
        coded = training.coded(features)
        if coded is not training:
            # Samples on disk know their weights only now.
            check_losses(self.objective, coded.target, coded.weight)
            self.objective.check(coded.target)
        training = coded
        if isinstance(training, CountedTraining):
            distant = self._counted(training, graph)
            if distant is not None:
                return distant
            training = training.rows
        # The share comes first: for all samples it is exactly one.
        support = self.min_support * (training.total / self.total)
        compiled = None
        if self.constraints and self.setting is not None and not self.relaxed:
            compiled = compile_constraints(self.constraints, self.setting, training.samples())
        if compiled is not None and compiled.curved and training.target.charges is not None:
            raise ValueError(
                f"{compiled.curved[0].constraint.title} does not go with costs by row or rewards; use a limit on "
                "recall or precision."
            )
        counted = compiled.strata if compiled is not None and (compiled.model_limits or compiled.curved) else None
        table = self._table(training, features, counted)
        loss = self._loss(table, training)
        if counted is not None:
            if not isinstance(loss, LinearLoss):
                raise ValueError(
                    f"Constraints over the whole model ({_of_samples(self.constraints)}) need an objective that "
                    "charges every row by the predicted class; use 'error', 'balanced_error' or a score such as 'f1'."
                )
            loss = LinearLoss(self._costs_of_strata(loss.costs, counted, training.target))
        problem = Problem(table, graph, loss, self.max_depth, self.max_leaves, support, limited=self.limited)
        if self.leaf_price > 0.0:
            problem = replace(problem, leaf_price=self.leaf_price * most_loss(problem))
        if compiled is None:
            return problem
        sums = compiled.sums(table)
        if self.leaf_price > 0.0 and (compiled.model_limits or compiled.curved or compiled.monotone or sums):
            raise ValueError(
                "leaf_price goes with constraints on single rules only; leave it out (max_leaves='auto' chooses a size "
                "under any), or those over the whole model."
            )
        model_limits = compiled.model_limits
        if training.target.charges is not None:
            # What the answers cost comes before the strata, and counts for no limit.
            free = np.zeros((len(training.target.classes),) * 2)
            model_limits = tuple(
                replace(row, coefficient=np.concatenate([free, row.coefficient])) for row in model_limits
            )
        return replace(
            problem,
            min_support=max(support, compiled.demands.min_support),
            model_limits=model_limits,
            limits=compiled.limits(table),
            class_of_stratum=None if counted is None or training.target.charges is not None else counted.label,
            conflict=self._conflict(compiled.monotone, table, training),
            curved=compiled.curved,
            sums=sums,
        )

    def _counted(self, training: CountedTraining, graph: FeatureGraph) -> Problem | None:
        """The problem for rows that are counted where they are; None where counts and sums do not decide the model."""
        if self.constraints or self.leaf_price > 0 or (self.setting is not None and self.setting.structure == "rules"):
            return None
        counts, target, weight = training.counts, training.target, training.weight
        table = training.totals(graph.features, counts)
        loss: Loss | None
        if target.charges is not None:
            loss = self.objective.kernel(table, target, weight)
        elif training.summed is not None:
            sums = self.objective.sums(target, weight)
            if sums is None:
                return None
            # Of a value that no row of positive weight has, nothing is added.
            counts = training.summed(sums / np.where(weight > 0, weight, 1.0)[:, None])
            table = training.totals(graph.features, counts)
            loss = self.objective.kernel(table, target, weight)
        else:
            loss = self.objective.of_counts(counts.totals)
        if loss is None or not loss.additive:
            return None
        return Problem(table, graph, loss, self.max_depth, self.max_leaves, self.min_support, counts=counts)

    @staticmethod
    def _costs_of_strata(costs: FloatArray, strata: Strata, target: Target) -> FloatArray:
        """What a unit of each statistic costs under each label, where the strata are among them."""
        if target.charges is None:
            return np.ascontiguousarray(costs[strata.label])
        return np.concatenate([costs, np.zeros((len(strata), costs.shape[1]))])

    def _table(self, training: Training, features: tuple[Feature, ...], strata: Strata | None) -> Table:
        target = training.target
        if target.charges is not None:
            return training.charged_table(features, strata)
        if target.is_number:
            return training.number_table(features, self.objective.sums(target, training.weight))
        return training.table(features, strata)

    def _loss(self, table: Table, training: Training) -> Loss:
        target, weight = training.target, training.weight
        return self.objective.kernel(table, target, weight) or own_loss(self.objective, table, target, weight)

    def _conflict(self, monotone: Sequence[tuple[str, int]], table: Table, training: Training) -> Monotony | None:
        """Whether two rules predict the wrong way round along a feature."""
        position = {feature.name: i for i, feature in enumerate(table.features)}
        wanted = [(position[name], direction) for name, direction in monotone if name in position]
        if not wanted:
            return None
        target = training.target
        start, targets, weights = samples_by_row(table, target, training.weight) if target.is_number else (None,) * 3

        @functools.cache
        def prediction(path: Path) -> float:
            if start is None or targets is None or weights is None:
                return path.label
            rows = np.flatnonzero(path.covers(table.codes))
            if target.lifetimes is not None:
                _, exposure, above, _ = table.statistics[rows].sum(axis=0)
                return 1.0 + float(above / exposure) if exposure > 0 else 0.0
            samples = np.concatenate([np.arange(start[row], start[row + 1]) for row in rows])
            return float(self.objective.predict(RuleStatistics(targets=targets[samples], weights=weights[samples])))

        return Monotony(table.features, tuple(wanted), prediction)


def _of_samples(constraints: Sequence[Constraint]) -> str:
    """The constraints over the whole model, for people."""
    return ", ".join(constraint.title for constraint in constraints if constraint.level == "sample")


def own_loss(objective: Objective, table: Table, target: Target, weight: FloatArray) -> RowLoss:
    """The loss of an objective that is known in Python alone."""
    classes = target.classes.tolist()
    samples = samples_by_row(table, target, weight) if target.is_number else None

    def loss(rows: RowNumbers, allowed: Sequence[bool] | None) -> tuple[float, int]:
        if samples is None:
            rule = RuleStatistics(table.statistics[rows].sum(axis=0), classes)
            label = int(objective.predict(rule))
            if allowed is not None and not allowed[label]:
                return math.inf, label
            return float(objective.loss(rule)), label
        start, targets, weights = samples
        of_rule = np.concatenate([np.arange(start[row], start[row + 1]) for row in rows])
        return float(objective.loss(RuleStatistics(targets=targets[of_rule], weights=weights[of_rule]))), 0

    return RowLoss(loss, max(1, len(classes)), objective.refines)
