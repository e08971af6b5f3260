"""Pictures as SVG: one self-contained text, the same for the same model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from omtree.data.wording import shorten
from omtree.model.rules import RuleSet
from omtree.model.tree import Tree
from omtree.report.measure import FONT
from omtree.report.rules_picture import rules_scene
from omtree.report.scene import MOST_TITLE, STYLES, Band, Box, Disc, Group, Line, Mark, Scene, Words
from omtree.report.tree_picture import Direction, tree_scene


def to_svg(model: Any, direction: Direction = "auto", title: str = "") -> str:
    """A fitted model as an SVG picture: the tree where there is one, else a table of its rules.

    Parameters
    ----------
    model : fitted model, RuleSet or Tree
    direction : {"auto", "down", "right"}
        Where a tree grows; with "auto" wide trees grow to the right.
    title : str
        What a screen reader says first; by default the size of the model.

    Returns
    -------
    str

    Examples
    --------
    >>> from omtree.data.table import Feature
    >>> from omtree.problem.graph import Condition
    >>> from omtree.model.rules import Rule, RuleSet
    >>> size = Feature("size", 0, "ordinal", 2, False, levels=("S", "L"))
    >>> small = Rule((Condition(0, (0,), "size is S"),), 3.0, (3.0, 0.0), "no", 0.0, 0)
    >>> large = Rule((Condition(0, (1,), "size is L"),), 1.0, (0.0, 1.0), "yes", 0.0, 1)
    >>> to_svg(RuleSet([small, large], [size], ["no", "yes"]))[:4]
    '<svg'
    """
    return render_svg(model_scene(model, direction, title))


def model_scene(model: Any, direction: Direction = "auto", title: str = "") -> Scene:
    """The picture of a model before it has a format."""
    shown = getattr(model, "tree_", None) or getattr(model, "rules_", model)
    if isinstance(shown, Tree):
        return tree_scene(shown, direction, title)
    if isinstance(shown, RuleSet):
        return rules_scene(shown, title)
    raise ValueError(f"A {type(model).__name__} cannot be drawn; give a fitted model, a Tree or a RuleSet.")


def render_svg(scene: Scene) -> str:
    """The scene as SVG."""
    width, height = _n(scene.width), _n(scene.height)
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="omt" role="img" width="{width}" height="{height}" ',
            f'viewBox="0 0 {width} {height}" font-family="{FONT}">',
            f"<title>{escape(scene.title)}</title><desc>{escape(scene.description)}</desc>",
            f"<style>{''.join(_rules())}</style>",
            f'<rect class="omt-paper" width="{width}" height="{height}"/>',
            *(_group(group, scene.colours) for group in scene.groups),
            "</svg>",
        ]
    )


def escape(text: str) -> str:
    """Text for element content and attributes; characters that XML has no room for become a replacement mark."""
    text = re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        text = text.replace(character, entity)
    return text


def _rules() -> Iterator[str]:
    """The same in every picture: where several stand on one page, the rules of one hold for all."""
    for name, look in STYLES.items():
        dashes = ";stroke-dasharray:4 3" if look.dashed else ""
        yield f".omt-{name}{{fill:{look.fill or 'none'};stroke:{look.stroke or 'none'}{dashes}}}"
    # Parts of a bar are told apart by their outline where two greys are alike.
    yield ".omt-part{stroke:#3d4d5c;stroke-width:.7px}"
    yield ".omt-halo{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}"
    yield ".omt text{text-rendering:geometricPrecision;white-space:pre}"


def _group(group: Group, colours: Sequence[str]) -> str:
    if not group.kind:
        return _mesh([mark for mark in group.marks if isinstance(mark, Band)])
    marks = "".join(_mark(mark, colours) for mark in group.marks)
    number = "" if group.number is None else f' data-{group.kind}="{group.number}"'
    title = f"<title>{escape(shorten(group.title, MOST_TITLE))}</title>" if group.title else ""
    return f'<g class="omt-is-{group.kind}"{number}>{title}{marks}</g>'


def _mark(mark: Mark, colours: Sequence[str]) -> str:
    match mark:
        case Box():
            own = mark.style.removeprefix("c")
            # Colours of classes differ between models, so they are written where they are used.
            look = f'class="omt-part" fill="{colours[int(own)]}"' if own.isdigit() else f'class="omt-{mark.style}"'
            radius = f' rx="{_n(mark.radius)}"' if mark.radius else ""
            size = f'width="{_n(mark.width)}" height="{_n(mark.height)}"'
            return f'<rect {look} x="{_n(mark.x)}" y="{_n(mark.y)}" {size}{radius}/>'
        case Words():
            halo = " omt-halo" if mark.halo else ""
            bold = ' font-weight="600"' if mark.bold else ""
            anchor = "" if mark.anchor == "start" else f' text-anchor="{mark.anchor}"'
            where = f'x="{_n(mark.x)}" y="{_n(mark.y)}" font-size="{_n(mark.size)}"'
            return f'<text class="omt-{mark.style}{halo}" {where}{anchor}{bold}>{escape(mark.text)}</text>'
        case Line():
            ends = f'x1="{_n(mark.x0)}" y1="{_n(mark.y0)}" x2="{_n(mark.x1)}" y2="{_n(mark.y1)}"'
            return f'<line class="omt-{mark.style}" {ends} stroke-width="{_n(mark.width)}"/>'
        case Band():
            return _mesh([mark])
        case Disc():
            return f'<circle class="omt-{mark.style}" cx="{_n(mark.x)}" cy="{_n(mark.y)}" r="{_n(mark.radius)}"/>'


def _mesh(bands: Sequence[Band]) -> str:
    """Bands that nobody points at: those that look the same are one path."""
    paths: dict[tuple[str, float], list[str]] = {}
    for band in bands:
        start, *curve = (f"{_n(x)},{_n(y)}" for x, y in band_points(band))
        paths.setdefault((band.style, band.width), []).append(f"M{start}C{' '.join(curve)}")
    return "".join(
        f'<path class="omt-{style}" d="{"".join(pieces)}" stroke-width="{_n(width)}"/>'
        for (style, width), pieces in paths.items()
    )


def band_points(band: Band) -> list[tuple[float, float]]:
    """Start, two control points and end of the curve."""
    if band.down:
        middle = (band.y0 + band.y1) / 2
        return [(band.x0, band.y0), (band.x0, middle), (band.x1, middle), (band.x1, band.y1)]
    middle = (band.x0 + band.x1) / 2
    return [(band.x0, band.y0), (middle, band.y0), (middle, band.y1), (band.x1, band.y1)]


def _n(value: float) -> str:
    """A coordinate with one decimal."""
    text = f"{value:.1f}"
    return text.removesuffix(".0")
