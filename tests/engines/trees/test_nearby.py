"""The best different trees, in order, against all trees."""

from __future__ import annotations

import numpy as np
import pytest
from test_general import LIMITS, LOSSES, random_limits, random_loss

from helpers import datasets, general_oracle
from omtree.deadline import Deadline
from omtree.engines.trees.nearby import Nearby, nearby
from omtree.problem.graph import FeatureGraph
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Problem


def random_problem(rng: np.random.Generator, loss: str, limits: str) -> Problem:
    """Few enough trees to list them all."""
    table = datasets.random_table(rng, n_features=int(rng.integers(1, 4)), n_rows=9, max_values=3, n_classes=2)
    chosen, table = random_loss(rng, loss, table)
    graph = FeatureGraph(table.features, order=rng.permutation(len(table.features)).tolist())
    depth, leaves = int(rng.integers(1, 4)), int(rng.integers(1, 7))
    if len(table.features) == 3:
        depth = min(depth, 2)
    support = float(rng.choice([0.25, 1.0, 2.0]))
    of_rules = random_limits(rng, limits, table, chosen.n_labels)
    return Problem(table, graph, chosen, depth, leaves, support, limits=of_rules)


def leaf_sets(problem: Problem, found: Nearby) -> list[general_oracle.Leaves]:
    """The leaves of the trees found as sets of rows; their losses are checked on the way."""
    sets = []
    for i in range(len(found)):
        tree = found.tree(i)
        value, leaves = general_oracle.tree_value(problem, tree)
        assert value == pytest.approx(found.losses[i], abs=1e-8)
        assert leaves == found.leaves[i] <= problem.max_leaves
        rows = [frozenset(rows.tolist()) for rows, *_ in general_oracle.tree_leaves(problem, tree)]
        sets.append(frozenset(rows))
    return sets


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize(("loss", "limits"), [*((loss, "none") for loss in LOSSES), *(("linear", k) for k in LIMITS)])
def test_equals_all_trees(loss: str, limits: str, splits: str) -> None:
    """The n best have the n least losses, all within a cap are all there are, and no leaves occur twice."""
    for seed in range(3):
        rng = np.random.default_rng([seed, LOSSES.index(loss), LIMITS.index(limits), splits == "binary"])
        problem = random_problem(rng, loss, limits)
        max_children = int(rng.integers(2, 4)) if rng.random() < 0.3 else None
        trivial = bool(rng.random() < 0.3)
        every = general_oracle.all_leaf_sets(problem, splits, max_children, trivial)
        losses = np.sort(list(every.values()))
        known = float(losses[0]) if len(losses) else 0.0
        options = {"splits": splits, "max_children": max_children, "trivial": trivial}
        for switched in ({}, {"use_bounds": False}, {"use_cache": False}):
            found = nearby(problem, known, **options, **switched)  # type: ignore[arg-type]
            assert found.exhausted
            assert found.finished
            assert found.losses == pytest.approx(losses, abs=1e-8)
            sets = leaf_sets(problem, found)
            assert set(sets) == set(every)
            assert len(set(sets)) == len(sets)
            for n in (1, 3, 10):
                some = nearby(problem, known, n=n, **options, **switched)  # type: ignore[arg-type]
                assert some.losses == pytest.approx(losses[:n], abs=1e-8)
                sets = leaf_sets(problem, some)
                assert len(set(sets)) == len(sets)
                assert {leaves for leaves in every if every[leaves] < some.reached - 1e-7} <= set(sets)
        for margin in (0.0, 1.0):
            within = nearby(problem, known, cap=known + margin + 1e-7, shapes=False, **options)  # type: ignore[arg-type]
            assert len(within) == (losses <= known + margin + 1e-7).sum()


def larger_problem() -> Problem:
    """More trees than there is time for."""
    rng = np.random.default_rng(0)
    table = datasets.random_table(rng, n_features=12, n_rows=3000, max_values=6, n_classes=2)
    return Problem(table, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 4, 16, 1.0)


def test_a_limit_says_how_far_it_got() -> None:
    """Without time nothing is claimed; with some, what is listed is complete up to the loss that is stated."""
    problem = larger_problem()
    none = nearby(problem, 0.0, n=1000, deadline=Deadline(0.0))
    assert not none.finished
    assert len(none) == 0
    assert none.reached == -np.inf
    some = nearby(problem, 0.0, n=1000, deadline=Deadline(0.05))
    assert not some.finished
    assert (some.losses <= some.reached).all()


def test_no_room_is_said() -> None:
    """Where lists are cut short, that is stated."""
    rng = np.random.default_rng(1)
    table = datasets.random_table(rng, n_features=3, n_rows=40, max_values=4, n_classes=2)
    problem = Problem(table, FeatureGraph(table.features), LinearLoss(1.0 - np.eye(2)), 2, 6, 1.0)
    whole = nearby(problem, 0.0, shapes=False)
    assert not whole.overflow
    assert len(whole) > 20
    assert nearby(problem, 0.0, shapes=False, room=20).overflow
