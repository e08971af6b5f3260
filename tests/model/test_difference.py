"""What changed between two trees."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

import omtree
from helpers.forced_oracle import tiny
from omtree import OptimalTreeClassifier


def test_every_kind_of_change() -> None:
    """Another column, other cuts, a leaf for a test, a test for a leaf, another answer; equal trees have none."""
    X, y = tiny(0, 60)
    model = OptimalTreeClassifier(max_depth=2, min_samples_leaf=1, binning="exact").fit(X, y)
    start = model.edit().replace(0, "x", at=[2.0]).refit()
    same = omtree.diff(start, start, X)
    assert same.changes == ()
    assert (same.changed, same.rows) == (0, 60)
    assert "The trees are the same." in str(same)
    other = start.edit().replace(0, "f").refit()
    assert omtree.diff(start, other).changes == ("At the root: a test of 'f' in place of 'x'.",)
    moved = start.edit().move(0, [1.25]).refit()
    other_cuts = omtree.diff(start, moved).changes[0]
    assert other_cuts.startswith("At the root: 'x' is split into x < 1.25; x >= 1.25 in place of")
    merged = start.edit().merge(0).refit()
    answer = merged.rules_[0].prediction
    leaf, test = f"a leaf that answers {answer}", "a test of 'x'"
    assert omtree.diff(start, merged).changes == (f"At the root: {leaf} in place of {test}.",)
    assert omtree.diff(merged, start).changes == (f"At the root: {test} in place of {leaf}.",)
    turned = merged.edit().answer(0, 1 - answer).refit()
    found = omtree.diff(merged, turned, X)
    assert found.changes == (f"At the root: the answer is {1 - answer} in place of {answer}.",)
    assert found.changed == 60
    assert "60 of 60 rows get another answer (100.0 %)." in str(found)


def test_the_picture() -> None:
    """Both trees are in one picture that parses, with what changed for a screen reader."""
    X, y = tiny(1, 60)
    model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    found = omtree.diff(model, model.with_leaves(2), X)
    picture = ET.fromstring(found.to_svg())
    inside = [element for element in picture if element.tag.endswith("svg")]
    assert len(inside) == 2
    assert any(element.text == str(found) for element in picture if element.tag.endswith("desc"))


def test_rules_are_refused() -> None:
    """Sets of rules that are no tree have no nodes to compare."""
    with pytest.raises(ValueError, match="two fitted trees"):
        omtree.diff(object(), object())
