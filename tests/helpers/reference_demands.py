"""What every constraint means, checked on a rule or on a whole model from the samples alone.

A `Demand` pairs a constraint, as a user writes it, with plain functions of the samples in a rule. Classes are 0 and 1,
1 being the positive one; the group column is called "group"; `a` and `b` are the first two columns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from helpers.every_model import Best, Labelled, Leaf, best_model, every_rule_set, every_tree, row_labels
from helpers.reference_losses import f1, fowlkes_mallows, mcc
from helpers.tiny_frames import Coded, Tiny

SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class World:
    """The data, its codes, and the structure of the models."""

    data: Tiny
    coded: Coded
    structure: str
    _answers: dict[Hashable, Any] = field(default_factory=dict)

    def once(self, key: Hashable, answer: Callable[[], Any]) -> Any:
        """The answer, computed when the key is new."""
        if key not in self._answers:
            self._answers[key] = answer()
        return self._answers[key]

    @property
    def a(self) -> str:
        return str(self.data.X.columns[0])

    @property
    def b(self) -> str:
        return str(self.data.X.columns[1])

    def names(self, leaf: Leaf) -> list[str]:
        """The columns on the path."""
        return [str(self.data.X.columns[position]) for position in leaf.path]

    def weight(self, leaf: Leaf, *which: np.ndarray) -> float:
        """Weight of the samples in the rule that are in all of these."""
        return self.total(self.once(leaf.rows, lambda: np.isin(self.coded.row_of, list(leaf.rows))), *which)

    def total(self, *which: np.ndarray) -> float:
        """Weight of the samples that are in all of these."""
        chosen = self.data.weight
        for inside in which:
            chosen = chosen * inside
        return float(chosen.sum())

    def judged(self, model: Labelled, name: Hashable, verdict: Callable[[np.ndarray], bool]) -> bool:
        """The verdict on the labels of the samples, asked once for equal labels."""
        labels = row_labels(model)
        return bool(self.once((name, labels), lambda: verdict(np.array(labels)[self.coded.row_of])))


@dataclass(frozen=True)
class Demand:
    """A constraint and its meaning.

    Attributes
    ----------
    constraint : callable
        Given the module ``omtree.constraints`` and the world, the constraint.
    rule_ok, model_ok : callable, optional
        What it demands of a rule with its label, or of the whole model.
    cost : callable, optional
        What it adds to the loss of a rule.
    sees : callable, optional
        What `model_ok` sees of a rule besides rows and label.
    """

    constraint: Callable[[Any, World], Any]
    rule_ok: Callable[[World, Leaf, Any], bool] | None = None
    model_ok: Callable[[World, Labelled], bool] | None = None
    cost: Callable[[World, Leaf], float] | None = None
    sees: Callable[[World, Leaf], Hashable] | None = None


# --- one rule ---------------------------------------------------------------------------------------------------------


def _price(w: World, leaf: Leaf, grouped: bool) -> float:
    """`a` costs 2 and `b` 3; as a group they cost a half and 1 once the other is paid, and 3.5 together."""
    names = set(w.names(leaf))
    if grouped and {w.a, w.b} <= names:
        return 3.5
    return 2.0 * (w.a in names) + 3.0 * (w.b in names)


def _gap_in_rule(w: World, leaf: Leaf, label: Any, metric: str) -> float:
    """Largest difference between two groups: of rates, those in the rule; of coverage, all."""
    return float(w.once((metric, leaf.rows, label), lambda: _largest_gap(w, leaf, label, metric)))


def _largest_gap(w: World, leaf: Leaf, label: Any, metric: str) -> float:
    values = []
    for group in np.unique(w.data.group):
        own = w.data.group == group
        inside = w.weight(leaf, own)
        if metric == "coverage":
            # A group that is not in the rule has a share too: none of it is covered.
            values.append(inside / w.total(own))
        elif inside > 0:
            counted = 1 if metric == "positive_rate" else label
            values.append(w.weight(leaf, own, w.data.y == counted) / inside)
    return max(values) - min(values)


def _before(names: Sequence[str], early: str, late: str) -> bool:
    """Whether `late` does not stand above `early`."""
    return early not in names or late not in names or names.index(early) < names.index(late)


PATH = {
    "MinSupport": Demand(lambda c, w: c.MinSupport(3), lambda w, leaf, label: w.weight(leaf) >= 3),
    "MaxSupport": Demand(
        lambda c, w: c.MaxSupport(0.4), lambda w, leaf, label: w.weight(leaf) <= 0.4 * w.total() + SLACK
    ),
    "MinConfidence": Demand(
        lambda c, w: c.MinConfidence(0.75),
        lambda w, leaf, label: w.weight(leaf, w.data.y == label) >= 0.75 * w.weight(leaf) - SLACK,
    ),
    "MinClassCount": Demand(
        lambda c, w: c.MinClassCount(1, 1), lambda w, leaf, label: w.weight(leaf, w.data.y == 1) >= 1
    ),
    "Path": Demand(
        lambda c, w: c.Path(lambda rule: len(rule.features) <= 1 or rule.prediction == 1 or rule.support >= 4),
        lambda w, leaf, label: len(leaf.conditions) <= 1 or label == 1 or w.weight(leaf) >= 4,
    ),
    "Budget": Demand(
        lambda c, w: c.Budget({w.a: 2.0, w.b: 3.0}, 4), lambda w, leaf, label: _price(w, leaf, False) <= 4
    ),
    "Budget in groups": Demand(
        lambda c, w: c.Budget({w.a: 2.0, w.b: 3.0}, 3.2, {w.a: ("lab", 0.5), w.b: ("lab", 1.0)}),
        lambda w, leaf, label: _price(w, leaf, True) <= 3.2,
    ),
    "Budget in the loss": Demand(
        lambda c, w: c.Budget({w.a: 2.0, w.b: 3.0}, groups={w.a: ("lab", 0.5), w.b: ("lab", 1.0)}, weight=0.125),
        cost=lambda w, leaf: 0.125 * _price(w, leaf, True) * w.weight(leaf),
    ),
    "Budget dear in the loss": Demand(
        lambda c, w: c.Budget({w.a: 2.0, w.b: 3.0}, weight=1.5),
        cost=lambda w, leaf: 1.5 * _price(w, leaf, False) * w.weight(leaf),
    ),
    **{
        f"RuleParity of {metric}": Demand(
            lambda c, w, metric=metric: c.RuleParity("group", 0.3, metric=metric),
            lambda w, leaf, label, metric=metric: _gap_in_rule(w, leaf, label, metric) <= 0.3 + SLACK,
        )
        for metric in ("positive_rate", "accuracy", "coverage")
    },
}

# --- the features of a rule -------------------------------------------------------------------------------------------

ATTRIBUTE = {
    "Forbid": Demand(lambda c, w: c.Forbid({w.a, w.b}), lambda w, leaf, label: not {w.a, w.b} <= set(w.names(leaf))),
    "Together": Demand(
        lambda c, w: c.Together({w.a, w.b}), lambda w, leaf, label: len({w.a, w.b} & set(w.names(leaf))) != 1
    ),
    "Requires": Demand(
        lambda c, w: c.Requires(w.a, first=w.b),
        lambda w, leaf, label: (
            w.a not in w.names(leaf)
            or (w.b in w.names(leaf) and (w.structure == "rules" or _before(w.names(leaf), w.b, w.a)))
        ),
    ),
    "Order": Demand(lambda c, w: c.Order([w.b, w.a])),
    "strict Order": Demand(
        lambda c, w: c.Order([w.b, w.a], strict=True),
        lambda w, leaf, label: w.structure == "rules" or _before(w.names(leaf), w.b, w.a),
    ),
    "UseAtMost": Demand(
        lambda c, w: c.UseAtMost(set(w.data.X.columns), 2), lambda w, leaf, label: len(set(w.names(leaf))) <= 2
    ),
    "Once": Demand(lambda c, w: c.Once({w.a, w.b}), lambda w, leaf, label: len({w.a, w.b} & set(w.names(leaf))) <= 1),
    "Exclude": Demand(lambda c, w: c.Exclude(w.a), lambda w, leaf, label: w.a not in w.names(leaf)),
    "Root": Demand(
        lambda c, w: c.Root(w.b),
        lambda w, leaf, label: w.b in (w.names(leaf) if w.structure == "rules" else w.names(leaf)[:1]),
    ),
}

# --- the whole model --------------------------------------------------------------------------------------------------


def _ratio(given: Callable[[World, np.ndarray], np.ndarray], of: Callable[[World, np.ndarray], np.ndarray]) -> Any:
    """Weight of both as a share of the second; NaN where there is no such weight."""

    def value(w: World, labels: np.ndarray) -> float:
        whole = w.total(of(w, labels))
        return w.total(given(w, labels), of(w, labels)) / whole if whole > 0 else math.nan

    return value


def _positive(w: World, labels: np.ndarray) -> np.ndarray:
    return w.data.y == 1


def _negative(w: World, labels: np.ndarray) -> np.ndarray:
    return w.data.y != 1


def _called(w: World, labels: np.ndarray) -> np.ndarray:
    return labels == 1


def _not_called(w: World, labels: np.ndarray) -> np.ndarray:
    return labels != 1


METRICS = {
    "Recall": _ratio(_called, _positive),
    "Precision": _ratio(_positive, _called),
    "Specificity": _ratio(_not_called, _negative),
    "FalsePositiveRate": _ratio(_called, _negative),
    "F1": lambda w, labels: f1()(w.data.y, labels, w.data.weight),
    "Accuracy": lambda w, labels: w.total(w.data.y == labels) / w.total(),
    "MCC": lambda w, labels: mcc(w.data.y, labels, w.data.weight),
    "FowlkesMallows": lambda w, labels: fowlkes_mallows(w.data.y, labels, w.data.weight),
}


def _bounded(name: str, at_least: float | None = None, at_most: float | None = None) -> Demand:
    """What is undefined meets every limit."""
    limits = {key: limit for key, limit in (("at_least", at_least), ("at_most", at_most)) if limit is not None}

    def verdict(w: World, labels: np.ndarray) -> bool:
        value = METRICS[name](w, labels)
        too_low = at_least is not None and value < at_least - SLACK
        return not too_low and not (at_most is not None and value > at_most + SLACK)

    return Demand(
        lambda c, w: getattr(c, name)(**limits) if name == "Accuracy" else getattr(c, name)(1, **limits),
        model_ok=lambda w, model: w.judged(model, (name, at_least, at_most), lambda labels: verdict(w, labels)),
    )


def _gap(w: World, labels: np.ndarray, among: np.ndarray) -> float:
    """Largest difference between groups in the share of these samples that is called; no matter the groups without."""
    shares = []
    for group in np.unique(w.data.group):
        own = (w.data.group == group) & among
        if own.any():
            shares.append(w.total(own, labels == 1) / w.total(own))
    return max(shares) - min(shares) if shares else 0.0


def _parity(name: str, tolerance: float, *among: Callable[[World, np.ndarray], np.ndarray]) -> Demand:
    def verdict(w: World, labels: np.ndarray) -> bool:
        return all(_gap(w, labels, chosen(w, labels)) <= tolerance + SLACK for chosen in among)

    return Demand(
        lambda c, w: getattr(c, name)("group", tolerance),
        model_ok=lambda w, model: w.judged(model, name, lambda labels: verdict(w, labels)),
    )


def _everybody(w: World, labels: np.ndarray) -> np.ndarray:
    return np.ones(len(labels), dtype=bool)


SAMPLE = {
    **{
        f"{name} {how} {limit}": _bounded(name, **{how: limit})
        for name, how, limit in [
            ("Recall", "at_least", 0.9),
            ("Recall", "at_most", 0.5),
            ("Precision", "at_least", 0.9),
            ("Precision", "at_most", 0.6),
            ("Specificity", "at_least", 0.9),
            ("FalsePositiveRate", "at_most", 0.1),
            ("F1", "at_least", 0.65),
            ("F1", "at_most", 0.5),
            ("Accuracy", "at_least", 0.8),
            ("Accuracy", "at_most", 0.6),
            ("MCC", "at_least", 0.6),
            ("MCC", "at_most", 0.1),
            ("FowlkesMallows", "at_least", 0.7),
            ("FowlkesMallows", "at_most", 0.5),
        ]
    },
    "Recall from 0.4 to 0.7": _bounded("Recall", 0.4, 0.7),
    "StatisticalParity": _parity("StatisticalParity", 0.1, _everybody),
    "EqualOpportunity": _parity("EqualOpportunity", 0.1, _positive),
    "PredictiveEquality": _parity("PredictiveEquality", 0.1, _negative),
    "EqualizedOdds": _parity("EqualizedOdds", 0.1, _positive, _negative),
    **{
        f"FairnessBudget of {metric}": Demand(
            lambda c, w, metric=metric: c.FairnessBudget("group", 0.6, metric=metric),
            model_ok=lambda w, model, metric=metric: (
                sum(_gap_in_rule(w, leaf, label, metric) for leaf, label in model) <= 0.6 + SLACK
            ),
        )
        for metric in ("positive_rate", "accuracy", "coverage")
    },
    "Linear in conditions": Demand(
        lambda c, w: c.Linear(lambda rule: len(rule.features), at_most=5),
        model_ok=lambda w, model: sum(len(leaf.conditions) for leaf, _ in model) <= 5,
        sees=lambda w, leaf: len(leaf.conditions),
    ),
    "Linear in labels": Demand(
        lambda c, w: c.Linear(lambda rule: 1.0 if rule.prediction == 1 else 0.0, at_least=3),
        model_ok=lambda w, model: sum(label == 1 for _, label in model) >= 3,
    ),
}

# --- predictions along a feature --------------------------------------------------------------------------------------


def rising(w: World, model: Labelled, position: int, direction: int) -> bool:
    """Whether no two points that differ in this feature alone, both in rules, are predicted the wrong way round.

    A tree may send codes that a node never saw to any of its branches: some choice has to do.
    """
    if w.structure == "rules":
        return _rises(w, [(dict(leaf.conditions), label) for leaf, label in model], position, direction)
    seen = [(dict(leaf.conditions), label) for leaf, label in model]
    if not _rises(w, seen, position, direction):
        return False
    choices = _completed(w, list(model), 0, {})
    return any(_rises(w, boxes, position, direction) for boxes in choices)


def _completed(
    w: World, leaves: list[tuple[Leaf, Any]], place: int, above: dict[int, frozenset[int]]
) -> Iterator[list[tuple[dict[int, frozenset[int]], Any]]]:
    """The boxes of a tree's leaves, for every way to share the codes that nodes never saw among their branches."""
    if len(leaves) == 1 and len(leaves[0][0].path) == place:
        yield [(above, leaves[0][1])]
        return
    feature = leaves[0][0].path[place]
    arriving = above.get(feature, frozenset(range(w.coded.features[feature].n_codes)))
    for branches in _branches(leaves, feature, place):
        parts = [frozenset().union(*(leaf.conditions[feature] for leaf, _ in branch)) for branch in branches]
        absent = sorted(arriving.difference(*parts))
        for owners in itertools.product(range(len(parts)), repeat=len(absent)):
            wide = [
                part | {code for code, owner in zip(absent, owners, strict=True) if owner == i}
                for i, part in enumerate(parts)
            ]
            each = [
                list(_completed(w, branch, place + 1, {**above, feature: codes}))
                for branch, codes in zip(branches, wide, strict=True)
            ]
            for chosen in itertools.product(*each):
                yield [box for boxes in chosen for box in boxes]


def _branches(leaves: list[tuple[Leaf, Any]], feature: int, place: int) -> Iterator[list[list[tuple[Leaf, Any]]]]:
    """The ways to share leaves among the branches of a node that tests this feature.

    A leaf that does not test it again has the codes of its branch. Of one that does, only a part of them is known: it
    is in the branch that holds these, or together with others in one that only such leaves are in.
    """
    whole: dict[frozenset[int], list[tuple[Leaf, Any]]] = {}
    loose: dict[frozenset[int], list[tuple[Leaf, Any]]] = {}
    for leaf, label in leaves:
        again = feature in leaf.path[place + 1 :]
        (loose if again else whole).setdefault(leaf.conditions[feature], []).append((leaf, label))
    for codes in list(loose):
        holder = next((part for part in whole if codes <= part), None)
        if holder is not None:
            whole[holder] = whole[holder] + loose.pop(codes)
    for shares in _shared_out(list(loose.values())):
        # One branch splits nothing, no code is in two of them, and below each is one leaf or one test.
        branches = [*whole.values(), *shares]
        codes = [frozenset().union(*(leaf.conditions[feature] for leaf, _ in branch)) for branch in branches]
        below = [{leaf.path[place + 1 : place + 2] for leaf, _ in branch} for branch in branches]
        if (
            len(branches) > 1
            and sum(map(len, codes)) == len(frozenset().union(*codes))
            and all(
                len(tests) == 1 and (len(b) == 1 or () not in tests) for b, tests in zip(branches, below, strict=True)
            )
        ):
            yield branches


def _shared_out(groups: list[list[Any]]) -> Iterator[list[list[Any]]]:
    """All ways to put groups together, each in one place."""
    if not groups:
        yield []
        return
    first, *others = groups
    for rest in _shared_out(others):
        yield [first, *rest]
        for i in range(len(rest)):
            yield [*rest[:i], first + rest[i], *rest[i + 1 :]]


def _rises(w: World, boxes: list[tuple[dict[int, frozenset[int]], Any]], position: int, direction: int) -> bool:
    feature = w.coded.features[position]
    values = range(feature.n_values)
    others = [range(f.n_codes) if i != position else [0] for i, f in enumerate(w.coded.features)]
    for point in itertools.product(*others):
        along: list[list[float]] = [[] for _ in values]
        for box, label in boxes:
            if all(point[i] in codes for i, codes in box.items() if i != position):
                for value in values:
                    if value in box.get(position, values):
                        along[value].append(label * direction)
        highest = -math.inf
        for labels in along:
            if labels and min(labels) < highest:
                return False
            highest = max([highest, *labels])
    return True


def first_ordered(w: World) -> int:
    """Position of the first column whose values have an order; that of the first one where none has."""
    return next((i for i, f in enumerate(w.coded.features) if f.kind in ("numeric", "ordinal")), 0)


def _monotone(direction: int) -> Demand:
    def constraint(c: Any, w: World) -> Any:
        feature = w.coded.features[first_ordered(w)]
        return c.Monotone(feature.name, direction)

    return Demand(
        constraint,
        model_ok=lambda w, model: rising(w, model, first_ordered(w), direction),
        sees=lambda w, leaf: (leaf.path, frozenset(leaf.conditions.items())),
    )


MODEL = {"Monotone rising": _monotone(1), "Monotone falling": _monotone(-1)}

DEMANDS = {**PATH, **ATTRIBUTE, **SAMPLE, **MODEL}


# --- several at once --------------------------------------------------------------------------------------------------


def meets(world: World, demands: Sequence[Demand], model: Labelled) -> bool:
    """Whether a model meets them all."""
    return all(
        (demand.model_ok is None or demand.model_ok(world, model))
        and (demand.rule_ok is None or all(demand.rule_ok(world, leaf, label) for leaf, label in model))
        for demand in demands
    )


def best_meeting(world: World, demands: Sequence[Demand], loss: Any, min_support: float, **limits: Any) -> Best | None:
    """The best model that meets them all, by brute force; None when there is none."""
    rule_oks = [demand.rule_ok for demand in demands if demand.rule_ok]
    model_oks = [demand.model_ok for demand in demands if demand.model_ok]
    costs = [demand.cost for demand in demands if demand.cost]
    looks = [demand.sees for demand in demands if demand.sees]
    verdicts: dict[tuple[Leaf, Any], bool] = {}

    def rule_ok(leaf: Leaf, label: Any) -> bool:
        if (leaf, label) not in verdicts:
            verdicts[leaf, label] = all(ok(world, leaf, label) for ok in rule_oks)
        return verdicts[leaf, label]

    def keep(leaf: Leaf) -> bool:
        return world.weight(leaf) >= min_support and any(rule_ok(leaf, label) for label in (0, 1))

    def cost(leaf: Leaf) -> float:
        return sum(add(world, leaf) for add in costs)

    def sees(leaf: Leaf) -> Hashable:
        return tuple(look(world, leaf) for look in looks)

    def alike(leaf: Leaf) -> Hashable:
        return rule_ok(leaf, 0), rule_ok(leaf, 1), cost(leaf), sees(leaf)

    features, codes = world.coded.features, world.coded.codes
    models: Any = (
        every_tree(features, codes, **limits, keep=keep)
        if world.structure == "tree"
        else every_rule_set(features, codes, **limits, keep=keep, alike=alike)
    )
    model_ok = (lambda model: all(ok(world, model) for ok in model_oks)) if model_oks else None
    return best_model(models, loss, model_ok, rule_ok, cost=cost, alike=sees)


def pairs(names: Sequence[str], count: int, seed: int) -> list[tuple[str, str]]:
    """Some pairs of different constraints, the same in every run."""
    every = [(x, y) for x, y in itertools.combinations(names, 2) if x.split()[0] != y.split()[0]]
    chosen = np.random.default_rng(seed).choice(len(every), count, replace=False)
    return [every[i] for i in chosen]
