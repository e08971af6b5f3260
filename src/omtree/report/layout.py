"""Where the nodes of a tree go: a tidy layout for any number of children and any sizes.

Subtrees are packed along their contours, as close as the gap allows, and a parent stands in the middle of its first
and last child (Reingold and Tilford's idea). Children are packed once from each side and placed half-way between, so
that a small subtree between two large ones does not cling to either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class _Contour:
    """Per level below a subtree's root, how far the subtree reaches to either side of the root's centre."""

    low: list[float]
    high: list[float]

    def moved(self, by: float) -> _Contour:
        return _Contour([x + by for x in self.low], [x + by for x in self.high])


def tidy(
    children: Sequence[Sequence[int]], sizes: Sequence[float], gap: float = 16.0, family_gap: float = 28.0
) -> list[float]:
    """The centre of every node across the direction of growth; the smallest edge is at 0.

    Parameters
    ----------
    children : sequence of sequences of int
        The children of each node; node 0 is the root and children have larger numbers than their parent.
    sizes : sequence of float
        Extent of each node.
    gap : float
        Least distance between siblings.
    family_gap : float
        Least distance between nodes of one level with different parents.

    Examples
    --------
    >>> tidy([[1, 2, 3], [], [], []], [10, 10, 10, 10], gap=5)
    [20.0, 5.0, 20.0, 35.0]
    """
    offset = [0.0] * len(children)
    contours: dict[int, _Contour] = {}
    for node in reversed(range(len(children))):
        contour = _Contour([-sizes[node] / 2], [sizes[node] / 2])
        kids = children[node]
        if kids:
            below = [contours.pop(kid) for kid in kids]
            places = _pack(below, gap, family_gap)
            middle = (places[0] + places[-1]) / 2
            for kid, place in zip(kids, places, strict=True):
                offset[kid] = place - middle
            merged = _merge([c.moved(place - middle) for c, place in zip(below, places, strict=True)])
            contour = _Contour(contour.low + merged.low, contour.high + merged.high)
        contours[node] = contour
    centre = [0.0] * len(children)
    for node, kids in enumerate(children):
        for kid in kids:
            centre[kid] = centre[node] + offset[kid]
    edge = min(x - size / 2 for x, size in zip(centre, sizes, strict=True))
    return [x - edge for x in centre]


def _pack(contours: Sequence[_Contour], gap: float, family_gap: float) -> list[float]:
    """Positions of neighbouring subtrees that keep their distance on every level."""
    left = _pack_one_way(contours, gap, family_gap)
    mirrored = [_Contour([-x for x in c.high], [-x for x in c.low]) for c in reversed(contours)]
    right = [-x for x in reversed(_pack_one_way(mirrored, gap, family_gap))]
    # Distances asked for are linear in the positions: half-way between two packings is a packing as well.
    return [(a + b + left[-1] - right[-1]) / 2 for a, b in zip(left, right, strict=True)]


def _pack_one_way(contours: Sequence[_Contour], gap: float, family_gap: float) -> list[float]:
    places = [0.0]
    taken = contours[0].high
    for contour in contours[1:]:
        place = max(
            high - low + (gap if level == 0 else family_gap)
            for level, (high, low) in enumerate(zip(taken, contour.low, strict=False))
        )
        places.append(place)
        moved = [x + place for x in contour.high]
        # A deeper neighbour further away still shields nothing: keep the farther edge on every level.
        shared = [max(a, b) for a, b in zip(taken, moved, strict=False)]
        taken = shared + (moved[len(shared) :] or taken[len(shared) :])
    return places


def _merge(contours: Sequence[_Contour]) -> _Contour:
    levels = max(len(c.low) for c in contours)
    reaching = [[c for c in contours if len(c.low) > level] for level in range(levels)]
    return _Contour(
        [min(c.low[level] for c in some) for level, some in enumerate(reaching)],
        [max(c.high[level] for c in some) for level, some in enumerate(reaching)],
    )
