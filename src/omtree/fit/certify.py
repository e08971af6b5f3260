"""What is known about a model that was found, after an independent check of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from omtree.constraints import ConstraintCheck
from omtree.data.table import Feature
from omtree.deadline import Deadline
from omtree.engines.answers import Outcome
from omtree.fit.checker import check
from omtree.fit.search_space import cuts_in_words, search_space
from omtree.model.certificate import Certificate
from omtree.model.rules import RuleSet
from omtree.model.tree import Tree
from omtree.objectives import Objective, Score
from omtree.problem.problem import Problem, Solution
from omtree.sources.samples import Training

if TYPE_CHECKING:
    from omtree.fit.plan import Plan


def certify(
    plan: Plan, outcome: Outcome, training: Training, objective: Objective, deadline: Deadline, whole: Training
) -> Certificate:
    """What is known about the model, after an independent check of it.

    `training` are the samples it was read off, which may be merged; `whole` know all values of their columns.
    """
    found, problem, rules, tree = outcome.found, outcome.problem, outcome.rules, outcome.tree
    if problem.max_leaves == 1:
        found = replace(found, all_cuts=True)  # there is nothing to cut
    prices = problem.limits.prices
    cuts = _cuts(found, problem.table.features, whole)
    anywhere = found.all_cuts or (cuts.get("cuts") == "all" and found.floor is not None)
    binning, n_bins = "exact" if anywhere else plan.binning, plan.n_bins
    if binning == "exact" and found.status == "optimal" and cuts.get("cuts") == "some":
        binning, n_bins = "quantile", 1  # an edit, say: over the cuts that its model has, however many
    priced = prices is not None and prices.weight > 0
    certificate = Certificate(
        status=found.status,
        value=found.value,
        bound=found.bound,
        weight=training.total,
        unit=f"{objective.unit} plus the price of the tests" if priced else objective.unit,
        counted=objective.counted and not priced,
        score=objective.name if isinstance(objective, Score) else "",
        leaf_price=problem.leaf_price,
        structure=plan.structure,
        leaves=len(rules),
        depth=tree.depth if plan.structure == "tree" and tree is not None else rules.depth,
        search_space=search_space(
            problem,
            plan.structure,
            plan.splits,
            cuts_in_words(binning, n_bins, problem.table.features, outcome.rounds),
            all_cuts=anywhere,
        ),
        **cuts,
        lp_value=found.lp_value,
        exact_pricing=found.exact_pricing,
        columns=found.columns,
        rows=found.rows,
        iterations=found.iterations,
        ended=found.ended,
    )
    solved = deadline.elapsed
    checks = check_claims(plan, certificate, rules, tree, problem, training, objective)
    seconds = {**found.seconds, "check": deadline.elapsed - solved}
    return replace(certificate, seconds=seconds, total_seconds=deadline.elapsed, constraints=checks)


def check_claims(
    plan: Plan,
    certificate: Certificate,
    rules: RuleSet,
    tree: Tree | None,
    problem: Problem,
    training: Training,
    objective: Objective,
) -> tuple[ConstraintCheck, ...]:
    """How a model meets the constraints, after a check of all that its certificate claims."""
    used = {condition.feature for rule in rules for condition in rule.conditions}
    return check(
        rules,
        certificate,
        training.codes(rules.features, used),
        training.target,
        training.weight,
        objective,
        max_depth=problem.max_depth,
        max_leaves=problem.max_leaves,
        min_support=problem.min_support,
        constraints=tuple(plan.constraints),
        samples=training.samples() if plan.constraints else None,
        tree=tree if plan.structure == "tree" else None,
        leaf_price=float(plan.leaf_price),
    )


def _cuts(found: Solution, features: Sequence[Feature], training: Training) -> dict[str, Any]:
    """Whether what is proven holds wherever numbers are cut, and at how many points they may be cut otherwise."""
    numeric = [feature for feature in features if feature.thresholds is not None]
    n_cuts = sum(len(feature.thresholds) for feature in numeric if feature.thresholds is not None)
    if not numeric:
        return {}
    if found.all_cuts or not any(training.many_valued(feature, feature.n_values) for feature in numeric):
        return {"cuts": "all"}
    if found.floor is not None and found.status == "optimal" and found.value <= found.floor:
        return {"cuts": "all", "n_cuts": n_cuts}
    return {"cuts": "some", "n_cuts": n_cuts, "all_cuts_bound": found.floor}
