"""The oracle itself: hand-computed cases, laws it must obey, and second, even plainer computations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from helpers.datasets import NOT_A_TREE, balance_scale, random_table, samples, tic_tac_toe
from helpers.facts import global_value, is_tree, recompute
from helpers.oracle import all_rules, best_rules, best_trees, conditions, lp_rules, partitions
from omtree.data.table import Feature, Table

ERRORS = {n: 1.0 - np.eye(n) for n in (2, 3)}


def feature(
    kind: str, n_values: int, has_missing: bool = False, target_order: tuple[int, ...] | None = None
) -> Feature:
    return Feature("f", 0, kind, n_values, has_missing, target_order=target_order)


def line(labels: list[int], kind: str = "ordinal") -> tuple:
    """One feature with one row per value, its labels as given: codes, counts, features, costs."""
    counts = np.eye(2)[labels]
    return np.arange(len(labels))[None, :], counts, [feature(kind, len(labels))], ERRORS[2]


def cube(values: dict[tuple[int, int, int], int]) -> tuple:
    """Three binary features, all 8 cells: codes, counts, features, costs."""
    cells = list(itertools.product((0, 1), repeat=3))
    counts = np.eye(2)[[values[cell] for cell in cells]]
    return np.array(cells).T, counts, [feature("nominal", 2)] * 3, ERRORS[2]


def random_case(seed: int, **shape: object) -> tuple[Table, tuple]:
    rng = np.random.default_rng(seed)
    table = random_table(rng, **shape)
    depth, leaves = int(rng.integers(1, 4)), int(rng.integers(1, 7))
    support = float(rng.choice([0.0, 1.0, 2.0, 3.5]))
    categories = str(rng.choice(["groups", "values"]))
    costs = ERRORS[table.statistics.shape[1]]
    return table, (table.codes, table.statistics, table.features, costs, depth, leaves, support, categories)


# --- conditions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "categories", "expected"),
    [
        (feature("ordinal", 4), "groups", 4 * 5 // 2 - 1),
        (feature("numeric", 4), "values", 4 * 5 // 2 - 1),
        # Intervals with and without "missing" (each but the full set), and "missing" alone.
        (feature("numeric", 3, True), "groups", 2 * 6 - 1 + 1),
        (feature("nominal", 5), "groups", 2**5 - 2),
        (feature("nominal", 4, True), "groups", 2**5 - 2),
        (feature("nominal", 4, True), "values", 5),
        # Runs of six codes but the whole, and the complements of the four codes that are not at an end.
        (feature("nominal", 6), "groups", 20 + 4),
        (feature("nominal", 5, True, (3, 1, 5, 0, 2, 4)), "groups", 20 + 4),
    ],
)
def test_number_of_conditions(f: Feature, categories: str, expected: int) -> None:
    """Each kind of feature has as many conditions as a count by hand says, each once, none full or empty."""
    sets = conditions(f, categories)
    assert len(sets) == len(set(sets)) == expected
    assert all(0 < len(codes) < f.n_codes for codes in sets)


def test_groups_follow_the_target_order() -> None:
    """Beyond five codes a run along the target order is a condition and a run of codes is not."""
    sets = conditions(feature("nominal", 6, target_order=(0, 2, 4, 1, 3, 5)), "groups")
    assert frozenset({2, 4}) in sets
    assert frozenset({0, 1}) not in sets
    assert frozenset({0, 2, 3, 4, 5}) in sets


def test_partitions_are_counted_by_bell_and_by_cuts() -> None:
    """All subsets give Bell's number of partitions, intervals of n values 2**(n - 1), values one."""
    for n, bell in [(2, 2), (3, 5), (4, 15), (5, 52)]:
        whole = frozenset(range(n))
        assert len(list(partitions(whole, [*conditions(feature("nominal", n)), whole]))) == bell
        assert len(list(partitions(whole, [*conditions(feature("ordinal", n)), whole]))) == 2 ** (n - 1)
        assert len(list(partitions(whole, conditions(feature("nominal", n), "values")))) == 1


# --- by hand ----------------------------------------------------------------------------------------------------------


def test_alternating_labels_on_one_feature() -> None:
    """0 1 0 1 in order: every further interval corrects one row; groups need two leaves only."""
    assert best_trees(*line([0, 1, 0, 1]), 1, 4, 1) == [2, 1, 1, 0]
    assert best_rules(*line([0, 1, 0, 1]), 1, 4, 1).by_leaves == (2, 1, 1, 0)
    assert best_trees(*line([0, 1, 0, 1], "nominal"), 1, 4, 1) == [2, 0, 0, 0]
    # Values: all four children or none.
    assert best_trees(*line([0, 1, 0, 1], "nominal"), 1, 4, 1, "values") == [2, 2, 2, 0]


def test_splits_come_back_to_a_feature() -> None:
    """Four intervals of one feature take two levels of binary splits, and one multiway split of four children."""
    case = line([0, 1, 0, 1])
    assert best_trees(*case, 1, 4, 1, splits="binary") == [2, 1, 1, 1]
    assert best_trees(*case, 2, 4, 1, splits="binary") == [2, 1, 1, 0]
    assert best_trees(*case, 2, 4, 1, max_children=2) == [2, 1, 1, 0]
    assert best_trees(*case, 1, 4, 1, max_children=3) == [2, 1, 1, 1]
    assert best_trees(*case, 2, 4, 1, max_children=3) == [2, 1, 1, 0]


def test_support_forbids_small_leaves() -> None:
    """A leaf needs its weight: with two units a leaf the odd row out can't be cut off."""
    case = line([0, 0, 0, 1])
    assert best_trees(*case, 1, 4, 1) == [1, 0, 0, 0]
    assert best_trees(*case, 1, 4, 2) == [1, 1, 1, 1]
    assert best_rules(*case, 1, 4, 2).by_leaves == (1, 1, 1, 1)


def test_support_above_the_data_is_infeasible() -> None:
    """No rule has more weight than there is."""
    case = line([0, 1])
    assert best_rules(*case, 1, 2, 2.5) is None
    assert lp_rules(*case, 1, 2, 2.5) is None
    assert best_trees(*case, 1, 2, 2.5) == [math.inf, math.inf]


def test_missing_joins_any_interval() -> None:
    """Missing (the last code) may side with either end or stand alone."""
    codes, costs = np.arange(4)[None, :], ERRORS[2]
    for labels, expected in [([0, 0, 1, 0], [1, 0, 0, 0]), ([0, 0, 1, 1], [2, 0, 0, 0]), ([0, 1, 0, 1], [2, 1, 0, 0])]:
        case = (codes, np.eye(2)[labels], [feature("numeric", 3, True)], costs)
        assert best_trees(*case, 1, 4, 1) == expected
        assert list(best_rules(*case, 1, 4, 1).by_leaves) == expected


def test_costs_and_weights_decide_predictions() -> None:
    """One leaf with weights 3 and 1.5 and a dear second class predicts it: 3 * 1 < 1.5 * 4."""
    case = (np.array([[0, 1]]), np.array([[3.0, 0.5], [0.0, 1.0]]), [feature("nominal", 2)])
    assert best_trees(*case, np.array([[0.0, 1.0], [4.0, 0.0]]), 1, 2, 0) == [3.0, 2.0]
    assert best_rules(*case, np.array([[0.0, 1.0], [4.0, 0.0]]), 1, 2, 0).by_leaves == (3.0, 2.0)


def test_xor_needs_two_levels() -> None:
    """Exclusive or: nothing helps at depth 1; four leaves at depth 2 make no error."""
    codes = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    case = (codes, np.eye(2)[[0, 1, 1, 0]], [feature("nominal", 2)] * 2, ERRORS[2])
    assert best_trees(*case, 1, 4, 1) == [2, 2, 2, 2]
    assert best_trees(*case, 2, 4, 1) == [2, 2, 1, 0]
    assert best_rules(*case, 2, 4, 1).by_leaves == (2, 2, 1, 0)


# --- rules that are no tree -------------------------------------------------------------------------------------------


def test_rules_beat_trees() -> None:
    """With a prediction of its own for each of the five rules, rules make no error where every tree makes some."""
    cells = list(itertools.product((0, 1), repeat=3))
    of_cell = {
        cell: next(r for r, rule in enumerate(NOT_A_TREE) if all(cell[f] in codes for f, codes in rule))
        for cell in cells
    }
    counts = np.eye(5)[[of_cell[cell] for cell in cells]]
    case = (np.array(cells).T, counts, [feature("nominal", 2)] * 3, 1.0 - np.eye(5), 3, 5, 1)
    rules = best_rules(*case)
    assert rules.value == 0
    assert not is_tree(rule for rule, _ in rules.rules)
    assert best_trees(*case)[-1] == 1


def test_two_classes_suffice_to_beat_trees() -> None:
    """The same with two classes: some labels of the five rules leave every tree of five leaves behind."""
    better = 0
    for labels in itertools.product((0, 1), repeat=5):
        values = {
            cell: next(
                label
                for rule, label in zip(NOT_A_TREE, labels, strict=True)
                if all(cell[f] in codes for f, codes in rule)
            )
            for cell in itertools.product((0, 1), repeat=3)
        }
        case = (*cube(values), 3, 5, 1)
        assert best_rules(*case).value == 0
        better += best_trees(*case)[-1] > 0
    assert better > 0


# --- laws on random tables --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_laws(seed: int) -> None:
    """LP <= rules <= trees; leaves, depth and less support never hurt; the rules found have the loss that is said."""
    table, case = random_case(seed)
    codes, counts, features, costs, depth, leaves, support, categories = case
    rules, trees, relaxed = best_rules(*case), best_trees(*case), lp_rules(*case)
    if counts.sum() < support:
        assert rules is None
        assert trees == [math.inf] * leaves
        return
    assert rules is not None
    assert relaxed is not None
    assert relaxed <= rules.value + 1e-6
    assert all(r <= t for r, t in zip(rules.by_leaves, trees, strict=True))
    assert trees[0] == rules.by_leaves[0] == (counts @ costs).sum(axis=0).min()
    assert list(rules.by_leaves) == sorted(rules.by_leaves, reverse=True)
    assert trees == sorted(trees, reverse=True)

    deeper = best_trees(codes, counts, features, costs, depth + 1, leaves, support, categories)
    laxer = best_trees(codes, counts, features, costs, depth, leaves, support / 2, categories)
    narrow = best_trees(*case, max_children=2)
    assert all(a <= b for a, b in zip(deeper, trees, strict=True))
    assert all(a <= b for a, b in zip(laxer, trees, strict=True))
    assert all(a <= b for a, b in zip(trees, narrow, strict=True))
    # Binary trees may do all that multiway trees of two children can, and part one value from all others.
    assert all(a <= b for a, b in zip(best_trees(*case, splits="binary"), narrow, strict=True))

    facts = recompute(*samples(table), rules.rules, costs)
    assert facts.is_partition
    assert facts.loss == pytest.approx(rules.value)
    assert facts.depth <= depth
    assert facts.n_rules <= leaves
    assert facts.supports.min() >= support
    assert facts.supports.sum() == pytest.approx(counts.sum())


@pytest.mark.parametrize("seed", range(20))
def test_all_rules_is_the_plain_product(seed: int) -> None:
    """The row sets of rules are those of all combinations of at most `depth` features and one condition on each."""
    table, (codes, counts, features, _, depth, _, support, categories) = random_case(seed, max_values=3)
    weight = counts.sum(axis=1)
    plain = set()
    for size in range(depth + 1):
        for chosen in itertools.combinations(range(len(features)), size):
            for sets in itertools.product(*(conditions(features[f], categories) for f in chosen)):
                rows = [
                    i for i in range(table.n_rows) if all(codes[f, i] in s for f, s in zip(chosen, sets, strict=True))
                ]
                if rows and weight[rows].sum() >= support:
                    plain.add(sum(1 << i for i in rows))
    found = all_rules(codes, counts, features, depth, support, categories)
    assert set(found) == plain
    assert all(len(rule) <= depth for rule in found.values())


def test_a_longer_rule_does_not_hide_a_shorter_one() -> None:
    """Two conditions that cover the same rows as one on a later feature leave room for that one to be extended."""
    cells = [(a, b, a & b, c) for a, b, c in itertools.product((0, 1), repeat=3)]
    codes, counts = np.array(cells).T, np.ones((8, 1))
    rules = all_rules(codes, counts, [feature("nominal", 2)] * 4, 2, 1)
    rows = [i for i, cell in enumerate(cells) if cell[2] == 1 and cell[3] == 1]
    assert len(rows) == 1
    assert 1 << rows[0] in rules


@pytest.mark.parametrize("seed", range(40))
def test_trees_are_the_rule_sets_that_form_trees(seed: int) -> None:
    """The best tree equals the best of *all* sets of disjoint rules, condition by condition, that `is_tree` accepts."""
    shape = {"n_features": 2 + seed % 2, "n_rows": 5, "max_values": 3 - seed % 2, "missing": 0.2}
    _, (codes, counts, features, costs, depth, leaves, support, categories) = random_case(seed, **shape)
    depth, leaves = min(depth, 2 + seed % 2), min(leaves, 4)
    row_costs, weight = counts @ costs, counts.sum(axis=1)

    by_rows: dict[frozenset[int], list[tuple]] = {}
    for size in range(depth + 1):
        for chosen in itertools.combinations(range(len(features)), size):
            for sets in itertools.product(*(conditions(features[f], categories) for f in chosen)):
                rule = tuple(zip(chosen, sets, strict=True))
                rows = frozenset(i for i in range(len(weight)) if all(codes[f, i] in s for f, s in rule))
                if rows and weight[list(rows)].sum() >= support:
                    by_rows.setdefault(rows, []).append(rule)

    best = [math.inf] * leaves
    for cover in partitions(frozenset(range(len(weight))), by_rows):
        loss = sum(float(row_costs[list(rows)].sum(axis=0).min()) for rows in cover)
        if (
            len(cover) <= leaves
            and loss < best[len(cover) - 1]
            and any(is_tree(rules) for rules in itertools.product(*(by_rows[rows] for rows in cover)))
        ):
            best[len(cover) - 1] = loss
    expected = list(itertools.accumulate(best, min))
    assert best_trees(codes, counts, features, costs, depth, leaves, support, categories) == pytest.approx(expected)


# --- global rows ------------------------------------------------------------------------------------------------------


def test_a_global_row_by_hand() -> None:
    """Predicting class 1 on weight 3 of 4 costs what the cheapest such labels cost, and more than all is infeasible."""
    case = (*line([0, 0, 0, 1]), 1, 2, 1)
    second = np.array([[0.0, 1.0]] * 4)
    assert best_rules(*case, rows=[(second, 0.0)]).value == 0
    assert best_rules(*case, rows=[(second, 3.0)]).value == 2
    assert best_rules(*case, rows=[(second, 3.5)]).value == 3
    assert best_rules(*case, rows=[(second, 4.5)]) is None
    assert lp_rules(*case, rows=[(second, 4.5)]) is None


@pytest.mark.parametrize("seed", range(40))
def test_global_rows_by_plain_enumeration(seed: int) -> None:
    """With global rows the optimum is that of all partitions with all labels, and the rules found keep the rows."""
    _, case = random_case(seed, n_rows=6, n_features=2, max_values=4)
    codes, counts, features, costs, depth, leaves, support, categories = case
    rng = np.random.default_rng(1000 + seed)
    n_rows, n_classes = counts.shape
    rows = []
    for _ in range(1 + seed % 2):
        coefficient = rng.integers(-2, 4, size=(n_rows, n_classes)).astype(float)
        rows.append((coefficient, float(rng.integers(0, n_rows + 3))))

    sets = [
        frozenset(i for i in range(n_rows) if bits >> i & 1)
        for bits in all_rules(codes, counts, features, depth, support, categories)
    ]
    row_costs = counts @ costs
    expected = math.inf
    for cover in partitions(frozenset(range(n_rows)), sets):
        if len(cover) > leaves:
            continue
        for labels in itertools.product(range(n_classes), repeat=len(cover)):
            label_of = {i: label for part, label in zip(cover, labels, strict=True) for i in part}
            if all(sum(c[i, label_of[i]] for i in range(n_rows)) >= at_least for c, at_least in rows):
                expected = min(expected, sum(row_costs[i, label_of[i]] for i in range(n_rows)))

    result, relaxed = best_rules(*case, rows=rows), lp_rules(*case, rows=rows)
    if result is None:
        assert expected == math.inf
        return
    assert result.value == pytest.approx(expected)
    assert relaxed is not None
    assert relaxed <= result.value + 1e-6
    for coefficient, at_least in rows:
        assert global_value(codes, coefficient, result.rules) >= at_least


def test_a_global_row_that_never_binds_changes_nothing() -> None:
    """A row that every model satisfies leaves the optimum and the relaxation as they are."""
    for seed in range(20):
        _, case = random_case(seed, n_rows=8)
        free = [(np.zeros(case[1].shape), -1.0)]
        with_row, without = best_rules(*case, rows=free), best_rules(*case)
        assert (with_row is None) == (without is None)
        if with_row is not None and without is not None:
            assert with_row.by_leaves == without.by_leaves
            assert lp_rules(*case, rows=free) == pytest.approx(lp_rules(*case), abs=1e-7)


# --- known figures ----------------------------------------------------------------------------------------------------


def test_tic_tac_toe_known_figures() -> None:
    """Support 1 %, depth 2, 4 leaves: 288 errors with single values for trees and rules, LP 285; 282 with groups."""
    table = tic_tac_toe().table()
    case = (table.codes, table.statistics, table.features, ERRORS[2], 2, 4, 9.58)
    assert best_trees(*case, "values")[-1] == 288
    assert best_rules(*case, "values").value == 288
    assert lp_rules(*case, "values") == pytest.approx(285)
    assert best_trees(*case, "groups")[-1] == 282


def test_balance_scale_known_figure() -> None:
    """Support 1 %, depth 2, 4 leaves: 177 errors."""
    table = balance_scale().table()
    assert best_trees(table.codes, table.statistics, table.features, ERRORS[3], 2, 4, 6.25)[-1] == 177
