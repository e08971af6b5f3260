"""An independent check of a fitted model, from the coded samples by plain numpy: it shares no code with the engines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from omtree.certificate import Certificate, ConstraintCheck
from omtree.data.table import CodeArray, FloatArray
from omtree.errors import CertificateError
from omtree.problem import GlobalRow
from omtree.rules import RuleSet


def check(
    rules: RuleSet,
    certificate: Certificate,
    codes: CodeArray,
    y: npt.NDArray[np.integer],
    weight: FloatArray,
    costs: FloatArray,
    *,
    max_depth: int,
    max_leaves: int,
    min_support: float,
    constraints: Sequence[GlobalRow] = (),
) -> tuple[ConstraintCheck, ...]:
    """Recompute what a certificate claims and complain about the first thing that is wrong.

    Parameters
    ----------
    rules : RuleSet
    certificate : Certificate
    codes : array of uint8, shape (n_features, n_samples)
        Every training sample, not merged. Rows of features that no rule uses are not looked at.
    y : array of int, shape (n_samples,)
        Position of each sample's class.
    weight : array of float, shape (n_samples,)
        Samples of weight zero take no part.
    costs : array of float, shape (n_classes, n_classes)
    max_depth, max_leaves : int
    min_support : float
    constraints : sequence of GlobalRow
        Constraints over the whole model.

    Returns
    -------
    tuple of ConstraintCheck
        How the model meets each constraint.

    Raises
    ------
    CertificateError
        When the model or its certificate is wrong.
    """
    tolerance = 1e-9 * max(1.0, float(weight.sum()) * max(1.0, float(costs.max(initial=0.0))))

    met = np.zeros(codes.shape[1], dtype=np.uint16)
    owner = np.zeros(codes.shape[1], dtype=np.intp)
    for r, rule in enumerate(rules):
        inside = np.ones(codes.shape[1], dtype=bool)
        for condition in rule.conditions:
            allowed = np.zeros(256, dtype=bool)
            allowed[list(condition.codes)] = True
            inside &= allowed.take(codes[condition.feature])
        met += inside
        owner[inside] = r
    wrong = np.flatnonzero((met != 1) & (weight > 0))
    if len(wrong):
        raise CertificateError(
            f"{len(wrong)} training samples do not meet exactly one rule; the first is sample {wrong[0]}, "
            f"which meets {met[wrong[0]]}."
        )

    n_classes = len(costs)
    flat = np.bincount(owner * n_classes + y, weights=weight, minlength=len(rules) * n_classes)
    class_weights: FloatArray = flat.astype(np.float64).reshape(len(rules), n_classes)
    losses = (class_weights @ costs)[np.arange(len(rules)), [rule.label for rule in rules]]
    for r, rule in enumerate(rules):
        _same(f"the class weights of rule {r}", rule.class_weights, class_weights[r], tolerance)
        _same(f"the support of rule {r}", rule.support, class_weights[r].sum(), tolerance)
        _same(f"the loss of rule {r}", rule.loss, losses[r], tolerance)
        if rule.support < min_support - tolerance:
            raise CertificateError(f"Rule {r} has support {rule.support}, below the least support {min_support}.")
        if len({condition.feature for condition in rule.conditions}) < len(rule.conditions):
            raise CertificateError(f"Rule {r} has two conditions on one feature.")

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
    _same("the value", certificate.value, losses.sum(), tolerance)
    if certificate.bound > certificate.value + tolerance:
        raise CertificateError(f"The bound {certificate.bound} is above the value {certificate.value}.")
    if certificate.status == "optimal" and certificate.gap > 1e-6:
        raise CertificateError(
            f"The status is optimal, but the bound {certificate.bound} is below the value {certificate.value}."
        )

    labels = [rule.label for rule in rules]
    return tuple(_check_row(row, class_weights, labels, tolerance) for row in constraints)


def _check_row(row: GlobalRow, class_weights: FloatArray, labels: Sequence[int], tolerance: float) -> ConstraintCheck:
    value = float((class_weights @ row.coefficient)[np.arange(len(labels)), labels].sum())
    slack = value - row.at_least
    if slack < -tolerance * max(1.0, float(np.abs(row.coefficient).max(initial=0.0))):
        raise CertificateError(f"The constraint {row.name} has value {value}, below its limit {row.at_least}.")
    return ConstraintCheck(row.name, value, row.at_least, slack)


def _same(what: str, claimed: float | Sequence[float], found: float | FloatArray, tolerance: float) -> None:
    if np.abs(np.subtract(claimed, found)).max(initial=0.0) > tolerance:
        raise CertificateError(f"The certificate is wrong about {what}: it says {claimed}, the data say {found}.")
