"""Fitted models of every kind that a picture has to cope with."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from omtree import OptimalTreeClassifier, OptimalTreeRegressor
from omtree.constraints.audit import ConstraintCheck
from omtree.data.parsing.reading import ColumnReading
from omtree.data.table import Feature
from omtree.estimators.base import OptimalTreeBase
from omtree.model.certificate import Certificate
from omtree.model.rules import Rule, RuleSet
from omtree.model.sizes import BuiltFamily
from omtree.model.target_summary import TargetSummary
from omtree.model.tree import Tree
from omtree.problem.graph import Condition, FeatureGraph

#: Texts that end attributes, elements, scripts, strings and lines where they are not treated as text.
HOSTILE = (
    "<script>window.hacked=1</script>",
    "</script><img src=x onerror=window.hacked=1>",
    "\"quoted\" and 'quoted'",
    "back\\slash {{ 7*7 }} {% if %} ${1}",
    "a & b < c > d]]>",
    "línea\u2028 中文 \U0001f600",
)


@cache
def flowers() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """Three classes, numbers, a small tree."""
    from sklearn.datasets import load_iris

    data = load_iris(as_frame=True)
    y = data.target_names[data.target]
    return OptimalTreeClassifier(max_depth=2).fit(data.data, y), data.data, y


@cache
def one_leaf() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """A model that asks for nothing."""
    _, X, y = flowers()
    return OptimalTreeClassifier(max_leaves=1).fit(X, y), X, y


@cache
def deep() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """Depth 5 with about 30 leaves."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.integers(0, 4, size=(1200, 6)), columns=list("ABCDEF"))
    y = ((X["A"] + X["B"] * X["C"] + (X["D"] > 1) + X["E"] // 2) % 3).to_numpy()
    model = OptimalTreeClassifier(max_depth=5, max_leaves=32, splits="binary", time_limit=10, min_samples_leaf=4)
    return model.fit(X, y), X, y


@cache
def many_classes() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """More classes than there are colours."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.integers(0, 4, size=(600, 3)), columns=["row", "column", "noise"])
    y = np.array([f"class {r * 4 + c}" for r, c in zip(X["row"], X["column"], strict=True)])
    return OptimalTreeClassifier(max_depth=2, max_leaves=16).fit(X, y), X, y


@cache
def mixed(structure: str = "tree") -> tuple[Any, pd.DataFrame, np.ndarray]:
    """Numbers and categories, missing cells in some columns only, hostile names, categories and classes."""
    rng = np.random.default_rng(8)
    n = 900
    number = rng.normal(size=n).round(1)
    gaps = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n).round(1))
    colour = rng.choice(np.array(HOSTILE, dtype=object), size=n)
    place = np.where(rng.random(n) < 0.2, None, rng.choice(np.array(["here", "there", "nowhere"], dtype=object), n))
    size = pd.Categorical(rng.choice(["S", "M", "L"], n), categories=["S", "M", "L"], ordered=True)
    X = pd.DataFrame(
        {HOSTILE[0]: number, "with gaps": gaps, HOSTILE[2]: colour, "place": place, "size": size, "flag": number > 0.4}
    )
    score = (number > 0.5).astype(int) + np.isnan(gaps) + pd.Series(colour).isin(HOSTILE[:3]).to_numpy() * 2
    score = score + (pd.Series(place) == "here").to_numpy() + (np.asarray(size) == "L")
    score = np.where(rng.random(n) < 0.1, rng.integers(0, 4, n), score)
    y = np.array(["no", "yes", HOSTILE[1], "maybe & <b>"], dtype=object)[np.minimum(score, 3)]
    model = OptimalTreeClassifier(
        max_depth=3, max_leaves=8, structure=structure, n_bins=4, binning="quantile", time_limit=6, min_samples_leaf=9
    )
    return model.fit(X, y), X, y


@cache
def no_tree() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """Five disjoint rules that no tree can be; five classes, one a rule."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, size=(400, 3)), columns=["smoker", "biopsy", "history"])
    rules = (((0, 0), (1, 1)), ((1, 0), (2, 1)), ((0, 1), (2, 0)), ((0, 0), (1, 0), (2, 0)), ((0, 1), (1, 1), (2, 1)))
    y = np.empty(len(X), dtype=object)
    for name, conditions in zip(("treat", "wait", "refer", "operate", "leave"), rules, strict=True):
        y[np.all([X.iloc[:, f] == v for f, v in conditions], axis=0)] = name
    model = OptimalTreeClassifier(max_depth=3, max_leaves=5, structure="rules").fit(X, y)
    assert model.tree_ is None
    return model, X, y


class NumberModel(OptimalTreeBase):
    """A model of a numeric target, put together by hand."""

    def fit(self, X: Any, y: Any) -> NumberModel:
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        return np.array([rule.prediction for rule in self.rules_])[self.apply(X)]


@cache
def numbers() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """A tree that predicts a number, with constraints in its certificate."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"area (m²)": rng.uniform(20, 200, 300).round(), "floor": rng.integers(0, 3, 300)})
    y = 2.5 * X["area (m²)"].to_numpy() + 30 * X["floor"].to_numpy() + rng.normal(size=300) * 20
    area = Feature("area (m²)", 0, "numeric", 3, False, thresholds=np.array([60.0, 120.0]))
    floor = Feature("floor", 1, "numeric", 2, False, thresholds=np.array([1.5]))
    shape = [((0, (0,)),), ((0, (1,)), (1, (0,))), ((0, (1,)), (1, (1,))), ((0, (2,)),)]
    codes = np.stack([np.digitize(X.iloc[:, 0], [60, 120]), np.digitize(X.iloc[:, 1], [1.5])])
    rules = []
    for path in shape:
        inside = np.all([np.isin(codes[f], allowed) for f, allowed in path], axis=0)
        values = y[inside]
        conditions = tuple(Condition(f, c, (area, floor)[f].describe(c)) for f, c in path)
        quantiles = tuple(float(q) for q in np.quantile(values, [0, 0.25, 0.5, 0.75, 1]))
        summary = TargetSummary(float(values.mean()), float(values.std()), quantiles)
        loss = float(((values - values.mean()) ** 2).sum())
        rules.append(Rule(conditions, float(inside.sum()), (), float(values.mean()), loss, 0, summary))
    model = NumberModel()
    model.rules_ = RuleSet(rules, (area, floor), ())
    tree = Tree.from_rules(model.rules_)
    assert tree is not None
    model.tree_ = tree
    model.graph_ = FeatureGraph((area, floor))
    model.n_features_in_, model.feature_names_in_, model._kinds = 2, np.array(X.columns, dtype=object), None
    model.reading_, model.notes_ = tuple(ColumnReading(str(name)) for name in X.columns), []
    value = sum(rule.loss for rule in rules)
    checks = (
        ConstraintCheck("rows per <leaf>", 40.0, 30.0, 10.0, rule=2),
        ConstraintCheck("reported only", 4.0, np.inf, np.inf, "at most"),
        ConstraintCheck("nothing to measure", np.nan, 0.5, 0.0),
        ConstraintCheck("missed", 7.0, 5.0, -2.0, "at most"),
    )
    model.certificate_ = Certificate(
        "time_limit",
        value,
        value / 2,
        300.0,
        unit="squared error",
        counted=False,
        structure="tree",
        leaves=4,
        depth=2,
        search_space="all <trees>",
        constraints=checks,
    )
    losses = [4 * value, 2 * value, 1.5 * value, value, value]
    model._family = BuiltFamily([model.tree_] * len(losses), losses)
    return model, X, y


@cache
def patients() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """A fitted tree that predicts a number."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes(as_frame=True)
    y = data.target.to_numpy()
    return OptimalTreeRegressor(max_depth=3, max_leaves=6, time_limit=10).fit(data.data, y), data.data, y


@cache
def lines() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """Leaves that answer by lines, along columns of hostile names with missing cells that no condition may be on."""
    rng = np.random.default_rng(12)
    X = pd.DataFrame({HOSTILE[0]: rng.normal(size=300), HOSTILE[2]: rng.normal(40, 9, 300), "c": rng.normal(size=300)})
    y = np.where(X["c"] > 0.3, 5.0 * X.iloc[:, 0], X.iloc[:, 1]) + rng.normal(size=300)
    X.loc[rng.random(300) < 0.1, HOSTILE[2]] = np.nan
    return OptimalTreeRegressor(max_depth=2, max_leaves=3, leaves="linear").fit(X, y), X, y


@cache
def judged() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """Two classes with hostile names, a size that was chosen, and a leaf that few rows decided."""
    rng = np.random.default_rng(6)
    X = pd.DataFrame({HOSTILE[0]: rng.normal(size=260).round(2), "b": rng.normal(size=260).round(2)})
    right = (X.iloc[:, 0] > 0) ^ (X["b"] > 1.2)
    y = np.where(right ^ (rng.random(260) < 0.08), HOSTILE[1], "no")
    model = OptimalTreeClassifier(max_depth=2, max_leaves="auto", cv=3, n_bins=6, min_samples_leaf=3).fit(X, y)
    return model, X, y


@cache
def by_f1() -> tuple[Any, pd.DataFrame, np.ndarray]:
    """A tree whose certificate speaks of a score, with labels that are numbers."""
    _, X, y = flowers()
    label = (y == "versicolor").astype(int)
    return OptimalTreeClassifier(max_depth=2, max_leaves=3, objective="f1").fit(X, label), X, label


EVERY = {
    "flowers": flowers,
    "one_leaf": one_leaf,
    "deep": deep,
    "many_classes": many_classes,
    "mixed": mixed,
    "mixed_rules": lambda: mixed("rules"),
    "no_tree": no_tree,
    "numbers": numbers,
    "patients": patients,
    "lines": lines,
    "by_f1": by_f1,
    "judged": judged,
}
