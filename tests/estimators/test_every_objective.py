"""Every objective, both structures: the certified value is the best over all models, and the model attains it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from scipy.special import xlogy

import omtree
from helpers import reference_losses as reference
from helpers.every_model import Best, Leaf, best_model, every_rule_set, every_tree, rows_only
from helpers.tiny_frames import Coded, Tiny, code, random_grouped, random_regression

COSTS = [[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [0.5, 3.0, 0.0]]


@dataclass(frozen=True)
class Case:
    """What the estimator is given beside the data, and the reference: a loss, a score of classes where that counts.

    `each` is the loss of single numbers, given targets and predictions.
    """

    loss: Callable[[Tiny], reference.Loss]
    parameters: dict[str, Any] = field(default_factory=dict)
    n_classes: int = 2
    score: reference.Score | None = None
    each: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    counts: bool = False


def _score(score: reference.Score, n_classes: int = 2, **parameters: Any) -> Case:
    return Case(lambda data: reference.error(n_classes), parameters, n_classes, score)


CLASSES = {
    "error": Case(lambda data: reference.error(3), n_classes=3),
    "costs": Case(lambda data: reference.cost_matrix(COSTS), {"objective": "error", "costs": COSTS}, n_classes=3),
    "balanced_error": Case(lambda data: reference.balanced_error(data.y, data.weight), n_classes=3),
    "gini": Case(lambda data: reference.gini(3), n_classes=3),
    "entropy": Case(lambda data: reference.entropy(3), n_classes=3),
    "f1": _score(reference.f1()),
    "fbeta": _score(reference.fbeta(2.0), beta=2.0),
    "jaccard": _score(reference.jaccard()),
    "mcc": _score(reference.mcc),
    "fowlkes_mallows": _score(reference.fowlkes_mallows),
}
NUMBERS = {
    "squared": Case(lambda data: reference.squared, each=lambda y, m: (y - m) ** 2),
    "absolute": Case(lambda data: reference.absolute, each=lambda y, m: abs(y - m)),
    "quantile": Case(
        lambda data: reference.quantile(0.8),
        {"quantile": 0.8},
        each=lambda y, m: np.maximum(0.8 * (y - m), -0.2 * (y - m)),
    ),
    "huber": Case(
        lambda data: reference.huber(1.5),
        {"delta": 1.5},
        each=lambda y, m: np.where(abs(y - m) < 1.5, (y - m) ** 2 / 2, 1.5 * abs(y - m) - 1.5**2 / 2),
    ),
    "poisson": Case(lambda data: reference.poisson, each=lambda y, m: xlogy(y, y) - xlogy(y, m) - y + m, counts=True),
}
LIMITS = [
    {"max_depth": 1, "max_leaves": 3},
    {"max_depth": 2, "max_leaves": 4},
    {"max_depth": 3, "max_leaves": 5},
    {"max_depth": 2, "max_leaves": 3, "categories": "values"},
    {"max_depth": 3, "max_leaves": 4, "categories": "values"},
]


def best_of_all(data: Tiny, coded: Coded, case: Case, structure: str, limits: dict[str, Any], **tree: Any) -> Best:
    """By brute force, with at least a weight of 1 in every rule; multiway trees that add up include the binary ones."""
    of_row = np.bincount(coded.row_of, data.weight)

    def heavy(leaf: Leaf) -> bool:
        return bool(of_row[sorted(leaf.rows)].sum() >= 1)

    if structure == "tree":
        models: Any = every_tree(coded.features, coded.codes, **limits, **tree, keep=heavy)
        single = limits.get("categories") == "values" and any(f.kind == "nominal" for f in coded.features)
        if tree.get("splits") != "binary" and "max_children" not in tree and not case.score and not single:
            models = [*models, *every_tree(coded.features, coded.codes, **limits, splits="binary", keep=heavy)]
    else:
        models = every_rule_set(coded.features, coded.codes, **limits, keep=heavy, alike=rows_only)
    loss = reference.on_rows(case.loss(data), data.y, data.weight, coded.row_of)
    score = case.score and reference.on_labels(case.score, data.y, data.weight, coded.row_of)
    best = best_model(models, loss, score=score)
    assert best is not None
    return best


def attained(model: Any, data: Tiny, case: Case) -> float:
    """The loss, or one minus the score, of what the model says of its own training samples."""
    predicted = model.predict(data.X)
    if case.score:
        return 1 - case.score(data.y, predicted, data.weight)
    if case.each:
        return float((data.weight * case.each(data.y, predicted)).sum())
    total, rule_of = 0.0, model.apply(data.X)
    for rule in np.unique(rule_of):
        inside = rule_of == rule
        total += dict(case.loss(data)(data.y[inside], data.weight[inside]))[predicted[inside][0]]
    return total


def check(model: Any, data: Tiny, case: Case, best: Best) -> None:
    certificate = model.certificate_
    assert certificate.status == "optimal"
    assert certificate.value == pytest.approx(1 - best.value if case.score else best.value, abs=1e-9)
    assert certificate.bound <= certificate.value + 1e-9
    assert attained(model, data, case) == pytest.approx(certificate.value, abs=1e-9)


@pytest.mark.parametrize("structure", ["tree", "rules"])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str, seed: int, structure: str) -> None:
    """A classifier's value is the least over all models with any labels, and its predictions have it."""
    case, limits = CLASSES[name], LIMITS[seed]
    data = random_grouped(np.random.default_rng(seed), case.n_classes)
    parameters = {"objective": name, **case.parameters, **limits}
    model = omtree.OptimalTreeClassifier(structure=structure, binning="exact", min_samples_leaf=1, **parameters)
    model.fit(data.X, data.y, sample_weight=data.weight)
    check(model, data, case, best_of_all(data, code(data.X), case, structure, limits))


@pytest.mark.parametrize("structure", ["tree", "rules"])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name: str, seed: int, structure: str) -> None:
    """A regressor's value is the least over all models, and its predictions have it."""
    case, limits = NUMBERS[name], LIMITS[seed]
    data = random_regression(np.random.default_rng(seed), case.counts)
    parameters = {"objective": name, **case.parameters, **limits}
    model = omtree.OptimalTreeRegressor(structure=structure, binning="exact", min_samples_leaf=1, **parameters)
    model.fit(data.X, data.y, sample_weight=data.weight)
    check(model, data, case, best_of_all(data, code(data.X), case, structure, limits))


@pytest.mark.parametrize("name", ["error", "gini", "f1", "squared", "absolute"])
@pytest.mark.parametrize("seed", range(5, 8))
def test_binary_splits(name: str, seed: int) -> None:
    """With two children a node, and features that come back, the value is the least over such trees."""
    case, limits = {**CLASSES, **NUMBERS}[name], {"max_depth": 3, "max_leaves": 4}
    rng = np.random.default_rng(seed)
    data = random_grouped(rng, case.n_classes) if name in CLASSES else random_regression(rng)
    estimator = omtree.OptimalTreeClassifier if name in CLASSES else omtree.OptimalTreeRegressor
    model = estimator(objective=name, splits="binary", binning="exact", min_samples_leaf=1, **limits)
    model.fit(data.X, data.y, sample_weight=data.weight)
    check(model, data, case, best_of_all(data, code(data.X), case, "tree", limits, splits="binary"))
