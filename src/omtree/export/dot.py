"""Models in the DOT language, for Graphviz."""

from __future__ import annotations

from typing import Any

from omtree.data.wording import shorten
from omtree.model.rules import RuleSet
from omtree.model.tree import Tree
from omtree.report.summary import Summaries
from omtree.report.words import answer, branch_words, condition_words

_HEAD = (
    '  node [fontname="Helvetica,Arial,sans-serif", fontsize=11, shape=box, style="rounded,filled", '
    'fillcolor="#eef2f6", color="#8b9bab"];',
    '  edge [fontname="Helvetica,Arial,sans-serif", fontsize=10, color="#8b9bab", arrowhead=none];',
)
_LEAF = 'style=filled, fillcolor="#ffffff", color="#3d4d5c"'


def to_dot(model: Any) -> str:
    """A fitted model in the DOT language: the tree where there is one, else each rule as a chain of conditions.

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
    >>> small = Rule((Condition(0, (0,), "size = S"),), 3.0, (3.0, 0.0), "no", 0.0, 0)
    >>> large = Rule((Condition(0, (1,), "size = L"),), 1.0, (0.0, 1.0), "yes", 0.0, 1)
    >>> print(to_dot(RuleSet([small, large], [size], ["no", "yes"])).splitlines()[0])
    digraph rules {
    """
    shown = getattr(model, "tree_", None) or getattr(model, "rules_", model)
    if isinstance(shown, Tree):
        return _tree(shown)
    if isinstance(shown, RuleSet):
        return _rules(shown)
    raise ValueError(f"A {type(model).__name__} cannot be drawn; give a fitted model, a Tree or a RuleSet.")


def quote(text: str) -> str:
    """A DOT string; every line break of the text becomes one of the label."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\r", " ").replace("\0", "\ufffd")
    return '"' + text.replace("\n", "\\n") + '"'


def _tree(tree: Tree) -> str:
    rules, summaries = tree.rules, Summaries.of(tree.rules)
    lines = ["digraph tree {", *_HEAD]
    for node in tree.nodes:
        if node.rule is not None:
            rule = rules[node.rule]
            label = f"{answer(rule.prediction, rules.classes)}\n{summaries.short(rule)}"
            lines.append(f"  n{node.index} [label={quote(label)}, {_LEAF}];")
        else:
            assert node.feature is not None
            label = f"{shorten(rules.features[node.feature].name)}\n{summaries.amount(node.support)}"
            lines.append(f"  n{node.index} [label={quote(label)}];")
        if node.condition is not None:
            words = branch_words(rules.features[node.condition.feature], node.condition.codes)
            wide = 1 + 7 * node.support / summaries.total
            lines.append(f"  n{node.parent} -> n{node.index} [label={quote(words)}, penwidth={wide:.2f}];")
    return "\n".join([*lines, "}"])


def _rules(rules: RuleSet) -> str:
    summaries = Summaries.of(rules)
    lines = ["digraph rules {", "  rankdir=LR;", *_HEAD]
    for r, rule in enumerate(rules):
        names = [f"r{r}c{i}" for i in range(len(rule.conditions))]
        for name, condition in zip(names, rule.conditions, strict=True):
            words = condition_words(condition, rules.features[condition.feature])
            lines.append(f"  {name} [label={quote(words)}];")
        label = f"{answer(rule.prediction, rules.classes)}\n{summaries.short(rule)}"
        lines.append(f"  r{r} [label={quote(label)}, {_LEAF}];")
        wide = 1 + 7 * rule.support / summaries.total
        for a, b in zip(names, [*names[1:], f"r{r}"], strict=True):
            lines.append(f"  {a} -> {b} [penwidth={wide:.2f}];")
    return "\n".join([*lines, "}"])
