"""What the report's page knows of a model, as plain values: enough to walk any row, and no training data."""

from __future__ import annotations

import json
import math
from typing import Any

from omtree.data.table import Feature, Pooled
from omtree.data.wording import number, shorten, show_level, show_value, text_of
from omtree.model.line import Line, line_columns
from omtree.model.rules import Rule, RuleSet
from omtree.model.survival_curve import SurvivalCurve
from omtree.model.target_summary import TargetSummary
from omtree.model.tree import Tree, TreeNode
from omtree.report.summary import MOST_COLOURS, Summaries
from omtree.report.survival_chart import median_words
from omtree.report.words import answer, branch_words, condition_words, percent


def page_data(model: Any) -> dict[str, Any]:
    """The model for the script of the page.

    Only features that occur in a condition are there: the others have no say in any answer.
    """
    rules: RuleSet = model.rules_
    tree: Tree | None = model.tree_
    used = used_features(model)
    place = {feature: i for i, feature in enumerate(used)}
    summaries = Summaries.of(rules)
    start = _start(rules, used)
    losses = [] if tree is None else loss_below(tree)
    return {
        # A set of rules that happens to be a tree still answers as a set of rules.
        "walks": tree is not None and model.certificate_.structure == "tree",
        "lossName": "errors" if model.certificate_.counted else "loss",
        "features": [_feature(rules.features[f], begin) for f, begin in zip(used, start, strict=True)],
        "classes": [shorten(text_of(c)) for c in rules.classes],
        "colours": list(summaries.colours),
        "rules": [_rule(rule, rules, place, summaries) for rule in rules],
        "priority": sorted(range(len(rules)), key=lambda r: -rules[r].support),
        "nodes": [] if tree is None else [_node(node, tree, place, summaries, losses) for node in tree.nodes],
    }


def used_features(model: Any) -> list[int]:
    """Positions of the features that any answer depends on: as a tree asks for them, then as in the graph."""
    nodes = [] if model.tree_ is None else sorted(model.tree_.nodes, key=lambda node: (node.depth, node.index))
    asked = [node.feature for node in nodes if node.feature is not None]
    along = line_columns([rule.prediction for rule in model.rules_])
    used = {c.feature for rule in model.rules_ for c in rule.conditions}
    used |= {place for place, feature in enumerate(model.rules_.features) if feature.column in along}
    return list(dict.fromkeys([*asked, *(level.position for level in model.graph_ if level.position in used)]))


def script_json(data: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever texts it holds."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def loss_below(tree: Tree) -> list[float]:
    """The loss of the leaves below each node."""
    loss = [0.0] * len(tree.nodes)
    for node in reversed(tree.nodes):
        loss[node.index] = (
            tree.rules[node.rule].loss if node.rule is not None else sum(loss[kid] for kid in node.children)
        )
    return loss


def _feature(feature: Feature, begin: float | int) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": shorten(feature.name),
        "values": feature.n_values,
        "missing": feature.has_missing,
    }
    if feature.thresholds is not None:
        return {
            **facts,
            "cuts": feature.thresholds.tolist(),
            "ranges": [branch_words(feature, (code,)) for code in range(feature.n_values)],
            "unit": feature.unit,
            "start": show_value(feature.unit, begin),
        }
    assert feature.levels is not None
    rest = [code for code, level in enumerate(feature.levels) if isinstance(level, Pooled) and level.rest]
    return {
        **facts,
        "levels": [shorten(show_level(level)) for level in feature.levels],
        "rest": rest[0] if rest else None,
        "start": int(begin),
    }


def _rule(rule: Rule, rules: RuleSet, place: dict[int, int], summaries: Summaries) -> dict[str, Any]:
    return {
        "if": [[place[c.feature], list(c.codes)] for c in rule.conditions],
        "words": [condition_words(c, rules.features[c.feature]) for c in rule.conditions],
        "answer": answer(rule.prediction, rules.classes),
        "rows": summaries.amount(rule.support),
        "loss": number(rule.loss),
        "cost": number(rule.cost) if rule.cost else "",
        "parts": _parts(rule.class_weights, rules.classes),
        "brings": _brings(rule.values, rules) if rule.survival is None else _survives(rule.survival),
        "spread": _spread(rule.targets),
        "line": _line(rule.prediction, rules, place),
    }


def _line(prediction: Any, rules: RuleSet, place: dict[int, int]) -> list[Any] | None:
    """The mean of a leaf, and for each column of its line its place on the page, slope, mean, and value if missing."""
    if not isinstance(prediction, Line):
        return None
    of_column = {rules.features[feature].column: place[feature] for feature in place}
    slopes = [[of_column.get(part.column, -1), part.slope, part.at, part.missing] for part in prediction.slopes]
    return [prediction.mean, slopes]


def _node(
    node: TreeNode, tree: Tree, place: dict[int, int], summaries: Summaries, losses: list[float]
) -> dict[str, Any]:
    features = tree.rules.features
    condition = node.condition
    facts: dict[str, Any] = {
        "parent": node.parent,
        "children": list(node.children),
        "rows": summaries.amount(node.support),
        "loss": number(losses[node.index]),
    }
    if condition is not None:
        facts["codes"] = list(condition.codes)
        facts["words"] = condition_words(condition, features[condition.feature])
        facts["branch"] = branch_words(features[condition.feature], condition.codes)
    if node.rule is not None:
        return {**facts, "rule": node.rule}
    assert node.feature is not None
    return {
        **facts,
        "feature": place[node.feature],
        "other": node.default,
        "parts": _parts(node.class_weights, tree.rules.classes),
        "spread": _spread(node.targets),
    }


def _survives(curve: SurvivalCurve) -> list[list[str]]:
    """What is known of a leaf of a survival tree."""
    low, high = (number(end) if math.isfinite(end) else "any" for end in curve.risk_interval)
    return [
        ["risk, 95 % interval", f"{low} to {high}"],
        ["events", number(curve.events)],
        ["median time", median_words(curve).removeprefix("median ")],
    ]


def _brings(values: tuple[float, ...], rules: RuleSet) -> list[list[str]]:
    """What each action brings, the best first."""
    if not rules.are_actions:
        return []
    pairs = sorted(zip(values, rules.classes, strict=True), key=lambda pair: -pair[0])
    return [[f"{shorten(text_of(action))} brings", number(value)] for value, action in pairs]


def _parts(weights: tuple[float, ...], classes: tuple[Any, ...]) -> list[list[Any]]:
    """The classes that occur, the most frequent first: position, weight in words, share, width of a bar."""
    total = sum(weights)
    order = sorted((i for i in range(len(classes)) if i < len(weights) and weights[i] > 0), key=lambda i: -weights[i])
    return [
        [i, number(weights[i]), percent(weights[i] / total), round(100 * weights[i] / total, 1)]
        for i in order[:MOST_COLOURS]
    ]


def _spread(targets: TargetSummary | None) -> list[list[str]]:
    if targets is None:
        return []
    names = ("least", "lower quartile", "median", "upper quartile", "largest")
    rows = [["mean", number(targets.mean)], ["deviation", number(targets.deviation)]]
    return rows + [[name, number(q)] for name, q in zip(names, targets.quantiles, strict=True)]


def _start(rules: RuleSet, used: list[int]) -> list[float | int]:
    """Values the form starts with: those of a row in the heaviest rule."""
    heaviest = max(rules, key=lambda rule: rule.support)
    codes = {c.feature: c.codes for c in heaviest.conditions}
    return [_inside(rules.features[f], codes.get(f, range(rules.features[f].n_values))) for f in used]


def _inside(feature: Feature, codes: Any) -> float | int:
    """A value with one of these codes; the middle one, and a short number."""
    present = [code for code in codes if code < feature.n_values] or [0]
    code: int = present[len(present) // 2]
    if feature.thresholds is None:
        return code
    cuts = feature.thresholds.tolist()
    if not cuts:
        return 0.0
    if 0 < code < len(cuts):
        return _short(cuts[code - 1], cuts[code])
    step = (cuts[-1] - cuts[0]) / (len(cuts) - 1) if len(cuts) > 1 else abs(cuts[0]) / 4 or 1.0
    return _short(cuts[0] - step, cuts[0]) if code == 0 else _short(cuts[-1], cuts[-1] + step)


def _short(low: float, high: float) -> float:
    """The middle of ``low <= x < high``, with as few digits as still lie inside."""
    middle = low + (high - low) / 2
    if not math.isfinite(middle):
        return low
    for digits in range(1, 17):
        value = float(f"{middle:.{digits}g}")
        if low <= value < high:
            return value
    return low
