"""Models of every kind, made by hand or fitted, and rows that are hard to get right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from omtree import Certificate, OptimalTreeClassifier, OptimalTreeRegressor
from omtree.data.parsing.reading import ColumnReading
from omtree.data.table import Feature, Pooled
from omtree.estimators.base import OptimalTreeBase
from omtree.model.rules import Rule, RuleSet
from omtree.model.target_summary import TargetSummary
from omtree.model.tree import Tree, _Split
from omtree.problem.graph import Condition, FeatureGraph

#: Texts that some language or file format could stumble over.
TEXTS = ("it's", 'say "hi"', "a, b", "ünï €", " x ", "<script>&amp;", "NULL", "back\\slash", "1", "x\ty", "two\nlines")
#: Names likewise.
NAMES = ("select", 'a "quoted" name', "with space", "größe", "it's", "class", "plain", "x0", "<b>", "back`tick")


def make_features(rng: np.random.Generator) -> tuple[Feature, ...]:
    """One feature of each kind, under odd names, with or without missing cells."""
    names = rng.permutation(NAMES)
    missing = rng.random(8) < 0.5
    texts = [str(text) for text in rng.permutation(TEXTS)]
    cuts = np.sort(rng.choice([-1.5, 0.0, 0.1, 1 / 3, 2.0, 1e-7, 1e9 + 0.5, 123456789.0], 4, replace=False))
    return (
        Feature(str(names[0]), 0, "numeric", 5, bool(missing[0]), thresholds=cuts),
        Feature(str(names[1]), 1, "nominal", 5, bool(missing[1]), levels=tuple(texts[:5])),
        Feature(str(names[2]), 2, "ordinal", 4, bool(missing[2]), levels=("low", "mid", "high", "top")),
        Feature(str(names[3]), 3, "nominal", 2, bool(missing[3]), levels=(False, True)),
        Feature(str(names[4]), 4, "ordinal", 4, bool(missing[4]), levels=(1, 2, 3, 5)),
        Feature(
            str(names[5]),
            5,
            "nominal",
            3,
            bool(missing[5]),
            levels=("a", "b", Pooled(frozenset({"r1", "r2", "r'3"}), rest=bool(missing[6]))),
        ),
        # Seen always with one value, or missing.
        Feature(str(names[6]), 6, "numeric", 1, True, thresholds=np.array([])),
        Feature(str(names[7]), 7, "nominal", 3, False, levels=("", "text", "12")),
    )


def make_rows(features: tuple[Feature, ...], rng: np.random.Generator, n_rows: int = 120) -> pd.DataFrame:
    """Rows with training values, values exactly on thresholds and just below, missing cells and unseen values."""
    columns: dict[str, list[Any]] = {}
    for feature in features:
        if feature.thresholds is not None:
            cuts = feature.thresholds.tolist()
            beside = [np.nextafter(cuts, end).tolist() for end in (-np.inf, np.inf)]
            pool: list[Any] = [*cuts, *beside[0], *beside[1], -1e12, 0.0, 7.25, 1e12, None, None]
        else:
            assert feature.levels is not None
            pool = [m for level in feature.levels for m in (level.members if isinstance(level, Pooled) else (level,))]
            if isinstance(pool[0], str):
                pool = [*sorted(pool), "never seen", "'", None]
            elif not isinstance(pool[0], bool):
                pool += [4, 2.5, -1, None]
            else:
                pool += [None]
        cells = [pool[i] for i in rng.integers(len(pool), size=n_rows)]
        columns[feature.name] = cells
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    for feature in features:
        if kind_of(feature) == "number":
            frame[feature.name] = frame[feature.name].astype(float)
    return frame


def kind_of(feature: Feature) -> str:
    """What the cells of a feature are: numbers, flags or texts."""
    if feature.levels is None:
        return "number"
    first = feature.levels[0]
    return "flag" if isinstance(first, bool) else "text" if isinstance(first, str) else "number"


def cells_of(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """The rows as Python values, None where a cell is missing."""
    return [
        tuple(None if cell is None or cell != cell else cell for cell in row)
        for row in frame.astype(object).itertuples(index=False, name=None)
    ]


def make_rule(conditions: tuple[Condition, ...], rng: np.random.Generator, classes: tuple[Any, ...]) -> Rule:
    """A rule of random weight; few different weights, so that ties are frequent."""
    if not classes:
        value = float(rng.integers(-3, 4)) + float(rng.choice([0.0, 0.1, 1 / 3]))
        targets = TargetSummary(value, 1.0, (value - 2, value - 1, value, value + 1, value + 2))
        return Rule(conditions, float(rng.integers(1, 4)), (), value, 0.5, 0, targets)
    weights = tuple(float(w) for w in rng.permutation([*[1.0] * (len(classes) - 1), float(rng.integers(2, 4))]))
    label = int(rng.integers(len(classes)))
    return Rule(conditions, sum(weights), weights, classes[label], sum(weights) - weights[label], label)


def condition_on(feature: int, codes: list[int], features: tuple[Feature, ...]) -> Condition:
    """A condition with its words."""
    chosen = tuple(sorted(codes))
    return Condition(feature, chosen, features[feature].describe(chosen))


def random_tree(
    features: tuple[Feature, ...], rng: np.random.Generator, classes: tuple[Any, ...], depth: int = 3
) -> Tree:
    """A tree whose nodes leave some codes to no branch, and may split a feature again."""
    rules: list[Rule] = []

    def shape(depth: int, above: dict[int, Condition]) -> _Split | int:
        if depth == 0 or rng.random() < 0.1:
            rules.append(make_rule(tuple(above.values()), rng, classes))
            return len(rules) - 1
        feature = int(rng.integers(len(features)))
        free = list(above[feature].codes) if feature in above else list(range(features[feature].n_codes))
        if len(free) < 2:
            rules.append(make_rule(tuple(above.values()), rng, classes))
            return len(rules) - 1
        n_groups = int(rng.integers(2, min(4, len(free)) + 1))
        group = [*range(n_groups), *rng.integers(-1, n_groups, size=len(free) - n_groups).tolist()]
        group = rng.permutation(group).tolist()
        branches = []
        for g in range(n_groups):
            condition = condition_on(feature, [c for c, own in zip(free, group, strict=True) if own == g], features)
            branches.append((condition, shape(depth - 1, {**above, feature: condition})))
        return _Split(feature, tuple(branches))

    root = shape(depth, {})
    return Tree(root, RuleSet(rules, features, classes))


def random_rules(features: tuple[Feature, ...], rng: np.random.Generator, classes: tuple[Any, ...]) -> RuleSet:
    """Rules that overlap and leave gaps."""
    rules = []
    for _ in range(int(rng.integers(2, 6))):
        chosen = rng.choice(len(features), size=int(rng.integers(1, 4)), replace=False).tolist()
        conditions = []
        for feature in chosen:
            n_codes = features[feature].n_codes
            codes = rng.choice(n_codes, size=int(rng.integers(1, max(2, n_codes))), replace=False).tolist()
            conditions.append(condition_on(feature, codes, features))
        rules.append(make_rule(tuple(conditions), rng, classes))
    return RuleSet(rules, features, classes)


def make_model(rules: RuleSet, tree: Tree | None, structure: str) -> OptimalTreeBase:
    """A fitted model with these rules."""
    model: Any = (
        OptimalTreeClassifier(structure=structure) if rules.classes else OptimalTreeRegressor(structure=structure)
    )
    model.rules_, model.tree_ = rules, tree
    model.graph_ = FeatureGraph(rules.features)
    model.n_features_in_ = len(rules.features)
    model.feature_names_in_ = np.array([feature.name for feature in rules.features], dtype=object)
    model._kinds, model.notes_ = None, []
    model.reading_ = tuple(ColumnReading(feature.name) for feature in rules.features)
    if rules.classes:
        model.classes_ = np.array(rules.classes)
    model.certificate_ = Certificate("time_limit", 3.0, 1.0, 10.0, structure=structure, leaves=len(rules))
    return model


CLASSES: tuple[tuple[Any, ...], ...] = (("no", "yes"), (0, 1, 2), (False, True), ("it's", 'a "b"', "ü<"), ())


def model_and_rows(seed: int) -> tuple[OptimalTreeBase, pd.DataFrame]:
    """A random model, a tree or rules or a single rule, classes or numbers, and hard rows for it."""
    rng = np.random.default_rng(seed)
    features = make_features(rng)
    classes = CLASSES[seed % len(CLASSES)]
    if seed % 3 == 2:
        model = make_model(random_rules(features, rng, classes), None, "rules")
    else:
        tree = random_tree(features, rng, classes, depth=0 if seed == 0 else 3)
        model = make_model(tree.rules, tree, "tree")
    return model, make_rows(features, rng)


SEEDS = range(40)
