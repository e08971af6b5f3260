"""scikit-learn's own list of what an estimator must do."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

from omtree import OptimalTreeClassifier, OptimalTreeRegressor


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
