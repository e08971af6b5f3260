"""`Monotone` against all trees, all answers and all rows that can be predicted, enumerated apart from the engines."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import omtree
from omtree.constraints import Monotone

#: The other cells of a row: those seen in training, one that never was, and none.
OTHERS: tuple[Any, ...] = ("a", "b", "c", "never seen", None)


def partitions(items: list[Any]) -> Iterator[list[list[Any]]]:
    """All ways to share out some items."""
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for i in range(len(rest)):
            yield [*rest[:i], [items[0], *rest[i]], *rest[i + 1 :]]


def trees(rows: list[tuple[int, str, int]], unused: tuple[str, ...], leaves: int) -> Iterator[tuple[int, Any]]:
    """Every tree over rows (x, g, y) that tests each column at most once on a path, with its number of leaves.

    A tree is an answer, or a column with its branches and the branch of what none of them names.
    """
    yield 1, 0
    yield 1, 1
    for column in unused:
        place = "xg".index(column)
        seen = sorted({row[place] for row in rows})
        left = tuple(other for other in unused if other != column)
        for groups in partitions(seen):
            if not 2 <= len(groups) <= leaves:
                continue
            below = [list(trees([row for row in rows if row[place] in group], left, leaves)) for group in groups]
            for chosen in itertools.product(*below):
                size = sum(leaf for leaf, _ in chosen)
                if size <= leaves:
                    branches = tuple((tuple(group), tree) for group, (_, tree) in zip(groups, chosen, strict=True))
                    for default in range(len(branches)) if column == "g" else (0,):
                        yield size, (place, branches, default)


def answer(tree: Any, row: tuple[Any, Any]) -> int:
    """What a tree says of a row."""
    while not isinstance(tree, int):
        place, branches, default = tree
        tree = next((below for group, below in branches if row[place] in group), branches[default][1])
    return int(tree)


def least_errors(rows: list[tuple[int, str, int]], leaves: int) -> int:
    """Least errors of a tree whose answer falls for no row as x rises."""
    best = len(rows)
    for _, tree in trees(rows, ("x", "g"), leaves):
        errors = sum(answer(tree, row[:2]) != row[2] for row in rows)
        if errors < best and all(answer(tree, (0, g)) <= answer(tree, (1, g)) for g in OTHERS):
            best = errors
    return best


def random_rows(seed: int) -> list[tuple[int, str, int]]:
    """Some cells of two columns, not all of them, with classes at random."""
    rng = np.random.default_rng(seed)
    cells = [(x, g) for x in (0, 1) for g in "abc" if rng.random() < 0.8]
    rows = [(x, g, y) for x, g in cells for y in (0, 1) for _ in range(int(rng.integers(0, 5)))]
    return [*rows, (0, "a", 0), (1, "b", 1), (1, "c", 0), (0, "b", 1)]


def predictions(model: Any, values: tuple[float, ...]) -> np.ndarray:
    """The answers for every other cell and each of these values of x."""
    X = pd.DataFrame([(x, g) for g in OTHERS for x in values], columns=["x", "g"])
    return np.asarray(model.predict(X)).reshape(len(OTHERS), len(values))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(12))
def test_the_best_of_all_trees(seed: int) -> None:
    """A fit is the best of all trees that rise for every row, and its own answers do so."""
    rows = random_rows(seed)
    frame = pd.DataFrame(rows, columns=["x", "g", "y"])
    model = omtree.OptimalTreeClassifier(
        max_depth=2, max_leaves=4, min_samples_leaf=1, constraints=[Monotone("x", 1)], feature_kinds={"x": "ordinal"}
    ).fit(frame[["x", "g"]], frame["y"])
    assert (model.certificate_.status, model.certificate_.value) == ("optimal", least_errors(rows, 4))
    said = predictions(model, (0, 1))
    assert (said[:, 0] <= said[:, 1]).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("structure", ["tree", "rules"])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("seed", range(6))
def test_every_row(seed: int, kind: str, structure: str) -> None:
    """Answers do not fall along a number, wherever it is, whatever the other cell is: seen, never seen or missing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.integers(0, 4, 40) * 1.5, "g": rng.choice(list("abc"), 40)})
    frame.loc[rng.random(40) < 0.15, "g"] = None
    noise = rng.normal(size=40)
    level = np.where(frame["g"] == "a", -frame["x"], 0.5 * frame["x"]) + noise
    estimator = omtree.OptimalTreeClassifier if kind == "classes" else omtree.OptimalTreeRegressor
    y = (level > 0).astype(int) if kind == "classes" else level.round(1)
    limits = {"max_depth": 2, "max_leaves": 4, "min_samples_leaf": 1, "time_limit": 20}
    model = estimator(structure=structure, constraints=[Monotone("x", 1)], **limits).fit(frame, y)
    values = (-9.0, 0.0, 0.7, 1.5, 2.0, 3.0, 4.4, 4.5, 99.0)
    said = predictions(model, values)
    rows = pd.DataFrame([(x, g) for g in OTHERS for x in values], columns=["x", "g"])
    # Where no rule of a set holds and the nearest one answers, nothing is promised.
    held = model.matches(rows).reshape(said.shape) > 0 if structure == "rules" else np.ones(said.shape, dtype=bool)
    assert held.mean() > 0.5
    for answers, promised in zip(said, held, strict=True):
        assert (np.diff(answers[promised]) >= 0).all(), said
