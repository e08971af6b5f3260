"""Models whose predictions only rise, or only fall, along a feature."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

import omtree
from helpers.every_model import Labelled, Leaf, best_model, every_rule_set, every_tree
from helpers.reference_demands import World, first_ordered, rising
from helpers.tiny_frames import code, random_regression
from omtree.constraints import Monotone, Root
from omtree.export.saving import from_json

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
        splits=splits, max_depth=4, max_leaves=16, constraints=[Monotone("x0", 1)], time_limit=0.3
    ).fit(X, y)
    certificate = model.certificate_
    assert certificate.status == "time_limit"
    assert certificate.bound < certificate.value
    assert all(check.met for check in certificate.constraints)


def falls(model: Any, cells: dict[str, list[Any]], name: str, direction: int) -> list[tuple[Any, ...]]:
    """The rows, one for all cells of the column in their order, along which a prediction goes the wrong way."""
    others = {column: values for column, values in cells.items() if column != name}
    wrong = []
    for point in itertools.product(*others.values()):
        rows = pd.DataFrame([dict(zip(others, point, strict=True), **{name: value}) for value in cells[name]])
        if (np.diff(model.predict(rows[list(cells)])) * direction < 0).any():
            wrong.append(point)
    return wrong


def test_values_that_a_node_never_saw() -> None:
    """The prediction does not fall for a value that one of the nodes never saw, a new one, and a missing one."""
    rows = [(0, "a", 0)] * 10 + [(0, "b", 1)] * 30 + [(1, "a", 0)] * 30 + [(1, "b", 1)] * 15 + [(1, "c", 0)] * 20
    X = pd.DataFrame([row[:2] for row in rows], columns=["x", "g"])
    model = omtree.OptimalTreeClassifier(max_depth=2, constraints=[Root("x"), Monotone("x", +1)])
    model.fit(X, [row[2] for row in rows])
    assert model.certificate_.status == "optimal"
    assert falls(model, {"x": [0, 1], "g": ["a", "b", "c", "new", None]}, "x", +1) == []


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("regression", [True, False])
def test_every_row_that_can_be_predicted(regression: bool, direction: int) -> None:
    """Whatever the other cells are, no prediction goes the wrong way; saved and loaded models included."""
    tried = 0
    for seed in range(12):
        rng = np.random.default_rng([seed, 12])
        data = random_regression(rng)
        y = data.y if regression else (data.y > np.median(data.y)).astype(int)
        coded = code(data.X)
        ordered = [f.name for f in coded.features if f.kind != "nominal"]
        if not ordered or len(set(y)) < 2:
            continue
        tried += 1
        kind = omtree.OptimalTreeRegressor if regression else omtree.OptimalTreeClassifier
        model = kind(
            max_depth=3,
            max_leaves=5,
            binning="exact",
            min_samples_leaf=1,
            constraints=[Monotone(ordered[0], direction)],
        ).fit(data.X, y, sample_weight=data.weight)
        assert model.certificate_.status == "optimal"
        cells: dict[str, list[Any]] = {}
        for feature in coded.features:
            seen = data.X[feature.name].dropna().unique().tolist()
            cells[feature.name] = sorted(seen) if feature.thresholds is not None else list(feature.levels or seen)
            if feature.name != ordered[0]:
                cells[feature.name] += [None] if feature.kind == "numeric" else ["never seen", None]
        for fitted in (model, from_json(model.to_json())):
            assert falls(fitted, {name: cells[name] for name in data.X.columns}, ordered[0], direction) == []
    assert tried >= 6
