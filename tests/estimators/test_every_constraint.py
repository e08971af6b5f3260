"""Every constraint, alone and in pairs, both structures: the best of all models that meet it, if there are any."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import omtree
import omtree.constraints
from helpers.every_model import Best, Labelled, Leaf
from helpers.reference_demands import DEMANDS, World, best_meeting, meets, pairs
from helpers.reference_losses import error, on_rows
from helpers.tiny_frames import code, random_grouped

#: Seeds of data on which, all together, every constraint makes a difference.
WORLDS = (0, 6, 7, 14, 48)
PAIRS = [
    *pairs([name for name in DEMANDS if not name.startswith("Monotone")], 30, seed=1),
    ("Budget dear in the loss", "Recall at_least 0.9"),
    ("Budget dear in the loss", "Accuracy at_least 0.8"),
    ("Budget dear in the loss", "MCC at_least 0.6"),
    ("Budget in the loss", "Recall at_least 0.9"),
    ("Monotone rising", "MinSupport"),
    ("Monotone falling", "Path"),
    ("Monotone rising", "Recall at_least 0.9"),
    ("Monotone falling", "MCC at_least 0.6"),
    ("Monotone rising", "FairnessBudget of positive_rate"),
    ("Monotone falling", "Linear in conditions"),
]
LIMITS = [
    {"max_depth": 2, "max_leaves": 4},
    {"max_depth": 3, "max_leaves": 4},
    {"max_depth": 2, "max_leaves": 4, "categories": "values"},
    {"max_depth": 3, "max_leaves": 5},
]


def make_world(seed: int, structure: str) -> World:
    """Three columns and at least eight distinct rows: with less, few constraints make a difference.

    The classes are random, or depend on two or three columns together, so that a rule needs them all; or one is rare.
    """
    rng = np.random.default_rng(seed)
    while True:
        data = random_grouped(rng)
        coded = code(data.X)
        if len(coded.features) == 3 and coded.codes.shape[1] >= 8:
            break
    y = data.y.copy()
    if seed % 4 == 2:
        y[rng.random(len(y)) < 0.5] = 0
    elif seed % 2:
        high = [codes >= np.median(codes) for codes in coded.codes[: 2 + (seed % 4 == 3)]]
        y = np.logical_xor.reduce(high)[coded.row_of].astype(int)
        y[0] = 1 - y[0]
    if len(set(y)) == 2:
        data = replace(data, y=y)
    return World(data, coded, structure)


def brute_force(world: World, names: tuple[str, ...], limits: dict[str, Any]) -> Best | None:
    data = world.data
    loss = on_rows(error(2), data.y, data.weight, world.coded.row_of)
    return best_meeting(world, [DEMANDS[name] for name in names], loss, 1, **limits)


def fitted(world: World, names: tuple[str, ...], limits: dict[str, Any]) -> Any:
    model = omtree.OptimalTreeClassifier(
        structure=world.structure,
        constraints=[DEMANDS[name].constraint(omtree.constraints, world) for name in names],
        binning="exact",
        min_samples_leaf=1,
        **limits,
    )
    groups = pd.DataFrame({"group": world.data.group})
    return model.fit(world.data.X, world.data.y, sample_weight=world.data.weight, groups=groups)


def returned(model: Any, world: World) -> Labelled:
    """The fitted model in the terms of the brute force; rows are shared out by its conditions."""
    names = [feature.name for feature in world.coded.features]
    # Columns that a constraint excludes are not among the model's features.
    place = [names.index(feature.name) for feature in model.rules_.features]
    paths = {}
    if world.structure == "tree":
        nodes = model.tree_.nodes
        for node in nodes:
            if node.rule is not None:
                above, path = node, []
                while above.parent is not None:
                    path.insert(0, place[above.condition.feature])
                    above = nodes[above.parent]
                paths[node.rule] = tuple(path)
    rules = []
    for number, rule in enumerate(model.rules_):
        met = {place[condition.feature]: frozenset(condition.codes) for condition in rule.conditions}
        inside = [all(world.coded.codes[f, row] in codes for f, codes in met.items()) for row in range(_n_rows(world))]
        leaf = Leaf(met, frozenset(np.flatnonzero(inside).tolist()), paths.get(number, tuple(sorted(met))))
        rules.append((leaf, rule.prediction))
    return tuple(rules)


def _n_rows(world: World) -> int:
    return int(world.coded.codes.shape[1])


def check(seed: int, structure: str, names: tuple[str, ...]) -> None:
    world, limits = make_world(seed, structure), LIMITS[seed % len(LIMITS)]
    best = brute_force(world, names, limits)
    if best is None:
        # A contradiction can be seen before any work; either way the answer is one sentence and no model.
        with pytest.raises(ValueError, match=r"\.$"):
            fitted(world, names, limits)
        return
    model = fitted(world, names, limits)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.value == pytest.approx(best.value, abs=1e-9)
    assert model.certificate_.bound <= best.value + 1e-9
    rules = returned(model, world)
    assert sorted(row for leaf, _ in rules for row in leaf.rows) == list(range(_n_rows(world)))
    assert meets(world, [DEMANDS[name] for name in names], rules)


@pytest.mark.parametrize("structure", ["tree", "rules"])
@pytest.mark.parametrize("seed", WORLDS)
@pytest.mark.parametrize("name", DEMANDS)
def test_alone(name: str, seed: int, structure: str) -> None:
    """The value is the least over all models that meet the constraint, the model meets it, or there is none."""
    check(seed, structure, (name,))


@pytest.mark.parametrize("structure", ["tree", "rules"])
@pytest.mark.parametrize(("names", "seed"), [(names, WORLDS[i % len(WORLDS)]) for i, names in enumerate(PAIRS)])
def test_in_pairs(names: tuple[str, str], seed: int, structure: str) -> None:
    """The same of two constraints at once."""
    check(seed, structure, names)


def test_sums_over_rules_keep_the_root() -> None:
    """A tree with a better sum, whose rules all test the feature but none of them first, is not returned."""
    check(1307011046, "tree", ("Root", "FairnessBudget of accuracy"))


def test_monotone_where_a_feature_is_tested_again() -> None:
    """Brute force knows which codes a branch has whose leaves test its feature again."""
    check(101692563, "tree", ("Monotone rising", "Recall from 0.4 to 0.7"))


@pytest.mark.parametrize("name", [name for name in DEMANDS if name not in ("Order", "Accuracy at_least 0.8")])
def test_the_data_matter(name: str) -> None:
    """On some of the data above the best tree that meets the constraint is worse than the best of all.

    The order of the conditions in a rule excludes no tree, and a least accuracy only those that are not the best.
    """

    def matters(seed: int) -> bool:
        world, limits = make_world(seed, "tree"), LIMITS[seed % len(LIMITS)]
        found, free = brute_force(world, (name,), limits), brute_force(world, (), limits)
        assert free is not None
        return found is not None and found.value > free.value + 1e-9

    assert any(map(matters, WORLDS))
