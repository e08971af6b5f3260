"""Constraints on features: compiled shapes against the audit, cut points and groups, and monotone predictions."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pandas as pd
import pytest

from helpers.constraint_cases import Case, random_case
from omtree import OptimalTreeClassifier
from omtree.constraints import (
    Constraint,
    Exclude,
    Forbid,
    Interactions,
    Monotone,
    Once,
    Only,
    Order,
    Requires,
    Root,
    Setting,
    Together,
    UseAtMost,
    monotone_violations,
    restrict_features,
)
from omtree.constraints.audit import paths_of
from omtree.constraints.compile import join_shapes, path_shape
from omtree.data.build import make_features
from omtree.data.columns import read_columns
from omtree.data.table import UNKNOWN, Feature
from omtree.problem.graph import Condition, FeatureGraph
from omtree.problem.judge import make_judge
from omtree.problem.limits import PathShape, RuleLimits
from omtree.problem.losses import LinearLoss
from omtree.problem.problem import Path, Problem

SHAPES: list[Constraint] = [
    Forbid({"x0", "x1"}),
    Interactions([{"x0", "x1"}, {"x1", "x2"}]),
    Interactions([{"x0", "x1"}, {"x1", "x2"}, {"x0", "x2"}]),
    Interactions([{"x0", "x2"}]),
    Forbid([{"x0", "x1", "x2"}, {"x1", "x2"}]),
    Together({"x0", "x2"}),
    Requires("x1", first="x0"),
    Requires("x2", first={"x0", "x1"}),
    Order(["x2", "x0"], strict=True),
    Order(strict=True),
    Order(["x2", "x0", "x1"]),
    UseAtMost({"x0", "x1", "x2"}, 2),
    Once({"x0", "x2"}),
    Root("x1"),
]


@functools.cache
def cases() -> list[Case]:
    """Random trees in which every leaf has samples."""
    made = (random_case(seed, n_leaves=8) for seed in range(120))
    return [case for case in made if all(rule.support > 0 for rule in case.tree.rules)][:40]


def fits(shape: PathShape, path: tuple[int, ...]) -> bool:
    """What a shape says of the features of a tree's path, in their order, by its definition."""
    place = {feature: i for i, feature in enumerate(path)}
    if any(len(features & place.keys()) > n for features, n in shape.at_most):
        return False
    for feature, others, first in shape.needs:
        if feature in place and not all(o in place and (not first or place[o] < place[feature]) for o in others):
            return False
    if any(a in place and b in place and place[b] < place[a] for a, b in shape.above):
        return False
    return shape.root is None or path[:1] == (shape.root,)


@pytest.mark.parametrize("constraint", SHAPES, ids=repr)
def test_shapes_of_trees_are_the_audit(constraint: Constraint) -> None:
    """The paths of a tree fit the compiled shape exactly when the audit finds the constraint met."""
    outcomes = set()
    for case in cases():
        shape = case.compiled(constraint).limits(case.table).shape
        fine = all(fits(shape, path) for path in paths_of(case.tree))
        assert fine == case.met(constraint)
        outcomes.add(fine)
    assert outcomes == ({True} if constraint == Order(["x2", "x0", "x1"]) else {True, False})


@pytest.mark.parametrize("constraint", SHAPES, ids=repr)
def test_shapes_of_rules_are_the_audit(constraint: Constraint) -> None:
    """The judge allows every rule of a set exactly when the audit, which sees no order of tests, does."""
    for case in cases():
        shape = case.compiled(constraint).limits(case.table).shape
        loss = LinearLoss(1.0 - np.eye(2))
        problem = Problem(case.table, FeatureGraph(case.features), loss, 3, 8, 0.0, limits=RuleLimits(shape=shape))
        judge = make_judge(problem)
        fine = True
        for rule in case.tree.rules:
            rows = np.arange(case.table.n_rows, dtype=np.uint32)
            fine &= not math.isinf(judge.judge(rows, [(c.feature, list(c.codes)) for c in rule.conditions])[0])
        assert fine == case.met(constraint, as_tree=False)


def test_excluded_features_are_gone() -> None:
    """Excluded features are not among those that rules may test, and the audit counts rules that test them."""
    for case in cases():
        constraint = Exclude("x1")
        kept = restrict_features([constraint], case.features, case.setting)
        assert [feature.name for feature in kept] == [f.name for f in case.features if f.name != "x1"]
        position = next((i for i, feature in enumerate(case.features) if feature.name == "x1"), None)
        using = sum(position in {c.feature for c in rule.conditions} for rule in case.tree.rules)
        (check,) = constraint.audit(case.answers())
        assert check.value == using


def test_features_that_do_not_vary() -> None:
    """What needs a feature that the table does not have can't be tested; a root that it does not have is refused."""
    features = [
        Feature("a", 0, "ordinal", 2, False, levels=(0, 1)),
        Feature("b", 1, "ordinal", 2, False, levels=(0, 1)),
    ]
    setting = Setting(("a", "b", "c"), ("ordinal",) * 3)
    joined = join_shapes(c.shape(setting) for c in [Requires("a", first="c"), Forbid({"b", "c"}), Order(strict=True)])
    shape = path_shape(joined, features)
    assert shape == PathShape(at_most=((frozenset([0]), 0),), above=((0, 1),))
    with pytest.raises(ValueError, match="'c', which does not vary"):
        path_shape(Root("c").shape(setting), features)


def test_orders_are_joined() -> None:
    """The graph takes the first order and then what later ones add."""
    setting = Setting(("a", "b", "c"), ("ordinal",) * 3)
    joined = join_shapes(c.shape(setting) for c in [Order(["c", "a"]), Order(["a", "b"])])
    assert joined.order == ("c", "a", "b")


COLUMNS = read_columns(
    [[float(i), "abcdef"[i % 6], ["S", "M", "L", "XL"][i % 4]] for i in range(24)],
    {"x2": ["S", "M", "L", "XL"]},
)
SETTING = Setting(COLUMNS.names, COLUMNS.kinds, {c.name: c.levels for c in COLUMNS if c.levels}, ("no", "yes"))
FEATURES = make_features(COLUMNS, np.arange(24) % 2, 2, None, 8, "quantile")[0]


def test_only_these_cut_points() -> None:
    """A numeric feature has exactly the cut points given."""
    constraint = Only("x0", [20, 4.5])
    constraint.check(SETTING)
    feature, *others = restrict_features([constraint], FEATURES, SETTING)
    assert [level.text for level in FeatureGraph([feature]).levels[0].nodes] == [
        "x0 < 4.5",
        "x0 < 20",
        "4.5 <= x0 < 20",
        "x0 >= 4.5",
        "x0 >= 20",
    ]
    assert others == list(FEATURES[1:])
    assert feature.encode(COLUMNS[0]).tolist() == [0] * 5 + [1] * 15 + [2] * 4


def test_only_these_groups() -> None:
    """Values of a nominal feature stay together as given, those not named too; words and codes say so."""
    constraint = Only("x1", [{"a", "c"}, "b"])
    constraint.check(SETTING)
    feature = restrict_features([constraint], FEATURES, SETTING)[1]
    assert feature.n_codes == 3
    assert feature.encode(COLUMNS[1])[:6].tolist() == [0, 1, 0, 2, 2, 2]
    assert [feature.describe((code,)) for code in range(3)] == ["x1 = a or c", "x1 = b", "x1 = d or e or f"]
    assert feature.describe((0, 1)) == "x1 in {a or c, b}"
    assert sorted(feature.target_order or ()) == [0, 1, 2]


def test_only_these_runs_of_an_ordered_column() -> None:
    """Groups of an ordered column keep its order; levels between them form groups of their own."""
    constraint = Only("x2", [["M", "L"]])
    constraint.check(SETTING)
    feature = restrict_features([constraint], FEATURES, SETTING)[2]
    assert feature.ordered
    assert feature.encode(COLUMNS[2])[:4].tolist() == [0, 1, 1, 2]
    assert feature.describe((0, 1)) == "x2 <= M to L"


def test_only_in_the_audit() -> None:
    """The audit finds conditions with other cuts, on features whose values were not restricted."""
    number, letter, size = FEATURES
    at = [float(cut) for cut in number.thresholds]  # type: ignore[union-attr]
    assert Only("x0", [at[1], at[3]])._allows(number, {0, 1})
    assert Only("x0", [at[1], at[3]])._allows(number, {2, 3})
    assert not Only("x0", [at[1], at[3]])._allows(number, {1, 2, 3})
    for only in (Only("x1", [{"a", "c"}, "b"]), Only("x1", ["f"])):
        parts = only._parts("abcdef", ordered=False)
        for codes in itertools.chain.from_iterable(itertools.combinations(range(6), size) for size in range(1, 6)):
            values = {"abcdef"[code] for code in codes}
            whole = all(values.issuperset(part) or values.isdisjoint(part) for part in parts)
            assert only._allows(letter, set(codes)) == whole
    assert not Only("x2", [["M", "L"]])._allows(size, {0, 1})
    restricted = restrict_features([Only("x2", [["M", "L"]])], FEATURES, SETTING)[2]
    assert Only("x2", [["M", "L"]])._allows(restricted, {0, 1})


def test_a_single_group_leaves_nothing_to_tell_apart() -> None:
    """A feature whose values all stay together is dropped."""
    kept = restrict_features([Only("x1", [set("abcdef")])], FEATURES, SETTING)
    assert [feature.name for feature in kept] == ["x0", "x2"]


def cells(case: Case) -> np.ndarray:
    """Every combination of codes, that of values which training never saw included."""
    grid = itertools.product(*([*range(feature.n_codes), UNKNOWN] for feature in case.features))
    return np.array(list(grid), dtype=np.uint8).T


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("name", ["x0", "x2"])
def test_monotone_trees(n_classes: int, direction: int, name: str) -> None:
    """Rules of a tree break monotonicity exactly when some row's prediction moves the wrong way along the feature."""
    outcomes = set()
    for seed in range(40):
        case = random_case(seed, n_classes=n_classes, n_leaves=4)
        position = next((i for i, feature in enumerate(case.features) if feature.name == name), None)
        if position is None:
            continue
        grid = cells(case)
        labels = np.array([rule.label for rule in case.tree.rules])[case.tree.apply(grid)]
        known = grid[position] < case.features[position].n_values
        others = np.delete(grid, position, axis=0)
        wrong = False
        for i, j in itertools.permutations(np.flatnonzero(known).tolist(), 2):
            if grid[position, i] < grid[position, j] and (others[:, i] == others[:, j]).all():
                wrong |= bool((labels[i] - labels[j]) * direction > 0)
        assert case.met(Monotone(name, direction)) == (not wrong)
        outcomes.add(wrong)
    assert outcomes == {True, False}


def test_monotone_rules() -> None:
    """Rules are compared where they overlap in all other features; missing cells are outside the order."""
    size = Feature("size", 0, "ordinal", 3, True, levels=("S", "M", "L"))
    kind = Feature("kind", 1, "nominal", 2, False, levels=("a", "b"))
    features = [size, kind]

    def found(*rules: tuple[dict[int, tuple[int, ...]], float]) -> list[tuple[int, int]]:
        paths = [Path(tuple(Condition(f, codes) for f, codes in box.items()), 0) for box, _ in rules]
        return monotone_violations(paths, [number for _, number in rules], features, 0, 1)

    assert found(({0: (0,)}, 2.5), ({0: (1, 2)}, 2.0)) == [(0, 1)]
    assert found(({0: (0,)}, 2.0), ({0: (1, 2)}, 2.0)) == []
    assert found(({0: (0,), 1: (0,)}, 2.5), ({0: (1, 2), 1: (1,)}, 2.0)) == []
    assert found(({0: (0,), 1: (0,)}, 2.5), ({0: (1, 2)}, 2.0)) == [(0, 1)]
    assert found(({0: (0, 1)}, 1.0), ({0: (3,)}, 0.0)) == []
    assert found(({0: (2, 3)}, 1.0), ({0: (0, 1)}, 0.0)) == []
    # A rule that says nothing about the feature holds for all its values.
    assert found(({1: (0,)}, 1.0), ({1: (0,)}, 0.0)) == [(0, 1)]


def test_the_class_of_a_monotone_feature():
    """A class that falls along a feature is the other one rising, whichever of the two is positive."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"income": rng.normal(size=150), "age": rng.normal(size=150)})
    y = np.where(frame["income"] + frame["age"] + rng.normal(size=150) > 0, "good", "bad")
    values = {}
    for class_, direction in (("good", 1), ("bad", -1), (None, 1), ("good", -1)):
        for positive in (None, "bad"):
            wanted = -direction if class_ is None and positive == "bad" else direction
            constraints = [Monotone("income", wanted, class_=class_)]
            model = OptimalTreeClassifier(max_depth=2, constraints=constraints, positive=positive).fit(frame, y)
            values[class_, direction, positive] = model.certificate_.value
            grid = frame.loc[np.repeat(range(5), 40)].assign(income=np.tile(np.linspace(-3, 3, 40), 5))
            good = (model.predict(grid) == "good").astype(int).reshape(5, 40)
            steps = np.diff(good, axis=1)
            assert (steps >= 0).all() if (class_, direction) != ("good", -1) else (steps <= 0).all()
    assert len({value for (class_, sign, _), value in values.items() if (class_, sign) != ("good", -1)}) == 1
    with pytest.raises(ValueError, match="names the class 'ugly'"):
        OptimalTreeClassifier(constraints=[Monotone("income", 1, class_="ugly")]).fit(frame, y)
