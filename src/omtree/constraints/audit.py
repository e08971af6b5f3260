"""How a model meets its constraints on any data, from its answers alone: nothing here looks at what was compiled."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from omtree.constraints.samples import GroupColumn
from omtree.data.table import CodeArray, Feature, FloatArray
from omtree.data.wording import number
from omtree.model.notebook_html import html_table

if TYPE_CHECKING:
    from omtree.constraints.constraint import Constraint, Level
    from omtree.model.rules import Rule, RuleSet
    from omtree.model.tree import Tree

Sense = Literal["at least", "at most"]

#: Sums of weights carry rounding: a limit that is missed by less than this part of it counts as met.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class ConstraintCheck:
    """How a model meets one constraint.

    Attributes
    ----------
    name : str
        The constraint, and which of its parts where it has several.
    value : float
        What the model reaches: of a constraint on every rule, the value of the worst rule; of one on the features,
        how often it is broken. NaN where there is nothing to measure, which counts as met.
    limit : float
        May be infinite, where a number is only reported.
    slack : float
        Distance to the limit, negative where it is missed.
    sense : {"at least", "at most"}
    level : {"path", "attribute", "sample"}
    rule : int or None
        The rule that the value comes from.
    """

    name: str
    value: float
    limit: float
    slack: float
    sense: Sense = "at least"
    level: Level = "sample"
    rule: int | None = None

    @classmethod
    def of(
        cls,
        constraint: Constraint,
        value: float,
        limit: float,
        sense: Sense,
        *,
        part: str = "",
        rule: int | None = None,
    ) -> ConstraintCheck:
        """The check that a value of a constraint gives."""
        value, limit = float(value), float(limit)
        slack = 0.0 if math.isnan(value) else value - limit if sense == "at least" else limit - value
        name = f"{constraint.title}: {part}" if part else constraint.title
        return cls(name, value, limit, slack, sense, constraint.level, rule)

    @property
    def met(self) -> bool:
        """Whether the limit is kept, rounding aside."""
        return self.slack >= -TOLERANCE * max(1.0, abs(self.limit))


class Checks(tuple[ConstraintCheck, ...]):
    """Checks of all constraints of a model; a notebook shows them as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        missed = sum(not check.met for check in self)
        title = "all constraints are met" if not missed else f"{missed} of {len(self)} constraints are not met"
        if not self:
            title = "the model has no constraints"
        return html_table(("constraint", "value", "limit", "met"), [_cells(check) for check in self], title)


def _cells(check: ConstraintCheck) -> tuple[str, str, str, str]:
    value = "nothing to measure" if math.isnan(check.value) else number(check.value)
    limit = "" if math.isinf(check.limit) else f"{check.sense} {number(check.limit)}"
    return check.name, value, limit, "yes" if check.met else "no"


@dataclass(frozen=True, eq=False)
class Answers:
    """A model's answers for some samples.

    Attributes
    ----------
    rules : sequence of Rule
    features : sequence of Feature
        What the conditions refer to.
    classes : tuple
        Empty where the target is a number.
    rule : array of int, shape (n_samples,)
        The rule that answers for each sample.
    y : array, shape (n_samples,)
        Position of each sample's class, or its number.
    weight : array of float, shape (n_samples,)
    groups : mapping of str to GroupColumn
    paths : tuple of tuple of int, or None
        The features that a tree tests on the way to each rule, from the root down; None where the model is no tree.
    regions : tuple of mappings of int to frozenset of int, or None
        The codes that lead to each rule of a tree, by feature, also those never seen on the way; None likewise.
    """

    rules: Sequence[Rule]
    features: Sequence[Feature]
    classes: tuple[Any, ...]
    rule: npt.NDArray[np.intp]
    y: npt.NDArray[Any]
    weight: FloatArray
    groups: Mapping[str, GroupColumn] = field(default_factory=dict)
    paths: tuple[tuple[int, ...], ...] | None = None
    regions: tuple[Mapping[int, frozenset[int]], ...] | None = None

    @classmethod
    def of(
        cls,
        rules: RuleSet,
        codes: CodeArray,
        y: npt.NDArray[Any],
        weight: FloatArray | None = None,
        groups: Mapping[str, GroupColumn] | None = None,
        tree: Tree | None = None,
    ) -> Answers:
        """The answers of a model for coded samples.

        Parameters
        ----------
        rules : RuleSet
        codes : array of uint8, shape (n_features, n_samples)
        y : array, shape (n_samples,)
            Position of each sample's class in the classes of the rules, -1 where they don't have it; or numbers.
        weight : array of float, optional
        groups : mapping of str to GroupColumn, optional
        tree : Tree, optional
            Given when the model was fitted as a tree: the order of its tests is then looked at.
        """
        rule = rules.assign(codes) if tree is None else tree.apply(codes)
        weight = np.ones(codes.shape[1]) if weight is None else weight
        paths, regions = (None, None) if tree is None else (paths_of(tree), tree.regions)
        return cls(tuple(rules), rules.features, rules.classes, rule, y, weight, groups or {}, paths, regions)

    @cached_property
    def predicted(self) -> npt.NDArray[np.intp]:
        """Position of the class predicted for each sample."""
        return np.array([rule.label for rule in self.rules], dtype=np.intp)[self.rule]

    def names(self, rule: int) -> tuple[str, ...]:
        """The features that a rule tests."""
        return tuple(self.features[condition.feature].name for condition in self.rules[rule].conditions)

    def position(self, class_: Any) -> int:
        """Position of a class; None means the second of two."""
        if class_ is None:
            return 1
        places = [i for i, known in enumerate(self.classes) if known == class_]
        if not places:
            raise ValueError(f"{class_!r} is none of the classes of the model; name one of them in the constraint.")
        return places[0]

    def by_rule(self, chosen: npt.NDArray[np.bool_] | None = None) -> FloatArray:
        """Weight of the chosen samples in each rule."""
        weight = self.weight if chosen is None else self.weight * chosen
        return np.bincount(self.rule, weights=weight, minlength=len(self.rules)).astype(np.float64)


def paths_of(tree: Tree) -> tuple[tuple[int, ...], ...]:
    """The features tested on the way to each rule of a tree, from the root down, each once."""
    paths: dict[int, tuple[int, ...]] = {}
    for node in tree.nodes:
        if node.rule is not None:
            above: list[int] = []
            parent = node.parent
            while parent is not None:
                feature = tree.nodes[parent].feature
                assert feature is not None
                above.append(feature)
                parent = tree.nodes[parent].parent
            paths[node.rule] = tuple(dict.fromkeys(reversed(above)))
    return tuple(paths[rule] for rule in range(len(paths)))


def audit(constraints: Iterable[Constraint], answers: Answers) -> tuple[ConstraintCheck, ...]:
    """Value, limit and slack of every constraint.

    Parameters
    ----------
    constraints : iterable of Constraint
    answers : Answers
        Of the model, on the training data or on any other.

    Examples
    --------
    >>> from omtree.constraints import Recall
    >>> from omtree.problem.graph import Condition
    >>> from omtree.model.rules import Rule, RuleSet
    >>> size = Feature("size", 0, "ordinal", 2, False, levels=("S", "L"))
    >>> small = Rule((Condition(0, (0,)),), 3.0, (3.0, 0.0), "no", 0.0, 0)
    >>> large = Rule((Condition(0, (1,)),), 1.0, (0.0, 1.0), "yes", 0.0, 1)
    >>> rules = RuleSet([small, large], [size], ["no", "yes"])
    >>> answers = Answers.of(rules, np.array([[0, 0, 1, 1]], np.uint8), np.array([0, 1, 1, 1]))
    >>> (check,) = audit([Recall("yes", at_least=0.5)], answers)
    >>> round(check.value, 3), check.limit, check.met
    (0.667, 0.5, True)
    """
    return tuple(check for constraint in constraints for check in constraint.audit(answers))


def worst(constraint: Constraint, values: FloatArray, limit: float, sense: Sense, *, part: str = "") -> ConstraintCheck:
    """The check of a constraint on every rule: that of its worst rule; NaN marks rules with nothing to measure."""
    if np.isnan(values).all():
        return ConstraintCheck.of(constraint, math.nan, limit, sense, part=part)
    rule = int(np.nanargmin(values) if sense == "at least" else np.nanargmax(values))
    return ConstraintCheck.of(constraint, values[rule], limit, sense, part=part, rule=rule)


def share(part: FloatArray, whole: FloatArray) -> FloatArray:
    """``part / whole``, NaN where there is nothing."""
    found = np.full(np.shape(whole), math.nan)
    np.divide(part, whole, out=found, where=whole > 0)
    return found
