"""What the command line shows: models in colours, certificates, the progress of a fit."""

from __future__ import annotations

import math
import re
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text
from rich.tree import Tree as RichTree

from omtree.cli.model_size import choice_words
from omtree.constraints.words import constraint_words
from omtree.data.wording import amount, answer, counts_rows, number, text_of
from omtree.model.leading import leads, warning
from omtree.model.text import survival_words
from omtree.progress import Event, listen

if TYPE_CHECKING:
    from omtree.constraints import Constraint
    from omtree.estimators.base import OptimalTreeBase
    from omtree.model.certificate import Certificate
    from omtree.model.rules import Rule, RuleSet
    from omtree.model.tree import Tree

#: Colours of classes; they are told apart by more than red and green.
_COLOURS = ("cyan", "yellow", "magenta", "green", "blue", "red")


def out() -> Console:
    """Standard output."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def err() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def note(text: str) -> None:
    """A remark beside the results."""
    err().print(Text(f"note: {text}", style="yellow"))


def show_model(model: OptimalTreeBase) -> None:
    """The tree, or the list of rules, in colours where there are any."""
    console = out()
    if not console.is_terminal:
        from omtree.model.text import to_text

        print(to_text(model))
        return
    if model.tree_ is not None:
        console.print(_tree(model.tree_))
        return
    for position, rule in enumerate(model.rules_, start=1):
        conditions = " and ".join(str(condition) for condition in rule.conditions)
        line = Text.assemble((f"{position:>3}  ", "dim"), "if " if conditions else "always", conditions)
        console.print(line.append("\n     ").append_text(_answer(rule, model.rules_)))


def show_leads(model: OptimalTreeBase) -> None:
    """The figures that matter most, and how the size came about."""
    console = out()
    chosen = choice_words(model)
    if chosen:
        console.print(Text(chosen, style="dim"))
    rows = leads(model)
    width = max(len(lead.figure) for lead in rows)
    for place, lead in enumerate(rows):
        name = f"{lead.name[0].lower()}{lead.name[1:]}"
        line = Text.assemble((f"{name:<22}", ""), (f"{lead.figure:<{width}}  ", "bold" if place == 0 else ""))
        words = lead.words.replace("max_leaves='auto' or cv=5", "--leaves auto or --cv 5")
        console.print(line.append(words, style="dim"))
    said = warning(model, vars(model).get("expectation_"))
    if said:
        alarm(said)
    print()


def show_certificate(certificate: Certificate, constraints: Sequence[Constraint] = ()) -> None:
    """The certificate, its verdict first, and the constraints in words."""
    checks = (replace(check, name=constraint_words(check.name, constraints)) for check in certificate.constraints)
    assured = (replace(each, name=constraint_words(each.name, constraints)) for each in certificate.assured)
    certificate = replace(certificate, constraints=tuple(checks), assured=tuple(assured))
    verdict, *lines = str(certificate).splitlines()
    console = out()
    console.print(Text(verdict, style="bold green" if certificate.status == "optimal" else "bold yellow"))
    for line in lines:
        if console.is_terminal:
            # The values start where that of the first line does.
            hang = " " * (len(line) - len(re.sub(r"^  \S.*?  +", "", line)))
            line = "\n".join(textwrap.wrap(line, console.width, subsequent_indent=hang))
        console.print(Text(line, style="dim"))


def alarm(text: str) -> None:
    """A sentence that must not be missed."""
    out().print(Text(text, style="bold red"))


def show_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A small table; in a file or pipe, plain columns."""
    console = out()
    if console.is_terminal:
        table = Table(title=Text(title), title_justify="left")
        for cell in head:
            table.add_column(Text(cell))
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        console.print(table)
        return
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    print(title)
    for row in (head, *rows):
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@contextmanager
def progress(time_limit: float | None, quiet: bool) -> Iterator[None]:
    """Show how far the fits inside the block are; nothing where nobody watches."""
    console = err()
    if quiet or not console.is_terminal:
        yield
        return
    view = _Progress(time_limit)
    with Live(get_renderable=view.line, console=console, refresh_per_second=5, transient=True), listen(view.note):
        yield


class _Progress:
    """One line about a fit in progress; the clock in it runs on its own."""

    def __init__(self, time_limit: float | None) -> None:
        self._limit = time_limit
        self._start = time.monotonic()
        self._event = Event("reading", 0.0)
        self._value, self._bound = math.inf, -math.inf

    def note(self, event: Event) -> None:
        """Take in what an engine reports; the best known stays until something is known anew."""
        self._event = event
        if math.isfinite(event.value):
            self._value, self._bound = event.value, event.bound

    def line(self) -> Text:
        """The line as of now."""
        elapsed = time.monotonic() - self._start
        parts = [(f"{elapsed:6.1f} s", "bold"), (f"  {self._event.phase}", "cyan")]
        if math.isfinite(self._value):
            parts.append((f"  best {number(self._value)}", ""))
            if math.isfinite(self._bound):
                gap = (self._value - self._bound) / self._value if self._value > self._bound else 0.0
                parts.append((f"  bound {number(self._bound)}  gap {100 * gap:.1f} %", ""))
        if math.isfinite(self._event.share):
            parts.append((f"  {100 * self._event.share:.0f} % of this depth", "dim"))
        if self._event.rows and not self._event.columns:
            parts.append((f"  {self._event.rows:,} rows", "dim"))
        if self._event.columns:
            parts.append((f"  {self._event.columns:,} rules", "dim"))
        if self._limit is not None:
            parts.append((f"  {max(0.0, self._limit - elapsed):.0f} s left", "dim"))
        parts.append(("  Ctrl-C keeps the best", "dim"))
        return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def _tree(tree: Tree) -> RichTree:
    rules = tree.rules

    def label(index: int) -> Text:
        node = tree.nodes[index]
        text = Text(str(node.condition) if node.condition is not None else "all rows")
        if node.rule is not None:
            text.append("  ").append_text(_answer(rules[node.rule], rules))
        return text

    def grow(branch: RichTree, index: int) -> None:
        for child in tree.nodes[index].children:
            grow(branch.add(label(child)), child)

    root = RichTree(label(0), guide_style="dim")
    grow(root, 0)
    return root


def _answer(rule: Rule, rules: RuleSet) -> Text:
    """What a rule predicts and what is behind it."""
    total, classes = rules.support, rules.classes
    rows = amount(rule.support, counts_rows([each.support for each in rules]))
    colour = _COLOURS[rule.label % len(_COLOURS)] if classes else "cyan"
    shown = answer(rule.prediction, classes)
    text = Text.assemble("→ ", (shown, f"bold {colour}"))
    share = f"  {rows} ({100 * rule.support / total:.1f} %)" if total > 0 else ""
    if rule.survival is not None:
        share += f", {survival_words(rule.survival)}"
    elif rules.are_actions:
        brings = zip(classes, rule.values, strict=True)
        share += f", on average {', '.join(f'{text_of(action)} {number(value)}' for action, value in brings)}"
    elif rule.class_weights and rule.support > 0:
        right = 100 * rule.class_weights[rule.label] / sum(rule.class_weights)
        share += f", {right:.1f} % of it {shown}"
    elif rule.targets is not None:
        share += f", half of it from {number(rule.targets.quantiles[1])} to {number(rule.targets.quantiles[3])}"
    return text.append(share, style="dim")
