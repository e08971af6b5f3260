"""The best tree of any size, found without those of all sizes, and the others when they are asked for."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from test_solve import brute_force, check_trees, random_problem

from helpers import datasets
from omtree import OptimalTreeClassifier
from omtree.deadline import Deadline
from omtree.engines.trees import solve
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Node, Problem


def n_leaves(node: Node) -> int:
    """Leaves of a tree."""
    return sum(n_leaves(child) for _, child in node.branches) or 1


@pytest.mark.parametrize("splits", ["binary", "multiway"])
@pytest.mark.parametrize("seed", range(120))
def test_the_best_tree_of_any_size_has_the_fewest_leaves(seed: int, splits: str) -> None:
    """Without the other sizes: the same loss and bound, and no more leaves than that loss takes; bounds on and off."""
    rng = np.random.default_rng(9000 + seed)
    table = datasets.random_table(
        rng, int(rng.integers(2, 6)), int(rng.integers(8, 70)), weights="integer", max_values=3
    )
    n_classes = table.statistics.shape[1]
    costs = 1.0 - np.eye(n_classes)
    if seed % 3 == 0:
        costs = rng.integers(0, 4, (n_classes, int(rng.integers(1, 4)))).astype(float)
    depth = int(rng.integers(1, 5))
    support = float(rng.choice([1.0, 2.0, 4.0, 9.0]))
    most = 2**depth if rng.random() < 0.5 else int(rng.integers(1, 2**depth + 1))
    problem = Problem(table, FeatureGraph(table.features), LinearLoss(costs), depth, most, support)
    every = solve(problem, splits=splits, use_bounds=False)  # type: ignore[arg-type]
    fewest = 1 + int(np.flatnonzero(every.losses == every.value)[0]) if np.isfinite(every.value) else 0
    for use_bounds, use_cache, n_jobs in ((True, True, 1), (True, False, 1), (True, True, 2), (False, True, 1)):
        last = solve(
            problem,
            splits=splits,  # type: ignore[arg-type]
            every_size=False,
            use_bounds=use_bounds,
            use_cache=use_cache,
            n_jobs=n_jobs,
        )
        assert last.value == every.value
        if last.tree is not None:
            assert n_leaves(last.tree) == fewest
            assert last.bound == last.value


@pytest.mark.parametrize("splits", ["binary", "multiway"])
@pytest.mark.parametrize("seed", range(60))
def test_one_size_equals_brute_force(seed: int, splits: str) -> None:
    """The loss of the last size alone is that of brute force, for any weights and costs and limits that bind."""
    rng = np.random.default_rng(12000 + seed)
    problem = random_problem(rng)
    max_children = None if rng.random() < 0.7 else 2
    last = solve(problem, splits=splits, max_children=max_children, every_size=False)  # type: ignore[arg-type]
    expected = brute_force(problem, splits=splits, max_children=max_children)
    np.testing.assert_allclose(last.value, expected[-1], atol=1e-9)
    check_trees(problem, last, splits, max_children)


def test_the_bound_of_a_search_that_was_stopped() -> None:
    """At a deadline the bound is a whole loss that no tree undercuts."""
    table = datasets.tic_tac_toe().table()
    problem = Problem(table, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 5, 32, 9.58)
    best = solve(problem, splits="binary", every_size=False)
    assert (best.status, best.value) == ("optimal", 64)
    for seconds in (0.0, 0.001, 0.003, 0.01):
        stopped = solve(problem, splits="binary", every_size=False, deadline=Deadline(seconds))
        assert 0 <= stopped.bound <= 64 <= stopped.value
        assert stopped.bound == round(stopped.bound)


def noisy(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Small whole numbers and a noisy class."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (90, 5)).astype(float)
    score = X @ rng.integers(-2, 3, 5) + rng.normal(0, 1, 90)
    return X, (score > np.median(score)).astype(int)


@pytest.mark.parametrize("seed", range(6))
def test_smaller_trees_are_there_when_asked_for(seed: int) -> None:
    """The sizes found later have the losses of a search for all of them at once, and models with those losses."""
    X, y = noisy(seed)
    model = OptimalTreeClassifier(max_depth=3, splits="binary", binning="quantile").fit(X, y)
    sizes = [
        OptimalTreeClassifier(max_depth=3, max_leaves=m, splits="binary", binning="quantile").fit(X, y)
        for m in range(1, 9)
    ]
    assert model.loss_by_leaves_.tolist() == [size.certificate_.value for size in sizes]
    assert model.tree_ is model.with_leaves(8).tree_
    for leaves, size in enumerate(sizes, start=1):
        smaller = model.with_leaves(leaves)
        assert smaller.certificate_.value == (smaller.predict(X) != y).sum() == size.certificate_.value
        assert len(smaller.rules_) == len(size.rules_)
        assert smaller.certificate_.status == "optimal"


def test_a_pickle_holds_all_sizes() -> None:
    """A model is pickled with the trees it was never asked for, and still without the training rows."""
    X, y = noisy(1)
    model = OptimalTreeClassifier(max_depth=3, splits="binary").fit(X, y)
    restored = pickle.loads(pickle.dumps(model))
    assert restored.loss_by_leaves_.tolist() == model.loss_by_leaves_.tolist()
    for leaves in (1, 4, 8):
        assert (restored.with_leaves(leaves).predict(X) == model.with_leaves(leaves).predict(X)).all()
    assert restored._family._reader is None
    again = pickle.loads(pickle.dumps(restored))
    assert again.loss_by_leaves_.tolist() == model.loss_by_leaves_.tolist()


def test_only_fitted_trees_have_losses_by_leaves() -> None:
    """Before a fit, in a clone and in a set of rules there is no such attribute."""
    X, y = noisy(2)
    model = OptimalTreeClassifier(max_depth=2, splits="binary")
    assert not hasattr(model, "loss_by_leaves_")
    model.fit(X, y)
    assert hasattr(model, "loss_by_leaves_")
    assert not hasattr(clone(model), "loss_by_leaves_")
    assert not hasattr(model.set_params(structure="rules").fit(X, y), "loss_by_leaves_")
