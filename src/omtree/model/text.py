"""Models as plain text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from omtree.data.wording import amount, answer, counts_rows, number, text_of

if TYPE_CHECKING:
    from omtree.model.rules import Rule, RuleSet
    from omtree.model.survival_curve import SurvivalCurve
    from omtree.model.tree import Tree, TreeNode


def to_text(model: Any) -> str:
    """A fitted model as plain text: the tree where there is one, else the list of its rules.

    Parameters
    ----------
    model : fitted model, RuleSet or Tree

    Returns
    -------
    str

    Examples
    --------
    >>> from omtree.data.table import Feature
    >>> from omtree.problem.graph import Condition
    >>> from omtree.model.rules import Rule, RuleSet
    >>> size = Feature("size", 0, "ordinal", 2, False, levels=("S", "L"))
    >>> small = Rule((Condition(0, (0,), "size is S"),), 3.0, (3.0, 0.0), "no", 0.0, 0)
    >>> large = Rule((Condition(0, (1,), "size is L"),), 1.0, (0.0, 1.0), "yes", 0.0, 1)
    >>> print(to_text(RuleSet([small, large], [size], ["no", "yes"])))
    1  if size is S then no
       3 rows (75.0 %): no 100.0 %
    2  if size is L then yes
       1 row (25.0 %): yes 100.0 %
    """
    tree = getattr(model, "tree_", None)
    return str(tree if tree is not None else getattr(model, "rules_", model))


def rules_to_text(rules: RuleSet) -> str:
    """One rule after the other, each with its rows and the shares of its classes."""
    width = len(str(len(rules)))
    lines = []
    for place, rule in enumerate(rules, start=1):
        lines.append(f"{place:>{width}}  {rule}")
        lines.append(f"{'':>{width}}  {_content(rule, rules)}")
    return "\n".join(lines)


def tree_to_text(tree: Tree) -> str:
    """The tree, indented; a leaf says what it predicts."""
    rules = tree.rules
    lines: list[str] = []

    def draw(node: TreeNode, lead: str, stem: str) -> None:
        text = str(node.condition) if node.condition is not None else "all rows"
        if node.rule is None:
            lines.append(f"{lead}{text}")
        else:
            rule = rules[node.rule]
            lines.append(f"{lead}{text}: {answer(rule.prediction, rules.classes)}  [{_content(rule, rules)}]")
        for child in node.children:
            last = child == node.children[-1]
            draw(tree.nodes[child], stem + ("`-- " if last else "|-- "), stem + ("    " if last else "|   "))

    draw(tree.nodes[0], "", "")
    return "\n".join(lines)


def survival_words(curve: SurvivalCurve) -> str:
    """How often the event happened, and by when to half of the rows."""
    events = f"{number(curve.events)} {'event' if curve.events == 1 else 'events'}"
    if not math.isfinite(curve.median):
        return f"{events}, median not reached"
    low, high = (number(end) if math.isfinite(end) else "..." for end in curve.median_interval)
    return f"{events}, median {number(curve.median)} ({low} to {high})"


def _content(rule: Rule, rules: RuleSet) -> str:
    """How heavy the rule is, and what is in it: the shares of the classes, or the spread of the target."""
    rows = amount(rule.support, counts_rows([each.support for each in rules]))
    weight = f"{rows} ({100 * rule.support / rules.support:.1f} %)"
    if rule.targets is not None:
        low, lower, median, upper, high = map(number, rule.targets.quantiles)
        return f"{weight}: median {median}, half in {lower} .. {upper}, all in {low} .. {high}"
    if rule.survival is not None:
        return f"{weight}: {survival_words(rule.survival)}"
    if rules.are_actions:
        brings = sorted(zip(rule.values, rules.classes, strict=True), key=lambda pair: -pair[0])
        return f"{weight}: on average {', '.join(f'{text_of(action)} {number(value)}' for value, action in brings)}"
    shares = sorted(zip(rule.class_weights, rules.classes, strict=True), key=lambda pair: -pair[0])
    texts = [f"{text_of(label)} {100 * share / rule.support:.1f} %" for share, label in shares if share > 0]
    return f"{weight}: {', '.join(texts)}" if texts else weight
