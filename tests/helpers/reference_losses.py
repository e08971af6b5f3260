"""Losses of a rule and scores of a model, in plain numpy from their definitions.

A loss takes the targets and weights of a rule's samples and returns its `Options`: pairs (prediction, loss), the
cheapest first. A score takes the true classes, the predicted classes and the weights of all samples. Classes are
0, 1, ...; in the binary scores class 1 is the positive one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers.every_model import Options

Loss = Callable[[np.ndarray, np.ndarray], Options]
Score = Callable[[np.ndarray, np.ndarray, np.ndarray], float]


def on_rows(loss: Loss, y: np.ndarray, weight: np.ndarray, row_of: np.ndarray) -> Callable[[frozenset[int]], Options]:
    """The loss of a rule by its merged rows."""

    def of_rows(rows: frozenset[int]) -> Options:
        inside = np.isin(row_of, list(rows))
        return loss(y[inside], weight[inside])

    return of_rows


def on_labels(
    score: Score, y: np.ndarray, weight: np.ndarray, row_of: np.ndarray
) -> Callable[[tuple[Any, ...]], float]:
    """The score of a model by the labels of the merged rows."""
    return lambda labels: score(y, np.array(labels)[row_of], weight)


# --- classes ----------------------------------------------------------------------------------------------------------


def cost_matrix(costs: Sequence[Sequence[float]] | np.ndarray) -> Loss:
    """``costs[true][predicted]`` per unit of weight, every label allowed."""
    costs = np.asarray(costs, dtype=float)

    def loss(y: np.ndarray, weight: np.ndarray) -> Options:
        total = [float(sum(weight * costs[y, label])) for label in range(costs.shape[1])]
        return sorted(enumerate(total), key=lambda option: option[1])

    return loss


def error(n_classes: int) -> Loss:
    """Weight of the samples of other classes."""
    return cost_matrix(1.0 - np.eye(n_classes))


def balanced_error(y: np.ndarray, weight: np.ndarray) -> Loss:
    """The mean over the classes of the data (`y`, `weight`) of the share of their weight that is misclassified."""
    totals = np.bincount(y, weight)
    return cost_matrix((1.0 - np.eye(len(totals))) / (len(totals) * totals[:, None]))


def gini(n_classes: int) -> Loss:
    """Weight times the chance that two samples drawn at random differ in class; the same whatever is predicted."""
    return _impurity(n_classes, lambda share: 1.0 - sum(share**2))


def entropy(n_classes: int) -> Loss:
    """Weight times the entropy of the class shares, in nats; the same whatever is predicted."""
    return _impurity(n_classes, lambda share: sum(-p * math.log(p) for p in share if p > 0))


def _impurity(n_classes: int, impurity: Callable[[np.ndarray], float]) -> Loss:
    def loss(y: np.ndarray, weight: np.ndarray) -> Options:
        by_class = np.bincount(y, weight, n_classes)
        value = float(by_class.sum() * impurity(by_class / by_class.sum()))
        return [(label, value) for label in np.argsort(-by_class, kind="stable").tolist()]

    return loss


# --- numbers ----------------------------------------------------------------------------------------------------------


def squared(y: np.ndarray, weight: np.ndarray) -> Options:
    """Sum of squared distances from the mean."""
    mean = float(np.average(y, weights=weight))
    return [(mean, float(sum(weight * (y - mean) ** 2)))]


def absolute(y: np.ndarray, weight: np.ndarray) -> Options:
    """Sum of distances from a median."""
    return _best_of(y, lambda m: float(sum(weight * abs(y - m))))


def quantile(level: float) -> Loss:
    """Sum of `level` times what targets lie above the prediction and ``1 - level`` times what they lie below it."""

    def loss(y: np.ndarray, weight: np.ndarray) -> Options:
        return _best_of(y, lambda m: float(sum(weight * np.where(y > m, level * (y - m), (1 - level) * (m - y)))))

    return loss


def huber(delta: float) -> Loss:
    """Half the squared distance up to `delta`, from there on linear with slope `delta`."""

    def loss(y: np.ndarray, weight: np.ndarray) -> Options:
        def value(m: float) -> float:
            distance = abs(y - m)
            return float(sum(weight * np.where(distance <= delta, distance**2 / 2, delta * (distance - delta / 2))))

        # Between two neighbouring kinks the same samples are near, and the loss is a parabola or a line.
        kinks = np.unique(np.concatenate([y - delta, y + delta]))
        candidates = list(kinks)
        for low, high in itertools.pairwise(kinks):
            middle = (low + high) / 2
            near = abs(y - middle) < delta
            if near.any():
                pull = delta * (weight[~near & (y > middle)].sum() - weight[~near & (y < middle)].sum())
                lowest = (sum(weight[near] * y[near]) + pull) / weight[near].sum()
                candidates.append(float(np.clip(lowest, low, high)))
        return _best_of(candidates, value)

    return loss


def poisson(y: np.ndarray, weight: np.ndarray) -> Options:
    """Half the deviance: sum of ``y log(y / mean) - y + mean``, where ``0 log 0`` is 0."""
    mean = float(np.average(y, weights=weight))
    each = [(t * math.log(t / mean) if t > 0 else 0.0) - t + mean for t in y.tolist()]
    return [(mean, float(sum(weight * each)))]


def _best_of(candidates: Sequence[float] | np.ndarray, value: Callable[[float], float]) -> Options:
    best = min(map(float, candidates), key=value)
    return [(best, value(best))]


# --- whole models -----------------------------------------------------------------------------------------------------


def fbeta(beta: float, average: str = "binary") -> Score:
    """``(1 + beta^2) TP / ((1 + beta^2) TP + beta^2 FN + FP)``."""
    b = beta**2
    return _averaged(lambda tp, fp, fn: _ratio((1 + b) * tp, (1 + b) * tp + b * fn + fp), average)


def f1(average: str = "binary") -> Score:
    """Harmonic mean of precision and recall."""
    return fbeta(1.0, average)


def jaccard(average: str = "binary") -> Score:
    """``TP / (TP + FP + FN)``."""
    return _averaged(lambda tp, fp, fn: _ratio(tp, tp + fp + fn), average)


def fowlkes_mallows(y: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> float:
    """Geometric mean of precision and recall."""
    tp, fp, fn = _counts(y, predicted, weight, 1)
    return _ratio(tp, math.sqrt((tp + fp) * (tp + fn)))


def mcc(y: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> float:
    """Correlation of true and predicted class 1."""
    tp, fp, fn = _counts(y, predicted, weight, 1)
    tn = float(weight[(y != 1) & (predicted != 1)].sum())
    return _ratio(tp * tn - fp * fn, math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


def _counts(y: np.ndarray, predicted: np.ndarray, weight: np.ndarray, label: int) -> tuple[float, float, float]:
    """Weight of true positives, false positives and false negatives."""
    true, claimed = y == label, predicted == label
    return (
        float(weight[true & claimed].sum()),
        float(weight[~true & claimed].sum()),
        float(weight[true & ~claimed].sum()),
    )


def _averaged(ratio: Callable[[float, float, float], float], average: str) -> Score:
    """Of class 1 ("binary"), the mean over classes ("macro"), or of the counts of all classes together ("micro")."""

    def score(y: np.ndarray, predicted: np.ndarray, weight: np.ndarray) -> float:
        if average == "binary":
            return ratio(*_counts(y, predicted, weight, 1))
        by_class = [_counts(y, predicted, weight, label) for label in range(int(y.max()) + 1)]
        if average == "macro":
            return sum(ratio(*counts) for counts in by_class) / len(by_class)
        return ratio(*(sum(column) for column in zip(*by_class, strict=True)))

    return score


def _ratio(a: float, b: float) -> float:
    """0 where it is undefined."""
    return a / b if b > 0 else 0.0
