"""Every tree and every set of disjoint rules over tiny data, one by one, and the best of them.

Written from the definitions alone. Where `oracle` sums losses cleverly, this writes every model down, so that whatever
can be asked of a model can be asked here: any loss, any demand on a rule or on the whole model, any score of it.
Meant for about ten merged rows, two or three features of at most four codes, depth 3 and five leaves.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.oracle import ALL_SUBSETS, conditions
from omtree.data.table import Feature

Part = frozenset[int]
#: What a rule may predict, and what that costs.
Options = Sequence[tuple[Any, float]]


@dataclass(frozen=True, eq=False)
class Leaf:
    """A rule. Within one enumeration equal rules are one object.

    Attributes
    ----------
    conditions : mapping of int to frozenset of int
        Feature -> codes. In a tree only codes that occur in the node, and what is left after the last of several
        splits of a feature; in a set of rules the codes of the condition.
    rows : frozenset of int
        Merged rows; never empty.
    path : tuple of int
        The features tested, from the root on; a set of rules has them in the order of the table.
    """

    conditions: Mapping[int, Part]
    rows: frozenset[int]
    path: tuple[int, ...]


Model = tuple[Leaf, ...]
#: A model with the prediction of every rule.
Labelled = tuple[tuple[Leaf, Any], ...]


def rows_only(rule: Leaf) -> Hashable:
    """Value of `alike` where a rule matters by its rows alone."""
    return None


# --- trees ------------------------------------------------------------------------------------------------------------


def every_tree(
    features: Sequence[Feature],
    codes: np.ndarray,
    max_depth: int,
    max_leaves: int,
    categories: str = "groups",
    splits: str = "multiway",
    max_children: int | None = None,
    keep: Callable[[Leaf], bool] | None = None,
) -> list[Model]:
    """Every tree, each once; trees are equal when they have the same leaves at the end of the same paths.

    Parameters
    ----------
    features : sequence of Feature
    codes : array, shape (n_features, n_rows)
    keep : callable, optional
        Trees with a leaf that it is false of are left out.
    """
    most = math.inf if max_children is None else max_children
    if splits == "binary":
        most = 2
    # Two children cannot have a value each where there are three: one value is parted from the others.
    if categories == "values" and most == 2:
        categories = "single"
    known: dict[Hashable, Leaf | None] = {}

    def leaf(rows: np.ndarray, met: dict[int, Part], path: tuple[int, ...]) -> list[Model]:
        key = (frozenset(met.items()), path)
        if key not in known:
            found = Leaf(met, frozenset(rows.tolist()), path)
            known[key] = found if keep is None or keep(found) else None
        kept = known[key]
        return [] if kept is None else [(kept,)]

    def grow(rows: np.ndarray, met: dict[int, Part], path: tuple[int, ...], limit: int) -> list[Model]:
        found = leaf(rows, met, path)
        if len(path) == max_depth or limit == 1:
            return found
        for position, feature in enumerate(features):
            here = codes[position, rows]
            below: dict[Part, list[Model]] = {}
            for way in split_ways(feature, frozenset(here.tolist()), categories):
                if len(way) > min(most, limit):
                    continue
                for part in way:
                    if part not in below:
                        inside = rows[np.isin(here, list(part))]
                        below[part] = grow(inside, {**met, position: part}, (*path, position), limit - 1)
                found += _side_by_side([below[part] for part in way], limit)
        return found

    models = grow(np.arange(codes.shape[1]), {}, (), max_leaves)
    # Two binary splits of a nominal feature can swap their places: {0,1} | {2,3}, then both again, or {0,2} | {1,3}.
    return list({frozenset(map(id, model)): model for model in models}.values())


def split_ways(feature: Feature, present: Part, categories: str = "groups") -> list[tuple[Part, ...]]:
    """Every way to share the codes present among two or more children."""
    ways: Iterable[tuple[Part, ...]]
    if feature.kind in ("numeric", "ordinal"):
        missing = present & ({feature.n_values} if feature.has_missing else set())
        ways = _intervals(sorted(present - missing))
        if missing:
            ways = [joined for way in ways for joined in _joined(way, missing)]
    elif categories == "values":
        ways = [tuple(frozenset({code}) for code in sorted(present))]
    elif categories == "single":
        ways = [(frozenset({code}), present - {code}) for code in present]
    elif feature.n_values + feature.has_missing <= ALL_SUBSETS:
        ways = _groupings(sorted(present))
    else:
        order = feature.target_order if feature.target_order is not None else range(feature.n_codes)
        alone = [(frozenset({code}), present - {code}) for code in present]
        ways = [*_intervals([code for code in order if code in present]), *alone]
    return list({frozenset(way): way for way in ways if len(way) > 1 and all(way)}.values())


def _intervals(line: Sequence[int]) -> Iterator[tuple[Part, ...]]:
    """Every way to cut the line, from not at all to between any two."""
    for n_cuts in range(max(len(line), 1)):
        for cuts in itertools.combinations(range(1, len(line)), n_cuts):
            ends = (0, *cuts, len(line))
            yield tuple(frozenset(line[low:high]) for low, high in itertools.pairwise(ends))


def _joined(way: tuple[Part, ...], missing: Part) -> Iterator[tuple[Part, ...]]:
    """The missing code on its own, and in each of the parts."""
    yield (*way, missing)
    for place in range(len(way)):
        yield (*way[:place], way[place] | missing, *way[place + 1 :])


def _groupings(codes: Sequence[int]) -> Iterator[tuple[Part, ...]]:
    """Every partition of the codes: the last joins a part of the others, or stands alone."""
    if not codes:
        yield ()
        return
    for way in _groupings(codes[:-1]):
        yield from _joined(way, frozenset(codes[-1:]))


def _side_by_side(children: Sequence[list[Model]], limit: int) -> list[Model]:
    """One subtree of each child, at most `limit` leaves in all."""
    models: list[Model] = [()]
    for place, subtrees in enumerate(children):
        room = limit - (len(children) - 1 - place)
        models = [(*left, *right) for left in models for right in subtrees if len(left) + len(right) <= room]
    return models


# --- sets of rules ----------------------------------------------------------------------------------------------------


def every_rule(
    features: Sequence[Feature], codes: np.ndarray, max_depth: int, categories: str = "groups"
) -> Iterator[Leaf]:
    """Every rule with rows, shorter ones first."""
    for length in range(min(max_depth, len(features)) + 1):
        for path in itertools.combinations(range(len(features)), length):
            for sets in itertools.product(*(conditions(features[position], categories) for position in path)):
                inside = np.ones(codes.shape[1], dtype=bool)
                for position, allowed in zip(path, sets, strict=True):
                    inside &= np.isin(codes[position], list(allowed))
                if inside.any():
                    rows = frozenset(np.flatnonzero(inside).tolist())
                    yield Leaf(dict(zip(path, sets, strict=True)), rows, path)


def every_rule_set(
    features: Sequence[Feature],
    codes: np.ndarray,
    max_depth: int,
    max_leaves: int,
    categories: str = "groups",
    keep: Callable[[Leaf], bool] | None = None,
    alike: Callable[[Leaf], Hashable] | None = None,
) -> Iterator[Model]:
    """Every set of at most `max_leaves` rules that cover each row exactly once.

    Parameters
    ----------
    keep : callable, optional
        Rules that it is false of are left out.
    alike : callable, optional
        Of the rules with the same rows and the same value of this, only a shortest is used. By default all are, which
        are very many: give `rows_only`, or what else of a rule matters for the question.
    """
    starting_at: dict[int, dict[Hashable, tuple[int, Leaf]]] = {}
    for rule in every_rule(features, codes, max_depth, categories):
        if keep is None or keep(rule):
            key = (rule.rows, rule if alike is None else alike(rule))
            bits = sum(1 << row for row in rule.rows)
            starting_at.setdefault(min(rule.rows), {}).setdefault(key, (bits, rule))
    candidates = {row: list(rules.values()) for row, rules in starting_at.items()}
    everything = (1 << codes.shape[1]) - 1

    def cover(covered: int, limit: int) -> Iterator[Model]:
        if covered == everything:
            yield ()
        elif limit:
            first = (~covered & (covered + 1)).bit_length() - 1
            for bits, rule in candidates.get(first, []):
                if not bits & covered and (limit > 1 or bits | covered == everything):
                    for rest in cover(covered | bits, limit - 1):
                        yield (rule, *rest)

    return cover(0, max_leaves)


# --- the best of them -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Best:
    """The best value, and a model that has it."""

    value: float
    model: Labelled


def best_model(
    models: Iterable[Model],
    loss: Callable[[frozenset[int]], Options | float],
    model_ok: Callable[[Labelled], bool] | None = None,
    rule_ok: Callable[[Leaf, Any], bool] | None = None,
    score: Callable[[tuple[Any, ...]], float] | None = None,
    cost: Callable[[Leaf], float] | None = None,
    alike: Callable[[Leaf], Hashable] | None = None,
) -> Best | None:
    """The model of least loss, or of the highest score, over all models and all labels; None when none is allowed.

    Parameters
    ----------
    models : iterable of models
    loss : callable
        Given the rows of a rule, what it may predict and the loss of that; a mere number means that there is one
        prediction, called None.
    model_ok : callable, optional
        Whether the whole model, with its labels, is allowed.
    rule_ok : callable, optional
        Whether a rule with its label is allowed.
    score : callable, optional
        Given the label of every merged row, what is maximised in place of the sum of losses. It is asked once for
        equal labels.
    cost : callable, optional
        Added to the loss of a rule whatever it predicts.
    alike : callable, optional
        What `model_ok` looks at in a rule besides its rows and label. By default it may look at everything and is
        asked about every model; with `rows_only` one model stands for all that part the rows in the same way.
    """
    rated: dict[frozenset[int], Options] = {}
    allowed: dict[Leaf, tuple[Hashable, Options]] = {}

    def rate(leaf: Leaf) -> tuple[Hashable, Options]:
        if leaf.rows not in rated:
            options = loss(leaf.rows)
            rated[leaf.rows] = [(None, float(options))] if isinstance(options, (int, float)) else list(options)
        added = cost(leaf) if cost else 0.0
        options = tuple((label, value + added) for label, value in rated[leaf.rows])
        if rule_ok:
            options = tuple(option for option in options if rule_ok(leaf, option[0]))
        look = None if model_ok is None else leaf if alike is None else alike(leaf)
        return (leaf.rows, options, look), options

    best: Best | None = None
    seen: set[frozenset[Hashable]] = set()
    scores: dict[tuple[Any, ...], float] = {}
    for model in models:
        for leaf in model:
            if leaf not in allowed:
                allowed[leaf] = rate(leaf)
        key = frozenset(allowed[leaf][0] for leaf in model)
        choices = [allowed[leaf][1] for leaf in model]
        if key in seen or not all(choices):
            continue
        seen.add(key)
        if score is None:
            chosen = _least_loss(model, choices, model_ok, best)
        else:
            chosen = _highest_score(model, choices, model_ok, best, score, scores)
        best = chosen or best
    return best


def _least_loss(
    model: Model, choices: Sequence[Options], model_ok: Callable[[Labelled], bool] | None, best: Best | None
) -> Best | None:
    """The model with its best labels, if that is better than what is known."""
    least = [min(options, key=lambda option: option[1]) for options in choices]
    if best and sum(value for _, value in least) >= best.value:
        return None
    found = None
    for labels in [least] if model_ok is None else itertools.product(*choices):
        value = sum(option[1] for option in labels)
        if best is None or value < best.value:
            labelled = tuple((leaf, label) for leaf, (label, _) in zip(model, labels, strict=True))
            if model_ok is None or model_ok(labelled):
                best = found = Best(value, labelled)
    return found


def _highest_score(
    model: Model,
    choices: Sequence[Options],
    model_ok: Callable[[Labelled], bool] | None,
    best: Best | None,
    score: Callable[[tuple[Any, ...]], float],
    scores: dict[tuple[Any, ...], float],
) -> Best | None:
    found = None
    for labels in itertools.product(*choices):
        labelled = tuple((leaf, label) for leaf, (label, _) in zip(model, labels, strict=True))
        of_rows = row_labels(labelled)
        if of_rows not in scores:
            scores[of_rows] = score(of_rows)
        elif model_ok is None:
            # Labels seen before were accepted, or beaten, then.
            continue
        if (best is None or scores[of_rows] > best.value) and (model_ok is None or model_ok(labelled)):
            best = found = Best(scores[of_rows], labelled)
    return found


def row_labels(model: Labelled) -> tuple[Any, ...]:
    """The label of every merged row."""
    label_of = {row: label for leaf, label in model for row in leaf.rows}
    return tuple(label_of[row] for row in sorted(label_of))
