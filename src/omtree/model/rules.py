"""Rules and rule sets: what a fitted model is made of, and how it answers for a new row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from omtree.data.table import CodeArray, Feature
from omtree.data.wording import answer, counts_rows, number
from omtree.later import HasLater, Later
from omtree.model.line import Line
from omtree.model.notebook_html import html_table
from omtree.model.survival_curve import SurvivalCurve
from omtree.model.target_summary import TargetSummary
from omtree.problem.graph import Condition

if TYPE_CHECKING:
    from omtree.model.rule_facts import Reader, RuleSamples
    from omtree.problem.problem import Path

#: Rows looked at in one go; keeps the table of failed conditions in the cache and memory modest.
CHUNK = 1 << 15


@dataclass(frozen=True)
class Rule(HasLater):
    """One rule: when every condition holds, predict a class or a number.

    Attributes
    ----------
    conditions : tuple of Condition
        On different features, in the order in which a tree tests them, or in that of the graph where there is none;
        ``str()`` of one is in words and in the original units.
    support : float
        Sample weight of the training rows in the rule.
    class_weights : tuple of float
        Sample weight of each class in the rule; empty where the target is a number, or the answer an action.
    prediction : object
        The predicted class, as it occurred in ``y``, the action, the predicted number, a tuple of numbers, or
        a `Line`.
    loss : float
        What the rule costs on the training rows.
    label : int
        Position of `prediction` among the classes; 0 where the target is a number.
    targets : TargetSummary or None
        The spread of the target, where it is a number.
    cost : float
        What the tests of the rule cost under a `Budget`; 0 without one.
    values : tuple of float
        What each answer costs a row of the rule on average, where every row has costs of its own; of a policy, what
        each action brings; of several numbers, these times the roots of their weights. Empty otherwise.
    survival : SurvivalCurve or None
        Of a survival tree: events, those at risk, and the curve of Kaplan and Meier.
    """

    conditions: tuple[Condition, ...]
    support: float
    class_weights: tuple[float, ...]
    prediction: Any
    loss: float
    label: int
    targets: Later[TargetSummary] = Later()
    cost: float = 0.0
    values: tuple[float, ...] = ()
    survival: SurvivalCurve | None = None

    def __str__(self) -> str:
        is_number = self.targets is not None or self.survival is not None
        prediction = answer(self.prediction, () if is_number else ("",))
        if not self.conditions:
            return f"always {prediction}"
        texts = [str(condition) for condition in self.conditions]
        if len(texts) > 1:
            # "a or b and c" could be read in two ways.
            texts = [f"({text})" if " or " in text else text for text in texts]
        return f"if {' and '.join(texts)} then {prediction}"


class RuleSet(Sequence[Rule]):
    """Rules that share the training rows among them, each row in exactly one.

    A new row can meet no rule, or several. The answer is always one rule: the one with the fewest conditions that
    the row fails; among those the one with the most training weight; among those the first. So of several rules
    that hold the heaviest speaks, and where none holds, the nearest one does.

    Parameters
    ----------
    rules : sequence of Rule
    features : sequence of Feature
        What the conditions refer to.
    classes : sequence
        The classes, as they occurred in ``y``; empty where the target is a number.
    ordered : bool
        Whether the classes go from low to high, by what was said about them.
    """

    def __init__(
        self, rules: Sequence[Rule], features: Sequence[Feature], classes: Sequence[Any], ordered: bool = False
    ) -> None:
        self.rules = tuple(rules)
        self.features = tuple(features)
        self.classes = tuple(classes)
        self.ordered = ordered
        # Heaviest rule first, so that the first of the smallest counts is the answer.
        self._priority = np.array(sorted(range(len(self.rules)), key=lambda r: -self.rules[r].support), dtype=np.intp)

    @cached_property
    def _failures(self) -> dict[int, npt.NDArray[np.uint8]]:
        """Made when first asked for: a tree never does."""
        return _failure_tables([self.rules[r].conditions for r in self._priority])

    @classmethod
    def from_paths(
        cls,
        paths: Sequence[Path],
        reader: Reader,
        rule_of_row: npt.NDArray[np.intp] | None = None,
        samples: RuleSamples | None = None,
    ) -> RuleSet:
        """The rules behind an engine's paths, with what they weigh and cost on the problem's rows.

        Parameters
        ----------
        paths : sequence of Path
        reader : Reader
        rule_of_row : array of int, optional
            The path that covers each merged row, where that is known.
        samples : RuleSamples, optional
            The same of the samples, where that is known.
        """
        problem = reader.problem
        features = problem.table.features
        if rule_of_row is None:
            rule_of_row = rule_of_rows(paths, problem.table.codes)
        facts = reader.facts(rule_of_row, [path.label for path in paths], samples)
        prices = problem.limits.prices
        rules = []
        for path, fact in zip(paths, facts, strict=True):
            worded = tuple(in_words(condition, features) for condition in path.conditions)
            cost = 0.0 if prices is None else prices.price(condition.feature for condition in path.conditions)
            own = (fact.support, fact.class_weights, fact.prediction, fact.loss, fact.label, fact.targets)
            rules.append(Rule(worded, *own, cost, fact.values, fact.survival))
        return cls(rules, features, reader.target.classes.tolist(), reader.target.ordered)

    @property
    def are_actions(self) -> bool:
        """Whether the answers are actions, and the values of the rules what these bring."""
        return bool(self.classes) and not self.rules[0].class_weights

    @property
    def are_curves(self) -> bool:
        """Whether the rules have curves of survival, and their answers are risks."""
        return self.rules[0].survival is not None

    @property
    def are_lines(self) -> bool:
        """Whether the rules answer by lines along columns."""
        return isinstance(self.rules[0].prediction, Line)

    @property
    def are_vectors(self) -> bool:
        """Whether the answers are several numbers at once."""
        return isinstance(self.rules[0].prediction, tuple)

    def by_support(self) -> RuleSet:
        """The same rules, the heaviest first."""
        return RuleSet([self.rules[r] for r in self._priority], self.features, self.classes, self.ordered)

    @property
    def depth(self) -> int:
        """Most conditions in one rule."""
        return max((len(rule.conditions) for rule in self.rules), default=0)

    @property
    def support(self) -> float:
        """Sample weight of all training rows."""
        return float(sum(rule.support for rule in self.rules))

    def matches(self, codes: CodeArray) -> npt.NDArray[np.bool_]:
        """Which rules hold for which rows.

        Parameters
        ----------
        codes : array of uint8, shape (n_features, n_rows)

        Returns
        -------
        array of bool, shape (n_rows, n_rules)
        """
        met = np.empty((codes.shape[1], len(self.rules)), dtype=bool)
        for rows in _chunks(codes.shape[1]):
            met[rows, self._priority] = _failures(self._failures, len(self.rules), codes[:, rows]) == 0
        return met

    def assign(self, codes: CodeArray) -> npt.NDArray[np.intp]:
        """The rule that answers for each row, as a position in this set.

        Parameters
        ----------
        codes : array of uint8, shape (n_features, n_rows)

        Returns
        -------
        array of int, shape (n_rows,)
        """
        return self._priority[_nearest(self._failures, len(self.rules), codes)]

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Rule, ...]: ...
    def __getitem__(self, index: int | slice) -> Rule | tuple[Rule, ...]:
        return self.rules[index]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __str__(self) -> str:
        from omtree.model.text import rules_to_text

        return rules_to_text(self)

    def _repr_html_(self) -> str:
        lines = [
            [
                str(place),
                " and ".join(str(condition) for condition in rule.conditions) or "always",
                answer(rule.prediction, self.classes),
                number(rule.support),
            ]
            for place, rule in enumerate(self.rules, start=1)
        ]
        counted = "rows" if counts_rows([rule.support for rule in self.rules]) else "weight"
        return html_table(("#", "rule", "answer", counted), lines)

    def __repr__(self) -> str:
        return f"<RuleSet of {len(self)} rules, depth {self.depth}>"


def rule_of_rows(paths: Sequence[Path], codes: CodeArray) -> npt.NDArray[np.intp]:
    """The path that covers each row, where every row is covered."""
    return _nearest(_failure_tables([path.conditions for path in paths]), len(paths), codes)


def in_words(condition: Condition, features: Sequence[Feature]) -> Condition:
    """The condition with its text; an engine may have left it out."""
    if condition.text:
        return condition
    return replace(condition, text=features[condition.feature].describe(condition.codes))


def _failure_tables(rules: Sequence[tuple[Condition, ...]]) -> dict[int, npt.NDArray[np.uint8]]:
    """Per feature in use a table (code x rule): 1 where a row with this code fails the rule's condition."""
    tables: dict[int, npt.NDArray[np.uint8]] = {}
    for r, conditions in enumerate(rules):
        for condition in conditions:
            table = tables.get(condition.feature)
            if table is None:
                table = tables[condition.feature] = np.zeros((256, len(rules)), dtype=np.uint8)
            table[:, r] = 1
            table[list(condition.codes), r] = 0
    return tables


def _failures(tables: dict[int, npt.NDArray[np.uint8]], n_rules: int, codes: CodeArray) -> npt.NDArray[np.uint8]:
    """How many conditions of each rule each row fails, shape (n_rows, n_rules)."""
    failed = np.zeros((codes.shape[1], n_rules), dtype=np.uint8)
    for feature, table in tables.items():
        failed += table.take(codes[feature], axis=0)
    return failed


def _nearest(tables: dict[int, npt.NDArray[np.uint8]], n_rules: int, codes: CodeArray) -> npt.NDArray[np.intp]:
    """The first rule with the fewest failed conditions, per row."""
    nearest = np.empty(codes.shape[1], dtype=np.intp)
    for rows in _chunks(codes.shape[1]):
        nearest[rows] = _failures(tables, n_rules, codes[:, rows]).argmin(axis=1)
    return nearest


def _chunks(n_rows: int) -> Iterator[slice]:
    return (slice(start, start + CHUNK) for start in range(0, n_rows, CHUNK))
