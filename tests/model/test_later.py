"""What is found when it is first asked for."""

import pickle

import numpy as np

from omtree import OptimalTreeRegressor
from omtree.model.target_summary import TargetSummary


def test_the_spread_of_targets_is_of_the_rows_that_were_fitted():
    """It is found when it is asked for, and what becomes of the caller's array meanwhile does not matter."""
    X = np.array([[0], [0], [0], [1], [1], [1]])
    y = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    model = OptimalTreeRegressor(max_depth=1, min_samples_leaf=1).fit(X, y)
    assert all(callable(vars(rule)["targets"]) for rule in model.rules_)
    y[:] = 0.0
    leaves = [rule.targets.quantiles for rule in model.rules_]
    assert leaves == [(1.0, 1.0, 2.0, 4.0, 4.0), (8.0, 8.0, 16.0, 32.0, 32.0)]
    assert model.tree_.nodes[0].targets.quantiles == (1.0, 2.0, 4.0, 16.0, 32.0)
    assert isinstance(vars(model.rules_[0])["targets"], TargetSummary)


def test_pickles_know_the_spread_of_targets():
    """Functions over the training rows are not pickled."""
    model = OptimalTreeRegressor(max_depth=2, min_samples_leaf=1).fit([[0], [1], [2], [3]], [1.0, 2.0, 4.0, 8.0])
    again = pickle.loads(pickle.dumps(model))
    assert not any(callable(vars(part)["targets"]) for part in [*again.rules_, *again.tree_.nodes])
    assert list(again.rules_) == list(model.rules_)
    assert again.tree_.nodes == model.tree_.nodes
