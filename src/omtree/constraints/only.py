"""Which values of a feature may be told apart."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omtree.constraints.audit import Answers, ConstraintCheck
from omtree.constraints.constraint import Constraint, Level, Setting, check_names, is_number
from omtree.data.table import Feature, Pooled
from omtree.data.wording import show_level


@dataclass(frozen=True, repr=False)
class Only(Constraint):
    """A feature is cut at these points, or split into these groups, and nowhere else.

    Parameters
    ----------
    feature : str
    conditions : sequence
        For numbers, the cut points: conditions are intervals between them. Otherwise the groups, each a set of values
        or a single value: a condition names whole groups. Values that no group names stay together as one more group,
        in an ordered column as one for each run of them. Groups of an ordered column have to be runs as well.

    Examples
    --------
    >>> Only("age", [18, 65])
    Only('age', (18, 65))
    >>> Only("colour", [{"red", "blue"}, "green"])
    Only('colour', ({'blue', 'red'}, 'green'))
    """

    feature: str
    conditions: Any
    level: ClassVar[Level] = "attribute"

    def __post_init__(self) -> None:
        given = self.conditions
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise ValueError(f"Only needs a list of cut points or of groups for {self.feature!r}, got {given!r}.")
        parts = tuple(frozenset(p) if isinstance(p, (set, frozenset, list, tuple)) else p for p in given)
        object.__setattr__(self, "conditions", parts)

    @property
    def groups(self) -> list[frozenset[Any]]:
        """The groups, single values as groups of one."""
        return [part if isinstance(part, frozenset) else frozenset([part]) for part in self.conditions]

    def check(self, setting: Setting) -> None:
        check_names(self, [self.feature], setting)
        if not self.conditions or not all(self.groups):
            raise ValueError(f"{self!r} has no cut points, or an empty group; use Exclude to leave the column out.")
        kind = setting.kinds[setting.columns.index(self.feature)]
        if kind == "numeric":
            for point in self.conditions:
                if not is_number(point) or math.isinf(point):
                    raise ValueError(f"{self!r}: {point!r} is no cut point of the numeric column; use numbers.")
            return
        levels = setting.levels[self.feature]
        named = [value for group in self.groups for value in group]
        for value in sorted(named, key=str):
            if value not in levels:
                raise ValueError(f"{self!r} names the value {value!r}, which {self.feature!r} does not have.")
        if len(set(named)) < len(named):
            raise ValueError(f"{self!r} has a value in two groups; name each once.")
        if kind == "ordinal":
            for group in self.groups:
                places = sorted(levels.index(value) for value in group)
                if places[-1] - places[0] >= len(places):
                    raise ValueError(f"{self!r} has a group with gaps in an ordered column; use runs of levels.")

    def restrict(self, feature: Feature) -> Feature:
        if feature.name != self.feature:
            return feature
        if feature.kind == "numeric":
            cuts = np.array(sorted({float(point) for point in self.conditions}))
            return dataclasses.replace(feature, thresholds=cuts, n_values=len(cuts) + 1, pair=None)
        assert feature.levels is not None
        code_of: dict[Any, int] = {}
        rest: frozenset[Any] = frozenset()
        for code, level in enumerate(feature.levels):
            if isinstance(level, Pooled) and level.rest:
                rest = level.members
            for member in sorted(level.members, key=str) if isinstance(level, Pooled) else [level]:
                code_of[member] = code
        parts = self._parts(list(code_of), ordered=feature.ordered)
        levels = tuple(part[0] if len(part) == 1 else _group(part, feature.ordered, rest) for part in parts)
        order = None
        if not feature.ordered:
            # Along the target as well as their members are.
            old = feature.target_order or tuple(range(feature.n_codes))
            place = [float(np.mean([old.index(code_of[member]) for member in part])) for part in parts]
            if feature.has_missing:
                place.append(float(old.index(feature.n_values)))
            order = tuple(np.argsort(place, kind="stable").tolist())
        return dataclasses.replace(feature, levels=levels, n_values=len(levels), target_order=order)

    def _parts(self, values: Sequence[Any], *, ordered: bool) -> list[list[Any]]:
        """The values that stay together, in the order of the values."""
        rest = -1
        parts: dict[int, list[Any]] = {}
        previous = None
        for value in values:
            group = next((i for i, group in enumerate(self.groups) if value in group), None)
            if group is None and ordered and previous is not None:
                rest -= 1  # a new run
            parts.setdefault(rest if group is None else group, []).append(value)
            previous = group
        return list(parts.values())

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        broken = []
        for i, rule in enumerate(answers.rules):
            for condition in rule.conditions:
                feature = answers.features[condition.feature]
                if feature.name == self.feature and not self._allows(feature, set(condition.codes)):
                    broken.append(i)
        first = broken[0] if broken else None
        yield ConstraintCheck.of(self, len(broken), 0, "at most", part="rules that break it", rule=first)

    def _allows(self, feature: Feature, codes: set[int]) -> bool:
        """Whether no cut of the condition is at another point, or within a group."""
        if feature.thresholds is not None:
            cuts = [feature.thresholds[b - 1] for b in range(1, feature.n_values) if (b - 1 in codes) != (b in codes)]
            return {float(cut) for cut in cuts} <= {float(point) for point in self.conditions}
        assert feature.levels is not None
        members = [level.members if isinstance(level, Pooled) else {level} for level in feature.levels]
        inside: set[Any] = set().union(*(members[code] for code in codes if code < feature.n_values))
        values = [value for level in members for value in level]
        parts = self._parts(values, ordered=feature.ordered)
        return all(inside.issuperset(part) or inside.isdisjoint(part) for part in parts)


def _group(members: Sequence[Any], ordered: bool, rest: frozenset[Any]) -> Pooled:
    shown = list(map(show_level, members))
    if ordered:
        return Pooled(frozenset(members), f"{shown[0]} to {shown[-1]}")
    # Rare values that the constraint does not name stay the rest, whatever else is with them.
    is_rest = bool(rest) and rest.issubset(members)
    return Pooled(frozenset(members), " or ".join(shown) if len(shown) <= 8 else "(other)", is_rest)
