"""Edits by pointing, on trees of numbers, categories and missing cells."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from omtree import OptimalTreeClassifier
from omtree.constraints import from_tables, loads, to_toml
from omtree.export.saving import from_json
from omtree.model.tree import Tree, TreeNode
from omtree.studio.edits import cuts_of, with_edit, without_columns


def rows(n: int = 240) -> tuple[pd.DataFrame, np.ndarray]:
    """A number with missing cells, two categories, and a noisy answer."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        {"a": rng.normal(size=n).round(2), "c": rng.choice(list("pqrs"), n), "d": rng.choice(["on", "off"], n)}
    )
    score = X["a"] + 1.5 * X["c"].isin(["p", "q"]) * (X["d"] == "on") + rng.normal(scale=0.4, size=n)
    X.loc[rng.random(n) < 0.08, "a"] = np.nan
    return X, np.where(score > 0.6, "yes", "no")


def fitted(constraints: Any = ()) -> OptimalTreeClassifier:
    """A tree that keeps to tables."""
    X, y = rows()
    model = OptimalTreeClassifier(
        max_depth=3, max_leaves=7, binning="quantile", n_bins=5, constraints=from_tables(constraints)
    )
    return model.fit(X, y)


def name_of(tree: Tree, node: TreeNode) -> str | None:
    """The column that a node asks about."""
    return None if node.feature is None else tree.rules.features[node.feature].name


def same_place(old: Tree, index: int, new: Tree) -> TreeNode:
    """The node of a new tree that rows of a node of the old one come to, by the conditions on the way."""
    way: list[Any] = []
    node = old.nodes[index]
    while node.parent is not None:
        way.insert(0, node.condition)
        node = old.nodes[node.parent]
    here = new.nodes[0]
    for condition in way:
        assert here.feature == condition.feature
        # Missing cells may go another way.
        codes = {code for code in condition.codes if code < old.rules.features[condition.feature].n_values}
        kept = {
            child: {c for c in new.nodes[child].condition.codes if c < new.rules.features[here.feature].n_values}
            for child in here.children
        }
        here = new.nodes[next(child for child, own in kept.items() if own == codes)]
    return here


@pytest.fixture(scope="module")
def first() -> OptimalTreeClassifier:
    """The tree before any edit, as a session has it: from a file."""
    model = from_json(fitted().to_json(sizes=False))
    assert isinstance(model, OptimalTreeClassifier)
    return model


def test_every_edit_of_every_node(first):
    """Each edit of each node gives a tree that does what was wanted there, and that is no better than before."""
    tree = first.tree_
    assert tree is not None
    done = 0
    for node in tree.nodes:
        asked = name_of(tree, node)
        wanted: list[tuple[str, Any]] = [("ban", "c")]
        wanted += [("lock", None), ("collapse", None)] if asked else [("answer", "yes")]
        for action, value in wanted:
            tables = with_edit((), tree, node.index, action, value)
            model = fitted(tables)
            assert model.certificate_.value >= first.certificate_.value - 1e-9
            assert all(check.met for check in model.certificate_.constraints)
            assert loads(to_toml(from_tables(tables))) == from_tables(tables)
            json.dumps(tables)
            here = same_place(tree, node.index, model.tree_)
            if action == "lock":
                assert name_of(model.tree_, here) == asked
                assert model.certificate_.value == pytest.approx(first.certificate_.value)
            elif action == "collapse":
                assert here.is_leaf
            elif action == "answer":
                assert model.rules_[here.rule].prediction == "yes"
            else:
                below = [here, *(n for n in model.tree_.nodes if is_below(model.tree_, n, here.index))]
                assert all(name_of(model.tree_, n) != "c" for n in below)
            done += 1
    assert done >= 15


def is_below(tree: Tree, node: TreeNode, above: int) -> bool:
    """Whether a node comes after another on a path."""
    while node.parent is not None:
        if node.parent == above:
            return True
        node = tree.nodes[node.parent]
    return False


def test_another_question(first):
    """A question can be changed, at the root and elsewhere, and a leaf can be asked to go on."""
    tree = first.tree_
    for node in tree.nodes:
        if node.depth > 1:
            continue
        # The column above cannot be asked about again at once: that is one question with more branches.
        other = next(name for name in ("d", "c") if name != name_of(tree, node))
        model = fitted(with_edit((), tree, node.index, "change", other))
        assert name_of(model.tree_, same_place(tree, node.index, model.tree_)) == other


def test_edits_add_up(first):
    """A second edit keeps the first, and an edit of the same node takes the place of what was said there."""
    tree = first.tree_
    root = name_of(tree, tree.nodes[0])
    tables = with_edit(({"type": "min_support", "n": 5},), tree, 0, "lock")
    second = fitted(tables).tree_
    leaf = next(node for node in second.nodes if node.is_leaf and node.depth < 3)
    tables = with_edit(tables, second, leaf.index, "answer", "yes")
    model = fitted(tables)
    assert name_of(model.tree_, model.tree_.nodes[0]) == root
    assert model.rules_[same_place(second, leaf.index, model.tree_).rule].prediction == "yes"
    assert [table["type"] for table in tables] == ["min_support", "force"]
    other = next(name for name in ("a", "c", "d") if name != root)
    changed = with_edit(tables, model.tree_, 0, "change", other)
    assert changed[-1]["tree"] == {"split": other}


@pytest.mark.parametrize(
    ("node", "action", "value", "sentence"),
    [
        (99, "lock", None, "no node 99"),
        (True, "lock", None, "no node True"),
        (0, "ban", "nothing", "no column 'nothing'"),
        (0, "paint", None, "'paint' is nothing"),
    ],
)
def test_faults(first, node, action, value, sentence):
    """What cannot be done is said in a sentence."""
    with pytest.raises(ValueError) as fault:
        with_edit((), first.tree_, node, action, value)
    assert sentence in str(fault.value)


def test_leaf_has_no_question(first):
    """A leaf cannot be locked, and answers only classes that there are."""
    leaf = next(node.index for node in first.tree_.nodes if node.is_leaf)
    for action, value, sentence in (("lock", None, "no question"), ("answer", "maybe", "no class")):
        with pytest.raises(ValueError, match=sentence):
            with_edit((), first.tree_, leaf, action, value)


def test_move_a_cut() -> None:
    """A question is cut where a person wrote, its price is a sentence about it, and what is no cut is said."""
    model = fitted()
    tree = model.tree_
    node = next(n.index for n in tree.nodes if name_of(tree, n) == "a")
    assert [float(cut) for cut in cuts_of(tree, tree.nodes[node]).split(", ")]
    moved = fitted(with_edit((), tree, node, "move", "0.123 1.5"))
    here = same_place(tree, node, moved.tree_)
    assert cuts_of(moved.tree_, here) == "0.123, 1.5"
    assert any("cut at 0.123 and 1.5" in str(price) for price in moved.prices_)
    for wrong in ("", "many", "nan", "1 2 3 4 5 6 7 8 9"):
        with pytest.raises(ValueError, match="no cuts of 'a'"):
            with_edit((), tree, node, "move", wrong)
    leaf = next(n.index for n in tree.nodes if n.is_leaf)
    with pytest.raises(ValueError, match="Only a question about a number"):
        with_edit((), tree, leaf, "move", "1")


def test_move_a_cut_of_dates() -> None:
    """Cuts of dates are written as dates."""
    days = pd.date_range("2024-01-01", periods=200)
    X = pd.DataFrame({"day": days, "b": np.arange(200) % 7})
    model = OptimalTreeClassifier(max_depth=1).fit(X, np.where(days < "2024-03-11", "old", "new"))
    assert cuts_of(model.tree_, model.tree_.nodes[0]) == "2024-03-11"
    tables = with_edit((), model.tree_, 0, "move", "2024-04-01")
    moved = OptimalTreeClassifier(max_depth=1, constraints=from_tables(tables)).fit(X, model.predict(X))
    assert moved.certificate_.value == 21


def test_the_last_wish_counts():
    """A banned column is asked about nowhere below, whatever was kept before; asked for again, it is allowed."""
    kept = fitted()
    tree = kept.tree_
    below = next(node for node in tree.nodes if node.depth == 1 and node.feature is not None)
    tables = with_edit((), tree, below.index, "lock")
    root = name_of(tree, tree.nodes[0])
    banned = with_edit(tables, tree, 0, "ban", root)
    assert banned == [{"type": "force", "tree": {"without": [root]}}]
    found = fitted(banned).tree_
    assert root not in {name_of(found, node) for node in found.nodes}
    # Only what asks about the column goes, and what hangs on it.
    asked = name_of(tree, below)
    other = with_edit(tables, tree, 0, "ban", asked)[0]["tree"]
    assert other["split"] == root
    assert other["without"] == [asked]
    assert not any("split" in each for each in other["below"])
    again = with_edit(banned, found, 0, "change", root)
    assert again == [{"type": "force", "tree": {"split": root}}]
    assert name_of(fitted(again).tree_, fitted(again).tree_.nodes[0]) == root
    # A column that may not be asked about anywhere is named nowhere; nothing is left of what hung on it.
    budget = {"type": "budget", "costs": {"a": 1.0}, "limit": 2.0}
    assert without_columns([budget, *tables], [root]) == [budget]
    assert without_columns([budget, *banned], [root]) == [budget]
    assert without_columns(tables, ["unknown"]) == tables
