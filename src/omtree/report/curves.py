"""Curves of the report: loss by size, ranking, calibration, and what decisions gain."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from omtree.data.wording import number
from omtree.report.charts import ticks
from omtree.report.probabilities import Probabilities
from omtree.report.scene import Disc, Group, Line, Mark, Scene, Words

_WIDTH, _HEIGHT = 520.0, 260.0
#: Of charts that stand side by side, where larger ones would be shrunk until nobody can read them.
_BESIDE = (390.0, 260.0)
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 20.0, 22.0, 44.0


@dataclass(frozen=True)
class Frame:
    """Two axes with their ranges."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    width: float = _WIDTH
    height: float = _HEIGHT

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a point is drawn."""
        across = (x - self.x_low) / ((self.x_high - self.x_low) or 1.0)
        up = (y - self.y_low) / ((self.y_high - self.y_low) or 1.0)
        wide, high = self.width - _LEFT - _RIGHT, self.height - _TOP - _BOTTOM
        return _LEFT + wide * across, self.height - _BOTTOM - high * up

    def axes(self, x_name: str, y_name: str, x_ticks: Sequence[float], percent: bool = True) -> list[Mark]:
        """Lines of the grid, and what they stand for."""
        marks: list[Mark] = []
        for tick in ticks(self.y_low, self.y_high):
            y = self.at(self.x_low, tick)[1]
            marks.append(Line(_LEFT, y, self.width - _RIGHT, y, "rule"))
            text = f"{number(round(100 * tick, 9))} %" if percent else number(tick)
            marks.append(Words(_LEFT - 8, y + 4, text, 11, "end", "soft"))
        for tick in x_ticks:
            text = f"{number(round(100 * tick, 9))} %" if percent and self.x_high <= 1 else number(tick)
            marks.append(Words(self.at(tick, 0.0)[0], self.height - _BOTTOM + 17, text, 11, style="soft"))
        marks.append(Words(8, 12, y_name, 11, "start", "soft"))
        marks.append(Words((_LEFT + self.width - _RIGHT) / 2, self.height - 8, x_name, 11, style="soft"))
        return marks

    def line(self, points: Sequence[tuple[float, float]], style: str, width: float = 1.8) -> list[Mark]:
        """A line through points, cut off where it leaves the frame at the bottom."""
        marks: list[Mark] = []
        for (x0, y0), (x1, y1) in itertools.pairwise(points):
            if y0 < self.y_low and y1 < self.y_low:
                continue
            if min(y0, y1) < self.y_low:
                # Where the line crosses the lower edge.
                cross = x0 + (x1 - x0) * (self.y_low - y0) / (y1 - y0)
                x0, y0, x1, y1 = (cross, self.y_low, x1, y1) if y0 < self.y_low else (x0, y0, cross, self.y_low)
            marks.append(Line(*self.at(x0, y0), *self.at(x1, y1), style, width))
        return marks


def size_scene(
    sizes: Sequence[float],
    training: Sequence[float],
    held_out: Sequence[float],
    errors: Sequence[float],
    chosen: float,
    size: tuple[float, float] = (_WIDTH, _HEIGHT),
) -> Scene:
    """Mean losses by size, in training and on rows held out, with a standard error on either side."""
    top = max(*training, *(loss + error for loss, error in zip(held_out, errors, strict=True)))
    frame = Frame(min(sizes) - 0.3, max(sizes) + 0.3, 0.0, max(top, ticks(0.0, top)[-1]) or 1.0, *size)
    # A label every 27 points.
    step = -(-len(sizes) // int(size[0] * 16 / _WIDTH))
    marks = frame.axes("leaves", "mean loss", [float(leaves) for leaves in sizes[::step]], percent=False)
    marks += frame.line(list(zip(sizes, training, strict=True)), "flow", 2.0)
    marks += frame.line(list(zip(sizes, held_out, strict=True)), "used")
    for leaves, loss, error in zip(sizes, held_out, errors, strict=True):
        if error > 0:
            marks.append(Line(*frame.at(leaves, loss - error), *frame.at(leaves, loss + error), "used", 1.2))
        marks.append(Disc(*frame.at(leaves, loss), 2.8, "dot"))
    place = min(range(len(sizes)), key=lambda i: abs(sizes[i] - chosen))
    x, y = frame.at(sizes[place], held_out[place])
    marks += [Disc(x, y, 7, "leaf"), Disc(x, y, 3.8, "dot")]
    # Curves that stay high leave the room below them empty.
    low = min(held_out[-1], training[-1]) > 0.3 * frame.y_high
    for place, (style, text) in enumerate((("used", "held out, with standard error"), ("flow", "training"))):
        marks += [_key(frame, place, style, text, low=low), _key(frame, place, style, "", line=True, low=low)]
    words = "; ".join(f"{s} leaves: {number(a)} held out" for s, a in zip(sizes[:40], held_out, strict=False))
    return Scene(*size, "Mean loss by number of leaves", words, (), [Group(tuple(marks), "legend")])


def roc_scene(found: Probabilities) -> Scene:
    """How many rows of the class are found for how many false alarms."""
    frame = Frame(0.0, 1.0, 0.0, 1.0, *_BESIDE)
    marks = frame.axes("false alarms among the others", f"found of {found.positive}", (0.0, 0.25, 0.5, 0.75, 1.0))
    marks += frame.line([(0.0, 0.0), (1.0, 1.0)], "flow", 1.2)
    marks += frame.line(found.curve, "used", 2.0)
    marks += [Disc(*frame.at(x, y), 2.8, "dot") for x, y in found.curve[1:-1]]
    text = f"AUC {found.auc:.3f}"
    marks.append(Words(*frame.at(0.97, 0.06), text, 13, "end", bold=True, halo=True))
    return Scene(*_BESIDE, f"ROC curve, {found.name}", text, (), [Group(tuple(marks), "legend")])


def calibration_scene(found: Probabilities) -> Scene:
    """What share of the rows is of the class, by the probability that they were given."""
    frame = Frame(0.0, 1.0, 0.0, 1.0, *_BESIDE)
    marks = frame.axes("probability given", "seen, with 95 % interval", (0.0, 0.25, 0.5, 0.75, 1.0))
    marks += frame.line([(0.0, 0.0), (1.0, 1.0)], "flow", 1.2)
    for band in found.bands:
        marks.append(Line(*frame.at(band.said, band.low), *frame.at(band.said, band.high), "used", 1.4))
        marks.append(Disc(*frame.at(band.said, band.seen), 3.4, "dot"))
    words = "; ".join(f"{band.said:.2f} given, {band.seen:.2f} seen in {band.rows} rows" for band in found.bands[:40])
    return Scene(*_BESIDE, f"Calibration, {found.name}", words, (), [Group(tuple(marks), "legend")])


def decision_scene(found: Probabilities) -> Scene:
    """Net benefit of acting on the model's answers, on every row, and on none."""
    top = max(max(model, every) for _, model, every in found.decisions)
    low = -0.25 * max(top, 0.01)
    frame = Frame(0.0, 1.0, low, max(top * 1.05, 0.01), *_BESIDE)
    marks = frame.axes("probability from which one acts", "net benefit per row", (0.0, 0.25, 0.5, 0.75, 1.0))
    marks += frame.line([(0.0, 0.0), (1.0, 0.0)], "strong", 1.0)
    marks += frame.line([(t, every) for t, _, every in found.decisions], "flow", 2.0)
    marks += frame.line([(t, model) for t, model, _ in found.decisions], "used", 2.0)
    marks += [_key(frame, 0, "used", "act on the model"), _key(frame, 0, "used", "", line=True)]
    marks += [_key(frame, 1, "flow", "act on every row"), _key(frame, 1, "flow", "", line=True)]
    return Scene(*_BESIDE, f"Decision curve, {found.name}", "", (), [Group(tuple(marks), "legend")])


def _key(frame: Frame, place: int, style: str, text: str, line: bool = False, low: bool = False) -> Mark:
    """What a line stands for, above the curve or near the axis below it."""
    y = (frame.height - _BOTTOM - 22 if low else _TOP + 12) + 16 * place
    if line:
        return Line(frame.width - _RIGHT - 20, y - 4, frame.width - _RIGHT, y - 4, style, 2.0)
    return Words(frame.width - _RIGHT - 26, y, text, 11, "end", "soft", halo=True)
