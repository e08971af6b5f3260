"""The list of all models: known counts, the other oracle, and best models found by hand."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from helpers.datasets import NOT_A_TREE, random_table
from helpers.every_model import (
    Labelled,
    Leaf,
    Model,
    best_model,
    every_rule,
    every_rule_set,
    every_tree,
    row_labels,
    rows_only,
    split_ways,
)
from helpers.oracle import best_rules, best_trees, conditions, partitions
from helpers.reference_losses import cost_matrix, error, f1, on_labels, on_rows, squared
from omtree.data.table import Feature, Table

SEEDS = range(25)


def feature(kind: str, n_values: int, has_missing: bool = False, order: tuple[int, ...] | None = None) -> Feature:
    return Feature("f", 0, kind, n_values, has_missing, target_order=order)


def line(f: Feature) -> tuple[list[Feature], np.ndarray]:
    """One row per code."""
    return [f], np.arange(f.n_codes)[None, :]


def cube(n: int) -> tuple[list[Feature], np.ndarray]:
    """All cells of `n` features of two values."""
    return [feature("nominal", 2)] * n, np.array(list(itertools.product((0, 1), repeat=n))).T


def shapes(models: Any) -> set[frozenset[frozenset[int]]]:
    """How the models part the rows."""
    return {frozenset(leaf.rows for leaf in model) for model in models}


def random_case(seed: int) -> tuple[Table, dict[str, Any], float]:
    """A table, what limits its models, and the least support."""
    rng = np.random.default_rng(seed)
    table = random_table(rng, n_features=int(rng.integers(1, 4)), n_rows=int(rng.integers(3, 11)), max_values=4)
    limits = {
        "max_depth": int(rng.integers(1, 4)),
        "max_leaves": int(rng.integers(1, 6)),
        "categories": str(rng.choice(["groups", "values"])),
    }
    return table, limits, float(rng.choice([0.0, 1.0, 2.5]))


def losses_of(table: Table, costs: np.ndarray) -> Any:
    """The loss by merged rows, every label allowed."""
    row_costs = table.statistics @ costs
    return lambda rows: list(enumerate(row_costs[sorted(rows)].sum(axis=0).tolist()))


def heavy(table: Table, support: float) -> Any:
    return lambda leaf, label=None: table.weight[sorted(leaf.rows)].sum() >= support


# --- how many there are -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "categories", "expected"),
    [
        (feature("ordinal", 5), "groups", 2**4),
        (feature("numeric", 4), "values", 2**3),
        # j of 1, 2, 3 intervals of three values can be had in 1, 2, 1 ways; "missing" joins one or stands alone.
        (feature("numeric", 3, True), "groups", 2 * 1 + 3 * 2 + 4 * 1),
        (feature("nominal", 4), "groups", 15),
        (feature("nominal", 4, True), "groups", 52),
        (feature("nominal", 4), "values", 2),
        # Cuts along six codes, and each of the four codes that are not at an end against the rest.
        (feature("nominal", 6), "groups", 2**5 + 4),
        (feature("nominal", 5, True, (3, 1, 5, 0, 2, 4)), "groups", 2**5 + 4),
    ],
)
def test_number_of_trees_of_depth_one(f: Feature, categories: str, expected: int) -> None:
    """The ways to split one feature, and not to split it, are as many as counted by hand."""
    models = every_tree(*line(f), 1, f.n_codes, categories)
    assert len(models) == len(shapes(models)) == expected


def test_number_of_trees_over_a_cube() -> None:
    """Trees over n features of two values obey t(n) = 1 + n t(n - 1)^2."""
    assert [len(every_tree(*cube(n), n, 2**n)) for n in (1, 2, 3)] == [2, 9, 244]
    assert len(every_tree(*cube(3), 2, 4)) == 1 + 3 * 3**2
    assert len(every_tree(*cube(3), 3, 2)) == 1 + 3


def test_number_of_binary_trees_over_a_line() -> None:
    """With k leaves: the places of k - 1 cuts times Catalan's number of shapes; depth 2 has one shape of 4 leaves."""
    case = line(feature("ordinal", 4))
    assert len(every_tree(*case, 3, 4, splits="binary")) == 1 + 3 * 1 + 3 * 2 + 1 * 5
    assert len(every_tree(*case, 2, 4, splits="binary")) == 1 + 3 * 1 + 3 * 2 + 1 * 1
    assert len(every_tree(*case, 3, 4, max_children=2)) == 1 + 3 * 1 + 3 * 2 + 1 * 5
    # Of the eleven shapes of four leaves (Schroeder's number) one has a root of four children.
    assert len(every_tree(*case, 3, 4, max_children=3)) == 1 + 3 * 1 + 3 * 3 + 1 * 10


def test_number_of_rule_sets_over_a_cube() -> None:
    """A square falls into subcubes in 8 ways, a cube in 154; 8 of those have no root."""
    assert len(list(every_rule_set(*cube(2), 2, 4))) == 8
    sets = shapes(every_rule_set(*cube(3), 3, 8))
    trees = shapes(every_tree(*cube(3), 3, 8))
    assert len(sets) == 154
    assert trees < sets
    assert len(sets - trees) == 8
    codes = cube(3)[1]
    no_tree = {
        frozenset(row for row in range(8) if all(codes[f, row] in allowed for f, allowed in rule))
        for rule in NOT_A_TREE
    }
    assert frozenset(no_tree) in sets - trees


def test_rules_alike_stand_for_each_other() -> None:
    """Leaving out all but one rule for the same rows does not change how rows can be parted."""
    for seed in range(6):
        table = random_table(np.random.default_rng(seed), n_features=2, n_rows=6, max_values=3)
        every = list(every_rule_set(table.features, table.codes, 2, 3))
        few = list(every_rule_set(table.features, table.codes, 2, 3, alike=rows_only))
        assert len(few) <= len(every)
        assert shapes(few) == shapes(every)


def test_number_of_rules() -> None:
    """As many rules as choices of a condition, or none, for each feature."""
    features = [feature("nominal", 3), feature("ordinal", 3)]
    codes = np.array(list(itertools.product(range(3), repeat=2))).T
    assert len(list(every_rule(features, codes, 2))) == (6 + 1) * (5 + 1)
    assert len(list(every_rule(features, codes, 1))) == 6 + 5 + 1


# --- what they are ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_splits_are_the_partitions_into_conditions(seed: int) -> None:
    """Whatever codes are present, the ways to split are the partitions of them into parts of conditions."""
    rng = np.random.default_rng(seed)
    f = feature(str(rng.choice(["numeric", "nominal"])), int(rng.integers(2, 7)), bool(rng.random() < 0.5))
    order = tuple(rng.permutation(f.n_codes).tolist())
    f = feature(f.kind, f.n_values, f.has_missing, order if f.kind == "nominal" else None)
    present = frozenset(rng.choice(f.n_codes, rng.integers(1, f.n_codes + 1), replace=False).tolist())
    for categories in ("groups", "values"):
        parts = {allowed & present for allowed in conditions(f, categories)} - {frozenset()}
        expected = {frozenset(way) for way in partitions(present, parts) if len(way) > 1}
        ways = split_ways(f, present, categories)
        assert {frozenset(way) for way in ways} == expected
        assert len(ways) == len(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_models_are_what_they_say(seed: int) -> None:
    """Every model covers each row once, within its limits, and a leaf's conditions hold of its rows and no others."""
    table, limits, _ = random_case(seed)
    every: list[list[Model]] = [
        every_tree(table.features, table.codes, **limits),
        every_tree(table.features, table.codes, **limits, splits="binary"),
        list(every_rule_set(table.features, table.codes, **limits, alike=rows_only)),
    ]
    for number, models in enumerate(every):
        for model in models:
            assert sorted(row for leaf in model for row in leaf.rows) == list(range(table.n_rows))
            assert len(model) <= limits["max_leaves"]
        for leaf in {leaf for model in models for leaf in model}:
            assert leaf.rows
            assert len(leaf.path) <= limits["max_depth"]
            assert set(leaf.path) == set(leaf.conditions)
            assert number < 2 or len(set(leaf.path)) == len(leaf.path)
            met = [np.isin(table.codes[f], list(codes)) for f, codes in leaf.conditions.items()]
            assert leaf.rows == set(np.flatnonzero(np.all([np.ones(table.n_rows), *met], axis=0)).tolist())


def test_a_path_begins_at_the_root() -> None:
    """All leaves of a tree have the root's feature first, and trees that differ in it are different trees."""
    models = every_tree(*cube(2), 2, 4)
    assert {frozenset(leaf.path[:1] for leaf in model) for model in models} == {
        frozenset({()}),
        frozenset({(0,)}),
        frozenset({(1,)}),
    }
    assert sorted(model[0].path for model in models if len(model) == 4) == [(0, 1), (1, 0)]


def test_leaves_that_are_not_kept() -> None:
    """What `keep` refuses is in no model, and all other models are still there."""
    for models in (every_tree, every_rule_set):
        every = list(models(*cube(2), 2, 4))
        some = list(models(*cube(2), 2, 4, keep=lambda leaf: len(leaf.rows) != 2))
        assert len(some) == sum(all(len(leaf.rows) != 2 for leaf in model) for model in every)


# --- the best of them, against the other oracle -----------------------------------------------------------------------


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("seed", SEEDS)
def test_best_trees(seed: int, splits: str) -> None:
    """Least errors, and least costs, of a tree: equal to dynamic programming, with any support and any children."""
    table, limits, support = random_case(seed)
    n_classes = table.statistics.shape[1]
    rng = np.random.default_rng(seed)
    max_children = [None, 2, 3][rng.integers(3)]
    models = every_tree(table.features, table.codes, **limits, splits=splits, max_children=max_children)
    in_two = splits == "binary" or max_children == 2
    categories = "single" if in_two and limits["categories"] == "values" else limits["categories"]
    for costs in (1.0 - np.eye(n_classes), rng.integers(0, 5, (n_classes, n_classes)) * (1.0 - np.eye(n_classes))):
        expected = best_trees(
            table.codes,
            table.statistics,
            table.features,
            costs,
            limits["max_depth"],
            limits["max_leaves"],
            support,
            categories,
            splits,
            max_children,
        )[-1]
        best = best_model(models, losses_of(table, costs), rule_ok=heavy(table, support))
        assert (np.inf if best is None else best.value) == pytest.approx(expected)


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_best_rules(seed: int, constrained: bool) -> None:
    """Least errors of a set of rules: equal to the other oracle, also when the last class needs half its recall."""
    table, limits, support = random_case(seed)
    n_classes = table.statistics.shape[1]
    costs = 1.0 - np.eye(n_classes)
    found = np.zeros((table.n_rows, n_classes))
    found[:, -1] = table.statistics[:, -1]
    wanted = found.sum() * (0.5 + 0.5 * (seed % 2))

    def recalled(model: Labelled) -> bool:
        return sum(found[sorted(leaf.rows), label].sum() for leaf, label in model) >= wanted

    expected = best_rules(
        table.codes,
        table.statistics,
        table.features,
        costs,
        limits["max_depth"],
        limits["max_leaves"],
        support,
        limits["categories"],
        [(found, wanted)] if constrained else [],
    )
    models = every_rule_set(table.features, table.codes, **limits, alike=rows_only, keep=heavy(table, support))
    best = best_model(models, losses_of(table, costs), recalled if constrained else None, alike=rows_only)
    assert (best is None) == (expected is None)
    if best is not None:
        assert best.value == pytest.approx(expected.value)
        assert not constrained or recalled(best.model)


@pytest.mark.parametrize("seed", range(8))
def test_models_alike_have_the_same_best(seed: int) -> None:
    """When only rows and labels matter, one model for each way to part the rows gives the same best loss and score."""
    table, limits, _ = random_case(seed)
    n_classes = table.statistics.shape[1]
    models = every_tree(table.features, table.codes, **limits)
    loss = losses_of(table, 1.0 - np.eye(n_classes))

    def no_lonely_zero(model: Labelled) -> bool:
        return all(label or len(leaf.rows) > 1 for leaf, label in model)

    row, label = np.nonzero(table.statistics)
    score = on_labels(f1("macro"), label, table.statistics[row, label], row)
    for kind in (None, score):
        every = best_model(models, loss, no_lonely_zero, score=kind)
        few = best_model(models, loss, no_lonely_zero, score=kind, alike=rows_only)
        by_rule = best_model(models, loss, rule_ok=lambda leaf, label: bool(label) or len(leaf.rows) > 1, score=kind)
        assert every is not None
        assert few is not None
        assert by_rule is not None
        assert every.value == few.value == by_rule.value


# --- the best of them, by hand ----------------------------------------------------------------------------------------

#: Four values in order: 0 1 0 1, of weights 1, 2, 3, 4.
Y, WEIGHT, ROW = np.array([0, 1, 0, 1]), np.array([1.0, 2.0, 3.0, 4.0]), np.arange(4)
ERRORS = on_rows(error(2), Y, WEIGHT, ROW)


def models_of_line(max_leaves: int) -> list[Model]:
    return every_tree(*line(feature("ordinal", 4)), 1, max_leaves)


def test_errors_by_leaves() -> None:
    """0 1 0 1 of weights 1 2 3 4: all 1; a cut after the third; three cuts; four leaves."""
    assert [best_model(models_of_line(m), ERRORS).value for m in (1, 2, 3, 4)] == [4, 2, 1, 0]


def test_labels_are_free_under_a_demand_on_the_model() -> None:
    """Two leaves that must find all of class 1: the better of 1111 and 0 | 111 has the errors of the third row."""
    best = best_model(models_of_line(2), ERRORS, lambda model: all(row_labels(model)[row] == 1 for row in (1, 3)))
    assert best.value == 3
    assert row_labels(best.model) == (0, 1, 1, 1)


def test_a_demand_nobody_meets() -> None:
    """There is no best model when none, or no rule, is allowed."""
    models = models_of_line(3)
    assert best_model(models, ERRORS, lambda model: len(model) > 3) is None
    assert best_model(models, ERRORS, rule_ok=lambda leaf, label: False) is None
    assert best_model(models, ERRORS, rule_ok=lambda leaf, label: label == 0 or 3 not in leaf.rows).value == 4


def test_a_demand_on_conditions_reaches_every_model() -> None:
    """A model with a worse-looking twin for the same rows is found when only its conditions are allowed."""
    features, codes = [feature("ordinal", 2)] * 2, np.array([[0, 1], [0, 1]])
    loss = on_rows(error(2), np.array([0, 1]), np.ones(2), np.arange(2))

    def second(leaf: Leaf) -> bool:
        return 1 in leaf.conditions

    for models in (every_tree(features, codes, 1, 2), list(every_rule_set(features, codes, 1, 2))):
        assert best_model(models, loss, lambda model: all(second(leaf) for leaf, _ in model)).value == 0
        assert best_model(models, loss, rule_ok=lambda leaf, label: second(leaf)).value == 0
    kept = every_rule_set(features, codes, 1, 2, keep=second, alike=rows_only)
    assert best_model(kept, loss).value == 0


def test_the_best_score_need_not_have_the_least_loss() -> None:
    """One leaf for 0 0 0 1: least errors say 0 with an F1 of 0, the best F1 says 1."""
    y, weight = np.array([0, 0, 0, 1]), np.ones(4)
    models = models_of_line(1)
    loss, score = on_rows(error(2), y, weight, ROW), on_labels(f1(), y, weight, ROW)
    assert row_labels(best_model(models, loss).model) == (0, 0, 0, 0)
    best = best_model(models, loss, score=score)
    assert best.value == pytest.approx(2 / 5)
    assert row_labels(best.model) == (1, 1, 1, 1)
    assert best_model(models, loss, lambda model: model[0][1] == 0, score=score).value == 0


def test_best_score_over_all_labels() -> None:
    """F1 of 0 1 0 1 of weights 1 2 3 4 with two leaves: 0 | 111 has 12 / 15, 000 | 1 has 8 / 10, 00 | 11 has 8 / 13."""
    score = on_labels(f1(), Y, WEIGHT, ROW)
    assert best_model(models_of_line(2), ERRORS, score=score).value == pytest.approx(12 / 15)
    # With three leaves 11 | 0 | 1: only the first row is wrong.
    assert best_model(models_of_line(3), ERRORS, score=score).value == pytest.approx(12 / 13)
    assert best_model(models_of_line(4), ERRORS, score=score).value == 1


def test_numbers_and_costs_of_rules() -> None:
    """Targets 0 0 6 8: squared loss 51, 2, 0 with 1, 2, 3 leaves; a price of 3 a condition makes two leaves dear."""
    y = np.array([0.0, 0.0, 6.0, 8.0])
    loss = on_rows(squared, y, np.ones(4), ROW)
    assert [best_model(models_of_line(m), loss).value for m in (1, 2, 3)] == [51, 2, 0]
    priced = best_model(models_of_line(3), loss, cost=lambda leaf: 3.0 * len(leaf.path))
    assert priced.value == 2 + 2 * 3
    assert sorted(label for _, label in priced.model) == [0, 7]
    assert best_model(models_of_line(3), loss, cost=lambda leaf: 30.0 * len(leaf.path)).value == 51
    assert best_model(models_of_line(2), lambda rows: float(len(rows) ** 2)).value == 8


def test_costs_choose_the_label() -> None:
    """Missing class 1 costs five times as much: one leaf of 0 0 0 1 says 1 and pays for the three zeros."""
    loss = on_rows(cost_matrix([[0, 1], [5, 0]]), np.array([0, 0, 0, 1]), np.ones(4), ROW)
    best = best_model(models_of_line(1), loss)
    assert best.value == 3
    assert best.model[0][1] == 1
