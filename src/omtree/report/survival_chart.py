"""Curves of survival: small ones inside the leaves of a picture, and one for each leaf in the report."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from omtree.data.table import FloatArray
from omtree.data.wording import number
from omtree.model.leaf_differences import leaf_differences
from omtree.model.rules import Rule, RuleSet
from omtree.model.survival_curve import SurvivalCurve
from omtree.report.charts import ticks
from omtree.report.curves import Frame
from omtree.report.scene import Group, Line, Mark, Scene, Words
from omtree.report.words import condition_words

#: Leaves beyond this many have no picture of their own in the report.
MOST_CURVES = 24
#: Leaves up to which all pairs are listed.
MOST_PAIRED = 12
#: Steps that are drawn of one curve.
_MOST_STEPS = 160
_WIDTH, _HEIGHT = 520.0, 300.0


def last_time(rules: RuleSet) -> float:
    """The last event in any of the rules: the end of all their axes."""
    return max((rule.survival.times[-1] for rule in rules if rule.survival and rule.survival.times), default=1.0)


def small_curve(curve: SurvivalCurve, high: float, x: float, y: float, width: float, height: float) -> list[Mark]:
    """The curve inside a frame, without numbers."""
    marks: list[Mark] = [Line(x, y + height, x + width, y + height, "rule")]
    points = [(x + width * min(t / high, 1.0), y + height * (1.0 - s)) for t, s in _points(curve, high, 40)]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        marks.append(Line(x0, y0, x1, y1, "strong", 1.4))
    return marks


def survival_scene(rule: Rule, place: int, high: float) -> Scene:
    """The curve of a leaf with its 95 % interval, and how many rows are still at risk."""
    curve = rule.survival
    assert curve is not None
    frame = Frame(0.0, high, 0.0, 1.0)
    moments = [tick for tick in ticks(0.0, high) if tick <= high]
    marks = frame.axes("time", "share without the event", moments)
    low, upper = curve.interval
    times = np.array(curve.times)
    for ends in (low, upper):
        marks += frame.line(_thinned(times, ends, high, _MOST_STEPS), "flow", 1.2)
    marks += frame.line(_points(curve, high, _MOST_STEPS), "used", 2.2)
    marks.append(Words(8, _HEIGHT - 10, "at risk", 11, "start", "soft"))
    for moment in moments:
        marks.append(Words(frame.at(moment, 0.0)[0], _HEIGHT - 10, number(risk_at(rule, moment)), 11, style="soft"))
    title = f"Survival of leaf {place + 1}"
    words = f"{number(curve.events)} events in {number(rule.support)}; {median_words(curve)}"
    return Scene(_WIDTH, _HEIGHT, title, words, (), [Group(tuple(marks), "legend")])


def risk_at(rule: Rule, moment: float) -> float:
    """Weight of the rows that are seen just before the first event from a moment on; at the beginning all of them."""
    curve = rule.survival
    assert curve is not None
    if moment <= 0:
        return rule.support
    place = int(np.searchsorted(np.array(curve.times), moment, side="left"))
    return curve.at_risk[place] if place < len(curve.at_risk) else 0.0


def median_words(curve: SurvivalCurve) -> str:
    """The median with its interval, in words."""
    if not math.isfinite(curve.median):
        return "median not reached"
    low, high = (number(end) if math.isfinite(end) else "not reached" for end in curve.median_interval)
    return f"median {number(curve.median)} ({low} to {high})"


def survival_leaves(model: Any) -> list[dict[str, Any]]:
    """What the report shows of every leaf of a survival tree; nothing for other models."""
    rules: RuleSet = model.rules_
    if not rules.are_curves:
        return []
    high = last_time(rules)
    found = []
    for place, rule in enumerate(rules[:MOST_CURVES]):
        curve = rule.survival
        assert curve is not None
        low, top = curve.risk_interval
        texts = [condition_words(c, rules.features[c.feature]) for c in rule.conditions]
        found.append(
            {
                "number": place + 1,
                "words": " and ".join(texts) or "always",
                "rows": number(rule.support),
                "events": number(curve.events),
                "risk": f"{number(curve.risk)} ({number(low)} to {number(top) if math.isfinite(top) else 'any'})",
                "median": median_words(curve).removeprefix("median "),
                "scene": survival_scene(rule, place, high),
            }
        )
    return found


def pairs_of_leaves(model: Any) -> list[dict[str, str]]:
    """What the report says of every two leaves of a survival tree; nothing for other models, and for many leaves."""
    rules: RuleSet = model.rules_
    if not rules.are_curves or not 1 < len(rules) <= MOST_PAIRED:
        return []
    said = []
    for pair in leaf_differences([rule.survival for rule in rules if rule.survival is not None]):
        low, ratio, high = (
            "any" if math.isnan(end) or math.isinf(end) else number(end) for end in (pair.low, pair.ratio, pair.high)
        )
        verdict = "apart" if pair.is_clear else "may be equal"
        said.append(
            {
                "leaves": f"#{pair.second + 1} / #{pair.first + 1}",
                "ratio": f"{ratio} ({low} to {high})",
                "verdict": verdict,
            }
        )
    return said


def _points(curve: SurvivalCurve, high: float, most: int) -> list[tuple[float, float]]:
    return _thinned(np.array(curve.times), curve.survival, high, most)


def _thinned(times: FloatArray, levels: FloatArray, high: float, most: int) -> list[tuple[float, float]]:
    """The corners of a curve of at most so many steps."""
    if len(times) > most:
        chosen = np.unique(np.linspace(0, len(times) - 1, most).astype(int))
        times, levels = times[chosen], levels[chosen]
    return _steps(times, levels, high)


def _steps(times: FloatArray, levels: FloatArray, high: float) -> list[tuple[float, float]]:
    """The corners of a curve that falls in steps."""
    points, level = [(0.0, 1.0)], 1.0
    for time, lower in zip(times.tolist(), levels.tolist(), strict=True):
        points += [(time, level), (time, lower)]
        level = lower
    return [*points, (high, level)]
