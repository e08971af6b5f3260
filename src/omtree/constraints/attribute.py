"""Constraints on the features that may meet on one path.

For a tree, a path is what is tested from the root to a leaf; for a rule set, the conditions of a rule. A rule set has
no order of tests: there only the demands on which features a rule tests together are kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar

from omtree.constraints.audit import Answers, ConstraintCheck
from omtree.constraints.constraint import Constraint, Level, Setting, Shape, check_names, is_whole, name_set


@dataclass(frozen=True, repr=False)
class _Attribute(Constraint, abstract=True):
    """A demand on the features of each path."""

    level: ClassVar[Level] = "attribute"

    def breaks(self, answers: Answers, tested: frozenset[str], path: tuple[str, ...] | None) -> bool:
        """Whether a rule that tests these features, on this path of a tree, breaks the demand."""
        raise NotImplementedError

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        broken = []
        for rule in range(len(answers.rules)):
            path = None
            if answers.paths is not None:
                path = tuple(answers.features[feature].name for feature in answers.paths[rule])
            if self.breaks(answers, frozenset(answers.names(rule)), path):
                broken.append(rule)
        first = broken[0] if broken else None
        yield ConstraintCheck.of(self, len(broken), 0, "at most", part="rules that break it", rule=first)


@dataclass(frozen=True, repr=False)
class Forbid(_Attribute):
    """These features never stand together on one path; any part of them may.

    Parameters
    ----------
    features : set of str, or sequence of sets of str
        One combination of two or more features, or several.

    Examples
    --------
    >>> Forbid({"age", "zip"})
    Forbid({'age', 'zip'})
    >>> Forbid([{"age", "zip"}, {"age", "sex", "race"}])
    Forbid(({'age', 'zip'}, {'age', 'race', 'sex'}))
    """

    features: Any

    def __post_init__(self) -> None:
        given = self.features
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise ValueError(f"Forbid needs a set of two or more columns, or several such sets, got {given!r}.")
        given = tuple(given)
        if any(isinstance(item, str) for item in given):
            object.__setattr__(self, "features", name_set(given, "Forbid"))
        else:
            sets = tuple(name_set(item, "Forbid") for item in given)
            object.__setattr__(self, "features", sets[0] if len(sets) == 1 else sets)

    @property
    def sets(self) -> tuple[frozenset[str], ...]:
        """The forbidden combinations."""
        return (self.features,) if isinstance(self.features, frozenset) else self.features

    def check(self, setting: Setting) -> None:
        if not self.sets:
            raise ValueError("Forbid forbids nothing; name two or more columns.")
        for names in self.sets:
            check_names(self, names, setting)
            if len(names) < 2:
                raise ValueError(f"{self!r} has a set of one column; use Exclude for columns that no rule may test.")

    def shape(self, setting: Setting) -> Shape:
        return Shape(at_most=tuple((names, len(names) - 1) for names in self.sets))

    def breaks(self, answers: Answers, tested: frozenset[str], path: tuple[str, ...] | None) -> bool:
        return any(names <= tested for names in self.sets)


@dataclass(frozen=True, repr=False)
class Interactions(_Attribute):
    """The features on one path all come from one of these sets.

    A feature that is in no set stands alone on its path.

    Parameters
    ----------
    sets : sequence of sets of str

    Examples
    --------
    >>> Interactions([{"age", "sex"}, {"age", "income", "rent"}])
    Interactions(({'age', 'sex'}, {'age', 'income', 'rent'}))
    """

    sets: Any

    def __post_init__(self) -> None:
        if isinstance(self.sets, str) or not isinstance(self.sets, Iterable):
            raise ValueError(f"Interactions needs a list of sets of columns, got {self.sets!r}.")
        object.__setattr__(self, "sets", tuple(name_set(names, "Interactions") for names in self.sets))

    def check(self, setting: Setting) -> None:
        for names in self.sets:
            check_names(self, names, setting)

    def _allowed(self, names: Iterable[str]) -> bool:
        wanted = frozenset(names)
        return len(wanted) < 2 or any(wanted <= allowed for allowed in self.sets)

    def shape(self, setting: Setting) -> Shape:
        forbidden: list[tuple[str, ...]] = [
            pair for pair in combinations(setting.columns, 2) if not self._allowed(pair)
        ]
        # Where only the whole is forbidden, not its parts, each feature is in as many sets as there are others.
        shared = [name for name in setting.columns if sum(name in names for names in self.sets) > 1]
        for size in range(3, setting.max_depth + 1):
            for names in combinations(shared, size):
                if not self._allowed(names) and all(map(self._allowed, combinations(names, size - 1))):
                    forbidden.append(names)
        return Shape(at_most=tuple((frozenset(names), len(names) - 1) for names in forbidden))

    def breaks(self, answers: Answers, tested: frozenset[str], path: tuple[str, ...] | None) -> bool:
        return not self._allowed(tested)


@dataclass(frozen=True, repr=False)
class Together(_Attribute):
    """A rule that tests one of these features tests all of them.

    Parameters
    ----------
    features : set of str
        Two or more.

    Examples
    --------
    >>> Together({"systolic", "diastolic"})
    Together({'diastolic', 'systolic'})
    """

    features: frozenset[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", name_set(self.features, "Together"))

    def check(self, setting: Setting) -> None:
        check_names(self, self.features, setting)
        if len(self.features) < 2:
            raise ValueError(f"{self!r} has a single column; name two or more.")

    def shape(self, setting: Setting) -> Shape:
        return Shape(needs=tuple((name, self.features - {name}, False) for name in sorted(self.features)))

    def breaks(self, answers: Answers, tested: frozenset[str], path: tuple[str, ...] | None) -> bool:
        return bool(tested & self.features) and not self.features <= tested


@dataclass(frozen=True, repr=False)
class Requires(_Attribute):
    """A rule that tests a feature tests others as well; in a tree it tests them first, higher up.

    Parameters
    ----------
    feature : str
    first : str or set of str

    Examples
    --------
    >>> Requires("mri", first="blood_test")
    Requires('mri', first={'blood_test'})
    """

    feature: str
    first: Any = field(kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", name_set(self.first, "Requires"))

    def check(self, setting: Setting) -> None:
        check_names(self, {self.feature, *self.first}, setting)
        if not self.first or self.feature in self.first:
            raise ValueError(f"{self!r} requires nothing, or itself; name other columns as first.")

    def shape(self, setting: Setting) -> Shape:
        return Shape(needs=((self.feature, self.first, True),))

    def breaks(self, answers: Answers, tested: frozenset[str], path: tuple[str, ...] | None) -> bool:
        if self.feature not in tested:
            return False
        if path is not None and self.feature in path:
            return not self.first <= set(path[: path.index(self.feature)])
        return not self.first <= tested


@dataclass(frozen=True, repr=False)
class Order(_Attribute):
    """Rules list these features in this order; with `strict` a tree tests them in this order, too.

    Without `strict` no model is excluded: it is the order of the feature graph, and of the conditions in a rule. With
    it, a later feature never stands above an earlier one on a path of a tree; paths may leave any of them out.

    Parameters
    ----------
    features : sequence of str, optional
        By default all the columns, as they stand in ``X``.
    strict : bool, default=False

    Examples
    --------
    >>> Order(["age", "blood_test", "mri"], strict=True)
    Order(('age', 'blood_test', 'mri'), strict=True)
    """

    features: Any = None
    strict: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.features is not None:
            if isinstance(self.features, (str, set, frozenset)) or not isinstance(self.features, Iterable):
                raise ValueError(f"Order needs a list of columns, got {self.features!r}.")
            object.__setattr__(self, "features", tuple(self.features))

    def check(self, setting: Setting) -> None:
        names = self._names(setting.columns)
        check_names(self, names, setting)
        if len(set(names)) < len(names):
            raise ValueError(f"{self!r} names a column twice; name each once.")
        if len(names) < 2:
            raise ValueError(f"{self!r} orders fewer than two columns; name two or more.")
        if not isinstance(self.strict, bool):
            raise ValueError(f"{self!r}: strict={self.strict!r} is not possible; use True or False.")

    def shape(self, setting: Setting) -> Shape:
        names = self._names(setting.columns)
        return Shape(order=names, above=tuple(combinations(names, 2)) if self.strict else ())

    def _names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        return columns if self.features is None else self.features

    def breaks(self, answers: Answers, tested: frozenset[str], path: tuple[str, ...] | None) -> bool:
        if path is None or not self.strict:
            return False
        columns = sorted(answers.features, key=lambda feature: feature.column)
        rank = {name: i for i, name in enumerate(self._names(tuple(feature.name for feature in columns)))}
        ranks = [rank[name] for name in path if name in rank]
        return ranks != sorted(ranks)


@dataclass(frozen=True, repr=False)
class UseAtMost(_Attribute):
    """A path tests at most `n` of these features.

    Parameters
    ----------
    features : set of str
    n : int

    Examples
    --------
    >>> UseAtMost({"mri", "ct", "pet"}, 2)
    UseAtMost({'ct', 'mri', 'pet'}, 2)
    """

    features: frozenset[str]
    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", name_set(self.features, type(self).__name__))

    def check(self, setting: Setting) -> None:
        check_names(self, self.features, setting)
        if not is_whole(self.n) or self.n < 1:
            raise ValueError(f"{self!r}: n={self.n!r} is not possible; use a whole number of at least 1.")
        if len(self.features) <= self.n:
            raise ValueError(f"{self!r} limits nothing; name more than {self.n} columns.")

    def shape(self, setting: Setting) -> Shape:
        return Shape(at_most=((self.features, int(self.n)),))

    def breaks(self, answers: Answers, tested: frozenset[str], path: tuple[str, ...] | None) -> bool:
        return len(tested & self.features) > self.n


@dataclass(frozen=True, repr=False)
class Once(_Attribute):
    """A path tests at most one of these features.

    Parameters
    ----------
    features : set of str

    Examples
    --------
    >>> Once({"weight", "bmi"})
    Once({'bmi', 'weight'})
    """

    features: frozenset[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", name_set(self.features, "Once"))

    def check(self, setting: Setting) -> None:
        check_names(self, self.features, setting)
        if len(self.features) < 2:
            raise ValueError(f"{self!r} has a single column; name two or more.")

    def shape(self, setting: Setting) -> Shape:
        return Shape(at_most=((self.features, 1),))

    def breaks(self, answers: Answers, tested: frozenset[str], path: tuple[str, ...] | None) -> bool:
        return len(tested & self.features) > 1


@dataclass(frozen=True, repr=False)
class Exclude(_Attribute):
    """No rule tests these features; they may still serve as groups.

    Parameters
    ----------
    features : str or set of str

    Examples
    --------
    >>> Exclude("zip")
    Exclude({'zip'})
    """

    features: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", name_set(self.features, "Exclude"))

    def check(self, setting: Setting) -> None:
        check_names(self, self.features, setting)

    def shape(self, setting: Setting) -> Shape:
        return Shape(exclude=self.features)

    def breaks(self, answers: Answers, tested: frozenset[str], path: tuple[str, ...] | None) -> bool:
        return bool(tested & self.features)


@dataclass(frozen=True, repr=False)
class Root(_Attribute):
    """Every rule tests this feature; a tree tests it first.

    Parameters
    ----------
    feature : str

    Examples
    --------
    >>> Root("age")
    Root('age')
    """

    feature: str

    def check(self, setting: Setting) -> None:
        check_names(self, [self.feature], setting)

    def shape(self, setting: Setting) -> Shape:
        return Shape(root=self.feature)

    def breaks(self, answers: Answers, tested: frozenset[str], path: tuple[str, ...] | None) -> bool:
        return self.feature not in tested or (path is not None and path[:1] != (self.feature,))
