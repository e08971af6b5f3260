"""A picture as a short list of marks, before it becomes SVG or matplotlib.

Colours are names (`STYLES`): the renderers give them a look, and a page may give them another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

#: Titles longer than this are cut: a picture may have hundreds of them.
MOST_TITLE = 240


@dataclass(frozen=True)
class Look:
    """Colours of a style; None means not drawn."""

    fill: str | None = None
    stroke: str | None = None
    dashed: bool = False


STYLES: dict[str, Look] = {
    "paper": Look(fill="#ffffff"),
    "ink": Look(fill="#1c2733"),
    "soft": Look(fill="#566473"),
    "node": Look(fill="#eef2f6", stroke="#8b9bab"),
    "leaf": Look(fill="#ffffff", stroke="#3d4d5c"),
    "fold": Look(fill="#ffffff", stroke="#8b9bab", dashed=True),
    "flow": Look(stroke="#c6d1dc"),
    "used": Look(stroke="#235488"),
    "rule": Look(stroke="#d3dce5"),
    "frame": Look(stroke="#3d4d5c"),
    "cover": Look(fill="#8b9bab"),
    "spread": Look(fill="#9db8d2", stroke="#3d4d5c"),
    "strong": Look(stroke="#1c2733"),
    "rest": Look(fill="#b8bfc7", stroke="#3d4d5c"),
    "dot": Look(fill="#235488"),
}


@dataclass(frozen=True)
class Box:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float
    style: str
    radius: float = 0.0


@dataclass(frozen=True)
class Words:
    """One line of text; `y` is its base line."""

    x: float
    y: float
    text: str
    size: float = 13.0
    anchor: Literal["start", "middle", "end"] = "middle"
    style: str = "ink"
    bold: bool = False
    halo: bool = False


@dataclass(frozen=True)
class Line:
    """A straight line."""

    x0: float
    y0: float
    x1: float
    y1: float
    style: str
    width: float = 1.0


@dataclass(frozen=True)
class Band:
    """A curved band that leaves and arrives along the direction of growth."""

    x0: float
    y0: float
    x1: float
    y1: float
    width: float
    down: bool
    style: str = "flow"


@dataclass(frozen=True)
class Disc:
    """A circle."""

    x: float
    y: float
    radius: float
    style: str


Mark = Box | Words | Line | Band | Disc


@dataclass(frozen=True)
class Group:
    """Marks that belong together, with what a pointer or a screen reader says of them.

    Attributes
    ----------
    marks : tuple of Mark
    kind : str
        "node", "leaf", "edge", "rule" or "legend"; "" for a mesh of bands.
    number : int or None
        Position of the node, or of the rule.
    title : str
        In words.
    """

    marks: tuple[Mark, ...]
    kind: str = ""
    number: int | None = None
    title: str = ""


@dataclass
class Scene:
    """A whole picture."""

    width: float
    height: float
    title: str
    description: str
    colours: tuple[str, ...] = ()
    groups: list[Group] = field(default_factory=list)
