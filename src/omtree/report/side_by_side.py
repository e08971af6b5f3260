"""Two models side by side in one picture."""

from __future__ import annotations

import re
from typing import Any

from omtree.report.measure import FONT
from omtree.report.svg import escape, to_svg

#: Between the two pictures, and above them.
GAP, HEAD = 32, 30


def side_by_side(a: Any, b: Any, description: str, names: tuple[str, str] = ("before", "after")) -> str:
    """Both pictures in one SVG, with their names above and what differs for a screen reader.

    Parameters
    ----------
    a, b : fitted models
    description : str
    names : tuple of two str

    Returns
    -------
    str
    """
    pictures = [to_svg(a), to_svg(b)]
    sizes = [tuple(float(size) for size in _size(picture)) for picture in pictures]
    width = sizes[0][0] + GAP + sizes[1][0]
    height = HEAD + max(sizes[0][1], sizes[1][1])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="{FONT}">',
        f"<title>{escape(' and '.join(names))}</title><desc>{escape(description)}</desc>",
        f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>',
    ]
    left = 0.0
    for picture, name, (own, _) in zip(pictures, names, sizes, strict=True):
        parts.append(f'<text x="{left + 12:g}" y="20" font-size="14" font-weight="bold">{escape(name)}</text>')
        parts.append(picture.replace("<svg ", f'<svg x="{left:g}" y="{HEAD}" ', 1))
        left += own + GAP
    return "".join([*parts, "</svg>"])


def _size(picture: str) -> tuple[str, str]:
    found = re.search(r'width="([\d.]+)" height="([\d.]+)"', picture)
    assert found is not None
    return found.group(1), found.group(2)
