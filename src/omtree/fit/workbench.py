"""What a model was fitted with, kept for questions that need another search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from omtree.constraints import Constraint
from omtree.data.table import MAX_CODES, Feature
from omtree.deadline import Deadline
from omtree.engines.answers import Outcome
from omtree.fit.certify import check_claims
from omtree.fit.plan import Plan
from omtree.model.certificate import Certificate
from omtree.model.rule_facts import Reader
from omtree.model.tree import Tree
from omtree.objectives import Objective
from omtree.problem.problem import Problem
from omtree.sources.samples import Training


@dataclass(frozen=True, eq=False)
class Workbench:
    """The parts of a fit; a pickled model has none, since they hold the training rows.

    Attributes
    ----------
    plan : Plan
    training : Training
    objective : Objective
    problem : Problem
        Of the model, with the thresholds that were chosen.
    """

    plan: Plan
    training: Training
    objective: Objective
    problem: Problem

    @property
    def reader(self) -> Reader:
        """What reads models off the rows."""
        return Reader(self.problem, self.objective, self.training.target, self.training.weight)

    def with_leaves(self, leaves: int) -> Workbench:
        """The same for models of at most so many leaves."""
        return replace(self, problem=replace(self.problem, max_leaves=leaves))

    def features(self) -> tuple[Feature, ...]:
        """Every column that varies: with all its cuts where these were looked at, else with those of the model."""
        plan, training = self.plan, self.training
        if plan.binning == "exact" and not self.has_few_cuts:
            # A search over all cuts leaves those of its tree alone; all of them can be codes.
            return training.features(plan.n_bins, "exact", plan.categories == "groups")[0]
        every, _ = training.features(plan.n_bins, "quantile", plan.categories == "groups")
        chosen = {feature.name: feature for feature in self.problem.table.features}
        return tuple(chosen.get(feature.name, feature) for feature in every)

    @cached_property
    def has_few_cuts(self) -> bool:
        """Whether the model was found over all cuts, too many to keep others than its own."""
        if self.plan.binning != "exact":
            return False
        every, _ = self.training.features(self.plan.n_bins, "quantile", self.plan.categories == "groups")
        numeric = [feature for feature in every if feature.thresholds is not None]
        return any(self.training.many_valued(each, MAX_CODES - 1) for each in numeric)

    def tree_under(self, constraints: Sequence[Constraint], deadline: Deadline) -> Tree | None:
        """The tree that a fit under other constraints finds over thresholds that it chooses for itself."""
        sized = replace(self.plan, max_leaves=self.problem.max_leaves)
        plan = replace(sized, constraints=tuple(constraints), binning="adaptive")
        return plan.solve(self.training, self.objective, deadline, reasons=True)[0].tree

    def posed(self) -> Workbench:
        """The same with the problem over these features, where the model was found over more cuts than it has."""
        if self.plan.binning != "exact":
            return self
        plan = replace(self.plan, max_leaves=self.problem.max_leaves)
        return replace(self, problem=plan.problem_on(self.training, self.features(), self.objective))

    def fit(
        self, constraints: Sequence[Constraint], deadline: Deadline, features: tuple[Feature, ...] | None = None
    ) -> tuple[Outcome, Certificate]:
        """The best model under other constraints, over the same thresholds, or over those that are given."""
        plan = replace(self.plan, constraints=tuple(constraints), max_leaves=self.problem.max_leaves)
        features = self.features() if features is None else features
        return plan.fit_on(self.training, features, self.objective, deadline)

    def under(self, constraints: Sequence[Constraint], problem: Problem) -> Workbench:
        """The same for a model that was fitted anew."""
        return replace(self, plan=replace(self.plan, constraints=tuple(constraints)), problem=problem)

    def certified(self, tree: Tree, certificate: Certificate) -> Certificate:
        """What is claimed about a tree of the problem, checked, with how it meets the constraints."""
        parts = (tree.rules, tree, self.problem, self.training, self.objective)
        return replace(certificate, constraints=check_claims(self.plan, certificate, *parts))

    def __reduce__(self) -> tuple[Any, ...]:
        return _gone, ()


def _gone() -> None:
    """What is left of a workbench in a pickled model."""
