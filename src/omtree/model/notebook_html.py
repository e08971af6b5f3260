"""Small pieces of HTML that notebooks show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_CELL = "text-align:left;padding:2px 14px 2px 0;vertical-align:top"


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> str:
    """A table of texts.

    >>> "&lt;b&gt;" in html_table(["a"], [["<b>"]])
    True
    """
    above = f"<p><b>{escape(title)}</b></p>" if title else ""
    names = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in head)
    lines = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    first = f"<thead><tr>{names}</tr></thead>" if head else ""
    return f"<div>{above}<table>{first}<tbody>{lines}</tbody></table></div>"


def steps(title: str, items: Iterable[str], after: str) -> str:
    """A title, a numbered list, and a line after it.

    >>> steps("yes", ["a is 1"], "")
    '<div><p><b>yes</b></p><ol><li>a is 1</li></ol></div>'
    """
    listed = "".join(f"<li>{escape(item)}</li>" for item in items)
    below = f"<p>{escape(after)}</p>" if after else ""
    return f"<div><p><b>{escape(title)}</b></p>{f'<ol>{listed}</ol>' if listed else ''}{below}</div>"
