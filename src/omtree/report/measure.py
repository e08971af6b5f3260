"""How much room a text takes, without any font at hand."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

#: What every picture is set in; the first one found decides, so widths are a little generous.
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"

# Widths of the usual sans-serif faces in thousandths of the font size.
_NARROW = dict.fromkeys("ijl|'!.,:;", 270) | dict.fromkeys('ftrI()[]{}/\\-"* `', 350)
_WIDE = dict.fromkeys("mwMW@%", 880) | dict.fromkeys("ABCDEGHKNOPQRSUVXY&<>=+~≤≥", 700)
_WIDTH = _NARROW | _WIDE
_MARGIN = 1.06
_BOLD = 1.07


def text_width(text: str, size: float, bold: bool = False) -> float:
    """Width of one line of text, rather too large than too small.

    >>> text_width("iii", 10) < text_width("mmm", 10)
    True
    """
    units = 0
    for character in text:
        if unicodedata.combining(character):
            continue
        wide = unicodedata.east_asian_width(character) in "WF"
        units += 1000 if wide else _WIDTH.get(character, 570)
    return units / 1000 * size * _MARGIN * (_BOLD if bold else 1.0)


def wrap(text: str, room: float, size: float, lines: int = 2, bold: bool = False) -> tuple[str, ...]:
    """The text in at most `lines` lines of at most `room` width; what does not fit ends in an ellipsis.

    >>> wrap("a long name of a column", 60, 12)
    ('a long', 'name of…')
    """
    words = list(_pieces(" ".join(text.split()), room, size, bold))
    done: list[str] = []
    line = ""
    for i, (word, glue) in enumerate(words):
        longer = line + (glue if line else "") + word
        if not line or text_width(longer, size, bold) <= room:
            line = longer
            continue
        if len(done) == lines - 1:
            rest = glue + word if i < len(words) else ""
            return (*done, _cut(line + rest, room, size, bold))
        done.append(line)
        line = word
    return (*done, line)


def widest(texts: Iterable[str], size: float, bold: bool = False) -> float:
    """Width of the widest of these lines."""
    return max((text_width(text, size, bold) for text in texts), default=0.0)


def _pieces(text: str, room: float, size: float, bold: bool) -> Iterable[tuple[str, str]]:
    """The words, each with what joins it to the one before; words wider than the room are broken."""
    for word in text.split(" "):
        glue = " "
        while text_width(word, size, bold) > room and len(word) > 1:
            fits = max(n for n in range(1, len(word)) if n == 1 or text_width(word[:n], size, bold) <= room)
            # Better after an underscore or the like than anywhere.
            breaks = [n for n in range(fits // 2 + 1, fits + 1) if word[n - 1] in "_-/.,:"]
            fits = breaks[-1] if breaks else fits
            yield word[:fits], glue
            word, glue = word[fits:], ""
        yield word, glue


def _cut(text: str, room: float, size: float, bold: bool) -> str:
    while text and text_width(text + "…", size, bold) > room:
        text = text[:-1]
    return text.rstrip() + "…"
