"""Models whose predictions only rise, or only fall, along a feature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import omtree
from helpers.every_model import Labelled, Leaf, best_model, every_rule_set, every_tree
from helpers.reference_demands import World, first_ordered, rising
from helpers.tiny_frames import code, random_regression
from omtree.constraints import Monotone

LIMITS = {"max_depth": 2, "max_leaves": 4}


def best_of_all(world: World, direction: int) -> float:
    """Least sum of squares over all models with means that rise or fall along the first ordered column."""
    y, weight, row_of = world.data.y, world.data.weight, world.coded.row_of
    samples: dict[frozenset[int], np.ndarray] = {}

    def inside(rows: frozenset[int]) -> np.ndarray:
        if rows not in samples:
            samples[rows] = np.isin(row_of, list(rows))
        return samples[rows]

    def mean(leaf: Leaf) -> float:
        return float(np.average(y[inside(leaf.rows)], weights=weight[inside(leaf.rows)]))

    def squares(rows: frozenset[int]) -> float:
        own, w = y[inside(rows)], weight[inside(rows)]
        return float(w @ (own - np.average(own, weights=w)) ** 2)

    def allowed(model: Labelled) -> bool:
        predicted = tuple((leaf, mean(leaf)) for leaf, _ in model)
        return rising(world, predicted, first_ordered(world), direction)

    every: Any = every_tree if world.structure == "tree" else every_rule_set
    models = every(
        world.coded.features, world.coded.codes, **LIMITS, keep=lambda leaf: weight[inside(leaf.rows)].sum() >= 1
    )
    found = best_model(models, squares, allowed)
    assert found is not None
    return found.value


@pytest.mark.parametrize("structure", ["tree", "rules"])
@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("seed", [3, 4, 8, 10])
def test_numbers(seed: int, direction: int, structure: str) -> None:
    """The sum of squares is the least over all models whose means rise, or fall, along the feature."""
    data = random_regression(np.random.default_rng(seed))
    world = World(data, code(data.X), structure)
    if world.coded.features[first_ordered(world)].kind == "nominal":
        pytest.skip("no column has an order")
    name = world.coded.features[first_ordered(world)].name
    model = omtree.OptimalTreeRegressor(
        structure=structure, binning="exact", min_samples_leaf=1, constraints=[Monotone(name, direction)], **LIMITS
    ).fit(data.X, data.y, sample_weight=data.weight)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.value == pytest.approx(best_of_all(world, direction), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("splits", ["binary", "multiway"])
def test_out_of_time(splits: str) -> None:
    """When the time is over there is a tree that is allowed, with a bound below its value."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (300, 4)).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.normal(size=300) < 5).astype(int)
    model = omtree.OptimalTreeClassifier(
        splits=splits, max_depth=3, max_leaves=8, constraints=[Monotone("x0", 1)], time_limit=0.5
    ).fit(X, y)
    certificate = model.certificate_
    assert certificate.bound <= certificate.value
    assert all(check.met for check in certificate.constraints)
