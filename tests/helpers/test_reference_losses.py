"""The reference losses and scores: by hand, against a fine search of the prediction, and against scikit-learn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from helpers.reference_losses import (
    absolute,
    balanced_error,
    cost_matrix,
    entropy,
    error,
    f1,
    fbeta,
    fowlkes_mallows,
    gini,
    huber,
    jaccard,
    mcc,
    on_labels,
    on_rows,
    poisson,
    quantile,
    squared,
)

LABELS = np.array([0, 0, 1, 2, 0])
WEIGHTS = np.array([1.0, 0.5, 2.0, 0.5, 1.0])
#: Weights of the classes above: 2.5, 2, 0.5.


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (error(3), {0: 2.5, 1: 3.0, 2: 4.5}),
        (cost_matrix([[0, 1, 2], [3, 0, 1], [4, 4, 0]]), {0: 3 * 2 + 4 * 0.5, 1: 2.5 + 4 * 0.5, 2: 2 * 2.5 + 2}),
        (balanced_error(LABELS, WEIGHTS), {0: 2 / 3, 1: 2 / 3, 2: 2 / 3}),
        (balanced_error(np.array([0, 1, 2]), np.array([5.0, 2.0, 1.0])), {0: 0.5, 1: 1 / 3, 2: 0.5}),
        (gini(3), dict.fromkeys(range(3), 5 - (2.5**2 + 2**2 + 0.5**2) / 5)),
        (
            entropy(3),
            dict.fromkeys(range(3), 2.5 * math.log(2) + 2 * math.log(5 / 2) + 0.5 * math.log(10)),
        ),
    ],
)
def test_losses_of_classes(loss: Any, expected: dict[int, float]) -> None:
    """Every label has the loss computed by hand, the cheapest first."""
    options = loss(LABELS, WEIGHTS)
    assert dict(options) == pytest.approx(expected)
    assert [value for _, value in options] == sorted(value for _, value in options)


def test_pure_rules_have_no_impurity() -> None:
    """A rule of one class costs nothing, and the class is the first option."""
    for loss in (gini(3), entropy(3), error(3)):
        assert loss(np.array([1, 1]), np.array([0.5, 2]))[0] == (1, 0.0)


@pytest.mark.parametrize(
    ("loss", "y", "weight", "prediction", "value"),
    [
        (squared, [0, 3], [2, 1], 1, 2 * 1 + 4),
        (absolute, [0, 3, 10], [1, 1, 1], 3, 10),
        (absolute, [0, 3, 10], [3, 1, 1], 0, 13),
        (quantile(0.5), [0, 3, 10], [1, 1, 1], 3, 5),
        (quantile(0.9), [0, 3, 10], [1, 1, 1], 10, 0.1 * (10 + 7)),
        # All near: half the squared loss.
        (huber(10), [0, 3], [2, 1], 1, 3),
        # The far one pulls with slope 1: 3 samples at 0 give way by 1/3.
        (huber(1), [0, 0, 0, 9], [1, 1, 1, 1], 1 / 3, 3 * (1 / 9) / 2 + (9 - 1 / 3 - 0.5)),
        (poisson, [0, 4], [1, 1], 2, 2 + 4 * math.log(2) - 4 + 2),
        (poisson, [0, 0], [1, 2], 0, 0),
        (poisson, [1, 1], [1, 2], 1, 0),
    ],
)
def test_losses_of_numbers(loss: Any, y: list[float], weight: list[float], prediction: float, value: float) -> None:
    """Prediction and loss are those computed by hand."""
    assert loss(np.array(y, dtype=float), np.array(weight, dtype=float)) == [
        (pytest.approx(prediction), pytest.approx(value))
    ]


POINTWISE = {
    "squared": (squared, lambda y, m: (y - m) ** 2),
    "absolute": (absolute, lambda y, m: abs(y - m)),
    "quantile": (quantile(0.3), lambda y, m: np.maximum(0.3 * (y - m), -0.7 * (y - m))),
    "huber": (huber(1.5), lambda y, m: np.where(abs(y - m) < 1.5, (y - m) ** 2 / 2, 1.5 * abs(y - m) - 1.5**2 / 2)),
    "poisson": (poisson, lambda y, m: np.where(y > 0, y * np.log(np.maximum(y, 1e-9) / m), 0) - y + m),
}


@pytest.mark.parametrize("name", POINTWISE)
@pytest.mark.parametrize("seed", range(10))
def test_no_other_number_costs_less(name: str, seed: int) -> None:
    """The loss belongs to the prediction, and none of many other predictions has a lower one."""
    loss, pointwise = POINTWISE[name]
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    y, weight = rng.integers(1, 9, n) / 2, rng.integers(1, 9, n) / 4
    [(prediction, value)] = loss(y, weight)
    others = [*np.linspace(0.05, 6, 400), *y]
    assert value == pytest.approx(float((weight * pointwise(y, prediction)).sum()))
    assert value <= min(float((weight * pointwise(y, m)).sum()) for m in others) + 1e-12


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(15))
def test_scores_against_scikit_learn(seed: int, n_classes: int) -> None:
    """Scores with weights are those of scikit-learn; undefined ones are 0."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 6)])
    predicted, weight = rng.integers(0, rng.integers(1, n_classes + 1), len(y)), rng.integers(1, 9, len(y)) / 4
    how = {"sample_weight": weight, "zero_division": 0}
    for average in ("macro", "micro", *(["binary"] if n_classes == 2 else [])):
        how["average"] = average
        assert f1(average)(y, predicted, weight) == pytest.approx(metrics.f1_score(y, predicted, **how))
        assert fbeta(2, average)(y, predicted, weight) == pytest.approx(
            metrics.fbeta_score(y, predicted, beta=2, **how)
        )
        assert jaccard(average)(y, predicted, weight) == pytest.approx(metrics.jaccard_score(y, predicted, **how))
    if n_classes == 2:
        assert mcc(y, predicted, weight) == pytest.approx(
            metrics.matthews_corrcoef(y, predicted, sample_weight=weight), abs=1e-12
        )
        del how["average"]
        precision, recall = metrics.precision_score(y, predicted, **how), metrics.recall_score(y, predicted, **how)
        assert fowlkes_mallows(y, predicted, weight) == pytest.approx(math.sqrt(precision * recall))


def test_scores_by_hand() -> None:
    """TP 2, FP 1, FN 3, TN 4 by weight."""
    y, predicted = np.array([1, 0, 1, 0]), np.array([1, 1, 0, 0])
    weight = np.array([2.0, 1.0, 3.0, 4.0])
    assert f1()(y, predicted, weight) == pytest.approx(4 / 8)
    assert f1("macro")(y, predicted, weight) == pytest.approx((4 / 8 + 8 / 12) / 2)
    assert f1("micro")(y, predicted, weight) == pytest.approx(6 / 10)
    assert fbeta(2)(y, predicted, weight) == pytest.approx(10 / (10 + 12 + 1))
    assert jaccard()(y, predicted, weight) == pytest.approx(2 / 6)
    assert fowlkes_mallows(y, predicted, weight) == pytest.approx(2 / math.sqrt(3 * 5))
    assert mcc(y, predicted, weight) == pytest.approx((2 * 4 - 1 * 3) / math.sqrt(3 * 5 * 5 * 7))


def test_undefined_scores_are_zero() -> None:
    """Nothing predicted positive: no precision, and every score of class 1 is 0."""
    y, predicted, weight = np.array([0, 1]), np.array([0, 0]), np.ones(2)
    assert [s(y, predicted, weight) for s in (f1(), fbeta(0.5), jaccard(), mcc, fowlkes_mallows)] == [0] * 5


def test_merged_rows_stand_for_their_samples() -> None:
    """Losses by rows and scores by labels of rows are those of the samples behind the rows."""
    row_of = np.array([0, 1, 0, 2, 1])
    assert on_rows(error(3), LABELS, WEIGHTS, row_of)(frozenset({0, 2})) == error(3)(
        LABELS[[0, 2, 3]], WEIGHTS[[0, 2, 3]]
    )
    score = on_labels(f1("micro"), LABELS, WEIGHTS, row_of)
    assert score((1, 0, 2)) == f1("micro")(LABELS, np.array([1, 0, 1, 2, 0]), WEIGHTS)
