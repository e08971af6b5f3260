"""The good trees of a fitted model, and what they tell."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest

from omtree import OptimalTreeClassifier, OptimalTreeRegressor
from omtree.constraints import Exclude, MaxSupport, MinSupport, Root, StatisticalParity
from omtree.estimators.alternatives import Alternatives, TreeCount
from omtree.report.page import render_report
from omtree.report.svg import escape


def flags(seed: int, n: int = 40) -> tuple[pd.DataFrame, np.ndarray]:
    """Three columns of zeros and ones, and a class that two of them nearly decide."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 2, size=(n, 3)), columns=["a", "b", "c"])
    return X, np.where(rng.random(n) < 0.2, 1 - (X.a & X.b), X.a & X.b).astype(int)


def every_tree(
    X: pd.DataFrame, y: np.ndarray, depth: int, least: int, price: float = 0.0
) -> dict[frozenset[frozenset[int]], int]:
    """Errors of every set of leaves of binary trees over flags in which each split into leaves saves its price."""

    def errors(rows: frozenset[int]) -> int:
        ones = sum(y[row] for row in rows)
        return int(min(ones, len(rows) - ones))

    def trees(rows: frozenset[int], levels: int) -> set[frozenset[frozenset[int]]]:
        found = {frozenset([rows])}
        for name in X.columns if levels else ():
            ones = frozenset(row for row in rows if X[name].iloc[row])
            sides = [rows - ones, ones]
            if min(map(len, sides)) < least:
                continue
            for left, right in itertools.product(*(trees(side, levels - 1) for side in sides)):
                leaves = left | right
                if len(leaves) > 2 or sum(map(errors, leaves)) + price < errors(rows) - 1e-9:
                    found.add(leaves)
        return found

    whole = frozenset(range(len(y)))
    return {leaves: sum(map(errors, leaves)) for leaves in trees(whole, depth) if min(map(len, leaves)) >= least}


def leaves_of(model: OptimalTreeClassifier, X: pd.DataFrame) -> frozenset[frozenset[int]]:
    """The leaves of a model as sets of rows."""
    rule = model.apply(X)
    return frozenset(frozenset(np.flatnonzero(rule == r).tolist()) for r in set(rule.tolist()))


@pytest.mark.parametrize("seed", range(4))
def test_equals_all_trees(seed: int) -> None:
    """A loop gives every tree within the margin once, in order, with the errors that it makes, and none besides."""
    X, y = flags(seed)
    model = OptimalTreeClassifier(max_depth=2, min_samples_leaf=2, splits="binary").fit(X, y)
    every = every_tree(X, y, 2, 2)
    best = min(every.values())
    for within in (0.0, 0.05, 0.1, None):
        most = 40 if within is None else best + within * len(y)
        expected = {leaves: errors for leaves, errors in every.items() if errors <= most}
        found = model.alternatives(None if within is not None else 10_000, within)
        errors = [int((other.predict(X) != y).sum()) for other in found]
        assert errors == sorted(errors) == [int(other.certificate_.value) for other in found]
        assert {leaves_of(other, X): e for other, e in zip(found, errors, strict=True)} == expected
        assert len(found) == len(expected)
        assert found.complete
        if within is not None:
            assert model.count_within(within) == TreeCount(len(expected), True)


def test_lazily() -> None:
    """A loop that ends early gives the same trees as the whole list, also past the first ones looked for."""
    X, y = flags(5, 200)
    X["d"] = np.random.default_rng(0).integers(0, 6, 200)
    model = OptimalTreeClassifier(max_depth=3, min_samples_leaf=1).fit(X, y)
    some = list(itertools.islice(model.alternatives(n=5, within=None), 5))
    many = model.alternatives(n=300, within=None)
    first = [other.certificate_.value for other in itertools.islice(many, 5)]
    assert first == [other.certificate_.value for other in some]
    assert len(many) == 300
    assert len({leaves_of(other, X) for other in many}) == 300
    assert (np.diff(many.losses) >= 0).all()
    assert many.reached == many.losses[-1]
    assert many[0].certificate_.status == "optimal"
    assert many[-1].certificate_.status == "alternative"
    assert "no other has less than" in str(many)


def test_what_the_set_tells() -> None:
    """Roots, ranges and disagreement are those of the listed models."""
    X, y = flags(2)
    found = OptimalTreeClassifier(max_depth=2, min_samples_leaf=2).fit(X, y).alternatives(None, 0.1)
    models = list(found)
    roots = [X.columns[m.tree_.nodes[0].feature] for m in models if m.tree_.nodes[0].feature is not None]
    assert found.roots() == {name: roots.count(name) / len(models) for name in found.roots()}
    for name, span in found.importance_range().items():
        uses = [any(X.columns[n.feature] == name for n in m.tree_.nodes if n.feature is not None) for m in models]
        with_it = found.losses[np.array(uses)]
        without = found.losses[~np.array(uses)]
        expected = [with_it.min(), with_it.max()] if len(with_it) else [np.nan, np.nan]
        expected += [without.min(), without.max()] if len(without) else [np.nan, np.nan]
        np.testing.assert_equal([span.least_with, span.most_with, span.least_without, span.most_without], expected)
    ones = np.mean([m.predict(X) == 1 for m in models], axis=0)
    assert found.disagreement(X) == pytest.approx(np.minimum(ones, 1 - ones))
    assert found.ranks[0] == 1
    assert all(
        (a == b) == (x == y_) for (a, x), (b, y_) in itertools.pairwise(zip(found.ranks, found.losses, strict=True))
    )
    assert found.gallery().count("<figure") == len(models)
    assert [facts["leaves"] for facts in found.facts()] == [m.tree_.n_leaves for m in models]


def test_numbers_and_constraints() -> None:
    """Margins of numbers are parts of the loss of the mean; constraints on rules hold for every tree."""
    X, y = flags(3, 120)
    target = y + X.c * 0.5 + np.arange(120) / 500
    model = OptimalTreeRegressor(max_depth=2).fit(X, target)
    spread = float(((target - target.mean()) ** 2).sum())
    found = model.alternatives(None, 0.1)
    assert len(found) > 1
    assert (found.losses <= model.certificate_.value + 0.1 * spread + 1e-9).all()
    for other in found:
        assert ((other.predict(X) - target) ** 2).sum() == pytest.approx(other.certificate_.value)
    for constraints in ([Root("c")], [MaxSupport(0.6), MinSupport(10)], [Exclude("a")]):
        held_model = OptimalTreeClassifier(max_depth=2, constraints=constraints).fit(X, y)
        held = held_model.alternatives(20, None, trivial=True)
        assert len(held) > 1
        for other in held:
            assert all(check.slack >= -1e-9 for check in other.audit(X, y))
            assert other.certificate_.constraints == other.audit(X, y)


def test_over_all_cuts() -> None:
    """Where the fit looked at all cuts of its columns, so do its alternatives: the first is as good."""
    rng = np.random.default_rng(7)
    X = rng.integers(0, 30, size=(80, 2)) / 1.0
    y = (X[:, 0] + X[:, 1] + rng.normal(0, 6, 80) > 29).astype(int)
    model = OptimalTreeClassifier(max_depth=2, binning="exact", splits="binary", min_samples_leaf=1).fit(X, y)
    found = model.alternatives(n=20, within=None)
    errors = [int((other.predict(X) != y).sum()) for other in found]
    assert errors == sorted(errors) == found.losses.tolist()
    assert errors[0] == model.certificate_.value


def test_smaller_trees_and_limits() -> None:
    """A model of fewer leaves has alternatives of as few; without time there is the model itself, and that is said."""
    X, y = flags(4)
    model = OptimalTreeClassifier(max_depth=2, min_samples_leaf=1).fit(X, y)
    small = model.with_leaves(2).alternatives(100, None, trivial=True)
    assert max(other.tree_.n_leaves for other in small) == 2
    assert small.complete
    none = model.alternatives(10, None, time_limit=1e-9)
    assert isinstance(none, Alternatives)
    assert len(none) == 1
    assert not none.complete
    assert none.reached == none.losses[0] == model.certificate_.value
    assert leaves_of(none[0], X) == leaves_of(model, X)
    assert "no other has less than" in str(none)


def test_refusals() -> None:
    """What cannot be answered is said in a sentence that names the parameter or what to do."""
    X, y = flags(1)
    model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    for options, said in (({"n": 0}, "n=0"), ({"within": -1}, "within=-1"), ({"n": None, "within": None}, "both None")):
        with pytest.raises(ValueError, match=said):
            model.alternatives(**options)
    with pytest.raises(ValueError, match="fit it again"):
        pickle.loads(pickle.dumps(model)).alternatives()
    with pytest.raises(ValueError, match="structure='tree'"):
        OptimalTreeClassifier(max_depth=2, structure="rules").fit(X, y).alternatives()
    with pytest.raises(ValueError, match="adds up"):
        OptimalTreeClassifier(max_depth=2, objective="f1").fit(X, y).alternatives()
    with pytest.raises(ValueError, match="max_depth"):
        OptimalTreeClassifier(max_depth=None, max_leaves=None, leaf_price=0.01).fit(X, y).alternatives()


@pytest.mark.parametrize("price", [0.003, 0.03])
def test_price_of_a_leaf(price: float) -> None:
    """With a price every leaf counts: the trees are those of all whose errors and price are within the margin."""
    for seed in range(3):
        X, y = flags(seed)
        model = OptimalTreeClassifier(max_depth=2, min_samples_leaf=2, leaf_price=price, splits="binary").fit(X, y)
        unit = price * len(y)
        every = {leaves: e + unit * len(leaves) for leaves, e in every_tree(X, y, 2, 2, unit).items()}
        assert model.certificate_.value == pytest.approx(min(every.values()))
        most = min(every.values()) + 0.1 * len(y) + 1e-9
        found = model.alternatives(None, 0.1)
        expected = {leaves: loss for leaves, loss in every.items() if loss <= most}
        assert {leaves_of(m, X): m.certificate_.value for m in found} == pytest.approx(expected)
        assert (np.diff(found.losses) >= -1e-9).all()


def test_gaps_between_groups() -> None:
    """The gap of a tree is the largest difference of shares; galleries can be sorted by it, reports show the trees."""
    X, y = flags(6, 80)
    group = np.where(np.random.default_rng(1).random(80) < 0.5, "m", "f")
    held = OptimalTreeClassifier(max_depth=2, constraints=[StatisticalParity("g", tolerance=0.3)])
    trees = held.fit(X, y, groups=pd.DataFrame({"g": group})).alternatives(12, 0.1)
    expected = [abs((p := m.predict(X) == 1)[group == "m"].mean() - p[group == "f"].mean()) for m in trees]
    assert [facts["gap"] for facts in trees.facts()] == pytest.approx(expected)
    assert trees.gaps(X, group) == pytest.approx(expected)
    assert trees.gallery().count('data-gap="') == len(trees)
    free = OptimalTreeClassifier(max_depth=2).fit(X, y).alternatives(12, 0.1)
    assert "data-gap" not in free.gallery()
    assert 'value="gap"' in free.gallery(X, [*group[:-1], None])


def test_in_the_report() -> None:
    """The report has as many other trees as are wanted, what they test and where they disagree; none by default."""
    X, y = flags(2)
    model = OptimalTreeClassifier(max_depth=2, min_samples_leaf=2).fit(X, y)
    page = render_report(model, X, y, alternatives=5)
    trees = model.alternatives(5)
    assert page.count("<figure data-") == len(trees)
    assert escape(str(trees)) in page
    assert f"agree on {(trees.disagreement(X) > 0).sum()} of 40 training rows" in page
    assert "Other good trees" not in render_report(model, X, y)
