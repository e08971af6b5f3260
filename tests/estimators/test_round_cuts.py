"""Round cut points, and cut points in the middle."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from omtree import OptimalTreeClassifier, OptimalTreeRegressor
from omtree.estimators.base import OptimalTreeBase


def cuts(model: OptimalTreeBase) -> list[tuple[int, float]]:
    """Column and place of every cut that the conditions of the model can be made of."""
    features = [feature for feature in model.rules_.features if feature.thresholds is not None]
    return [(feature.column, cut) for feature in features for cut in feature.thresholds.tolist()]


@pytest.mark.parametrize("binning", ["adaptive", "quantile", "supervised", "exact"])
@pytest.mark.parametrize("splits", ["binary", "multiway"])
def test_same_model_of_the_training_rows(binning: str, splits: str) -> None:
    """Wherever between two values a number is cut, the training rows are told apart in the same way."""
    X, y = load_iris(return_X_y=True)
    models = [
        OptimalTreeClassifier(max_depth=2, binning=binning, splits=splits, round_cuts=wanted).fit(X, y)
        for wanted in (True, False)
    ]
    assert models[0].certificate_.value == models[1].certificate_.value
    assert (models[0].predict(X) == models[1].predict(X)).all()
    for column, cut in cuts(models[1]):
        values = np.unique(X[:, column])
        place = int(np.searchsorted(values, cut))
        assert cut == pytest.approx((values[place - 1] + values[place]) / 2)


def test_rounder_numbers() -> None:
    """The cuts of the default have fewer digits in all."""
    X, y = load_wine(return_X_y=True)
    digits = [
        sum(len(f"{cut:.10g}") for _, cut in cuts(OptimalTreeRegressor(max_depth=2, round_cuts=wanted).fit(X, y)))
        for wanted in (True, False)
    ]
    assert digits[0] < digits[1]


def test_nothing_between_two_numbers() -> None:
    """Where no number is between two values, the upper one is the cut."""
    low = 1.0
    X = np.array([[low], [np.nextafter(low, 2)]] * 5)
    model = OptimalTreeClassifier(max_depth=1, round_cuts=False).fit(X, [0, 1] * 5)
    assert model.certificate_.value == 0
    assert model.predict(X).tolist() == [0, 1] * 5


def test_neither() -> None:
    """Other values than True and False are refused."""
    with pytest.raises(ValueError, match="round_cuts='no' is not known; use True or False"):
        OptimalTreeClassifier(round_cuts="no").fit([[0], [1]], [0, 1])
