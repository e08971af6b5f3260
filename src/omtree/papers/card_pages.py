"""Papers as Markdown and as one HTML file that needs nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from omtree.papers.blocks import Blank, Block, Bullets, Code, Grid, Paper, Paragraph, Picture

_TEMPLATES = (Path(__file__).parent / "templates", Path(__file__).parents[1] / "report" / "templates")
_BLANK = "____________________"
#: What Markdown, or the HTML in it, would take for a sign of its own.
_SIGNS = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def to_markdown(paper: Paper) -> str:
    """The paper as Markdown; names from the data cannot become markup."""
    parts = [f"# {_plain(paper.title)}", _plain(paper.subtitle)]
    for number, section in enumerate(paper.sections, start=1):
        parts.append(f"## {number}. {_plain(section.title)}")
        parts += [_markdown(block) for block in section.blocks]
    return "\n\n".join([*parts, f"---\n\n{_plain(paper.footer)}"]) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Paragraph(text, warning):
            return f"> **Note.** {_plain(text)}" if warning else _plain(text)
        case Grid(head, rows, numbers_from):
            marks = ["---:" if place >= numbers_from else "---" for place in range(len(head))]
            lines = [[_plain(cell) for cell in head], marks, *([_plain(cell) for cell in row] for row in rows)]
            return "\n".join(f"| {' | '.join(line)} |" for line in lines)
        case Bullets(items):
            return "\n".join(f"- {_plain(item)}" for item in items)
        case Blank(label, value):
            return f"**{_plain(label)}:** {_plain(value) if value else f'{_BLANK} (to be filled in)'}"
        case Code(text, language):
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
            return f"{fence}{language}\n{text.rstrip()}\n{fence}"
        case Picture(_, text):
            return _markdown(Code(text, "text"))


def _plain(text: str) -> str:
    return _SIGNS.sub(r"\\\1", " ".join(text.split()))


def to_html(paper: Paper) -> str:
    """The paper as one HTML file, in the look of the report."""
    environment = Environment(
        loader=FileSystemLoader([str(folder) for folder in _TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["kind"] = lambda block: type(block).__name__
    environment.filters["svg"] = Markup
    return environment.get_template("card.html.j2").render(paper=paper)
