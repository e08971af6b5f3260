"""How a model decides, in terms of raw cells instead of codes: what every export to another language is made from."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from omtree.data.parsing.moments import Part
from omtree.data.parsing.reading import ColumnReading, part_parents
from omtree.data.table import Feature, Pooled
from omtree.model.line import Line
from omtree.model.shares import class_shares

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase
    from omtree.model.rules import RuleSet
    from omtree.model.tree import Tree


@dataclass(frozen=True)
class Test:
    """Whether the cell of a column is one of some values.

    Attributes
    ----------
    feature : Feature
    intervals : tuple of (low, high)
        Numeric features: ``low <= cell < high`` in one of them; None means without end.
    values : tuple
        Other features: the cell is one of these, or, where `negated`, none of these.
    negated : bool
        Whether the values are those that will not do; all others will, also such as training did not have.
    missing : bool
        A missing cell will do as well.
    text : str
        The test in words.
    """

    __test__ = False  # pytest would take the class for tests

    feature: Feature
    intervals: tuple[tuple[float | None, float | None], ...]
    values: tuple[Any, ...]
    missing: bool
    text: str
    negated: bool = False


@dataclass(frozen=True)
class Branching:
    """A node of a tree: the first branch whose test holds, else the last resort.

    The branch that takes values never seen in training is the last resort, so its own test needs no asking.
    """

    feature: Feature
    branches: tuple[tuple[Test, Branching | int], ...]
    otherwise: Branching | int
    otherwise_text: str


@dataclass(frozen=True)
class Rung:
    """A question to a rule set: does the row fail at most `failures` of these tests? Then `rule` answers."""

    failures: int
    tests: tuple[Test, ...]
    rule: int


@dataclass(frozen=True)
class Logic:
    """A fitted model as questions about raw cells.

    Attributes
    ----------
    features : tuple of Feature
        Those that are asked about, in the order of the columns.
    root : Branching, int or None
        The tree, if the model predicts as one; a number is a rule's position.
    ladder : tuple of Rung
        Otherwise the questions to ask one after the other; the last one always holds.
    predictions : tuple
        What each rule predicts, as a plain value or a `Line`.
    shares : tuple of tuple of float
        The probability of each class in each rule; empty where the target is a number, or the answer an action.
    classes : tuple
        The classes as plain values.
    sources : mapping
        For the name of every feature, how its column is read, and which part of a date it is.
    """

    features: tuple[Feature, ...]
    root: Branching | int | None
    ladder: tuple[Rung, ...]
    predictions: tuple[Any, ...]
    shares: tuple[tuple[float, ...], ...]
    classes: tuple[Any, ...]
    sources: Mapping[str, tuple[ColumnReading, Part | None]]

    @classmethod
    def of_one_answer(cls, model: OptimalTreeBase, what: str) -> Logic:
        """The same for an export that has room for one answer a row, of the kind that is named."""
        if model.rules_.are_lines:
            raise ValueError(f"{what} has one number a leaf, and this model has lines; export to Python or SQL.")
        if model.rules_.are_vectors:
            raise ValueError(
                f"{what} has one answer a row, and the model predicts several targets; export to Python or SQL."
            )
        return cls.of(model)

    @property
    def line_features(self) -> dict[int, Feature]:
        """The columns that lines go along, by their positions, as features that nothing is asked about."""
        parts = {part.column: part.name for said in self.predictions if isinstance(said, Line) for part in said.slopes}
        return {
            column: Feature(name, column, "numeric", 1, True, thresholds=np.empty(0))
            for column, name in sorted(parts.items())
        }

    @classmethod
    def of(cls, model: OptimalTreeBase) -> Logic:
        """The logic of a fitted model."""
        rules = model.rules_
        tree = model.tree_ if predicts_as_tree(model) else None
        asked = {condition.feature for rule in rules for condition in rule.conditions}
        shares: tuple[tuple[float, ...], ...] = ()
        if rules.classes and not rules.are_actions:
            # As `predict_proba` has them, to the last digit.
            known = vars(model)
            found = class_shares(rules, known.get("smoothing", 0.0), known.get("_mean_weight", 1.0))
            shares = tuple(map(tuple, found.tolist()))
        return cls(
            tuple(sorted((rules.features[f] for f in asked), key=lambda feature: feature.column)),
            None if tree is None else _branching(tree, 0),
            () if tree is not None else _ladder(rules),
            tuple(plain(rule.prediction) for rule in rules),
            shares,
            tuple(map(plain, rules.classes)),
            part_parents(model.reading_),
        )

    def values(self, probability_of: Any = None) -> tuple[Any, ...]:
        """What to answer for each rule: its prediction, or the share of a class."""
        if probability_of is None:
            return self.predictions
        if not self.shares and self.classes:
            raise ValueError("probability_of is for classes; actions have no probabilities.")
        if probability_of not in self.classes:
            known = ", ".join(map(repr, self.classes)) or "none, since it predicts numbers"
            raise ValueError(f"probability_of={probability_of!r} is not a class of the model; it has {known}.")
        place = self.classes.index(probability_of)
        return tuple(share[place] for share in self.shares)


def predicts_as_tree(model: OptimalTreeBase) -> bool:
    """Whether rows go down a tree; otherwise they are compared with every rule."""
    return model.tree_ is not None and model.certificate_.structure == "tree"


def plain(value: Any) -> Any:
    """A numpy scalar as a Python value."""
    return value.item() if isinstance(value, np.generic) else value


def members(levels: Iterable[Any]) -> tuple[Any, ...]:
    """The values behind levels; those of a pooled level are listed, but for the rest that has all others."""
    return tuple(
        itertools.chain.from_iterable(
            sorted(map(plain, level.members), key=str) if isinstance(level, Pooled) else (plain(level),)
            for level in levels
            if not (isinstance(level, Pooled) and level.rest)
        )
    )


def make_test(feature: Feature, codes: Sequence[int]) -> Test:
    """The test that a cell has one of these codes."""
    chosen = sorted(set(codes))
    missing = feature.has_missing and chosen[-1] == feature.n_values
    if missing:
        chosen.pop()
    text = feature.describe(tuple(codes))
    if feature.levels is not None:
        levels = feature.levels
        if any(isinstance(levels[code], Pooled) and levels[code].rest for code in chosen):
            others = members(level for code, level in enumerate(levels) if code not in chosen)
            return Test(feature, (), others, missing, text, negated=True)
        return Test(feature, (), members(levels[code] for code in chosen), missing, text)
    assert feature.thresholds is not None
    cuts = [None, *feature.thresholds.tolist(), None]
    intervals: list[tuple[float | None, float | None]] = []
    for code in chosen:
        if intervals and code > 0 and intervals[-1][1] == cuts[code]:
            intervals[-1] = (intervals[-1][0], cuts[code + 1])
        else:
            intervals.append((cuts[code], cuts[code + 1]))
    return Test(feature, tuple(intervals), (), missing, text)


def _branching(tree: Tree, index: int) -> Branching | int:
    node = tree.nodes[index]
    if node.rule is not None:
        return node.rule
    assert node.feature is not None
    assert node.default is not None
    feature = tree.rules.features[node.feature]
    branches = []
    for child in node.children:
        condition = tree.nodes[child].condition
        if child != node.default and condition is not None:
            branches.append((make_test(feature, condition.codes), _branching(tree, child)))
    last = tree.nodes[node.default].condition
    return Branching(feature, tuple(branches), _branching(tree, node.default), last.text if last else "")


def _ladder(rules: RuleSet) -> tuple[Rung, ...]:
    """First the rules that hold, heaviest first; then those that fail in one condition; and so on.

    A rule of which every condition may fail answers for all rows that are left.
    """
    order = sorted(range(len(rules)), key=lambda r: -rules[r].support)
    tests = {r: tuple(make_test(rules.features[c.feature], c.codes) for c in rules[r].conditions) for r in order}
    ladder: list[Rung] = []
    for failures in itertools.count():
        for r in order:
            ladder.append(Rung(failures, tests[r], r))
            if failures >= len(tests[r]):
                return tuple(ladder)
    raise AssertionError("a rule has finitely many conditions")
