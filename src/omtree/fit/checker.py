"""An independent check of a fitted model, from the coded samples by plain numpy: it shares no code with the engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.constraints import Answers, Budget, Constraint, ConstraintCheck, Samples, audit
from omtree.constraints.audit import paths_of
from omtree.data.table import CodeArray, FloatArray
from omtree.errors import CertificateError
from omtree.model.certificate import Certificate
from omtree.model.line import Line
from omtree.model.rules import RuleSet
from omtree.model.tree import Tree
from omtree.objectives import LabelCosts, Objective, RuleStatistics, Score
from omtree.sources.target import Target

#: Samples that are looked at together.
_BLOCK = 2**18


def check(
    rules: RuleSet,
    certificate: Certificate,
    codes: CodeArray,
    target: Target,
    weight: FloatArray,
    objective: Objective,
    *,
    max_depth: int,
    max_leaves: int,
    min_support: float,
    constraints: Sequence[Constraint] = (),
    samples: Samples | None = None,
    tree: Tree | None = None,
    leaf_price: float = 0.0,
) -> tuple[ConstraintCheck, ...]:
    """Recompute what a certificate claims and complain about the first thing that is wrong.

    Parameters
    ----------
    rules : RuleSet
    certificate : Certificate
    codes : array of uint8, shape (n_features, n_samples)
        Every training sample, not merged. Rows of features that no rule uses are not looked at.
    target : Target
    weight : array of float, shape (n_samples,)
        Samples of weight zero take no part.
    objective : Objective
    max_depth, max_leaves : int
    min_support : float
    constraints : sequence of Constraint
    samples : Samples, optional
        As constraints see them; needed with `constraints` only.
    tree : Tree, optional
        Where the model was asked for as a tree.
    leaf_price : float
        What one more leaf must save, as a share of the largest loss.

    Returns
    -------
    tuple of ConstraintCheck
        How the model meets each constraint.

    Raises
    ------
    CertificateError
        When the model or its certificate is wrong.
    """
    owner = _owners(rules, codes, weight)
    supports = np.bincount(owner, weights=weight, minlength=len(rules))
    tolerance = 1e-9 * float(weight.sum())
    class_weights: FloatArray = np.empty((len(rules), 0))
    if target.is_number:
        losses = _number_losses(rules, owner, target, weight, objective)
        value = float(losses.sum())
    else:
        n_classes = len(target.classes)
        flat = np.bincount(owner * n_classes + target.labels, weights=weight, minlength=len(rules) * n_classes)
        class_weights = flat.astype(np.float64).reshape(len(rules), n_classes)
        losses, value = _class_losses(rules, class_weights, owner, target, weight, objective)
        if target.rewards is None:
            _each_same("the class weights", [rule.class_weights for rule in rules], class_weights, tolerance)
        else:
            _check_values(rules, owner, target.rewards, weight)
    _each_same("the support", [rule.support for rule in rules], supports, tolerance)
    for r, rule in enumerate(rules):
        if rule.support < min_support - tolerance:
            raise CertificateError(f"Rule {r} has support {rule.support}, below the least support {min_support}.")
        if len({condition.feature for condition in rule.conditions}) < len(rule.conditions):
            raise CertificateError(f"Rule {r} has two conditions on one feature.")
    # Losses are sums over many samples, of terms that can be larger than the sum: a single rule shows how large.
    whole = _loss_of_all(class_weights.sum(axis=0), target, weight, objective)
    _each_same("the loss", [rule.loss for rule in rules], losses, 1e-8 * max(float(np.abs(losses).sum()), whole))
    tolerance = 1e-8 * max(abs(value), 1.0 if isinstance(objective, Score) else whole)

    depth = max(len(rule.conditions) for rule in rules)
    if certificate.depth > max_depth or depth > certificate.depth:
        raise CertificateError(
            f"The rules have up to {depth} conditions; the certificate says {certificate.depth}, "
            f"the limit is {max_depth}."
        )
    if len(rules) > max_leaves or certificate.leaves != len(rules):
        raise CertificateError(
            f"The model has {len(rules)} rules; the certificate says {certificate.leaves}, the limit is {max_leaves}."
        )
    price = leaf_price * _most_loss(class_weights.sum(axis=0), whole, objective) if leaf_price > 0 else 0.0
    _same("the price of a leaf", certificate.leaf_price, price, tolerance)
    _same("the value", certificate.value, value + _paid(rules, constraints) + price * len(rules), tolerance)
    if certificate.bound > certificate.value + tolerance:
        raise CertificateError(f"The bound {certificate.bound} is above the value {certificate.value}.")
    if certificate.all_cuts_bound is not None and certificate.all_cuts_bound > certificate.bound + tolerance:
        raise CertificateError(
            f"The bound over all cuts, {certificate.all_cuts_bound}, is above {certificate.bound}, the one over some."
        )
    if certificate.status == "optimal" and certificate.value - certificate.bound > 1e-6 * certificate.value + tolerance:
        raise CertificateError(
            f"The status is optimal, but the bound {certificate.bound} is below the value {certificate.value}."
        )
    if not constraints:
        return ()
    if samples is None:
        raise ValueError("samples are needed to check constraints.")
    y = target.seen if target.is_number else target.labels
    weight = np.where(weight > 0, samples.weight, 0.0)
    answers = Answers(
        tuple(rules),
        rules.features,
        rules.classes,
        owner,
        y,
        weight,
        samples.groups,
        None if tree is None else paths_of(tree),
        None if tree is None else tree.regions,
    )
    checks = audit(constraints, answers)
    for found in checks:
        if not found.met:
            raise CertificateError(
                f"The constraint {found.name} has the value {found.value}; it should be {found.sense} {found.limit}."
            )
    return checks


def _paid(rules: RuleSet, constraints: Sequence[Constraint]) -> float:
    """What the tests of the rules add to the loss."""
    paid = 0.0
    for budget in constraints:
        if isinstance(budget, Budget) and budget.weight > 0:
            for rule in rules:
                tests = [rules.features[condition.feature].name for condition in rule.conditions]
                paid += budget.weight * budget.price(tests) * rule.support
    return paid


def _owners(rules: RuleSet, codes: CodeArray, weight: FloatArray) -> npt.NDArray[np.intp]:
    """The rule that each sample meets; every sample of positive weight meets exactly one."""
    owner = np.zeros(codes.shape[1], dtype=np.intp)
    once = np.zeros(codes.shape[1], dtype=bool)
    for start in range(0, codes.shape[1], _BLOCK):
        block = slice(start, start + _BLOCK)
        owner[block], once[block] = _owners_in(rules, codes[:, block])
    wrong = np.flatnonzero(~once & (weight > 0))
    if len(wrong):
        first = codes[:, wrong[0]]
        met = sum(all(first[c.feature] in c.codes for c in rule.conditions) for rule in rules)
        raise CertificateError(
            f"{len(wrong)} training samples do not meet exactly one rule; the first is sample {wrong[0]}, "
            f"which meets {met}."
        )
    return owner


def _owners_in(rules: RuleSet, codes: CodeArray) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """The rule that each sample meets, and whether it meets one and no other; bits, as leaves may be thousands."""
    n_samples = codes.shape[1]
    everything = np.packbits(np.ones(n_samples, dtype=bool))
    meeting: dict[tuple[int, tuple[int, ...]], npt.NDArray[np.uint8]] = {}
    any_rule, two_rules = np.zeros_like(everything), np.zeros_like(everything)
    # The numbers of the rules in binary digits: so many sets of samples, not one for each rule.
    digits = np.zeros((max(1, (len(rules) - 1).bit_length()), len(everything)), dtype=np.uint8)
    for r, rule in enumerate(rules):
        inside = everything
        for condition in rule.conditions:
            key = (condition.feature, condition.codes)
            if key not in meeting:
                allowed = np.zeros(256, dtype=bool)
                allowed[list(condition.codes)] = True
                meeting[key] = np.packbits(allowed.take(codes[condition.feature]))
            inside = inside & meeting[key]
        two_rules |= any_rule & inside
        any_rule |= inside
        for place, digit in enumerate(digits):
            if r >> place & 1:
                digit |= inside
    once = np.unpackbits(any_rule & ~two_rules, count=n_samples).astype(bool)
    owner = np.zeros(n_samples, dtype=np.intp)
    for place, digit in enumerate(digits):
        owner += np.unpackbits(digit, count=n_samples).astype(np.intp) << place
    return np.where(once, owner, 0), once


def _class_losses(
    rules: RuleSet,
    class_weights: FloatArray,
    owner: npt.NDArray[np.intp],
    target: Target,
    weight: FloatArray,
    objective: Objective,
) -> tuple[FloatArray, float]:
    """The loss of every rule, and that of the model."""
    labels = np.array([rule.label for rule in rules])
    every = np.arange(len(rules))
    if target.charges is not None:
        paid = weight * target.charges[np.arange(len(owner)), labels[owner]]
        losses = np.bincount(owner, weights=paid, minlength=len(rules)).astype(np.float64)
        return losses, float(losses.sum())
    if isinstance(objective, Score):
        confusion = np.zeros((len(target.classes), len(target.classes)))
        np.add.at(confusion.T, labels, class_weights)
        return class_weights.sum(axis=1) - class_weights[every, labels], 1.0 - objective.score(confusion)
    if isinstance(objective, LabelCosts):
        losses = (class_weights @ objective.matrix(class_weights.sum(axis=0)))[every, labels]
    else:
        classes = target.classes.tolist()
        losses = np.array([objective.loss(RuleStatistics(own, classes)) for own in class_weights])
    return losses, float(losses.sum())


def _loss_of_all(class_totals: FloatArray, target: Target, weight: FloatArray, objective: Objective) -> float:
    """What a single rule for all samples costs."""
    if isinstance(objective, Score):
        return float(weight.sum())
    if target.is_number:
        inside = weight > 0
        return abs(objective.loss(RuleStatistics.of_samples(target, weight, inside)))
    if target.charges is not None:
        return float((weight @ target.charges).max())
    if isinstance(objective, LabelCosts):
        return float((class_totals @ objective.matrix(class_totals)).max())
    return abs(objective.loss(RuleStatistics(class_totals, target.classes.tolist())))


def _most_loss(class_totals: FloatArray, whole: float, objective: Objective) -> float:
    """What a model costs that is wrong about every sample, or that has one rule where no label is wrong."""
    if not isinstance(objective, LabelCosts):
        return whole
    dearest = [max(costs) for costs in objective.matrix(class_totals).tolist()]
    return float(sum(total * cost for total, cost in zip(class_totals, dearest, strict=True)))


def _number_losses(
    rules: RuleSet, owner: npt.NDArray[np.intp], target: Target, weight: FloatArray, objective: Objective
) -> FloatArray:
    """The loss of every rule."""
    present = np.flatnonzero(weight > 0)
    order = present[np.argsort(owner[present], kind="stable")]
    starts = np.searchsorted(owner[order], np.arange(len(rules) + 1))
    losses, predicted = zip(*objective.of_rules(target, weight, order, starts), strict=True)
    if target.outputs is not None:
        scale = float(np.abs(target.outputs).max())
        for r, (rule, inside) in enumerate(zip(rules, np.split(order, starts[1:-1]), strict=True)):
            means = np.average(target.outputs[inside], axis=0, weights=weight[inside])
            _same(f"the prediction of rule {r}", rule.prediction, means, 1e-9 * scale)
    elif target.regressors is not None:
        parts = np.split(order, starts[1:-1])
        pairs = zip(rules, parts, strict=True)
        losses = tuple(_line_loss(rule.prediction, target, weight, own) for rule, own in pairs)
    else:
        scales = np.maximum(1.0, predicted)
        if target.lifetimes is None:
            scales = np.maximum.reduceat(np.abs(target.values[order]), starts[:-1])
        _each_same("the prediction", [rule.prediction for rule in rules], np.array(predicted), 1e-9 * scales)
    return np.array(losses)


def _line_loss(line: Line, target: Target, weight: FloatArray, inside: npt.NDArray[np.intp]) -> float:
    """What the samples of a rule lose by its line: their squared distances, and the price of its slopes for each."""
    known, regressors = target.leaf_columns, target.regressors
    assert known is not None
    assert regressors is not None
    predicted = np.full(len(inside), line.mean)
    price = 0.0
    for part in line.slopes:
        place = known.columns.index(part.column)
        slope = part.slope * known.scales[place]
        predicted += slope * (regressors[inside, place] - (part.at - known.centres[place]) / known.scales[place])
        price += known.ridge * slope**2
    return float((weight[inside] * ((target.values[inside] - predicted) ** 2 + price)).sum())


def _check_values(rules: RuleSet, owner: npt.NDArray[np.intp], rewards: FloatArray, weight: FloatArray) -> None:
    """What the actions bring in every rule."""
    for r, rule in enumerate(rules):
        inside = owner == r
        found = (weight[inside, None] * rewards[inside]).sum(axis=0) / weight[inside].sum()
        _same(f"the values of rule {r}", rule.values, found, 1e-9 * float(np.abs(rewards).max(initial=1.0)))


def _each_same(
    what: str, claimed: Sequence[Any], found: npt.NDArray[Any], tolerance: float | npt.NDArray[np.float64]
) -> None:
    """Compare what is claimed of each rule with what the data say, all at once."""
    far = np.abs(np.subtract(claimed, found)) > tolerance
    if far.any():
        r = int(np.argwhere(far)[0, 0])
        raise CertificateError(_wrong(f"{what} of rule {r}", claimed[r], found[r]))


def _same(what: str, claimed: float | Sequence[float], found: float | FloatArray, tolerance: float) -> None:
    if np.abs(np.subtract(claimed, found)).max(initial=0.0) > tolerance:
        raise CertificateError(_wrong(what, claimed, found))


def _wrong(what: str, claimed: float | Sequence[float], found: float | FloatArray) -> str:
    return f"The certificate is wrong about {what}: it says {claimed}, the data say {found}."
