"""A set of rules that is no tree: a table, one rule a line, with bars for how many rows each covers."""

from __future__ import annotations

from omtree.data.wording import amount
from omtree.model.rules import Rule, RuleSet
from omtree.report.measure import text_width, widest, wrap
from omtree.report.scene import Box, Group, Line, Mark, Scene, Words
from omtree.report.summary import Summaries
from omtree.report.words import answer, condition_words, percent

#: More rules than this are not drawn; the lightest are left out, and the picture says so.
MOST_RULES = 100

_MARGIN = 18.0
_RULE_ROOM, _ANSWER_ROOM, _BAR = 460.0, 150.0, 120.0
_LINE = 16.0
_HEAD = 26.0


def rules_scene(rules: RuleSet, title: str = "") -> Scene:
    """The rules as a table, the heaviest first.

    Parameters
    ----------
    rules : RuleSet
    title : str
        What a screen reader says first.
    """
    summaries = Summaries.of(rules)
    order = sorted(range(len(rules)), key=lambda r: -rules[r].support)[:MOST_RULES]
    lines = {r: _condition_lines(rules[r], rules) for r in order}
    answers = {r: wrap(answer(rules[r].prediction, rules.classes), _ANSWER_ROOM, 13, 2, bold=True) for r in order}
    x_rule = _MARGIN + 34
    x_answer = x_rule + max(widest((t for r in order for t in lines[r]), 12.5), 120.0) + 24
    x_cover = x_answer + max(widest((t for r in order for t in answers[r]), 13, bold=True), 60.0) + 24
    amounts = {r: amount(rules[r].support, summaries.rows) for r in order}
    x_inside = x_cover + _BAR + 12 + widest(amounts.values(), 11) + 24
    width = x_inside + _BAR + 90

    marks: list[Mark] = [
        Words(_MARGIN + 18, _MARGIN + 12, "#", 11, "end", "soft"),
        Words(x_rule, _MARGIN + 12, "if", 11, "start", "soft"),
        Words(x_answer, _MARGIN + 12, "then", 11, "start", "soft"),
        Words(x_cover, _MARGIN + 12, "covers", 11, "start", "soft"),
        Words(x_inside, _MARGIN + 12, "inside", 11, "start", "soft"),
        Line(_MARGIN, _MARGIN + _HEAD - 6, width - _MARGIN, _MARGIN + _HEAD - 6, "strong"),
    ]
    groups = [Group(tuple(marks), "legend")]
    heaviest = max((rules[r].support for r in order), default=1.0) or 1.0
    y = _MARGIN + _HEAD
    for r in order:
        rule = rules[r]
        height = 14 + _LINE * max(len(lines[r]), len(answers[r]))
        row: list[Mark] = [Words(_MARGIN + 18, y + 17, str(r + 1), 11, "end", "soft")]
        row += [Words(x_rule, y + 17 + _LINE * i, t, 12.5, "start") for i, t in enumerate(lines[r])]
        row += [Words(x_answer, y + 17 + _LINE * i, t, 13, "start", bold=True) for i, t in enumerate(answers[r])]
        row.append(Box(x_cover, y + 8, max(_BAR * rule.support / heaviest, 1.0), 11, "cover"))
        row.append(Words(x_cover + _BAR + 12, y + 17, amounts[r], 11, "start", "soft"))
        row += summaries.marks(rule, x_inside, y + 8, _BAR, 11)
        row.append(Words(x_inside + _BAR + 10, y + 17, _certainty(rule), 11, "start", "soft"))
        y += height
        row.append(Line(_MARGIN, y, width - _MARGIN, y, "rule"))
        title_of = f"rule {r + 1}, {' and '.join(_texts(rule, rules)) or 'always'}: {summaries.words(rule)}"
        groups.append(Group(tuple(row), "rule", r, title_of))
    foot, foot_height = summaries.legend(_MARGIN, y + 12, width - 2 * _MARGIN)
    y += 12 + foot_height
    text = "A row that meets several rules, or none, gets the answer of the nearest rule; among equals the heaviest."
    if len(order) < len(rules):
        text = f"The {len(order)} heaviest of {len(rules)} rules. {text}"
    foot.append(Words(_MARGIN, y + 10, text, 11, "start", "soft"))
    width = max(width, 2 * _MARGIN + text_width(text, 11))
    groups.append(Group(tuple(foot), "legend"))
    name = title or f"{len(rules)} disjoint rules, at most {rules.depth} conditions each"
    words = " ".join(f"{r + 1}. {' and '.join(_texts(rules[r], rules)) or 'always'}." for r in order[:40])
    return Scene(width, y + 16 + _MARGIN, name, words, summaries.colours, groups)


def _texts(rule: Rule, rules: RuleSet) -> list[str]:
    return [condition_words(c, rules.features[c.feature]) for c in rule.conditions]


def _condition_lines(rule: Rule, rules: RuleSet) -> list[str]:
    """One line or two per condition: rules are compared condition by condition."""
    lines: list[str] = []
    for i, text in enumerate(_texts(rule, rules)):
        lines += wrap(text if i == 0 else f"and {text}", _RULE_ROOM, 12.5, 2)
    return lines or ["always"]


def _certainty(rule: Rule) -> str:
    if rule.targets is not None or not rule.class_weights or not rule.support:
        return ""
    return percent(rule.class_weights[rule.label] / rule.support)
