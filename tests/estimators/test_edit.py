"""Changes to a fitted tree: every edit against all trees, and prices as differences of proven optima."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers.forced_oracle import cheapest, tiny
from omtree import InfeasibleError, OptimalTreeClassifier, OptimalTreeRegressor
from omtree.constraints import Exclude, Force, Recall, Root


def fitted(seed: int, splits: str = "multiway", **options: Any) -> tuple[pd.DataFrame, np.ndarray, Any]:
    """A tree of depth two over few values, and its rows."""
    X, y = tiny(seed)
    settings: dict[str, Any] = {"max_depth": 2, "max_leaves": 5, "min_samples_leaf": 1, "binning": "exact", **options}
    return X, y, OptimalTreeClassifier(splits=splits, **settings).fit(X, y)  # type: ignore[arg-type]


def spec_of(of: Any) -> dict[str, Any]:
    """What a refitted model, or an edit, forces."""
    return next(constraint.tree for constraint in of.constraints if isinstance(constraint, Force))


def leaf_of(model: Any) -> int:
    """A leaf of its tree, as high up as there is one."""
    return min((node.depth, node.index) for node in model.tree_.nodes if node.is_leaf)[1]


def inner_of(model: Any, column: str | None = None) -> int:
    """A split below the root, or the root where there is none; of a column where that is given."""
    names = [feature.name for feature in model.rules_.features]
    found = [n.index for n in model.tree_.nodes if not n.is_leaf and column in (None, names[n.feature])]
    return next(reversed(found))


EDITS = {
    "lock": lambda model, edit: edit.lock(inner_of(model)),
    "lock a leaf": lambda model, edit: edit.lock(leaf_of(model)),
    "ban": lambda model, edit: edit.ban("x"),
    "ban below": lambda model, edit: edit.ban("x", below=inner_of(model)).ban("f", below=leaf_of(model)),
    "replace": lambda model, edit: edit.replace(0, "f"),
    "replace with cuts": lambda model, edit: edit.replace(0, "x", at=[1.25]),
    "replace with groups": lambda model, edit: edit.replace(0, "c", groups=[["q"], ["p", "r"]]),
    "merge": lambda model, edit: edit.merge(inner_of(model)),
    "split": lambda model, edit: edit.split(leaf_of(model)),
    "answer": lambda model, edit: edit.answer(leaf_of(model), 1).lock(0),
}


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("name", EDITS)
def test_equals_all_trees(name: str, splits: str) -> None:
    """A refit has the fewest errors of all trees that grant the wishes; each price is a difference of two of those."""
    done = 0
    for seed in range(3):
        X, y, model = fitted(seed, splits)
        rows = frozenset(range(len(y)))
        options = {"binary": splits == "binary"}
        free = cheapest(X, y, {}, rows, 2, 5, **options)[5]
        assert model.certificate_.value == free
        edit = EDITS[name](model, model.edit())
        expected = cheapest(X, y, spec_of(edit), rows, 2, 5, **options)[5]
        if math.isinf(expected):
            with pytest.raises((InfeasibleError, ValueError)):
                edit.refit()
            continue
        done += 1
        other = edit.refit()
        assert other.certificate_.value == expected == (other.predict(X) != y).sum()
        assert other.certificate_.status == "optimal"
        for place, price in enumerate(other.prices_):
            rest = [wish for i, wish in enumerate(edit.wishes) if i != place]
            without = free
            if rest:
                alone = next(c.tree for c in edit._constraints(rest) if isinstance(c, Force))
                without = cheapest(X, y, alone, rows, 2, 5, **options)[5]
            assert price.proven
            assert (price.without, price.price) == (without, expected - without)
    assert done > 0


def given_cuts(spec: dict[str, Any], column: str) -> list[float]:
    """The cuts of a column in a part that is given."""
    own = list(spec.get("at", ())) if spec.get("split") == column else []
    return own + [cut for child in spec.get("below", ()) for cut in given_cuts(child, column)]


COARSE = {
    "move": lambda model, cut: model.edit().move(inner_of(model, "x"), [cut]),
    "move to two": lambda model, cut: model.edit().move(inner_of(model, "x"), [cut - 1, cut]),
    "replace": lambda model, cut: model.edit().replace(0, "x", at=[cut]),
    "replace and ban": lambda model, cut: model.edit().replace(0, "x", at=[cut]).ban("c"),
    "replace by a column": lambda model, cut: model.edit().replace(0, "c"),
    "replace by groups": lambda model, cut: model.edit().replace(0, "c", groups=[["q"], ["p", "r"]]),
    "lock": lambda model, cut: model.edit().lock(inner_of(model)),
    "ban": lambda model, cut: model.edit().ban("x"),
    "merge": lambda model, cut: model.edit().merge(inner_of(model)),
    "split": lambda model, cut: model.edit().split(leaf_of(model), "x"),
    "answer": lambda model, cut: model.edit().answer(leaf_of(model), 1),
}


@pytest.mark.parametrize("splits", ["multiway", "binary"])
@pytest.mark.parametrize("name", COARSE)
def test_prices_over_few_cuts(name: str, splits: str) -> None:
    """Where the fit knows few cuts, a wish may bring others: both optima of its price have them, so it is never less
    than nothing, and equals the difference of two trees found by trying all over the cuts of the fit and the wishes."""
    done = 0
    for seed in range(4):
        for cut in (1.25, 2.25):
            X, y, model = fitted(seed, splits, binning="quantile", n_bins=2)
            try:
                edit = COARSE[name](model, cut)
            except StopIteration:
                continue  # no node to do this at
            known = {f.name: f.thresholds.tolist() for f in model._bench.features() if f.thresholds is not None}
            asked = {column: [*cuts, *given_cuts(spec_of(edit), column)] for column, cuts in known.items()}
            options: dict[str, Any] = {"binary": splits == "binary", "cuts": asked}
            rows = frozenset(range(len(y)))
            expected = cheapest(X, y, spec_of(edit), rows, 2, 5, **options)[5]
            if math.isinf(expected):
                with pytest.raises((InfeasibleError, ValueError)):
                    edit.refit()
                continue
            other = edit.refit()
            assert other.certificate_.value == expected == (other.predict(X) != y).sum()
            for place, price in enumerate(other.prices_):
                rest = [c.tree for c in edit._constraints([w for i, w in enumerate(edit.wishes) if i != place])]
                without = cheapest(X, y, rest[0] if rest else {}, rows, 2, 5, **options)[5]
                assert price.proven
                assert (price.without, price.price) == (without, expected - without)
                assert price.price >= 0
                done += 1
    # A binary node has one cut.
    assert (done > 0) == ((name, splits) != ("move to two", "binary"))


def test_move_and_keep_all() -> None:
    """A moved cut is where it was put; with keep="all" the other nodes stay."""
    _, _, model = fitted(0, "binary")
    root = model.tree_.nodes[0]
    number = model.edit().replace(0, "x", at=[1.25]).refit()
    moved = number.edit().move(0, [2.2]).refit()
    assert "x < 2.2" in moved.to_text()
    leaf = leaf_of(model)
    kept = model.edit(keep="all").answer(leaf, 1).refit()
    before = [str(n.condition) for n in model.tree_.nodes]
    assert [str(n.condition) for n in kept.tree_.nodes] == before
    assert kept.tree_.nodes[0].feature == root.feature
    rule = kept.tree_.nodes[leaf].rule
    assert kept.rules_[rule].prediction == 1
    again = kept.edit().lock(0).refit()
    assert again.certificate_.value >= model.certificate_.value


def test_prices_of_constraints() -> None:
    """A constraint costs the difference to the best tree without it, over the same thresholds."""
    X, y = tiny(5, 60)
    options: dict[str, Any] = {"max_depth": 2, "min_samples_leaf": 1, "binning": "exact"}
    given = [Root("f"), Exclude("x"), Recall(1, at_least=0.8)]
    model = OptimalTreeClassifier(**options, constraints=given).fit(X, y)
    for place, price in enumerate(model.prices_):
        rest = given[:place] + given[place + 1 :]
        other = OptimalTreeClassifier(**options, constraints=rest).fit(X, y)
        assert price.without == other.certificate_.value
        assert price.price == model.certificate_.value - other.certificate_.value
        assert str(price).startswith(given[place].title)
    assert OptimalTreeClassifier(max_depth=2).fit(X, y).prices_ == ()


def test_numbers_and_words() -> None:
    """A regressor can be edited; wishes and prices are sentences; wrong nodes are named."""
    X, y = tiny(6, 60)
    model = OptimalTreeRegressor(max_depth=2).fit(X, y + X.x)
    other = model.edit().replace(0, "f").refit()
    assert other.prices_[0].price == pytest.approx(other.certificate_.value - model.certificate_.value)
    assert str(other.prices_[0]).startswith("Test 'f' first costs ")
    with pytest.raises(ValueError, match="node=99"):
        model.edit().lock(99)
    with pytest.raises(ValueError, match="is a leaf"):
        model.edit().merge(leaf_of(model))
    with pytest.raises(ValueError, match="is no leaf"):
        model.edit().split(0)
    with pytest.raises(ValueError, match="keep='none'"):
        model.edit(keep="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="about classes"):
        model.edit().answer(0, 1).refit()
    with pytest.raises(ValueError, match="do not go together"):
        model.edit().lock(leaf_of(model)).merge(0)


@pytest.mark.parametrize("splits", ["multiway", "binary"])
def test_what_is_given_has_prices_one_by_one(splits: str) -> None:
    """Each thing that a Force asks for costs the difference to the best tree without it, and the way to it."""
    given: list[dict[str, Any]] = [
        {"split": "x", "at": [1.5], "below": [{"leaf": True}, {"without": ["c"]}]},
        {"split": "c", "groups": [["q"]], "without": ["x"], "below": [{"answer": 0}]},
        {"split": "f", "at": [0.5], "below": [{"split": "x"}, {"leaf": False, "without": ["x"]}]},
        {"split": "x", "at": [2.5]},
    ]
    words = set()
    for seed in range(3):
        for tree in given:
            X, y, model = fitted(seed, splits, constraints=[Force(tree)])
            rows, binary = frozenset(range(len(y))), splits == "binary"
            parts = Force(tree).one_by_one()
            assert [price.wish for price in model.prices_] == [text for text, _ in parts]
            assert model.certificate_.value == cheapest(X, y, Force(tree).tree, rows, 2, 5, binary=binary)[5]
            for price, (text, rest) in zip(model.prices_, parts, strict=True):
                without = cheapest(X, y, rest.tree if rest else {}, rows, 2, 5, binary=binary)[5]
                assert (price.without, price.price) == (without, model.certificate_.value - without)
                words.add(text)
    assert words == {
        "A leaf where x < 1.5",
        "Do not test 'c' where x >= 1.5",
        "Do not test 'x'",
        "Answer 0 where c is q",
        "Test 'x' where f < 0.5",
        "A test where f >= 0.5",
        "Do not test 'x' where f >= 0.5",
        "Test 'x' first, cut at 2.5,",
    }


def test_an_edit_says_which_cuts_were_compared() -> None:
    """A model over all cuts of many values has those of its tree alone; an edit of it does not claim more."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = ((X[:, 0] > 0.3) ^ (X[:, 1] > 0.1)).astype(int) ^ (rng.random(1500) < 0.1)
    model = OptimalTreeClassifier(max_depth=2, binning="exact").fit(X, y)
    assert "between any two values" in model.certificate_.search_space
    other = model.edit().ban("x0").refit()
    assert other.certificate_.cuts == "some"
    assert "thresholds per column" in other.certificate_.search_space
    assert "between any two values" not in other.certificate_.search_space


@pytest.mark.parametrize("splits", ["multiway", "binary"])
def test_wishes_of_a_fit_over_all_cuts_have_cuts_that_suit_them(splits: str) -> None:
    """Of 400 numbers a fit over all cuts keeps the few of its tree; with a column banned others are needed, and the
    edit is no worse than a fit that knows of the wish from the start."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    y = ((X["a"] > 0.3) ^ (X["b"] + 0.5 * X["c"] > 0)).astype(int)
    limits = {"max_depth": 2, "min_samples_leaf": 1, "splits": splits, "time_limit": None}
    model = OptimalTreeClassifier(binning="exact", **limits).fit(X, y)
    column = model.tree_.rules.features[model.tree_.nodes[0].feature].name
    edit = model.edit().ban(column)
    other = edit.refit(time_limit=None)
    told = OptimalTreeClassifier(constraints=list(edit.constraints), **limits).fit(X, y)
    assert other.certificate_.value <= told.certificate_.value
    (price,) = other.prices_
    assert price.proven
    assert price.without == model.certificate_.value == (model.predict(X) != y).sum()
    assert price.price == other.certificate_.value - price.without >= 0
