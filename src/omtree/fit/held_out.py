"""What a model loses on rows it was not fitted to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from omtree.constraints import Budget, Constraint
from omtree.data.build import encode_rows
from omtree.data.table import FloatArray
from omtree.model.answering import answered_numbers
from omtree.model.rules import RuleSet
from omtree.model.score_figure import confusion_of
from omtree.model.tally import Tally
from omtree.model.tree import Tree
from omtree.objectives import LabelCosts, Objective, RuleStatistics, Score
from omtree.objectives.hazard import Hazard
from omtree.objectives.row_costs import RowCosts
from omtree.objectives.squares import Squares
from omtree.sources.samples import Training


def owners(rules: RuleSet, tree: Tree | None, samples: Training) -> npt.NDArray[np.intp]:
    """The rule that answers for each sample; that of the tree where the model is walked as one."""
    used = sorted({condition.feature for rule in rules for condition in rule.conditions})
    codes = np.zeros((len(rules.features), len(samples)), dtype=np.uint8)
    codes[used] = encode_rows(samples.columns, tuple(rules.features[feature] for feature in used))
    return rules.assign(codes) if tree is None else tree.apply(codes)


def mean_loss(
    objective: Objective,
    rules: RuleSet,
    owner: npt.NDArray[np.intp],
    samples: Training,
    constraints: Sequence[Constraint] = (),
) -> float:
    """The objective on these samples, per unit of weight; of a score, one minus the score.

    An objective of your own is judged by errors, or by squared distances, unless it says what answers cost.
    """
    target, weight = samples.target, samples.weight / samples.weight.sum()
    shares = np.bincount(owner, weights=weight, minlength=len(rules))
    if target.is_number:
        predicted = answered_numbers(rules, owner, lambda: samples.columns)
        if isinstance(objective, Hazard):
            predicted = _cautious_risks(rules, float(samples.weight.mean()))[owner]
        return float(weight @ objective.row_losses(target, predicted) + _price(rules, constraints) @ shares)
    if target.charges is not None:
        answers = np.array([rule.label for rule in rules])[owner]
        paid = weight @ target.charges[np.arange(len(owner)), answers]
        return float(paid + _price(rules, constraints) @ shares)
    n_classes = len(target.classes)
    flat = np.bincount(owner * n_classes + target.labels, weights=weight, minlength=len(rules) * n_classes)
    masses: FloatArray = flat.astype(np.float64).reshape(len(rules), n_classes)
    return _class_loss(objective, rules, masses, constraints)


def _cautious_risks(rules: RuleSet, event: float) -> FloatArray:
    """The risks of rules with one more event, and one more that was expected.

    A rule of few rows and no event says that there never will be one, and a single row that shows it wrong would
    outweigh all others; the sizes of trees would be chosen by such rows.
    """
    curves = [rule.survival for rule in rules if rule.survival is not None]
    return np.array([(curve.events + event) / (curve.exposure + event) for curve in curves])


def training_loss(objective: Objective, rules: RuleSet, constraints: Sequence[Constraint] = ()) -> float:
    """The same on the samples that the rules were fitted to, which their own facts suffice for."""
    total = rules.support
    if not rules.classes or isinstance(objective, RowCosts):
        paid = _price(rules, constraints) @ np.array([rule.support for rule in rules])
        return float((sum(rule.loss for rule in rules) + paid) / total)
    masses = np.array([rule.class_weights for rule in rules]) / total
    return _class_loss(objective, rules, masses, constraints)


def _class_loss(objective: Objective, rules: RuleSet, masses: FloatArray, constraints: Sequence[Constraint]) -> float:
    """From the weight of each class in each rule; all together weigh one."""
    n_classes = masses.shape[1]
    labels = np.array([rule.label for rule in rules])
    confusion = np.zeros((n_classes, n_classes))
    np.add.at(confusion.T, labels, masses)
    if isinstance(objective, Score):
        return 1.0 - objective.score(confusion)
    paid = float(_price(rules, constraints) @ masses.sum(axis=1))
    if isinstance(objective, LabelCosts):
        return float((confusion * objective.matrix(confusion.sum(axis=1))).sum()) + paid
    shares = np.array([rule.class_weights for rule in rules])
    return float((masses * objective.charges(labels, shares)).sum()) + paid


def said_by_class(rules: RuleSet, owner: npt.NDArray[np.intp], samples: Training) -> FloatArray:
    """The weight of the samples by their class and the answer of their rule."""
    labels = np.array([rule.label for rule in rules])[owner]
    return confusion_of(samples.target.labels, labels, samples.weight, len(samples.target.classes))


def tally(rules: RuleSet, owner: npt.NDArray[np.intp], samples: Training, trained: Training) -> Tally:
    """Errors, squared distances or rewards, beside those of the best constant answer for the samples trained on.

    Rewards are less than nothing here: all other losses are to be small.
    """
    target, weight = samples.target, samples.weight
    if target.is_number:
        predicted = answered_numbers(rules, owner, lambda: samples.columns)
        if target.lifetimes is not None:
            same = Hazard().predict(RuleStatistics.of_samples(trained.target, trained.weight, slice(None)))
            constant = Hazard().row_losses(target, np.full(len(owner), same))
            return Tally.of(Hazard().row_losses(target, predicted), constant, weight)
        if target.outputs is not None and trained.target.outputs is not None:
            means = np.average(trained.target.outputs, axis=0, weights=trained.weight)
            return Tally.of(Squares().row_losses(target, predicted), Squares().row_losses(target, means), weight)
        mean = np.average(trained.target.values, weights=trained.weight)
        return Tally.of((target.values - predicted) ** 2, (target.values - mean) ** 2, weight)
    labels = np.array([rule.label for rule in rules])[owner]
    if target.rewards is not None and trained.target.rewards is not None:
        best = int((trained.weight @ trained.target.rewards).argmax())
        return Tally.of(-target.rewards[np.arange(len(owner)), labels], -target.rewards[:, best], weight)
    usual = np.bincount(trained.target.labels, weights=trained.weight, minlength=len(target.classes)).argmax()
    return Tally.of((labels != target.labels).astype(float), (target.labels != usual).astype(float), weight)


def _price(rules: RuleSet, constraints: Sequence[Constraint]) -> FloatArray:
    """What the tests of each rule add to the loss of a row."""
    weight = sum(budget.weight for budget in constraints if isinstance(budget, Budget))
    return np.array([weight * rule.cost for rule in rules])
