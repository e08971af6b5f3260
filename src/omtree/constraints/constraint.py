"""What a constraint is: a small declarative object that says its level and what it demands."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from omtree.data.table import Feature, Kind
from omtree.problem.problem import ModelLimit

if TYPE_CHECKING:
    from omtree.constraints.audit import Answers, ConstraintCheck
    from omtree.constraints.demands import CurvedLimit, RuleDemands, RuleSum
    from omtree.constraints.force import Force
    from omtree.constraints.samples import GroupColumn, Strata
    from omtree.data.column import Columns

Level = Literal["path", "attribute", "sample"]

#: Key, words, least and largest value: two constraints with one key and no common value contradict each other.
Interval = tuple[tuple[Any, ...], str, float, float]


@dataclass(frozen=True)
class Setting:
    """What constraints are checked against before any work.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns of ``X``.
    kinds : tuple of {"numeric", "ordinal", "nominal"}
        By column.
    levels : mapping of str to tuple
        The values of each ordinal or nominal column.
    classes : tuple
        Empty where the target is a number.
    groups : mapping of str to tuple
        The groups of each group column.
    structure : {"tree", "rules"}
    max_depth, max_leaves : int
    """

    columns: tuple[str, ...]
    kinds: tuple[Kind, ...]
    levels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    classes: tuple[Any, ...] = ()
    groups: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    structure: Literal["tree", "rules"] = "tree"
    max_depth: int = 3
    max_leaves: int = 8

    @classmethod
    def of(
        cls,
        columns: Columns,
        classes: Sequence[Any],
        groups: Mapping[str, GroupColumn],
        *,
        structure: Literal["tree", "rules"],
        max_depth: int,
        max_leaves: int,
    ) -> Setting:
        """The setting of a fit; `groups` as `read_groups` gives them."""
        return cls(
            columns.names,
            columns.kinds,
            {column.name: column.levels for column in columns if column.levels is not None},
            tuple(classes),
            {name: column.levels for name, column in groups.items()},
            structure,
            max_depth,
            max_leaves,
        )

    @property
    def task(self) -> Literal["classification", "regression"]:
        """What is predicted: a class or a number."""
        return "classification" if self.classes else "regression"

    @property
    def n_labels(self) -> int:
        """Number of labels of a rule; 1 where the target is a number."""
        return max(1, len(self.classes))


@dataclass(frozen=True)
class Shape:
    """Which features may stand on one path, by name; see `omtree.problem.limits.PathShape` for the first four.

    Attributes
    ----------
    at_most, needs, above, root
        As in `PathShape`.
    order : tuple of str
        Rules list these features in this order.
    exclude : frozenset of str
        Features that no rule may test.
    monotone : tuple of (feature, direction)
    force : Force or None
        What the tree begins like.
    """

    at_most: tuple[tuple[frozenset[str], int], ...] = ()
    needs: tuple[tuple[str, frozenset[str], bool], ...] = ()
    above: tuple[tuple[str, str], ...] = ()
    root: str | None = None
    order: tuple[str, ...] = ()
    exclude: frozenset[str] = frozenset()
    monotone: tuple[tuple[str, int], ...] = ()
    force: Force | None = None


class Constraint:
    """The base of all constraints.

    A new one is a frozen dataclass (``@dataclass(frozen=True, repr=False)``) that sets `level`, checks itself
    against a `Setting`, makes its demand through one of the hooks `shape`, `restrict`, `on_rule` and `on_model`, and
    audits itself. Nothing else has to know about it; in a TOML file its type is its name in snake case.
    """

    level: ClassVar[Level]
    #: Every constraint class by its name in a TOML file.
    known: ClassVar[dict[str, type[Constraint]]] = {}

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        if not abstract:
            Constraint.known[cls.kind()] = cls

    @classmethod
    def kind(cls) -> str:
        """The name in a TOML file.

        >>> from omtree.constraints import StatisticalParity
        >>> StatisticalParity.kind()
        'statistical_parity'
        """
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()

    @property
    def title(self) -> str:
        """What it is called in certificates and complaints: its code, or less where that is long."""
        return repr(self)

    @property
    def asks(self) -> str:
        """What it asks for in words, without limits; empty where the names of its parameters say it."""
        return ""

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The group columns it needs."""
        return ()

    def check(self, setting: Setting) -> None:
        """Complain, in one sentence, about names the setting does not have and numbers that make no sense."""

    def bounds(self, setting: Setting) -> Iterable[Interval]:
        """The intervals it demands of numbers, for finding contradictions."""
        return ()

    def shape(self, setting: Setting) -> Shape:
        """What it demands of the features on a path."""
        return Shape()

    def restrict(self, feature: Feature) -> Feature:
        """The feature with the values that may be told apart."""
        return feature

    def on_rule(self, demands: RuleDemands) -> None:
        """State what it demands of every rule."""

    def on_model(self, strata: Strata, setting: Setting) -> Iterable[ModelLimit | CurvedLimit | RuleSum]:
        """What it demands of the whole model."""
        return ()

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        """How a model meets it, from the raw answers alone."""
        raise NotImplementedError

    def __repr__(self) -> str:
        shown: list[str] = []
        positional = True
        for item in fields_of(type(self)):
            value = getattr(self, item.name)
            if same(value, item.default):
                positional = False
                continue
            positional = positional and not item.kw_only
            shown.append(code_of(value) if positional else f"{item.name}={code_of(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def fields_of(cls: type[Constraint]) -> list[dataclasses.Field[Any]]:
    """The fields of a constraint class in the order of its parameters: those by keyword alone come last."""
    return sorted(dataclasses.fields(cls), key=lambda item: bool(item.kw_only))  # type: ignore[arg-type]


def name_tuple(names: str | Iterable[str]) -> tuple[str, ...]:
    """One name, or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal and of one type (1 is not True)."""
    return type(a) is type(b) and bool(a == b)


def code_of(value: Any) -> str:
    """The value as Python code, the same in every run."""
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(code_of, value))) + "}" if value else "set()"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(code_of, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(code_of, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{code_of(key)}: {code_of(item)}" for key, item in value.items()) + "}"
    if isinstance(value, np.generic):
        return repr(value.item())
    if callable(value):
        return getattr(value, "__name__", repr(value))
    return repr(value)


def name_set(names: Any, what: str) -> frozenset[str]:
    """One name, or several, as a set."""
    one = isinstance(names, str) or not isinstance(names, Iterable)
    found = [names] if one else list(names)
    if not all(isinstance(name, str) for name in found):
        raise ValueError(f"{what} needs the names of columns, got {names!r}.")
    return frozenset(found)


def is_number(value: Any) -> bool:
    """Whether it is a number, infinite ones included, but neither NaN nor a flag."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool) and value == value


def is_whole(value: Any) -> bool:
    """Whether it is a whole number."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_number(of: Constraint, name: str, low: float = 0.0, high: float = math.inf) -> None:
    """Complain when a field is no finite number between these."""
    value = getattr(of, name)
    if not is_number(value) or math.isinf(value) or not low <= value <= high:
        wanted = "a finite number" if math.isinf(low) else f"a number of at least {low:g}"
        if not math.isinf(high):
            wanted = f"a number from {low:g} to {high:g}"
        raise ValueError(f"{of.title}: {name}={value!r} is not possible; use {wanted}.")


def check_names(of: Constraint, names: Iterable[str], setting: Setting) -> None:
    """Complain about a column that ``X`` does not have."""
    for name in sorted(names, key=str):
        if name not in setting.columns:
            raise ValueError(f"{of.title} names the column {name!r}, which X does not have; it has {_some(setting)}.")


def check_group(of: Constraint, name: str, setting: Setting) -> None:
    """Complain about a group column that is unknown or has a single group."""
    if name not in setting.groups:
        raise ValueError(
            f"{of.title} names the group column {name!r}, which neither X nor groups has; "
            "pass it as fit(..., groups=...)."
        )
    if len(setting.groups[name]) < 2:
        raise ValueError(f"{of.title} compares groups, but {name!r} has only one; remove the constraint.")


def check_classes(of: Constraint, setting: Setting) -> None:
    """Complain when the target has no classes."""
    if setting.task == "regression":
        raise ValueError(f"{of.title} is about classes, which a numeric target does not have; remove the constraint.")


def class_position(of: Constraint, class_: Any, setting: Setting) -> int:
    """The position of a class; None means the second of two."""
    check_classes(of, setting)
    if class_ is None:
        if len(setting.classes) != 2:
            raise ValueError(
                f"{of.title} does not say which of the {len(setting.classes)} classes it is about; set class_."
            )
        return 1
    for position, known in enumerate(setting.classes):
        if known == class_:
            return position
    known = ", ".join(map(code_of, setting.classes[:10]))
    raise ValueError(f"{of.title} names the class {class_!r}, which y does not have; y has {known}.")


def _some(setting: Setting) -> str:
    names = ", ".join(map(repr, setting.columns[:10]))
    return f"{names}, ..." if len(setting.columns) > 10 else names
