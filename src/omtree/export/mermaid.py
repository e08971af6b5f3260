"""Models as Mermaid flowcharts, which many wikis and code hosts draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omtree.data.wording import amount, answer, counts_rows, number

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase
    from omtree.model.rules import Rule, RuleSet

#: Characters that Mermaid or the HTML it makes could take for something else.
_SPECIAL = frozenset('"#&<>`\\{}[]|;*_~$%')


def to_mermaid(model: OptimalTreeBase, direction: str = "TD") -> str:
    """The model as a Mermaid flowchart; rules that are no tree are boxes below one another.

    Parameters
    ----------
    model : fitted model
    direction : {"TD", "LR"}
        Whether the chart grows downwards or to the right.
    """
    if direction not in ("TD", "LR"):
        raise ValueError(f"direction={direction!r} is not known; use 'TD' or 'LR'.")
    rules, tree = model.rules_, model.tree_
    lines = [f"flowchart {direction}"]
    if tree is None:
        lines.append(f"  root{_box(['all rows'])}")
        for position, rule in enumerate(rules):
            conditions = " and ".join(str(condition) for condition in rule.conditions)
            lines.append(f"  root -- {_quoted(conditions)} --> rule{position}{_leaf(rule, rules)}")
        return "\n".join(lines) + "\n"
    for node in tree.nodes:
        if node.rule is not None:
            lines.append(f"  node{node.index}{_leaf(rules[node.rule], rules)}")
        else:
            assert node.feature is not None
            lines.append(f"  node{node.index}{_box([rules.features[node.feature].name])}")
    for node in tree.nodes:
        if node.parent is not None:
            lines.append(f"  node{node.parent} -- {_quoted(str(node.condition))} --> node{node.index}")
    return "\n".join(lines) + "\n"


def _leaf(rule: Rule, rules: RuleSet) -> str:
    shown = answer(rule.prediction, rules.classes)
    details = amount(rule.support, counts_rows([each.support for each in rules]))
    if rules.are_actions:
        details += f", {number(rule.values[rule.label])} a row"
    elif rules.classes and rule.support > 0:
        details += f", {100 * rule.class_weights[rule.label] / rule.support:.1f} %"
    return f'(["{_text(shown)}<br/>{_text(details)}"])'


def _box(texts: list[str]) -> str:
    return f'["{"<br/>".join(map(_text, texts))}"]'


def _quoted(text: str) -> str:
    return f'"{_text(text)}"'


def _text(text: str) -> str:
    """Text with every character that has a meaning of its own as a numbered entity."""
    return "".join(
        f"#{ord(character)};" if character in _SPECIAL or not character.isprintable() else character
        for character in text
    )
