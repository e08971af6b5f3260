"""The feature graph as a picture: one column per feature, a path from source to sink is a rule."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from omtree.model.rules import RuleSet
from omtree.problem.graph import Condition, FeatureGraph, Level
from omtree.report.measure import widest, wrap
from omtree.report.scene import Band, Box, Disc, Group, Mark, Scene, Words
from omtree.report.svg import render_svg
from omtree.report.words import branch_words, condition_words

#: Conditions of one feature that are drawn; those of the model come first.
MOST_CONDITIONS = 16
#: Features that are drawn.
MOST_FEATURES = 12

_MARGIN, _GAP, _STEP, _BOX = 18.0, 64.0, 34.0, 24.0
Codes = tuple[int, ...]
# Nodes are known by their codes; these two, and the ends, have none of their own.
_SKIP: Codes = ()
_MORE: Codes = (-1,)
_END: Codes = (-2,)


def graph_to_svg(model: Any, features: Sequence[str] | None = None) -> str:
    """The feature graph as an SVG picture, with the rules of a model as dark paths through it.

    It is meant for small data: of a feature with many conditions the first few are drawn, and of many features those
    that the model uses.

    Parameters
    ----------
    model : fitted model or FeatureGraph
    features : sequence of str, optional
        The features to draw, in the order of the graph.

    Returns
    -------
    str

    Examples
    --------
    >>> from omtree.data.table import Feature
    >>> shape = Feature("shape", 0, "nominal", 2, False, levels=("round", "square"))
    >>> graph_to_svg(FeatureGraph([shape]))[:4]
    '<svg'
    """
    return render_svg(graph_scene(model, features))


def graph_scene(model: Any, features: Sequence[str] | None = None) -> Scene:
    """The feature graph as a scene."""
    graph = model if isinstance(model, FeatureGraph) else getattr(model, "graph_", None)
    if not isinstance(graph, FeatureGraph):
        raise ValueError(f"A {type(model).__name__} has no feature graph; give a fitted model or a FeatureGraph.")
    rules: RuleSet | None = getattr(model, "rules_", None)
    levels = _levels(graph, rules, features)
    columns = [_column(level, rules) for level in levels]
    drawn = sum(codes not in (_SKIP, _MORE) for column in columns for codes in column)
    texts = [[_text(level, codes) for codes in column] for level, column in zip(levels, columns, strict=True)]
    names = [wrap(level.feature.name, 170.0, 13, 2, bold=True) for level in levels]
    widths = [max(widest(t, 11.5), widest(n, 13, bold=True), 60.0) + 18 for t, n in zip(texts, names, strict=True)]
    height = max((len(c) for c in columns), default=1) * _STEP
    top = _MARGIN + 44
    middle = top + height / 2

    # Where a path can stand: per level, the node and its two ends.
    stops: list[dict[Codes, tuple[float, float, float]]] = [{_END: (0.0, _MARGIN + 26, middle)}]
    boxes: list[Group] = [_end(_MARGIN + 13, middle, "source")]
    x = _MARGIN + 26 + _GAP
    for level, column, words, name, width in zip(levels, columns, texts, names, widths, strict=True):
        marks: list[Mark] = [
            Words(x + width / 2, top - 26 + 15 * (i - len(name) + 2), t, 13, bold=True) for i, t in enumerate(name)
        ]
        boxes.append(Group(tuple(marks), "legend"))
        y = middle - len(column) * _STEP / 2 + (_STEP - _BOX) / 2
        ends = {}
        for codes, text in zip(column, words, strict=True):
            special = codes in (_SKIP, _MORE)
            box = Box(x, y, width, _BOX, "fold" if special else "node", 7.0)
            title = f"{level.feature.name}: {text}" if special else _title(level, codes)
            boxes.append(Group((box, Words(x + width / 2, y + 16, text, 11.5)), "node", None, title))
            ends[codes] = (x, x + width, y + _BOX / 2)
            y += _STEP
        stops.append(ends)
        x += width + _GAP
    stops.append({_END: (x, 0.0, middle)})
    boxes.append(_end(x + 13, middle, "sink"))

    scene = Scene(x + 26 + _MARGIN, top + height + _MARGIN + 20, "Feature graph", _description(levels, graph))
    scene.groups.append(Group(tuple(_edges(stops, _used(levels, columns, rules)))))
    scene.groups += boxes
    note = f"{graph.n_conditions:,} conditions on {len(graph)} features; a rule is a path from source to sink."
    if drawn < graph.n_conditions:
        note += f" {drawn:,} conditions of {len(levels)} features are drawn."
    if rules is not None:
        note += f" Dark: the {len(rules)} rules of the model."
    scene.groups.append(Group((Words(_MARGIN, top + height + 24, note, 11, "start", "soft"),), "legend"))
    scene.width = max(scene.width, 2 * _MARGIN + widest([note], 11))
    return scene


def _levels(graph: FeatureGraph, rules: RuleSet | None, features: Sequence[str] | None) -> list[Level]:
    if features is not None:
        known = {level.feature.name for level in graph}
        for name in features:
            if name not in known:
                raise ValueError(f"features names {name!r}, which the feature graph does not have.")
        return [level for level in graph if level.feature.name in set(features)]
    if len(graph) <= MOST_FEATURES:
        return list(graph)
    used = {c.feature for rule in rules or () for c in rule.conditions}
    first = [level for level in graph if level.position in used][:MOST_FEATURES]
    return first or list(graph)[:MOST_FEATURES]


def _column(level: Level, rules: RuleSet | None) -> list[Codes]:
    """The conditions to draw, then a box for all that are left out, then SKIP."""
    used = {c.codes for rule in rules or () for c in rule.conditions if c.feature == level.position}
    # Where a tree splits a feature twice, a rule has the part that both conditions share.
    every = [*level.code_sets, *sorted(used.difference(level.code_sets))]
    wanted = sorted(range(len(every)), key=lambda i: (every[i] not in used, i))[:MOST_CONDITIONS]
    return [*(every[i] for i in sorted(wanted)), *([_MORE] if len(every) > MOST_CONDITIONS else []), _SKIP]


def _text(level: Level, codes: Codes) -> str:
    if codes == _SKIP:
        return "SKIP"
    if codes == _MORE:
        return f"{len(level.code_sets) - MOST_CONDITIONS} more"
    return wrap(branch_words(level.feature, codes), 150.0, 11.5, 1)[0]


def _title(level: Level, codes: Codes) -> str:
    return condition_words(Condition(level.position, codes), level.feature)


def _used(
    levels: Sequence[Level], columns: Sequence[Sequence[Codes]], rules: RuleSet | None
) -> set[tuple[int, Codes, Codes]]:
    """The edges that the model's rules take: (gap, from, to)."""
    edges = set()
    for rule in rules or ():
        chosen = {c.feature: c.codes for c in rule.conditions}
        stops = [_END]
        for level, column in zip(levels, columns, strict=True):
            codes = chosen.get(level.position, _SKIP)
            stops.append(codes if codes in column else _MORE)
        stops.append(_END)
        edges |= {(gap, a, b) for gap, (a, b) in enumerate(itertools.pairwise(stops))}
    return edges


def _edges(stops: Sequence[dict[Codes, tuple[float, float, float]]], used: set[tuple[int, Codes, Codes]]) -> list[Band]:
    thin, dark = [], []
    for gap, (left, right) in enumerate(itertools.pairwise(stops)):
        for a, (_, x0, y0) in left.items():
            for b, (x1, _, y1) in right.items():
                if (gap, a, b) in used:
                    dark.append(Band(x0, y0, x1, y1, 1.8, False, "used"))
                else:
                    thin.append(Band(x0, y0, x1, y1, 0.6, False, "flow"))
    return thin + dark


def _end(x: float, y: float, name: str) -> Group:
    return Group((Disc(x, y, 13, "leaf"), Words(x, y + 28, name, 11, style="soft")), "node", None, name)


def _description(levels: Sequence[Level], graph: FeatureGraph) -> str:
    parts = [f"{level.feature.name}: {len(level.code_sets)} conditions" for level in levels]
    return f"Levels from source to sink. {'; '.join(parts)}. {graph.n_nodes} nodes in all."
