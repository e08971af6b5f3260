"""Rules and trees as parts of a document, and back."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from omtree.data.table import Feature
from omtree.export.document_features import text
from omtree.export.plain import finite, listed, number, to_plain, whole
from omtree.model.line import Line, Slope
from omtree.model.rules import Rule, RuleSet
from omtree.model.survival_curve import SurvivalCurve
from omtree.model.target_summary import TargetSummary
from omtree.model.tree import Tree, TreeNode, _Split
from omtree.problem.graph import Condition


def model_out(rules: RuleSet, tree: Tree | None) -> dict[str, Any]:
    """The rules, and the tree where there is one, as plain values."""
    return {
        "rules": [_rule_out(rule) for rule in rules],
        "tree": None if tree is None else _node_out(tree, tree.nodes[0]),
    }


def model_in(
    document: Mapping[str, Any], features: Sequence[Feature], classes: Sequence[Any], ordered: bool = False
) -> tuple[RuleSet, Tree | None]:
    """The rules and the tree behind such values; an error where they make no sense."""
    read = [_rule_in(rule, features, classes) for rule in listed(document["rules"])]
    rules = RuleSet(read, features, classes, ordered)
    if not rules:
        raise ValueError("there are no rules")
    if document["tree"] is None:
        return rules, None
    spreads: dict[tuple[int, ...], TargetSummary | None] = {}
    shape, leaves = _shape_in(document["tree"], features, len(rules), spreads)
    if sorted(leaves) != list(range(len(rules))):
        raise ValueError("the leaves of the tree are not its rules")
    return rules, Tree(shape, rules, lambda below: spreads[tuple(below)])


def _rule_out(rule: Rule) -> dict[str, Any]:
    return {
        "text": str(rule),
        "conditions": [_condition_out(condition) for condition in rule.conditions],
        "prediction": to_plain(float(rule.prediction) if isinstance(rule.prediction, Line) else rule.prediction),
        "line": _line_out(rule.prediction),
        "label": int(rule.label),
        "support": to_plain(rule.support),
        "loss": to_plain(rule.loss),
        "class_weights": to_plain(rule.class_weights),
        "targets": _targets_out(rule.targets),
        "cost": to_plain(rule.cost),
        "values": to_plain(rule.values),
        "survival": None if rule.survival is None else to_plain(dataclasses.astuple(rule.survival)),
    }


def _rule_in(document: Mapping[str, Any], features: Sequence[Feature], classes: Sequence[Any]) -> Rule:
    conditions = tuple(_condition_in(condition, features) for condition in listed(document["conditions"]))
    if len({condition.feature for condition in conditions}) < len(conditions):
        raise ValueError("a rule has two conditions on one feature")
    weights = tuple(number(weight) for weight in listed(document["class_weights"]))
    support = number(document["support"])
    values = tuple(number(value) for value in listed(document.get("values", [])))
    if len(weights) != len(classes) * (not values or bool(weights)) or min(weights, default=0.0) < 0:
        raise ValueError("a rule does not have one weight per class")
    if not 0 <= support < math.inf or (weights and not math.isclose(support, sum(weights), rel_tol=1e-9)):
        raise ValueError("the weight of a rule is not that of its classes")
    label = whole(document["label"], len(classes) or None)
    targets = _targets_in(document["targets"])
    said = document["prediction"]
    several = tuple(finite(one) for one in listed(said)) if isinstance(said, list) and not classes else None
    prediction = classes[label] if classes else several if several is not None else finite(said)
    if document.get("line") is not None:
        prediction = _line_in(document["line"], finite(said))
    # Files from before rules had a cost, or values of their answers, leave these out.
    cost = finite(document.get("cost", 0.0))
    if len(values) not in (0, len(classes) if several is None else len(several)):
        raise ValueError("a rule does not have one value per answer")
    loss, curve = finite(document["loss"]), _curve_in(document.get("survival"))
    return Rule(conditions, support, weights, prediction, loss, label, targets, cost, values, curve)


def _line_out(prediction: Any) -> Any:
    if not isinstance(prediction, Line):
        return None
    slopes = [dataclasses.asdict(slope) for slope in prediction.slopes]
    return {"text": str(prediction), "deviation": prediction.deviation, "slopes": slopes}


def _line_in(document: Mapping[str, Any], mean: float) -> Line:
    slopes = [
        Slope(whole(part["column"]), text(part["name"]), *(finite(part[name]) for name in ("slope", "at", "missing")))
        for part in listed(document["slopes"])
    ]
    return Line(mean, finite(document["deviation"]), tuple(slopes))


def _curve_in(document: Any) -> SurvivalCurve | None:
    if document is None:
        return None
    events, exposure, *columns = listed(document)
    times, at_risk, hazard = (tuple(finite(value) for value in listed(column)) for column in columns)
    if not len(times) == len(at_risk) == len(hazard) or sorted(times) != list(times):
        raise ValueError("a curve of survival does not go along its times")
    return SurvivalCurve(finite(events), finite(exposure), times, at_risk, hazard)


def _targets_out(targets: TargetSummary | None) -> Any:
    return None if targets is None else to_plain(dataclasses.astuple(targets))


def _targets_in(document: Any) -> TargetSummary | None:
    if document is None:
        return None
    mean, deviation, quantiles = document
    low, first, middle, third, high = map(finite, listed(quantiles))
    summary = TargetSummary(finite(mean), finite(deviation), (low, first, middle, third, high))
    # Squares of all of them are numbers, or the fit would have been refused.
    if summary.deviation < 0 or max(map(abs, (summary.mean, summary.deviation, *summary.quantiles))) > 1e154:
        raise ValueError("the targets of a rule are too far apart")
    return summary


def _condition_out(condition: Condition) -> dict[str, Any]:
    return {"feature": condition.feature, "codes": list(condition.codes)}


def _condition_in(document: Mapping[str, Any], features: Sequence[Feature]) -> Condition:
    position = whole(document["feature"], len(features))
    codes = tuple(whole(code, features[position].n_codes) for code in listed(document["codes"]))
    return Condition(position, codes, features[position].describe(codes))


def _node_out(tree: Tree, node: TreeNode) -> dict[str, Any]:
    if node.feature is None:
        return {"rule": node.rule}
    branches = []
    for child in node.children:
        condition = tree.nodes[child].condition
        assert condition is not None
        branches.append({**_condition_out(condition), "then": _node_out(tree, tree.nodes[child])})
    default = None if node.default is None else node.children.index(node.default)
    return {"branches": branches, "default": default, "targets": _targets_out(node.targets)}


def _shape_in(
    document: Mapping[str, Any],
    features: Sequence[Feature],
    n_rules: int,
    spreads: dict[tuple[int, ...], TargetSummary | None],
) -> tuple[_Split | int, tuple[int, ...]]:
    """The shape of a tree and its leaves; the spread of the target in every inner node is noted by its leaves."""
    if "rule" in document:
        rule = whole(document["rule"], n_rules)
        return rule, (rule,)
    below = [
        (_condition_in(branch, features), *_shape_in(branch["then"], features, n_rules, spreads))
        for branch in listed(document["branches"])
    ]
    split = {condition.feature for condition, _, _ in below}
    codes = [code for condition, _, _ in below for code in condition.codes]
    if len(split) != 1 or len(below) < 2 or len(set(codes)) < len(codes):
        raise ValueError("a node does not split one feature into separate branches")
    leaves = tuple(leaf for _, _, own in below for leaf in own)
    spreads[leaves] = _targets_in(document["targets"])
    # Files from before nodes had a choice leave it out.
    default = None if document.get("default") is None else whole(document["default"], len(below))
    return _Split(split.pop(), tuple((condition, shape) for condition, shape, _ in below), default), leaves
