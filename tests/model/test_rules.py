"""Rules and rule sets."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from helpers.random_models import not_a_tree, paths_of, random_node, random_problem, reader
from omtree.data.table import UNKNOWN, Feature
from omtree.model.rules import CHUNK, Rule, RuleSet
from omtree.problem.graph import Condition


def two_rules(*, support: tuple[float, float]) -> RuleSet:
    """a = 0 and b = 0; b = 1: they overlap nowhere and leave a = 1, b = 0 to nobody."""
    features = [Feature(name, i, "nominal", 2, False, levels=(0, 1)) for i, name in enumerate("ab")]
    first = (Condition(0, (0,), "a = 0"), Condition(1, (0,), "b = 0"))
    second = (Condition(1, (1,), "b = 1"),)
    return RuleSet(
        [
            Rule(first, support[0], (support[0], 0.0), "no", 0.0, 0),
            Rule(second, support[1], (0.0, support[1]), "yes", 0.0, 1),
        ],
        features,
        ["no", "yes"],
    )


def slow_assign(rules: RuleSet, row: np.ndarray) -> int:
    """The documented answer, one row at a time."""
    failed = [sum(row[c.feature] not in c.codes for c in rule.conditions) for rule in rules]
    return min(range(len(rules)), key=lambda r: (failed[r], -rules[r].support, r))


@pytest.mark.parametrize("seed", range(20))
def test_assign_is_the_documented_answer(seed: int) -> None:
    """For any rules and any row, also one with values never seen, the fewest failures win, then weight, then order."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    paths = paths_of(random_node(rng, problem, 2)) + paths_of(random_node(rng, problem, 3))
    rules = RuleSet.from_paths(paths, reader(problem, ["a", "b", "c"]))
    codes = rng.integers(0, 6, size=(4, 200)).astype(np.uint8)
    codes[rng.random(codes.shape) < 0.1] = UNKNOWN
    assert rules.assign(codes).tolist() == [slow_assign(rules, row) for row in codes.T]


@pytest.mark.parametrize("seed", range(5))
def test_matches_says_which_rules_hold(seed: int) -> None:
    """`matches` agrees with evaluating each condition of each rule on each row."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    paths = paths_of(random_node(rng, problem, 3))
    rules = RuleSet.from_paths(paths, reader(problem, ["a", "b", "c"]))
    codes = rng.integers(0, 6, size=(4, 100)).astype(np.uint8)
    expected = [[all(row[c.feature] in c.codes for c in rule.conditions) for rule in rules] for row in codes.T]
    assert rules.matches(codes).tolist() == expected


def test_several_rules_hold_the_heaviest_speaks() -> None:
    """Where two rules hold, the one with the most training weight answers, whatever their order."""
    features = [Feature("a", 0, "nominal", 3, False, levels=(0, 1, 2))]
    light = Rule((Condition(0, (0, 1), "a in {0, 1}"),), 1.0, (1.0, 0.0), "no", 0.0, 0)
    heavy = Rule((Condition(0, (1, 2), "a in {1, 2}"),), 2.0, (0.0, 2.0), "yes", 0.0, 1)
    row = np.array([[1]], dtype=np.uint8)
    assert RuleSet([light, heavy], features, ["no", "yes"]).assign(row).tolist() == [1]
    assert RuleSet([heavy, light], features, ["no", "yes"]).assign(row).tolist() == [0]


def test_no_rule_holds_the_nearest_speaks() -> None:
    """Where none holds, fewest failures decide, then weight, then order."""
    nobody = np.array([[1], [0]], dtype=np.uint8)
    assert two_rules(support=(1.0, 2.0)).assign(nobody).tolist() == [1]
    assert two_rules(support=(2.0, 1.0)).assign(nobody).tolist() == [0]
    assert two_rules(support=(1.0, 1.0)).assign(nobody).tolist() == [0]


def test_many_rows_are_answered_in_pieces() -> None:
    """More rows than one piece holds get the same answers as row by row pieces."""
    rules = two_rules(support=(1.0, 2.0))
    codes = np.random.default_rng(0).integers(0, 2, size=(2, CHUNK + 7)).astype(np.uint8)
    expected = np.where((codes[0] == 0) & (codes[1] == 0), 0, 1)
    assert (rules.assign(codes) == expected).all()
    assert (rules.matches(codes)[:, 1] == (codes[1] == 1)).all()


def test_from_paths_weighs_each_rule() -> None:
    """Class weights, support and loss of each rule are those of the rows it covers."""
    paths, problem = not_a_tree()
    rules = RuleSet.from_paths(paths, reader(problem, ["no", "yes"]))
    row_costs = problem.row_costs()
    for path, rule in zip(paths, rules, strict=True):
        inside = path.covers(problem.table.codes)
        assert rule.class_weights == tuple(problem.table.statistics[inside].sum(axis=0))
        assert rule.support == problem.table.statistics[inside].sum()
        assert rule.loss == row_costs[inside, path.label].sum()
        assert rule.prediction == ["no", "yes"][path.label]
    assert rules.support == problem.table.statistics.sum()
    assert rules.depth == 3


def test_by_support_puts_the_heaviest_first() -> None:
    """`by_support` sorts by weight and keeps every answer."""
    paths, problem = not_a_tree()
    rules = RuleSet.from_paths(paths, reader(problem, ["no", "yes"]))
    ordered = rules.by_support()
    supports = [rule.support for rule in ordered]
    assert supports == sorted(supports, reverse=True)
    codes = problem.table.codes
    assert [ordered[r] for r in ordered.assign(codes)] == [rules[r] for r in rules.assign(codes)]


def test_rule_sets_read_well() -> None:
    """A printed rule set says conditions, prediction, rows and shares."""
    assert str(two_rules(support=(1.0, 3.0))) == (
        "1  if a = 0 and b = 0 then no\n"
        "   1 row (25.0 %): no 100.0 %\n"
        "2  if b = 1 then yes\n"
        "   3 rows (75.0 %): yes 100.0 %"
    )
    assert str(Rule((), 1.0, (1.0,), "no", 0.0, 0)) == "always no"


def test_pickle_keeps_the_answers() -> None:
    """A rule set survives pickling."""
    rules = two_rules(support=(1.0, 2.0))
    codes = np.array([[0, 1, 1], [0, 0, 1]], dtype=np.uint8)
    again = pickle.loads(pickle.dumps(rules))
    assert again.rules == rules.rules
    assert (again.assign(codes) == rules.assign(codes)).all()


def test_a_condition_with_or_is_set_apart() -> None:
    """Joined by "and", a condition that says "or" stands in parentheses; alone it needs none."""
    young = Condition(0, (0, 2), "age < 18 or missing")
    small = Condition(1, (0,), "size = S")
    rule = Rule((young, small), 1.0, (1.0, 0.0), "no", 0.0, 0)
    assert str(rule) == "if (age < 18 or missing) and size = S then no"
    assert str(replace(rule, conditions=(young,))) == "if age < 18 or missing then no"
