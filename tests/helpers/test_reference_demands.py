"""The meaning of the constraints, by hand on four samples."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers.every_model import Labelled, Leaf
from helpers.reference_demands import DEMANDS, World, best_meeting, meets
from helpers.reference_losses import error, on_rows
from helpers.tiny_frames import Tiny, code

#: Rows in order: class 0 1 1 1, weight 1 2 3 4, group a b a b; one row each.
DATA = Tiny(
    pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "z": [0.0, 0.0, 1.0, 1.0]}),
    np.array([0, 1, 1, 1]),
    np.array([1.0, 2.0, 3.0, 4.0]),
    np.array(["a", "b", "a", "b"]),
)
TREE, RULES = (World(DATA, code(DATA.X), structure) for structure in ("tree", "rules"))


def leaf(rows: set[int], *path: int) -> Leaf:
    return Leaf({feature: frozenset({0}) for feature in path}, frozenset(rows), path)


def labelled(*labels: int) -> Labelled:
    """A rule for each row."""
    return tuple((leaf({row}, 0), label) for row, label in enumerate(labels))


@pytest.mark.parametrize(
    ("name", "rule", "label", "expected"),
    [
        ("MinSupport", leaf({0, 1}), 0, True),
        ("MinSupport", leaf({1}), 0, False),
        ("MaxSupport", leaf({3}), 0, True),
        ("MaxSupport", leaf({0, 3}), 0, False),
        ("MinConfidence", leaf({0, 2}), 1, True),
        ("MinConfidence", leaf({0, 1}), 1, False),
        ("MinConfidence", leaf({0, 2}), 0, False),
        ("MinClassCount", leaf({0, 1}), 0, True),
        ("MinClassCount", leaf({0}), 0, False),
        ("Budget", leaf({0}, 1), 0, True),
        ("Budget", leaf({0}, 0, 1), 0, False),
        ("Budget in groups", leaf({0}, 0, 1), 0, False),
        # Group a: no class 1 of weight 1, class 1 of weight 3; group b: all of class 1.
        ("RuleParity of positive_rate", leaf({0, 1, 2}), 1, True),
        ("RuleParity of positive_rate", leaf({0, 1}), 1, False),
        ("RuleParity of accuracy", leaf({0, 1}), 0, False),
        ("RuleParity of accuracy", leaf({0}), 1, True),
        # 3/4 of group a against 4/6 or 2/6 of group b.
        ("RuleParity of coverage", leaf({2, 3}), 1, True),
        ("RuleParity of coverage", leaf({2, 1}), 1, False),
        # 4/6 of group b against none of group a.
        ("RuleParity of coverage", leaf({3}), 1, False),
        ("Forbid", leaf({0}, 0, 1), 0, False),
        ("Together", leaf({0}, 1), 0, False),
        ("Together", leaf({0}), 0, True),
        ("Requires", leaf({0}, 0), 0, False),
        ("Requires", leaf({0}, 1), 0, True),
        ("Requires", leaf({0}, 1, 0), 0, True),
        ("Once", leaf({0}, 0, 1), 0, False),
        ("Exclude", leaf({0}, 1), 0, True),
        ("Exclude", leaf({0}, 1, 0), 0, False),
        ("Root", leaf({0}), 0, False),
        ("Root", leaf({0}, 1, 0), 0, True),
    ],
)
def test_demands_on_a_rule(name: str, rule: Leaf, label: int, expected: bool) -> None:
    """A rule with its label is allowed or not, in a tree as in a set of rules."""
    ok = DEMANDS[name].rule_ok
    assert ok is not None
    assert ok(TREE, rule, label) == ok(RULES, rule, label) == expected


@pytest.mark.parametrize("name", ["Requires", "strict Order", "Root"])
def test_only_trees_have_an_order_of_tests(name: str) -> None:
    """The first column above the second is forbidden in a tree; a rule that has both is fine in a set of rules."""
    ok = DEMANDS[name].rule_ok
    assert ok is not None
    assert not ok(TREE, leaf({0}, 0, 1), 0)
    assert ok(TREE, leaf({0}, 1, 0), 0)
    assert ok(RULES, leaf({0}, 0, 1), 0)


@pytest.mark.parametrize(
    ("name", "labels", "expected"),
    [
        # Class 1 has weight 9.
        ("Recall at_least 0.9", (0, 1, 1, 1), True),
        ("Recall at_least 0.9", (0, 0, 1, 1), False),
        ("Recall from 0.4 to 0.7", (0, 1, 0, 1), True),
        ("Precision at_least 0.9", (1, 1, 1, 1), True),
        ("Precision at_least 0.9", (1, 1, 0, 0), False),
        ("Precision at_least 0.9", (0, 0, 0, 0), True),
        ("Specificity at_least 0.9", (1, 1, 1, 1), False),
        ("FalsePositiveRate at_most 0.1", (0, 0, 0, 1), True),
        ("Accuracy at_least 0.8", (1, 1, 1, 1), True),
        ("Accuracy at_least 0.8", (1, 0, 1, 1), False),
        # Shares given class 1: 3/4 of a; 4/6, or all, of b. Recalls: all of a; 4/6, or all, of b.
        ("StatisticalParity", (0, 0, 1, 1), True),
        ("StatisticalParity", (0, 1, 1, 1), False),
        ("EqualOpportunity", (0, 1, 1, 1), True),
        ("EqualOpportunity", (0, 0, 1, 1), False),
        # Group b has no sample of class 0.
        ("PredictiveEquality", (1, 1, 1, 1), True),
        ("EqualizedOdds", (1, 0, 1, 1), False),
        ("Linear in labels", (1, 1, 1, 0), True),
        ("Linear in labels", (0, 1, 1, 0), False),
        ("Linear in conditions", (0, 1, 1, 0), True),
    ],
)
def test_demands_on_a_model(name: str, labels: tuple[int, ...], expected: bool) -> None:
    """A model with a rule for each row is allowed or not."""
    assert meets(TREE, [DEMANDS[name]], labelled(*labels)) == expected


def test_best_of_what_is_allowed() -> None:
    """Four rows 0 1 1 1 of weights 1 to 4 in two leaves, free and under single constraints."""
    loss = on_rows(error(2), DATA.y, DATA.weight, TREE.coded.row_of)
    for world in (TREE, RULES):
        limits = {"max_depth": 2, "max_leaves": 2}
        assert best_meeting(world, [], loss, 1, **limits).value == 0
        assert best_meeting(world, [DEMANDS["MinSupport"]], loss, 1, **limits).value == 1
        # No two leaves have at most 4 each of a weight of 10.
        assert best_meeting(world, [DEMANDS["MaxSupport"]], loss, 1, **limits) is None
        # An eighth of 2 for all of the weight is more than the one error without a cut.
        assert best_meeting(world, [DEMANDS["Budget in the loss"]], loss, 1, **limits).value == 1
        assert best_meeting(world, [DEMANDS["Exclude"]], loss, 1, **limits).value == 1
