"""Constraints that contradict each other, found before any work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

from omtree.constraints.budget import Budget
from omtree.constraints.constraint import Constraint, Setting


def check_constraints(constraints: Iterable[Any], setting: Setting) -> tuple[Constraint, ...]:
    """The constraints, each checked on its own and all of them against each other.

    Raises
    ------
    ValueError
        In one sentence: what is wrong, and what to do.
    """
    checked = tuple(constraints)
    for constraint in checked:
        if not isinstance(constraint, Constraint):
            raise ValueError(f"{constraint!r} is no constraint; use those of omtree.constraints.")
        constraint.check(setting)
    check_together(checked, setting)
    return checked


def check_together(constraints: Sequence[Constraint], setting: Setting) -> None:
    """Complain about constraints that no model, or no rule with one of their features, can meet together."""
    _check_intervals(constraints, setting)
    _check_paths(constraints, setting)
    _check_order(constraints, setting)
    _check_directions(constraints, setting)
    weighted = [constraint for constraint in constraints if isinstance(constraint, Budget) and constraint.weight > 0]
    if len(weighted) > 1:
        raise ValueError("Only one Budget may have a weight in the loss; set weight=0 in the others.")


def _contradict(why: str, *culprits: Constraint) -> ValueError:
    names = list(dict.fromkeys(culprit.title for culprit in culprits))
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    if len(names) == 1:
        return ValueError(f"{listed} contradicts itself: {why}; change it.")
    return ValueError(f"{listed} contradict each other: {why}; remove one of them.")


def _check_intervals(constraints: Sequence[Constraint], setting: Setting) -> None:
    least: dict[tuple[Any, ...], tuple[float, Constraint]] = {}
    largest: dict[tuple[Any, ...], tuple[float, Constraint]] = {}
    for constraint in constraints:
        for key, words, low, high in constraint.bounds(setting):
            if key not in least or low > least[key][0]:
                least[key] = low, constraint
            if key not in largest or high < largest[key][0]:
                largest[key] = high, constraint
            if least[key][0] > largest[key][0] + 1e-12:
                why = f"no value of {words} meets both"
                raise _contradict(why, least[key][1], largest[key][1])


def _check_paths(constraints: Sequence[Constraint], setting: Setting) -> None:
    """Complain when a feature needs others that can't stand beside it, or the root itself can't stand anywhere."""
    shapes = [(constraint, constraint.shape(setting)) for constraint in constraints]
    excluded = {name: constraint for constraint, shape in shapes for name in shape.exclude}
    limits = [(names, n, constraint) for constraint, shape in shapes for names, n in shape.at_most]
    needs = [(name, others, constraint) for constraint, shape in shapes for name, others, _ in shape.needs]
    roots = [(shape.root, constraint) for constraint, shape in shapes if shape.root is not None]
    for root, constraint in roots[1:]:
        if root != roots[0][0]:
            raise _contradict("a model has one root", roots[0][1], constraint)
    for root, constraint in roots:
        if root in excluded:
            raise _contradict(f"every rule has to test {root!r}, and none may", constraint, excluded[root])
    starts = [(frozenset([name]), constraint) for name, constraint in roots]
    for name, _, constraint in needs:
        if name not in excluded:
            starts.append((frozenset([name]) | {root for root, _ in roots}, constraint))
    for names, source in starts:
        wanted = set(names)
        reasons = [source, *(constraint for _, constraint in roots)]
        grown = True
        while grown:
            grown = False
            for name, others, constraint in needs:
                if name in wanted and not others <= wanted:
                    wanted |= others
                    reasons.append(constraint)
                    grown = True
        what = " and ".join(map(repr, sorted(wanted)))
        for name in sorted(wanted & excluded.keys()):
            raise _contradict(f"{name!r} is needed in a rule and excluded from all", *reasons, excluded[name])
        for budget in (constraint for constraint in constraints if isinstance(constraint, Budget)):
            if not budget.affords(wanted):
                raise _contradict(f"{what} cost more than the limit", *reasons, budget)
        for limited, n, constraint in limits:
            if len(limited & wanted) > n:
                raise _contradict(f"{what} have to be in one rule and must not be", *reasons, constraint)
        if len(wanted) > setting.max_depth:
            raise ValueError(
                f"{reasons[0].title} needs {what} in one rule, more than max_depth={setting.max_depth} conditions; "
                "raise max_depth."
            )


def _check_order(constraints: Sequence[Constraint], setting: Setting) -> None:
    """Complain when features have to stand above each other in a circle."""
    below: dict[str, dict[str, Constraint]] = {}
    root: tuple[str, Constraint] | None = None
    for constraint in constraints:
        shape = constraint.shape(setting)
        pairs = [*shape.above, *((other, name) for name, others, first in shape.needs if first for other in others)]
        for upper, lower in pairs:
            below.setdefault(upper, {}).setdefault(lower, constraint)
        if shape.root is not None:
            root = shape.root, constraint
    if root is not None:
        for name in {*below, *(name for lower in below.values() for name in lower)} - {root[0]}:
            below.setdefault(root[0], {}).setdefault(name, root[1])

    sorter: TopologicalSorter[str] = TopologicalSorter()
    for upper, lowers in below.items():
        for lower in lowers:
            sorter.add(lower, upper)
    try:
        sorter.prepare()
    except CycleError as error:
        ring: list[str] = error.args[1][:-1]
        first = ring.index(min(ring))
        circle = [*ring[first:], *ring[: first + 1]]
        culprits = [below[a][b] for a, b in pairwise(circle)]
        raise _contradict(f"{' above '.join(map(repr, circle))} is a circle", *culprits) from None


def _check_directions(constraints: Sequence[Constraint], setting: Setting) -> None:
    directions: dict[str, tuple[int, Constraint]] = {}
    for constraint in constraints:
        for name, direction in constraint.shape(setting).monotone:
            other = directions.setdefault(name, (direction, constraint))
            if other[0] != direction:
                raise _contradict(f"predictions cannot both rise and fall along {name!r}", other[1], constraint)
