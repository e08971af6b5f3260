"""Figures on new rows and their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import r2_score, root_mean_squared_error

from omtree.model.expectation import Expectation
from omtree.model.intervals import wilson
from omtree.model.tally import Tally


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_that_of_scipy(seen: tuple[int, int]) -> None:
    """The interval of a share is the one that scipy computes."""
    right, rows = seen
    wanted = binomtest(right, rows).proportion_ci(method="wilson")
    low, high = wilson(right / rows, rows)
    assert (low, high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_rows_of_one_model() -> None:
    """On new rows of one model accuracy has Wilson's interval for that many rows."""
    wrong = np.array([0.0] * 45 + [1.0] * 5)
    found = Expectation.of_rows(Tally.of(wrong, np.tile([0.0, 1.0], 25), np.ones(50)), "accuracy", "50 test rows")
    assert (found.value.value, found.baseline, found.rows) == (0.9, 0.5, 50)
    assert (found.value.low, found.value.high) == pytest.approx(wilson(0.9, 50))


def test_numbers() -> None:
    """R2 and RMSE are those of scikit-learn where the baseline is the mean of the rows."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    said = y + rng.normal(size=200) / 2
    found = Expectation.of_rows(Tally.of((y - said) ** 2, (y - y.mean()) ** 2, np.ones(200)), "R2", "test")
    assert found.value.value == pytest.approx(r2_score(y, said))
    assert found.rmse is not None
    assert found.rmse.value == pytest.approx(root_mean_squared_error(y, said))
    assert found.warning == ""


@given(st.lists(st.floats(0.01, 5), min_size=2, max_size=30), st.integers(0, 10**6))
def test_tallies_add_up(weights: list[float], seed: int) -> None:
    """The tally of all rows is the sum of those of two parts."""
    rng = np.random.default_rng(seed)
    weight = np.array(weights)
    model, baseline = rng.random(len(weight)), rng.random(len(weight))
    whole = Tally.of(model, baseline, weight)
    cut = len(weight) // 2
    parts = Tally.of(model[:cut], baseline[:cut], weight[:cut]) + Tally.of(model[cut:], baseline[cut:], weight[cut:])
    assert vars(parts) == pytest.approx(vars(whole))
    spread = np.average((model - baseline - np.average(model - baseline, weights=weight)) ** 2, weights=weight)
    assert whole.variance(1.0, -1.0) == pytest.approx(spread, abs=1e-12)


def test_folds_widen_the_interval() -> None:
    """Models of a cross-validation share rows: the interval is wider than that of as many independent rows."""
    rng = np.random.default_rng(1)
    folds = [Tally.of((rng.random(40) < 0.2).astype(float), np.ones(40) * 0.5, np.ones(40)) for _ in range(5)]
    together = folds[0] + folds[1] + folds[2] + folds[3] + folds[4]
    alone = Expectation.of_rows(together, "accuracy", "")
    crossed = Expectation.of_folds(folds, [160] * 5, "accuracy", "")
    assert crossed.value.value == alone.value.value
    assert crossed.value.low < alone.value.low < alone.value.high < crossed.value.high


def test_folds_that_differ_widen_it_more() -> None:
    """Where folds differ more than chance makes rows differ, as with groups, that is what counts."""
    rng = np.random.default_rng(1)

    def fold(share: float) -> Tally:
        return Tally.of((rng.random(100) < share).astype(float), np.full(100, 0.5), np.ones(100))

    alike = Expectation.of_folds([fold(0.3) for _ in range(5)], [400] * 5, "accuracy", "")
    apart = Expectation.of_folds([fold(s) for s in (0.0, 0.1, 0.3, 0.5, 0.6)], [400] * 5, "accuracy", "")
    assert apart.value.high - apart.value.low > 1.5 * (alike.value.high - alike.value.low)
