"""The four figures that lead wherever a model is shown: expected on new rows, in training, without a model, proven."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray
from omtree.data.wording import text_of
from omtree.model.expectation import EXPLAINED, MEAN_REWARD, Expectation, in_measure, short, span
from omtree.model.policy_value import PolicyValue
from omtree.model.score_figure import confusion_of, with_score
from omtree.model.tally import Tally
from omtree.objectives import Score
from omtree.objectives.hazard import Hazard
from omtree.objectives.logrank import LogRank
from omtree.objectives.squares import Squares
from omtree.sources.lifetimes import Lifetimes, read_lifetimes
from omtree.sources.several import NumberTargets
from omtree.sources.target import Target, check_numbers, check_rewards, check_weights, class_scale

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase
    from omtree.model.rules import RuleSet


@dataclass(frozen=True)
class Lead:
    """One figure.

    Attributes
    ----------
    name : str
    figure : str
        Short: a number, or a word.
    words : str
        What is behind it.
    """

    name: str
    figure: str
    words: str


def leads(model: OptimalTreeBase, expectation: Expectation | None = None) -> list[Lead]:
    """The four figures of a fitted model, those on new rows from `expectation`, or from the fit's own."""
    expected = expectation if expectation is not None else vars(model).get("expectation_")
    measure = model._measure
    return [
        _on_new_rows(expected),
        in_training(model),
        _without_model(model.rules_, measure, expected),
        _proven(model),
    ]


def warning(model: OptimalTreeBase, expected: Expectation | None) -> str:
    """A sentence where the model is no better on new rows than the same answer every time; else nothing."""
    if expected is None:
        return ""
    if len(model.rules_) == 1:
        chosen = ": no larger one did better on rows held out" if "cv_results_" in vars(model) else ""
        return f"The model gives every row the same answer{chosen}."
    if expected.warning and model.certificate_.unit.startswith("cost"):
        # What is expected counts right answers, whatever they cost.
        return "The model is fitted for costs: right no more often than the most frequent class, it may cost less."
    return expected.warning


def expectation_on(model: OptimalTreeBase, X: Any, y: Any, sample_weight: Any, how: str) -> Expectation:
    """What the model does on rows that it was not fitted to, beside the best constant answer of its training rows."""
    rules, owner = model.rules_, model.apply(X)
    weight = check_weights(sample_weight, len(owner))
    measure = model._measure
    how = how or f"a test on {np.count_nonzero(weight):,} rows"
    if rules.are_actions:
        rewards = check_rewards(y, len(owner), rules.classes)
        said = np.array([rule.label for rule in rules])[owner]
        best = int(_reward_totals(rules).argmax())
        return Expectation.of_rows(
            Tally.of(-rewards[np.arange(len(owner)), said], -rewards[:, best], weight), measure, how
        )
    if rules.are_curves:
        times, events, entry = read_lifetimes(y, None, None, None)
        _same_length(times, owner)
        return _on_lifetimes(rules, owner, Lifetimes.of(times, events, entry, weight), weight, how)
    if rules.are_vectors:
        outputs: NumberTargets = vars(model)["outputs_"]
        target = Target.of_outputs(outputs.numbers(y), np.array(outputs.weights))
        _same_length(target.values, owner)
        said = np.array([rule.prediction for rule in rules])
        means = np.average(said, axis=0, weights=[rule.support for rule in rules])
        rows = Squares().row_losses(target, said[owner]), Squares().row_losses(target, means)
        return Expectation.of_rows(Tally.of(*rows, weight), measure, how)
    if not rules.classes:
        numbers = check_numbers(y)
        _same_length(numbers, owner)
        predicted = model._numbers(X)
        mean = sum(rule.support * rule.targets.mean for rule in rules if rule.targets is not None) / rules.support
        return Expectation.of_rows(Tally.of((numbers - predicted) ** 2, (numbers - mean) ** 2, weight), measure, how)
    # Classes that training did not have are wrong whatever is said.
    actual: npt.NDArray[Any] = model._positions(y)
    _same_length(actual, owner)
    known = actual >= 0
    asked = vars(model).get("class_weight")
    if asked is not None:
        classes = np.array(rules.classes, dtype=object)
        totals = np.bincount(actual[known], weights=weight[known], minlength=len(classes)).astype(np.float64)
        scale = class_scale(asked, classes, totals)
        weight = weight * np.where(known, scale[actual], 1.0)
    said = np.array([rule.label for rule in rules])[owner]
    usual = int(_class_totals(rules).argmax())
    tally = Tally.of(np.asarray(said != actual, float), np.asarray(actual != usual, float), weight)
    expected, objective = Expectation.of_rows(tally, measure, how), model._objective()
    if not isinstance(objective, Score):
        return expected
    return with_score(expected, objective, [confusion_of(actual, said, weight, len(rules.classes))], tally.effective)


def expectation_of_policy(rules: RuleSet, found: PolicyValue, how: str) -> Expectation:
    """What was found on rows that a policy was not fitted to, beside the best single action of its training rows."""
    best = rules.classes[int(_reward_totals(rules).argmax())]
    baseline, gain = found.single[best].value, found.gain[f"all {text_of(best)}"]
    return Expectation(MEAN_REWARD, found.policy, baseline, None, None, gain, found.rows, how)


def _on_lifetimes(
    rules: RuleSet, owner: npt.NDArray[np.intp], lifetimes: Lifetimes, weight: FloatArray, how: str
) -> Expectation:
    """The deviance that risks save on new rows, over the hazard of these rows."""
    target, risk = Target.of_lifetimes(lifetimes), Hazard()
    predicted = np.array([rule.prediction for rule in rules], dtype=np.float64)[owner]
    losses = risk.row_losses(target, predicted), risk.row_losses(target, np.ones(len(owner)))
    return Expectation.of_rows(Tally.of(*losses, weight), EXPLAINED, how)


def training_figure(rules: RuleSet) -> tuple[float, float, float | None, float | None]:
    """The measure in training, that of the baseline, and the root mean squared errors of both where there are any."""
    if rules.are_actions:
        brought = sum(rule.support * rule.values[rule.label] for rule in rules)
        return brought / rules.support, float(_reward_totals(rules).max() / rules.support), None, None
    if rules.are_curves:
        curves = [rule.survival for rule in rules if rule.survival is not None]
        same = sum(curve.events for curve in curves) / sum(curve.exposure for curve in curves)
        loss = sum(rule.loss for rule in rules)
        saved = sum(curve.events * math.log(curve.risk / same) for curve in curves if curve.events > 0)
        return saved / (loss + saved) if loss + saved > 0 else 0.0, 0.0, None, None
    if rules.classes:
        right = sum(rule.class_weights[rule.label] for rule in rules)
        totals = _class_totals(rules)
        return right / rules.support, float(totals.max() / totals.sum()), None, None
    if rules.are_vectors:
        said, supports = np.array([rule.values for rule in rules]), np.array([rule.support for rule in rules])
        between = float(supports @ ((said - np.average(said, axis=0, weights=supports)) ** 2).sum(axis=1))
        inside = sum(rule.loss for rule in rules)
        return between / (inside + between) if inside + between > 0 else 0.0, 0.0, None, None
    parts = [(rule.support, rule.targets, float(rule.prediction)) for rule in rules if rule.targets is not None]
    if not parts:
        return math.nan, 0.0, None, None
    mean = sum(support * targets.mean for support, targets, _ in parts) / rules.support
    if rules.are_lines:
        return _of_lines(rules, mean)
    loss, least = (
        sum(support * (targets.deviation**2 + (targets.mean - centre) ** 2) for support, targets, centre in centred)
        / rules.support
        for centred in (parts, [(support, targets, mean) for support, targets, _ in parts])
    )
    return 1.0 - loss / least if least > 0 else 1.0, 0.0, math.sqrt(loss), math.sqrt(least)


def _of_lines(rules: RuleSet, mean: float) -> tuple[float, float, float | None, float | None]:
    """R2 and the root mean squared errors of lines, and of the mean."""
    found = [(rule.support, rule.targets, rule.prediction) for rule in rules if rule.targets is not None]
    inside = sum(support * line.deviation**2 for support, _, line in found) / rules.support
    spread = [support * (targets.deviation**2 + (targets.mean - mean) ** 2) for support, targets, _ in found]
    least = sum(spread) / rules.support
    return 1.0 - inside / least if least > 0 else 1.0, 0.0, math.sqrt(inside), math.sqrt(least)


def _log_rank(rules: RuleSet) -> float:
    curves = [rule.survival for rule in rules if rule.survival is not None and rule.survival.exposure > 0]
    return sum((curve.events - curve.exposure) ** 2 / curve.exposure for curve in curves)


def _on_new_rows(expected: Expectation | None) -> Lead:
    name = "Expected on new rows"
    if expected is None:
        return Lead(name, "not known", "cross-validate (max_leaves='auto' or cv=5) or test it on rows held out")
    words = f"{span(expected.measure, expected.value)}, 95 % interval by {expected.how}"
    if expected.rmse is not None:
        words += f"; RMSE {short(expected.rmse.value)} ({short(expected.rmse.low)} to {short(expected.rmse.high)})"
    words += expected.score_words
    return Lead(name, _figure(expected.measure, expected.value.value), words)


def in_training(model: OptimalTreeBase) -> Lead:
    """What the model does on the rows it was fitted to."""
    rules = model.rules_
    if model.certificate_.unit == LogRank.unit:
        words = "the sum over the leaves of (events - expected)^2 / expected, which grows with every leaf"
        return Lead("In training", f"log-rank {short(_log_rank(rules))}", words)
    value, _, rmse, _ = training_figure(rules)
    words = "on the rows it was fitted to, where larger models always do better"
    if rmse is not None:
        words = f"RMSE {short(rmse)}, {words}"
    if model.certificate_.score:
        words = f"{model.certificate_.score} {1.0 - model.certificate_.value:.3f}, {words}"
    return Lead("In training", "not known" if math.isnan(value) else _figure(model._measure, value), words)


def _without_model(rules: RuleSet, measure: str, expected: Expectation | None) -> Lead:
    _, baseline, _, rmse = training_figure(rules)
    if rules.classes:
        totals = _reward_totals(rules) if rules.are_actions else _class_totals(rules)
        usual = rules.classes[int(totals.argmax())]
        value = baseline if expected is None else expected.baseline
        return Lead("Without a model", _figure(measure, value), f"the answer {usual} every time")
    if rules.are_curves:
        return Lead("Without a model", _figure(measure, 0.0), "the same risk for every row")
    if expected is not None and expected.baseline_rmse is not None:
        rmse = expected.baseline_rmse
    words = "the mean every time"
    return Lead("Without a model", _figure(measure, 0.0), words if rmse is None else f"RMSE {short(rmse)}, {words}")


def _proven(model: OptimalTreeBase) -> Lead:
    certificate = model.certificate_
    kind = "tree" if certificate.structure == "tree" else "set of rules"
    most = len(model.rules_)
    size = f"{most} {'leaf' if most == 1 else 'leaves'}" if kind == "tree" else f"{most} rule{'s' if most > 1 else ''}"
    # The other figures may be about something else than what is proven.
    better = f"has a higher {certificate.score}" if certificate.score else "does better"
    if certificate.status == "optimal" and certificate.cuts == "some":
        words = f"no {kind} of this size and depth {better} in training; {certificate.beyond_its_cuts} ({size})"
        return Lead("Proven", "best of its cuts", words)
    if certificate.status == "optimal":
        return Lead("Proven", "optimal", f"no {kind} of this size, depth and cuts {better} in training ({size})")
    gap = f"{100 * certificate.gap:.1f} %"
    return Lead(
        "Proven", f"gap {gap}", f"at most {gap} of the training loss could be saved by a better {kind} ({size})"
    )


def _figure(measure: str, value: float) -> str:
    if measure == MEAN_REWARD:
        return f"{in_measure(measure, value)} a row"
    if measure == EXPLAINED:
        return f"{in_measure(measure, value)} of the deviance"
    if measure == "R2":
        return f"R2 {in_measure(measure, value)}" if value else "R2 0"
    return f"{in_measure(measure, value)} {'right' if measure == 'accuracy' else measure}"


def _class_totals(rules: RuleSet) -> FloatArray:
    return np.asarray(np.sum([rule.class_weights for rule in rules], axis=0))


def _reward_totals(rules: RuleSet) -> FloatArray:
    return np.asarray(np.sum([rule.support * np.array(rule.values) for rule in rules], axis=0))


def _same_length(actual: Any, owner: Any) -> None:
    if len(actual) != len(owner):
        raise ValueError(f"X has {len(owner)} rows and y has {len(actual)} entries; give one for each row.")
