"""A part of the tree that must be kept: features, cuts and answers at some nodes, the rest left open."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omtree.constraints.audit import Answers, ConstraintCheck
from omtree.constraints.constraint import (
    Constraint,
    Level,
    Setting,
    Shape,
    check_classes,
    check_names,
    class_position,
    code_of,
    is_number,
)
from omtree.data.table import MAX_CODES, Feature, Pooled, Table
from omtree.data.wording import text_of
from omtree.errors import InfeasibleError
from omtree.problem.limits import ForcedNode

#: What a node may say.
KEYS = ("split", "at", "groups", "missing", "below", "leaf", "answer", "without")


@dataclass(frozen=True, repr=False)
class Force(Constraint):
    """The tree begins like this.

    Parameters
    ----------
    tree : mapping
        What is given of the root, with what is given of its children inside. A node may have these keys, and is open
        in all that it does not say:

        - ``split``: the column it tests;
        - ``at``: with a numeric column, all its cuts: ``[40]`` has the children below 40, and 40 or more;
        - ``groups``: otherwise the values of each child; values that no group names are one more child;
        - ``missing``: the child, counted from 0, that missing cells go to; by default whichever is best;
        - ``below``: what is given of each child, with `at` or `groups`;
        - ``leaf``: True where it must not be split, False where it must be;
        - ``answer``: the class that it predicts, which makes it a leaf;
        - ``without``: columns that are tested neither here nor below.

    Examples
    --------
    >>> Force({"split": "age", "at": [40], "below": [{"answer": "no"}, {"without": ["sex"]}]})
    Force({'split': 'age', 'at': (40,), 'below': ({'answer': 'no'}, {'without': ('sex',)})})
    """

    tree: Any
    level: ClassVar[Level] = "attribute"

    def __hash__(self) -> int:
        return hash(repr(self))

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree", _tidy(self.tree))

    @property
    def title(self) -> str:
        text = repr(self)
        if len(text) <= 60:
            return text
        return f"Force({{'split': {self.tree['split']!r}, ...}})" if "split" in self.tree else "Force({...})"

    def check(self, setting: Setting) -> None:
        if setting.structure != "tree":
            raise ValueError(f"{self.title} is about trees; fit with structure='tree', or remove it.")
        self._check_node(self.tree, setting, 0)
        leaves = _least_leaves(self.tree)
        if leaves > setting.max_leaves:
            # Larger trees may meet it, which a choice of the size has to know.
            raise InfeasibleError(f"{self.title} needs {leaves} leaves; raise max_leaves={setting.max_leaves!r}.")

    def _check_node(self, node: Mapping[str, Any], setting: Setting, depth: int) -> None:
        check_names(self, node.get("without", ()), setting)
        if "answer" in node:
            check_classes(self, setting)
            class_position(self, node["answer"], setting)
        if "split" not in node:
            return
        name = node["split"]
        check_names(self, [name], setting)
        if depth >= setting.max_depth:
            raise ValueError(f"{self.title} splits below max_depth={setting.max_depth!r}; raise that.")
        kind = setting.kinds[setting.columns.index(name)]
        if "at" in node and kind != "numeric":
            raise ValueError(f"{self.title}: {name!r} is {kind}; give groups of its values in place of cuts.")
        if "groups" in node and kind == "numeric":
            raise ValueError(f"{self.title}: {name!r} is numeric; give its cuts as 'at' in place of groups.")
        for child in node.get("below", ()):
            self._check_node(child, setting, depth + 1)

    def shape(self, setting: Setting) -> Shape:
        return Shape(force=self)

    def restrict(self, feature: Feature) -> Feature:
        wanted = [node for node in _nodes(self.tree) if node.get("split") == feature.name]
        if feature.kind == "numeric":
            assert feature.thresholds is not None
            cuts = np.union1d(feature.thresholds, [_cut(cut) for node in wanted for cut in node.get("at", ())])
            if len(cuts) > len(feature.thresholds) and len(cuts) + 1 + feature.has_missing <= MAX_CODES:
                return dataclasses.replace(feature, n_values=len(cuts) + 1, thresholds=cuts)
            return feature
        groups = [part for node in wanted if "groups" in node for part in _groups(self, feature, node)]
        if feature.kind == "nominal" and groups and feature.n_codes > 2:
            # Where groups follow an order, the first ones named are runs of it.
            order = list(feature.target_order or range(feature.n_codes))
            named = [sorted(part, key=order.index) for part in _groups(self, feature, _first_groups(wanted))]
            return dataclasses.replace(feature, target_order=tuple(code for part in named for code in part))
        return feature

    def nodes(self, features: Sequence[Feature], classes: Sequence[Any]) -> tuple[ForcedNode, ...]:
        """What is given, by positions of features and codes; the root first."""
        position = {feature.name: i for i, feature in enumerate(features)}
        found: list[ForcedNode] = []

        def add(node: Mapping[str, Any], above: frozenset[str]) -> int:
            closed = above | set(node.get("without", ()))
            place = len(found)
            if not node and not closed:
                return -1
            found.append(ForcedNode())
            shut = frozenset(position[name] for name in closed if name in position)
            labels: tuple[bool, ...] = ()
            if "answer" in node:
                labels = tuple(known == node["answer"] for known in classes)
            if node.get("leaf") is False:
                labels = (False,) * max(1, len(classes))
            leaf = bool(node.get("leaf")) or "answer" in node
            if "split" not in node:
                # What may not be tested here may not be tested below.
                below = () if leaf else (add({}, closed),) if labels else (place,)
                found[place] = ForcedNode(children=below, leaf=leaf, closed=shut, labels=labels)
                return place
            name = node["split"]
            if name not in position:
                raise ValueError(f"{self.title} splits {name!r}, which does not vary or may not be tested; remove it.")
            feature = features[position[name]]
            parts = _parts(self, feature, node)
            given = [*node.get("below", ()), *({} for _ in parts)][: len(parts)]
            rest = add({}, closed)
            children = (*(add(child, closed) for child in given), rest)
            free = feature.n_values if feature.has_missing and feature.ordered and "missing" not in node else -1
            found[place] = ForcedNode(position[name], tuple(parts), free, children, closed=shut)
            return place

        add(self.tree, frozenset())
        return tuple(found)

    def thin_child(self, table: Table, least: float) -> tuple[str, float] | None:
        """The first child that has less than the least weight, in words, and its weight; None where all have enough."""
        place = {feature.name: i for i, feature in enumerate(table.features)}

        def look(node: Mapping[str, Any], rows: Any, above: tuple[str, ...]) -> tuple[str, float] | None:
            if node.get("split") not in place:
                return None
            at = place[node["split"]]
            feature = table.features[at]
            free = feature.has_missing and feature.ordered and "missing" not in node
            for i, part in enumerate(_parts(self, feature, node)):
                own = rows & np.isin(table.codes[at], (*part, feature.n_values) if free else part)
                weight, words = float(table.weight[own].sum()), (*above, _part_words(node, i))
                if weight < least * (1 - 1e-9):
                    return " and ".join(words), weight
                below = node.get("below", ())
                if i < len(below) and (thin := look(below[i], own, words)) is not None:
                    return thin
            return None

        return look(self.tree, np.ones(table.n_rows, dtype=np.bool_), ())

    def one_by_one(self) -> list[tuple[str, Force | None]]:
        """Each thing that is asked for, in words, and what is asked for without it; None where that is nothing.

        A test that leads to nothing else that is asked for is one; without it the tests on the way to it go as well.

        Examples
        --------
        >>> given = Force({"split": "age", "at": [40], "below": [{"leaf": True}, {"without": ["sex"]}]})
        >>> for words, rest in given.one_by_one():
        ...     print(words, "|", rest)
        A leaf where age < 40 | Force({'split': 'age', 'at': (40,), 'below': ({}, {'without': ('sex',)})})
        Do not test 'sex' where age >= 40 | Force({'split': 'age', 'at': (40,), 'below': ({'leaf': True}, {})})
        """
        return [(words, Force(rest) if rest else None) for words, rest in _asked(self.tree, ())]

    def audit(self, answers: Answers) -> Iterable[ConstraintCheck]:
        broken = math.nan if answers.paths is None else self._broken(answers)
        yield ConstraintCheck.of(self, broken, 0, "at most", part="nodes that differ")

    def _broken(self, answers: Answers) -> int:
        """How many nodes are not as given."""
        position = {feature.name: i for i, feature in enumerate(answers.features)}
        paths = answers.paths
        assert paths is not None

        def count(node: Mapping[str, Any], rules: list[int], above: tuple[int, ...], domain: Mapping[int, Any]) -> int:
            shut = {position[name] for name in node.get("without", ()) if name in position}
            below = [[c.feature for c in answers.rules[r].conditions if c.feature not in above] for r in rules]
            wrong = int(any(shut.intersection(tested) for tested in below))
            if "answer" in node:
                wrong += int(any(answers.rules[r].label != answers.position(node["answer"]) for r in rules))
            if node.get("leaf") or "answer" in node:
                wrong += int(len(rules) != 1)
            if node.get("leaf") is False:
                wrong += int(len(rules) == 1)
            if "split" not in node:
                return wrong
            feature = position.get(node["split"])
            depth = len(above)
            if feature is None or (
                feature not in above and any(paths[r][depth : depth + 1] != (feature,) for r in rules)
            ):
                return wrong + 1
            parts = _parts(self, answers.features[feature], node)
            free = answers.features[feature].n_values if answers.features[feature].has_missing else -1
            longer = above if feature in above else (*above, feature)
            placed: list[list[int]] = [[] for _ in parts]
            for r in rules if parts else ():
                codes = set(next(c.codes for c in answers.rules[r].conditions if c.feature == feature)) - {free}
                fits = [i for i, part in enumerate(parts) if codes and codes <= set(part)]
                if not fits and codes:
                    return wrong + 1
                for i in fits:
                    placed[i].append(r)
            given = [*node.get("below", ()), *({} for _ in parts)]
            for child, own in zip(given, placed, strict=False):
                wrong += int(not own) + (count(child, own, longer, domain) if own else 0)
            return wrong

        return count(self.tree, list(range(len(answers.rules))), (), {})


def _tidy(node: Any) -> dict[str, Any]:
    """A node as it was given, with tuples for lists; complains about what makes no sense whatever the data."""
    if not isinstance(node, Mapping):
        raise ValueError(f"Force needs a mapping for every node, got {node!r}.")
    unknown = [key for key in node if key not in KEYS]
    if unknown:
        raise ValueError(f"Force does not know the key {unknown[0]!r} of a node; it takes {', '.join(KEYS)}.")
    tidy: dict[str, Any] = {key: node[key] for key in KEYS if key in node}
    if "split" in tidy and (tidy.get("leaf") or "answer" in tidy):
        raise ValueError(f"Force: a node that splits {tidy['split']!r} is no leaf; remove leaf and answer.")
    if ("at" in tidy or "groups" in tidy) and "split" not in tidy:
        raise ValueError("Force: cuts and groups need the column they are of; add 'split'.")
    if "below" in tidy and "at" not in tidy and "groups" not in tidy:
        raise ValueError("Force: what is given below a split needs its cuts or groups; add 'at' or 'groups'.")
    if "at" in tidy:
        cuts = sorted(_listed(tidy["at"], "at"), key=_cut)
        if not cuts or len({_cut(cut) for cut in cuts}) < len(cuts):
            raise ValueError(f"Force: at={tidy['at']!r} is not possible; use one or more different cuts.")
        tidy["at"] = tuple(cuts)
    if "groups" in tidy:
        groups = [tuple(_listed(group, "groups")) for group in _listed(tidy["groups"], "groups")]
        if not groups or not all(groups):
            raise ValueError(f"Force: groups={tidy['groups']!r} is not possible; use one or more groups of values.")
        tidy["groups"] = tuple(groups)
    if "without" in tidy:
        without = [tidy["without"]] if isinstance(tidy["without"], str) else tidy["without"]
        tidy["without"] = tuple(_listed(without, "without"))
    if "below" in tidy:
        tidy["below"] = tuple(_tidy(child) for child in _listed(tidy["below"], "below"))
        most = len(tidy["at"]) + 1 if "at" in tidy else len(tidy["groups"]) + 1
        if len(tidy["below"]) > most:
            raise ValueError(f"Force: {tidy['split']!r} has {most} children at most; {len(tidy['below'])} are given.")
    return tidy


def _listed(value: Any, key: str) -> list[Any]:
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise ValueError(f"Force needs a list as {key!r}, got {value!r}.")
    return list(value)


def _cut(cut: Any) -> float:
    """A cut as a number; dates are days since 1970-01-01."""
    if isinstance(cut, str):
        try:
            return float((np.datetime64(cut) - np.datetime64("1970-01-01")) / np.timedelta64(1, "D"))
        except ValueError:
            raise ValueError(f"Force: the cut {cut!r} is neither a number nor a date.") from None
    if not is_number(cut) or math.isinf(cut):
        raise ValueError(f"Force: the cut {cut!r} is no number.")
    return float(cut)


def _nodes(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [node, *(inner for child in node.get("below", ()) for inner in _nodes(child))]


def _asked(node: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is asked for at a node and below it, in words, and what the node says without it."""
    where = f" where {' and '.join(above)}" if above else ""
    for name in node.get("without", ()):
        others = tuple(other for other in node["without"] if other != name)
        rest = {key: value for key, value in node.items() if key != "without"}
        yield f"Do not test {name!r}{where}", {**rest, "without": others} if others else rest
    kept = {"without": node["without"]} if "without" in node else {}
    if "answer" in node:
        yield f"Answer {text_of(node['answer'])}{where or ' for all'}", kept
    elif "leaf" in node:
        yield f"{'A leaf' if node['leaf'] else 'A test'}{where or ' for all'}", kept
    if "split" not in node:
        return
    below = node.get("below", ())
    if not any(below):
        cuts = f", cut at {' and '.join(map(text_of, node['at']))}," if "at" in node else ""
        groups = ", in these groups," if "groups" in node else ""
        yield f"Test {node['split']!r}{where or ' first'}{cuts}{groups}", kept
    for place, child in enumerate(below):
        for words, rest in _asked(child, (*above, _part_words(node, place))):
            others = (*below[:place], rest, *below[place + 1 :])
            yield words, {**node, "below": others} if any(others) else kept


def _part_words(node: Mapping[str, Any], place: int) -> str:
    """The condition of a child."""
    name = node["split"]
    if "at" in node:
        low, high = [None, *node["at"]][place], [*node["at"], None][place]
        if low is None or high is None:
            return f"{name} < {text_of(high)}" if low is None else f"{name} >= {text_of(low)}"
        return f"{text_of(low)} <= {name} < {text_of(high)}"
    if place < len(node["groups"]):
        return f"{name} is {' or '.join(map(text_of, node['groups'][place]))}"
    return f"{name} is any other"


def _least_leaves(node: Mapping[str, Any]) -> int:
    if "split" not in node:
        return 1
    n_children = len(node["at"]) + 1 if "at" in node else max(2, len(node.get("groups", ())))
    given = node.get("below", ())
    return sum(map(_least_leaves, given)) + max(0, n_children - len(given))


def _first_groups(nodes: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return next(node for node in nodes if "groups" in node)


def _parts(of: Force, feature: Feature, node: Mapping[str, Any]) -> list[tuple[int, ...]]:
    """The codes of each child; none where the cuts are open."""
    if "at" in node:
        assert feature.thresholds is not None
        places = np.searchsorted(feature.thresholds, [_cut(cut) for cut in node["at"]])
        exact = np.isin([_cut(cut) for cut in node["at"]], feature.thresholds)
        if not exact.all():
            raise ValueError(f"{of.title}: {feature.name!r} has too many values to be cut there as well; lower n_bins.")
        bounds = [0, *(int(place) + 1 for place in places), feature.n_values]
        parts = [tuple(range(low, high)) for low, high in itertools.pairwise(bounds)]
    elif "groups" in node:
        parts = _groups(of, feature, node)
    else:
        return []
    if "missing" in node and feature.has_missing and feature.ordered:
        child = node["missing"]
        if not isinstance(child, int) or not 0 <= child < len(parts):
            raise ValueError(f"{of.title}: missing={child!r} is no child of the split; use 0 to {len(parts) - 1}.")
        parts[child] = (*parts[child], feature.n_values)
    return parts


def _groups(of: Force, feature: Feature, node: Mapping[str, Any]) -> list[tuple[int, ...]]:
    """The codes of each group of values, and of the rest."""
    assert feature.levels is not None
    code: dict[Any, int] = {}
    for place, level in enumerate(feature.levels):
        code.update((member, place) for member in (level.members if isinstance(level, Pooled) else (level,)))
        code.setdefault(text_of(level), place)
    if feature.has_missing and not feature.ordered:
        code[None] = code["missing"] = feature.n_values
    taken: set[int] = set()
    parts = []
    for group in node["groups"]:
        unknown = [value for value in group if value not in code]
        if unknown:
            raise ValueError(f"{of.title}: {feature.name!r} has no value {code_of(unknown[0])}; remove it.")
        own = {code[value] for value in group}
        if own & taken:
            raise ValueError(f"{of.title}: a value of {feature.name!r} is in two groups; leave it in one.")
        taken |= own
        parts.append(tuple(sorted(own)))
    ordered_missing = feature.has_missing and feature.ordered
    rest = tuple(c for c in range(feature.n_codes - ordered_missing) if c not in taken)
    if feature.ordered and any(part[-1] - part[0] != len(part) - 1 for part in parts):
        raise ValueError(f"{of.title}: the values of {feature.name!r} have an order; use groups of neighbours.")
    return [*parts, rest] if rest else parts
