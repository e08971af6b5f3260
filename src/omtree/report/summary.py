"""What is inside a leaf: bars of its classes, or a small box plot of its target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omtree.data.wording import amount, counts_rows, number, shorten, text_of
from omtree.model import line
from omtree.model.rules import Rule, RuleSet
from omtree.model.target_summary import TargetSummary
from omtree.model.text import survival_words
from omtree.report.colours import class_colours
from omtree.report.measure import text_width
from omtree.report.scene import Box, Disc, Line, Mark, Words
from omtree.report.survival_chart import last_time, small_curve
from omtree.report.words import answer, percent

#: Classes beyond this many share one colour, and one part of every bar.
MOST_COLOURS = 12
_THINNEST = 0.75


@dataclass(frozen=True)
class Summaries:
    """Draws and words the content of the leaves of one model, all on one scale."""

    classes: tuple[Any, ...]
    total: float
    rows: bool
    low: float = 0.0
    high: float = 1.0
    actions: bool = False
    curves: bool = False
    ordered: bool = False

    @classmethod
    def of(cls, rules: RuleSet) -> Summaries:
        """The scale that suits all the rules."""
        rows = counts_rows([rule.support for rule in rules])
        if rules.are_curves:
            return cls((), rules.support or 1.0, rows, 0.0, last_time(rules), curves=True)
        if rules.are_actions:
            brings = [value for rule in rules for value in rule.values]
            low, high = min(brings), max(brings)
            return cls(rules.classes, rules.support or 1.0, rows, low, high if high > low else low + 1.0, actions=True)
        ends = [rule.targets.quantiles for rule in rules if rule.targets is not None]
        low, high = min((q[0] for q in ends), default=0.0), max((q[4] for q in ends), default=1.0)
        high = high if high > low else low + 1.0
        return cls(rules.classes, rules.support or 1.0, rows, low, high, ordered=rules.ordered)

    @property
    def colours(self) -> tuple[str, ...]:
        """One colour per class shown."""
        numbers = all(isinstance(c, int | float) and not isinstance(c, bool) for c in self.classes)
        # Two classes are told apart rather than ordered, and so are actions, whatever their names.
        ordered = (numbers or self.ordered) and len(self.classes) > 2 and not self.actions
        return class_colours(min(len(self.classes), MOST_COLOURS), ordered)

    def amount(self, support: float) -> str:
        """The support, and its share of everything."""
        return f"{amount(support, self.rows)} ({percent(support / self.total)})"

    def short(self, rule: Rule) -> str:
        """One short line for a leaf: how sure the answer is, and of how many rows."""
        if rule.targets is not None:
            return f"± {number(spread_of(rule))} · {amount(rule.support, self.rows)}"
        if rule.survival is not None:
            return f"{number(rule.survival.events)} of {amount(rule.support, self.rows)}"
        if self.actions:
            return f"{number(rule.values[rule.label])} a row · {amount(rule.support, self.rows)}"
        if not rule.class_weights:
            return amount(rule.support, self.rows)
        return f"{percent(self._share(rule))} of {amount(rule.support, self.rows)}"

    def words(self, rule: Rule) -> str:
        """A sentence for a leaf."""
        text = f"predicts {answer(rule.prediction, self.classes)}; {self.amount(rule.support)}"
        if rule.targets is not None:
            low, lower, median, upper, high = map(number, rule.targets.quantiles)
            spread = f"mean {number(rule.targets.mean)}, median {median}, half between {lower} and {upper}"
            return f"{text}; {spread}, all between {low} and {high}"
        if rule.survival is not None:
            return f"{text}; {survival_words(rule.survival)}"
        if self.actions:
            brings = sorted(zip(rule.values, self.classes, strict=True), key=lambda part: -part[0])
            return f"{text}; on average {', '.join(f'{shorten(text_of(c))} {number(v)}' for v, c in brings[:8])}"
        parts = sorted(zip(rule.class_weights, self.classes, strict=False), key=lambda part: -part[0])
        shares = [f"{shorten(text_of(c))} {percent(w / (rule.support or 1.0))}" for w, c in parts[:8] if w > 0]
        return f"{text}: {', '.join(shares)}" if shares else text

    def marks(self, rule: Rule, x: float, y: float, width: float, height: float) -> list[Mark]:
        """The bar of the classes, or the box plot, inside this frame."""
        if rule.targets is not None:
            return self._box_plot(rule.targets, x, y, width, height)
        if rule.survival is not None:
            return small_curve(rule.survival, self.high, x, y, width, height)
        if self.actions:
            return self._columns(rule.values, x, y, width, height)
        return self._bar(rule.class_weights, x, y, width, height)

    def legend(self, x: float, y: float, room: float) -> tuple[list[Mark], float]:
        """What the colours, or the box plots, mean; and the height this takes."""
        if self.curves:
            text = f"risk, 1 is that of all rows; curves: share without the event, up to {number(self.high)}"
            return [Words(x, y + 10, text, 11, "start", "soft")], 16.0
        if not self.classes:
            text = f"{number(self.low)} to {number(self.high)}: whiskers all rows, box the middle half, dot the mean"
            if text_width(text, 11) > room:
                text = f"{number(self.low)} to {number(self.high)}"
            return [Words(x, y + 10, text, 11, "start", "soft")], 16.0
        marks: list[Mark] = []
        left, top = x, y
        for i, name in enumerate(self._names()):
            wide = 20 + text_width(name, 11)
            if left > x and left + wide > x + room:
                left, top = x, top + 18
            marks.append(Box(left, top + 1, 11, 11, self._style(i)))
            marks.append(Box(left, top + 1, 11, 11, "frame"))
            marks.append(Words(left + 16, top + 11, name, 11, "start", "soft"))
            left += wide + 14
        return marks, top - y + 18

    def _names(self) -> list[str]:
        names = [shorten(text_of(c), 40) for c in self.classes[:MOST_COLOURS]]
        more = len(self.classes) - MOST_COLOURS
        return [*names, f"{more} more classes"] if more > 0 else names

    def _share(self, rule: Rule) -> float:
        return rule.class_weights[rule.label] / rule.support if rule.support else 0.0

    def _style(self, i: int) -> str:
        return f"c{i}" if i < MOST_COLOURS else "rest"

    def _bar(self, weights: tuple[float, ...], x: float, y: float, width: float, height: float) -> list[Mark]:
        total = sum(weights)
        marks: list[Mark] = []
        if total > 0:
            shown = [*weights[:MOST_COLOURS], sum(weights[MOST_COLOURS:])]
            before = 0.0
            for i, weight in enumerate(shown):
                wide = width * weight / total
                if wide >= _THINNEST:
                    marks.append(Box(x + width * before / total, y, wide, height, self._style(i)))
                before += weight
        return [*marks, Box(x, y, width, height, "frame")]

    def _columns(self, values: tuple[float, ...], x: float, y: float, width: float, height: float) -> list[Mark]:
        """What each action brings, as columns on the scale of all leaves."""
        shown = values[:MOST_COLOURS]
        wide = width / len(shown)
        marks: list[Mark] = []
        for i, value in enumerate(shown):
            tall = 1.0 + (height - 1.0) * (value - self.low) / (self.high - self.low)
            marks.append(Box(x + i * wide, y + height - tall, max(wide - 2.0, 0.5), tall, self._style(i)))
        return [*marks, Line(x, y + height, x + width, y + height, "rule")]

    def _box_plot(self, targets: TargetSummary, x: float, y: float, width: float, height: float) -> list[Mark]:
        def at(value: float) -> float:
            return x + width * (value - self.low) / (self.high - self.low)

        low, lower, median, upper, high = (at(q) for q in targets.quantiles)
        middle = y + height / 2
        return [
            Line(x, y + height, x + width, y + height, "rule"),
            Line(low, middle, high, middle, "frame"),
            Line(low, y + 2, low, y + height - 2, "frame"),
            Line(high, y + 2, high, y + height - 2, "frame"),
            Box(lower, y, max(upper - lower, 0.5), height, "spread"),
            Line(median, y, median, y + height, "strong", 2),
            Disc(at(targets.mean), middle, 2, "ink"),
        ]


def spread_of(rule: Rule) -> float:
    """How far the targets of a rule are from its answer: from its line where it has one, else from their mean."""
    assert rule.targets is not None
    return rule.prediction.deviation if isinstance(rule.prediction, line.Line) else rule.targets.deviation
