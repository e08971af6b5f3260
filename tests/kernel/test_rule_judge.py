"""The kernel's judge of rules against plain numpy."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from omtree import _native
from omtree.problem.losses import ImpurityLoss, LinearLoss, MomentLoss


def judge(statistics: Any, loss: tuple[Any, ...], **changes: Any) -> _native.RuleJudge:
    """A judge without limits, but for the changes."""
    limits: dict[str, Any] = {
        "min_support": 0.0,
        "linear": [],
        "ratios": [],
        "prices": None,
        "at_most": [],
        "needs": [],
        "above": [],
        "root": -1,
        "predicate": None,
        "refines": True,
    }
    return _native.RuleJudge(np.ascontiguousarray(statistics, dtype=float), loss, **{**limits, **changes})


def numeric(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights and positive targets of some samples, and the row of each (rows have one to three samples)."""
    rng = np.random.default_rng(seed)
    row = np.repeat(np.arange(6), rng.integers(1, 4, 6))
    return rng.integers(1, 5, len(row)).astype(float), rng.integers(0, 9, len(row)) / 2.0, row


def subsets(n: int) -> list[np.ndarray]:
    """Every set of rows that is not empty."""
    return [np.array(rows, dtype=np.uint32) for size in range(1, n + 1) for rows in combinations(range(n), size)]


@pytest.mark.parametrize("seed", range(5))
def test_moments(seed: int) -> None:
    """Squared and Poisson loss from sums over rows are the least loss over all predictions."""
    weight, y, row = numeric(seed)

    def sums(values: np.ndarray) -> np.ndarray:
        return np.bincount(row, weights=values)

    log = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0)), 0.0)
    total = sums(weight)
    squared = judge(
        np.stack([total, total, sums(weight * y), sums(weight * y * y)], axis=1), MomentLoss("squared").native()
    )
    above = np.stack([total, total, sums(weight * (y - 1)), sums(weight * (log - y + 1))], axis=1)
    poisson = judge(above, MomentLoss("poisson").native())
    for rows in subsets(6):
        inside = np.isin(row, rows)
        w, t = weight[inside], y[inside]
        mean = np.average(t, weights=w)
        assert squared.judge(rows, [])[0] == pytest.approx(w @ (t - mean) ** 2, abs=1e-9)
        deviance = w @ (log[inside] - t * math.log(mean) - t + mean) if mean > 0 else 0.0
        assert poisson.judge(rows, [])[0] == pytest.approx(deviance, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("level", [0.1, 0.5, 0.8])
def test_quantiles_and_huber(seed: int, level: float) -> None:
    """Losses from the samples of rows are the least over all predictions."""
    weight, y, row = numeric(seed)
    start = np.searchsorted(row, np.arange(7)).astype(np.int64)
    ones = np.bincount(row, weights=weight)[:, None]
    quantile = judge(ones, ("quantile", start, y, weight, level))
    huber = judge(ones, ("huber", start, y, weight, 2 * level))
    for rows in subsets(6):
        inside = np.isin(row, rows)
        w, t = weight[inside], y[inside]

        def pinball(p: float, w: np.ndarray = w, t: np.ndarray = t) -> float:
            return float(w @ np.where(t > p, level * (t - p), (1 - level) * (p - t)))

        def rounded(p: float, w: np.ndarray = w, t: np.ndarray = t) -> float:
            d, delta = np.abs(t - p), 2 * level
            return float(w @ np.where(d <= delta, d * d / 2, delta * (d - delta / 2)))

        assert quantile.judge(rows, [])[0] == pytest.approx(min(pinball(p) for p in t), abs=1e-9)
        best = minimize_scalar(rounded, bounds=(t.min() - 1e-6, t.max() + 1e-6), method="bounded").fun
        least = huber.judge(rows, [])[0]
        assert least <= best + 1e-9
        assert least == pytest.approx(min(best, *(rounded(p) for p in t)), abs=1e-6)


def test_classes() -> None:
    """Impurities and costs by label from the weights of the classes."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 5, (5, 3)).astype(float)
    counts[:, 0] += 1
    statistics = np.concatenate([counts.sum(axis=1, keepdims=True), counts], axis=1)
    costs = rng.random((3, 4))
    linear = judge(statistics, LinearLoss(costs).native())
    gini, entropy = (
        judge(statistics, ImpurityLoss("gini", 3).native()),
        judge(statistics, ImpurityLoss("entropy", 3).native()),
    )
    for rows in subsets(5):
        total = counts[rows].sum(axis=0)
        share = total / total.sum()
        assert linear.judge(rows, []) == (pytest.approx((total @ costs).min()), (total @ costs).argmin())
        assert gini.judge(rows, []) == (pytest.approx(total.sum() * (1 - share @ share)), total.argmax())
        expected = -sum(t * math.log(s) for t, s in zip(total, share, strict=True) if t > 0)
        assert entropy.judge(rows, []) == (pytest.approx(expected), total.argmax())


def test_limits_by_label() -> None:
    """A label that a limit rules out is not predicted, and a rule without labels is refused."""
    statistics = np.array([[5.0, 4, 1], [5, 1, 4]])  # weight and two classes
    costs = 1.0 - np.eye(2)
    confidence = np.array([[-0.7, -0.7], [1.0, 0.0], [0.0, 1.0]])
    strict = judge(statistics, LinearLoss(costs).native(), linear=[(confidence, 0.0)])
    assert strict.judge(np.array([0], dtype=np.uint32), []) == (1.0, 0)
    assert strict.judge(np.array([0, 1], dtype=np.uint32), [])[0] == math.inf
    second = np.array([[0.0], [0.0], [1.0]])
    some = judge(statistics, LinearLoss(costs).native(), linear=[(second, 2.0)])
    assert some.judge(np.array([0], dtype=np.uint32), [])[0] == math.inf
    assert some.judge(np.array([1], dtype=np.uint32), [])[0] == 1.0
    parity = judge(statistics, LinearLoss(costs).native(), ratios=[(1, 0, 2, 0, 0.5)])
    assert parity.judge(np.array([0], dtype=np.uint32), [])[0] == math.inf
    assert parity.judge(np.array([0, 1], dtype=np.uint32), [])[0] == 5.0


def test_support_and_prices() -> None:
    """A rule without support, or whose tests cost too much, is refused; tests of a group are cheaper together."""
    statistics = np.array([[2.0, 1, 1]])
    prices = ([5.0, 4.0, 1.0], [3.0, 2.0, 1.0], [0, 0, -1], 8.0, 0.25)
    paying = judge(statistics, LinearLoss(1.0 - np.eye(2)).native(), prices=prices)
    one = np.array([0], dtype=np.uint32)
    assert paying.judge(one, [])[0] == 1.0
    assert paying.judge(one, [(0, [0]), (1, [0])])[0] == 1.0 + 0.25 * 2 * 7
    assert paying.judge(one, [(0, [0]), (1, [0]), (2, [0])])[0] == 1.0 + 0.25 * 2 * 8
    assert judge(statistics, LinearLoss(1.0 - np.eye(2)).native(), min_support=2.5).judge(one, [])[0] == math.inf
    short = judge(statistics, LinearLoss(1.0 - np.eye(2)).native(), prices=(*prices[:3], 6.9, 0.0))
    assert short.judge(one, [(0, [0]), (1, [0])])[0] == math.inf


def test_shape() -> None:
    """Which features a complete rule may test."""
    loss = LinearLoss(1.0 - np.eye(2)).native()
    shaped = judge([[2.0, 1, 1]], loss, at_most=[([0, 1], 1)], needs=[(2, [3], False)], root=4)

    def fine(*features: int) -> bool:
        return math.isfinite(shaped.judge(np.array([0], dtype=np.uint32), [(f, [0]) for f in features])[0])

    assert fine(4)
    assert fine(4, 0)
    assert not fine(0)
    assert not fine()
    assert not fine(4, 0, 1)
    assert not fine(4, 2)
    assert fine(4, 2, 3)
    assert fine(4, 3)


def test_python_functions() -> None:
    """A loss and a predicate in Python see the rows, the conditions and the labels, and their errors come through."""
    asked = []

    def loss(rows: np.ndarray, allowed: list[bool] | None) -> tuple[float, int]:
        return float(rows.sum()), 1

    def predicate(conditions: Any, rows: np.ndarray, label: int) -> bool:
        asked.append((conditions, rows.tolist(), label))
        return label == 1

    own = judge(np.ones((4, 1)), ("rows", loss, 2), predicate=predicate, refines=False)
    assert own.judge(np.array([1, 3], dtype=np.uint32), [(2, [0, 70])]) == (4.0, 1)
    assert asked == [([(2, (0, 70))], [1, 3], 0), ([(2, (0, 70))], [1, 3], 1)]
    assert own.floor().tolist() == [0.0] * 4

    def broken(rows: np.ndarray, allowed: list[bool] | None) -> tuple[float, int]:
        raise ZeroDivisionError("on purpose")

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        judge(np.ones((1, 1)), ("rows", broken, 1), refines=False).judge(np.array([0], dtype=np.uint32), [])
