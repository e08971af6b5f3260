"""scikit-learn's own list of what an estimator must do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

from omtree import OptimalPolicyTree, OptimalSurvivalTree, OptimalTreeClassifier, OptimalTreeRegressor


def outcomes(estimator: BaseEstimator) -> list[dict[str, Any]]:
    """What became of every check."""
    return check_estimator(estimator, on_skip=None, on_fail=None)


@pytest.mark.filterwarnings("ignore:Columns that cannot tell:UserWarning")
@pytest.mark.parametrize(
    ("estimator", "rival"),
    [
        (OptimalTreeClassifier(structure="rules", max_depth=2, time_limit=5), DecisionTreeClassifier()),
        (OptimalTreeClassifier(max_depth=2, time_limit=5), DecisionTreeClassifier()),
        (OptimalTreeRegressor(max_depth=2, time_limit=5), DecisionTreeRegressor()),
        (OptimalTreeRegressor(structure="rules", max_depth=2, time_limit=5), DecisionTreeRegressor()),
        (OptimalTreeRegressor(leaves="linear", max_depth=2, time_limit=5), DecisionTreeRegressor()),
    ],
)
def test_check_estimator(estimator: BaseEstimator, rival: BaseEstimator) -> None:
    """No check fails, and none is skipped that scikit-learn's own tree does not skip."""
    ours, theirs = outcomes(estimator), outcomes(rival)
    names = {check["check_name"] for check in ours}
    missing = {check["check_name"] for check in theirs} - names
    assert all("sparse" in name or "multi" in name for name in missing), missing
    assert [(check["check_name"], check["exception"]) for check in ours if check["status"] == "failed"] == []
    skipped = {check["check_name"] for check in theirs if check["status"] == "skipped"}
    assert {check["check_name"] for check in ours if check["status"] == "skipped"} <= skipped


def ranks(y: Any) -> np.ndarray:
    """Whatever scikit-learn's checks give as a target, as numbers."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    return np.unique(np.asarray(y), return_inverse=True)[1].reshape(-1).astype(float)


class SurvivalOfRanks(OptimalSurvivalTree):
    """A survival tree of times that a plain target gives the order of."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SurvivalOfRanks:  # type: ignore[override]
        """Every event was seen."""
        times = ranks(y) + 1.0
        return super().fit(X, time=times, event=np.ones(len(times), dtype=bool), sample_weight=sample_weight)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The concordance with that order."""
        lifetimes = np.zeros(len(y), dtype=[("event", bool), ("time", float)])
        lifetimes["event"], lifetimes["time"] = True, ranks(y) + 1.0
        return super().score(X, lifetimes, sample_weight)


class PolicyOfRanks(OptimalPolicyTree):
    """A policy of two actions, of which the second brings what a plain target is above its median."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PolicyOfRanks:  # type: ignore[override]
        """From rewards."""
        return super().fit(X, rewards=self._rewards(y), sample_weight=sample_weight)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The mean reward."""
        return super().score(X, self._rewards(y), sample_weight)

    @staticmethod
    def _rewards(y: Any) -> np.ndarray:
        above = ranks(y) - np.median(ranks(y))
        return np.stack([np.zeros(len(above)), above], axis=1)


@pytest.mark.filterwarnings("ignore:Columns that cannot tell:UserWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        SurvivalOfRanks(max_depth=2, time_limit=5),
        SurvivalOfRanks(max_depth=2, time_limit=5, structure="rules", objective="logrank"),
        PolicyOfRanks(max_depth=2, time_limit=5),
        PolicyOfRanks(max_depth=2, time_limit=5, structure="rules"),
    ],
)
def test_check_estimator_of_policies_and_survival(estimator: BaseEstimator) -> None:
    """Once a plain target is turned into theirs, no check fails, and none is skipped that plain trees do not skip."""
    ours = outcomes(estimator)
    assert [(check["check_name"], check["exception"]) for check in ours if check["status"] == "failed"] == []
    skipped = {check["check_name"] for check in outcomes(DecisionTreeRegressor()) if check["status"] == "skipped"}
    assert {check["check_name"] for check in ours if check["status"] == "skipped"} <= skipped
    assert len(ours) > 40
