"""Every objective: its definition in Python, what the kernel makes of it, and what it refuses."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn import metrics

from omtree import OptimalTreeClassifier, OptimalTreeRegressor
from omtree.fit.pose import Pose
from omtree.objectives import LabelCosts, Objective, RuleStatistics, Score, find_objective
from omtree.problem.judge import make_judge
from omtree.problem.losses import MomentLoss
from omtree.sources.samples import Training

NUMBERS = ("squared", "absolute", "quantile", "huber", "poisson")
CLASSES = ("error", "balanced_error", "gini", "entropy")
OPTIONS = {"quantile": 0.3, "delta": 0.7}


def training(seed: int, numbers: bool) -> Training:
    """Nine samples in at most four merged rows, some of weight zero."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, size=(9, 1)).astype(float)
    weight = rng.integers(0, 4, size=9) / 2.0
    weight[:3] = 1.0
    x[:2, 0] = [0.0, 3.0]
    if numbers:
        return Training.of_numbers(x, rng.integers(0, 7, size=9) / 2.0 + 0.5, weight)
    return Training.of_classes(x, np.array([0, 1, 2, *rng.integers(0, 3, size=6)]), weight)


def pose(objective: Objective, samples: Training) -> Any:
    """The problem of these samples."""
    features, _ = samples.features(8, "exact")
    return Pose(objective, 1, 4, 0.0, samples.total, "groups", None)(samples, features)


class Own(Objective):
    """The same loss, known in Python alone."""

    def __init__(self, loss: Any, predict: Any) -> None:
        self.loss, self.predict = loss, predict  # type: ignore[method-assign]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", [*NUMBERS, *CLASSES])
@pytest.mark.parametrize("native", [True, False])
def test_kernel_and_definition_agree(name: str, seed: int, native: bool) -> None:
    """For every set of rows, the kernel's loss is what the definition in Python says, called from there or not."""
    numbers = name in NUMBERS
    samples = training(seed, numbers)
    objective = find_objective(name, "regression" if numbers else "classification", OPTIONS)
    if not native and not isinstance(objective, LabelCosts):
        objective = Own(objective.loss, objective.predict)
    problem = pose(objective, samples)
    judge = make_judge(problem)
    target, row_of = samples.target, problem.table.row_of
    totals = np.zeros(3) if numbers else np.bincount(target.labels, weights=samples.weight, minlength=3)
    for size in range(1, problem.table.n_rows + 1):
        for rows in combinations(range(problem.table.n_rows), size):
            inside = np.isin(row_of, rows)
            if numbers:
                rule = RuleStatistics(targets=target.values[inside], weights=samples.weight[inside])
            else:
                weights = np.bincount(target.labels[inside], weights=samples.weight[inside], minlength=3)
                rule = RuleStatistics(weights, [0, 1, 2])
            loss, label = judge.judge(np.array(rows, dtype=np.uint32), [])
            if isinstance(objective, LabelCosts):
                by_label = rule.class_weights @ objective.matrix(totals)
                assert loss == pytest.approx(by_label.min(), abs=1e-12)
                assert by_label[label] == pytest.approx(by_label.min(), abs=1e-12)
            else:
                # Losses of moments are in units of their own.
                unit = problem.loss.unit if isinstance(problem.loss, MomentLoss) else 1.0
                assert loss * unit == pytest.approx(objective.loss(rule), abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", NUMBERS)
def test_predictions_are_the_best(name: str, seed: int) -> None:
    """No other prediction has a smaller loss than the one that a rule makes."""
    rng = np.random.default_rng(seed)
    y, w = rng.integers(1, 9, size=7) / 2.0, rng.integers(1, 4, size=7) / 2.0
    objective = find_objective(name, "regression", OPTIONS)

    def loss(p: float) -> float:
        d = y - p
        terms = {
            "squared": d**2,
            "absolute": np.abs(d),
            "quantile": np.maximum(0.3 * d, -0.7 * d),
            "huber": np.where(np.abs(d) <= 0.7, d**2 / 2, 0.7 * (np.abs(d) - 0.35)),
            "poisson": y * np.log(y / p) - y + p,
        }
        return float(w @ terms[name])

    rule = RuleStatistics(targets=y, weights=w)
    chosen = objective.predict(rule)
    assert objective.loss(rule) == pytest.approx(loss(chosen), abs=1e-9)
    best = minimize_scalar(loss, bounds=(y.min(), y.max()), method="bounded").fun
    assert loss(chosen) <= min(best, *(loss(p) for p in y)) + 1e-9


EXPECTED: dict[str, Any] = {
    "f1": lambda y, p, w: metrics.f1_score(y, p, sample_weight=w, zero_division=0),
    "fbeta": lambda y, p, w: metrics.fbeta_score(y, p, beta=2.0, sample_weight=w, zero_division=0),
    "jaccard": lambda y, p, w: metrics.jaccard_score(y, p, sample_weight=w, zero_division=0),
    "mcc": lambda y, p, w: metrics.matthews_corrcoef(y, p, sample_weight=w),
    "fowlkes_mallows": lambda y, p, w: np.sqrt(
        metrics.precision_score(y, p, sample_weight=w, zero_division=0)
        * metrics.recall_score(y, p, sample_weight=w, zero_division=0)
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_scores(name: str) -> None:
    """Scores are those of scikit-learn."""
    rng = np.random.default_rng(3)
    score = find_objective(name, "classification", {"beta": 2.0})
    assert isinstance(score, Score)
    for _ in range(20):
        true, predicted, weight = rng.integers(0, 2, 12), rng.integers(0, 2, 12), rng.integers(1, 5, 12)
        confusion = metrics.confusion_matrix(true, predicted, sample_weight=weight, labels=[0, 1]).astype(float)
        assert score.score(confusion) == pytest.approx(EXPECTED[name](true, predicted, weight))


X3 = np.arange(12.0)[:, None]


@pytest.mark.parametrize(
    ("parameters", "y", "complaint"),
    [
        ({"objective": "f1"}, [0, 1, 2] * 4, "F1 is about one class against another, and y has 3 classes"),
        ({"objective": "mcc"}, [0, 1, 2] * 4, "y has 3 classes"),
        ({"objective": "fbeta", "beta": 0}, [0, 1] * 6, "beta=0 is not possible; use a positive number"),
        ({"objective": "squared"}, [0, 1] * 6, "objective='squared' is not known; use one of 'balanced_error'"),
        ({"objective": 7}, [0, 1] * 6, "objective=7 is not possible"),
        ({"costs": [[0, 1]]}, [0, 1] * 6, r"costs has shape \(1, 2\); give a row and a column for each of the 2"),
        ({"costs": [[0, -1], [1, 0]]}, [0, 1] * 6, "costs has negative or infinite entries"),
        ({"costs": [["a", 1], [1, 0]]}, [0, 1] * 6, "costs has entries that are not numbers"),
        ({"costs": np.eye(2), "objective": "gini"}, [0, 1] * 6, "costs go with objective='error'"),
        ({"smoothing": -1}, [0, 1] * 6, "smoothing=-1 is not possible"),
    ],
)
def test_bad_classification(parameters: dict[str, Any], y: list[int], complaint: str) -> None:
    """What makes no sense is refused in one sentence."""
    with pytest.raises(ValueError, match=complaint):
        OptimalTreeClassifier(**parameters).fit(X3, y)


@pytest.mark.parametrize(
    ("parameters", "y", "complaint"),
    [
        ({"objective": "poisson"}, [-1.0, *range(11)], "objective='poisson' needs targets of at least 0"),
        ({"objective": "poisson"}, [0.0] * 12, "zero in every row"),
        ({"objective": "quantile", "quantile": 1.0}, range(12), "quantile=1.0 is not possible; use a number above 0"),
        ({"objective": "quantile", "quantile": "a"}, range(12), "quantile='a' is not possible"),
        ({"objective": "huber", "delta": 0.0}, range(12), "delta=0.0 is not possible; use a positive number"),
        ({"objective": "error"}, range(12), "objective='error' is not known"),
        ({}, [*range(11), np.inf], "y contains NaN or infinite targets"),
        ({}, [*range(11), "a"], "y has targets that are not numbers"),
        ({}, range(11), "X has 12 rows and y has 11 targets; give one target per row"),
    ],
)
def test_bad_regression(parameters: dict[str, Any], y: Any, complaint: str) -> None:
    """What makes no sense is refused in one sentence."""
    with pytest.raises(ValueError, match=complaint):
        OptimalTreeRegressor(**parameters).fit(X3, list(y))
