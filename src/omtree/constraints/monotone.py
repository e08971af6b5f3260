"""Predictions that only rise, or only fall, along a feature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from omtree.constraints.audit import Answers, ConstraintCheck
from omtree.constraints.constraint import Constraint, Level, Setting, Shape, check_names, class_position
from omtree.data.table import Feature
from omtree.data.wording import text_of
from omtree.problem.graph import Condition

if TYPE_CHECKING:
    from omtree.problem.problem import Path


#: The codes that lead to a rule, by feature.
Box = Mapping[int, frozenset[int]]


class _HasConditions(Protocol):
    @property
    def conditions(self) -> tuple[Condition, ...]: ...


@dataclass(frozen=True, repr=False)
class Monotone(Constraint):
    """Predictions never fall (+1), or never rise (-1), along an ordered feature, over the model as a whole.

    Classes are ordered as they are sorted; of two, the one that is more can be named. Missing cells of the feature are
    outside its order. In a tree the prediction for a row never falls when the feature rises, whatever its other cells
    are: missing, or never seen in training or in a node; values that training never saw go the way of the column's most
    common one. In a rule set, of any two rules that can hold for rows which differ in this feature alone, the one that
    holds for larger values does not predict less; where no rule holds and the nearest answers, nothing is promised.

    Parameters
    ----------
    feature : str
        A numeric or ordinal column.
    direction : {+1, -1}
    class_ : optional
        Of two classes, the one that rises or falls; by default the second, or `positive`.

    Examples
    --------
    >>> Monotone("income", +1)
    Monotone('income', 1)
    >>> Monotone("income", -1, class_="bad")
    Monotone('income', -1, class_='bad')
    """

    feature: str
    direction: int
    class_: Any = field(default=None, kw_only=True)
    level: ClassVar[Level] = "attribute"

    @property
    def asks(self) -> str:
        answers = "Answers" if self.class_ is None else f"Answers of {text_of(self.class_)}"
        return f"{answers} never {'fall' if self.direction > 0 else 'rise'} along {self.feature}"

    def check(self, setting: Setting) -> None:
        check_names(self, [self.feature], setting)
        if isinstance(self.direction, bool) or self.direction not in (1, -1):
            raise ValueError(f"{self!r}: direction={self.direction!r} is not possible; use +1 or -1.")
        if setting.kinds[setting.columns.index(self.feature)] == "nominal":
            raise ValueError(f"{self!r}: the values of {self.feature!r} have no order; set it in feature_kinds.")
        if self.class_ is not None:
            class_position(self, self.class_, setting)
            if len(setting.classes) != 2:
                raise ValueError(
                    f"{self!r}: class_ is for two classes, and y has {len(setting.classes)}; leave it out."
                )

    def shape(self, setting: Setting) -> Shape:
        return Shape(monotone=((self.feature, self._direction(setting.classes)),))

    def _direction(self, classes: Sequence[Any]) -> int:
        """The direction of the positions of classes, or of numbers."""
        falls = self.class_ is not None and classes[0] == self.class_
        return -int(self.direction) if falls else int(self.direction)

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        position = next((i for i, feature in enumerate(answers.features) if feature.name == self.feature), None)
        pairs: list[tuple[int, int]] = []
        if position is not None:
            predictions = [rule.label if answers.classes else rule.prediction for rule in answers.rules]
            boxes = boxes_of(answers.rules) if answers.regions is None else answers.regions
            pairs = _violations(boxes, predictions, answers.features, position, self._direction(answers.classes))
        first = pairs[0][0] if pairs else None
        part = "pairs of rules that hold and break it" if answers.regions is None else "pairs of leaves that break it"
        yield ConstraintCheck.of(self, len(pairs), 0, "at most", part=part, rule=first)


@dataclass(frozen=True, eq=False)
class Monotony:
    """What all monotone features of a problem demand of two rules of one model.

    Attributes
    ----------
    features : sequence of Feature
    wanted : tuple of (int, int)
        Positions of the monotone features, and their directions.
    prediction : callable
        What a rule predicts: a number, or the position of a class.
    """

    features: Sequence[Feature]
    wanted: tuple[tuple[int, int], ...]
    prediction: Callable[[Path], float]

    def __call__(self, a: Path, b: Path) -> bool:
        """Whether two rules may not be in one model."""
        return next(self.pairs([a, b], boxes_of([a, b])), None) is not None

    def pairs(self, rules: Sequence[Path], boxes: Sequence[Box]) -> Iterator[tuple[int, int, int, int]]:
        """Rules that predict the wrong way round: that of the smaller values, the other; the feature and direction."""
        predictions = [self.prediction(rule) for rule in rules]
        for feature, direction in self.wanted:
            for low, high in _violations(boxes, predictions, self.features, feature, direction):
                yield low, high, feature, direction

    def order(self, boxes: Sequence[Box]) -> list[tuple[int, int]]:
        """Pairs of rules of which the first must not predict more than the second."""
        return [
            (low, high) if direction > 0 else (high, low)
            for feature, direction in self.wanted
            for low, high in permutations(range(len(boxes)), 2)
            if _ordered(boxes[low], boxes[high], feature, self.features[feature].n_values)
        ]


def boxes_of(rules: Sequence[_HasConditions]) -> list[Box]:
    """The codes of each rule's conditions, by feature."""
    return [{condition.feature: frozenset(condition.codes) for condition in rule.conditions} for rule in rules]


def monotone_violations(
    rules: Sequence[_HasConditions],
    predictions: Sequence[Any],
    features: Sequence[Feature],
    feature: int,
    direction: int,
) -> list[tuple[int, int]]:
    """Pairs of rules, (lower, upper) along the feature, whose predictions are the wrong way round.

    Parameters
    ----------
    rules : sequence of Rule or Path
    predictions : sequence
        Of each rule: its label, or its number.
    features : sequence of Feature
    feature : int
        Position of the ordered feature.
    direction : {1, -1}

    Examples
    --------
    >>> from omtree.problem.problem import Path
    >>> size = Feature("size", 0, "ordinal", 3, False, levels=("S", "M", "L"))
    >>> rules = [Path((Condition(0, (0,)),), 1), Path((Condition(0, (1, 2)),), 0)]
    >>> monotone_violations(rules, [1, 0], [size], 0, +1)
    [(0, 1)]
    """
    return _violations(boxes_of(rules), predictions, features, feature, direction)


def _violations(
    boxes: Sequence[Box], predictions: Sequence[Any], features: Sequence[Feature], feature: int, direction: int
) -> list[tuple[int, int]]:
    return [
        (low, high)
        for low, high in permutations(range(len(boxes)), 2)
        if (predictions[low] - predictions[high]) * direction > 0
        and _ordered(boxes[low], boxes[high], feature, features[feature].n_values)
    ]


def _ordered(low: Box, high: Box, feature: int, n_values: int) -> bool:
    """Whether two rows that differ in the feature alone can be one in each rule, the smaller one in `low`."""
    every = range(n_values)
    below = [code for code in low.get(feature, every) if code < n_values]
    above = [code for code in high.get(feature, every) if code < n_values]
    if not below or not above or min(below) >= max(above):
        return False
    return all(other == feature or low[other] & high[other] for other in low.keys() & high.keys())
