"""Charts of the report: loss against leaves, and residuals."""

from __future__ import annotations

import math
from collections.abc import Sequence

from omtree.data.wording import number
from omtree.report.figures import Residuals
from omtree.report.scene import Box, Disc, Group, Line, Mark, Scene, Words

_WIDTH, _HEIGHT = 560.0, 250.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 66.0, 20.0, 18.0, 44.0
#: Sizes of model that get a mark of their own.
_MOST_MARKS = 64


def tradeoff_scene(losses: Sequence[float], leaves: int, unit: str) -> Scene:
    """The best loss for every number of leaves, as steps, and the model that was chosen."""
    top = max(losses) or 1.0
    marked = ticks(0.0, top)
    top = max(top, marked[-1])
    n = len(losses)

    def at(size: float, loss: float) -> tuple[float, float]:
        share = (size - 1) / max(n - 1, 1)
        x = _LEFT + 12 + (_WIDTH - _LEFT - _RIGHT - 24) * (share if n > 1 else 0.5)
        return x, _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * loss / top

    marks = _axes(marked, top, 0.0, f"{unit}", "leaves")
    for size in _sizes(n):
        marks.append(Words(at(size, 0)[0], _HEIGHT - _BOTTOM + 17, str(size), 11, style="soft"))
    for size in range(1, n):
        (x0, y0), (x1, y1) = at(size, losses[size - 1]), at(size + 1, losses[size])
        marks.append(Line(x0, y0, x1, y0, "used", 1.6))
        if y1 != y0:
            marks.append(Line(x1, y0, x1, y1, "used", 1.6))
    if n <= _MOST_MARKS:
        marks += [Disc(*at(size, loss), 2.6, "dot") for size, loss in enumerate(losses, start=1)]
    x, y = at(min(leaves, n), losses[min(leaves, n) - 1])
    marks.append(Disc(x, y, 6.5, "leaf"))
    marks.append(Disc(x, y, 3.6, "dot"))
    text = f"this model: {leaves} {'leaf' if leaves == 1 else 'leaves'}, {number(losses[min(leaves, n) - 1])}"
    late = x > _WIDTH / 2
    # Steps fall to the right: there is room below them, unless the axis is near.
    below = y + 22 < _HEIGHT - _BOTTOM - 6
    place = y + 20 if below else max(y - 13, 12.0)
    marks.append(Words(x + (6 if late else -4), place, text, 12, "end" if late else "start", bold=True, halo=True))
    words = "; ".join(f"{size} leaves: {number(loss)}" for size, loss in enumerate(losses[:40], start=1))
    return Scene(_WIDTH, _HEIGHT, f"Best {unit} by number of leaves", words, (), [Group(tuple(marks), "legend")])


def residual_scene(residuals: Residuals) -> Scene:
    """How far off the predictions are, as bars."""
    top = max(residuals.counts) or 1
    marked = ticks(0.0, float(top))
    high = max(float(top), marked[-1])
    low_x, high_x = residuals.edges[0], residuals.edges[-1]

    def x_of(value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (value - low_x) / (high_x - low_x)

    marks = _axes(marked, high, 0.0, "rows", "actual minus predicted")
    for i, count in enumerate(residuals.counts):
        left, right = x_of(residuals.edges[i]), x_of(residuals.edges[i + 1])
        tall = (_HEIGHT - _TOP - _BOTTOM) * count / high
        marks.append(Box(left + 0.5, _HEIGHT - _BOTTOM - tall, right - left - 1, tall, "cover"))
    marks.append(Line(x_of(0.0), _TOP, x_of(0.0), _HEIGHT - _BOTTOM, "strong"))
    for value in ticks(low_x, high_x):
        marks.append(Words(x_of(value), _HEIGHT - _BOTTOM + 17, number(value), 11, style="soft"))
    words = f"{residuals.rows} rows; mean absolute error {number(residuals.mean_absolute)}"
    return Scene(_WIDTH, _HEIGHT, f"Residuals, {residuals.name}", words, (), [Group(tuple(marks), "legend")])


def _axes(marked: Sequence[float], top: float, bottom: float, y_name: str, x_name: str) -> list[Mark]:
    marks: list[Mark] = []
    for tick in marked:
        y = _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (tick - bottom) / (top - bottom)
        marks.append(Line(_LEFT, y, _WIDTH - _RIGHT, y, "rule"))
        marks.append(Words(_LEFT - 8, y + 4, number(tick), 11, "end", "soft"))
    marks.append(Words(8, 11, y_name, 11, "start", "soft"))
    marks.append(Words((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, x_name, 11, style="soft"))
    return marks


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers that span the range from inside, but reach its top."""
    rough = (high - low) / most
    if rough <= 0 or not math.isfinite(rough):
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * f for f in (1.0, 2.0, 2.5, 5.0, 10.0) if power * f >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round((first + i) * step, 12) for i in range(int((high - first * step) / step + 1e-9) + 1)]


def _sizes(n: int) -> list[int]:
    """Numbers of leaves that the axis names."""
    if n <= 12:
        return list(range(1, n + 1))
    step = next(s for s in (2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, n) if n / s <= 10)
    return [1, *range(step, n + 1, step)]
