"""What a paper is made of: sections of paragraphs, tables, lists, blanks to fill in, code and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; a warning stands out."""

    text: str
    warning: bool = False


@dataclass(frozen=True)
class Grid:
    """A table; the last columns, from `numbers_from` on, are figures."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers_from: int = 99


@dataclass(frozen=True)
class Bullets:
    """A list."""

    items: Sequence[str]


@dataclass(frozen=True)
class Blank:
    """Something that only a person can say; visibly empty where nobody has."""

    label: str
    value: str = ""


@dataclass(frozen=True)
class Code:
    """Lines as they are."""

    text: str
    language: str = ""


@dataclass(frozen=True)
class Picture:
    """A picture, and what it says where there are no pictures."""

    svg: str
    text: str


Block = Paragraph | Grid | Bullets | Blank | Code | Picture


@dataclass(frozen=True)
class Section:
    """A section; others refer to it by its key."""

    key: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Paper:
    """A whole paper.

    Attributes
    ----------
    title, subtitle : str
    sections : sequence of Section
        Numbered from 1.
    open_points : sequence of str
        What is missing in it, each in a few words.
    footer : str
    """

    title: str
    subtitle: str
    sections: Sequence[Section]
    open_points: Sequence[str]
    footer: str
