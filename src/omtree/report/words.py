"""Conditions, amounts and answers as pictures word them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omtree.data import wording
from omtree.data.table import Feature
from omtree.data.wording import shorten, show_cut, show_level, show_number
from omtree.problem.graph import Condition


def branch_words(feature: Feature, codes: Sequence[int]) -> str:
    """A condition beside its feature's name, so without it.

    >>> import numpy as np
    >>> age = Feature("age", 0, "numeric", 3, True, thresholds=np.array([18.0, 35.0]))
    >>> [branch_words(age, codes) for codes in ((0,), (1,), (2, 3), (3,))]
    ['< 18', '18 to <35', '≥ 35 or missing', 'missing']
    """
    chosen = sorted(codes)
    missing = feature.has_missing and chosen[-1] == feature.n_values
    values = chosen[:-1] if missing else chosen
    if not values:
        return "missing"
    if len(values) == feature.n_values:
        return "any value" if missing or not feature.has_missing else "not missing"
    if feature.ordered:
        text = ", ".join(_range_words(feature, low, high) for low, high in _runs(values))
    else:
        assert feature.levels is not None
        others = [v for v in range(feature.n_values) if v not in set(values)]
        if not feature.has_missing and 2 * len(others) < len(values):
            text = "not " + ", ".join(show_level(feature.levels[v]) for v in others)
        else:
            text = ", ".join(show_level(feature.levels[v]) for v in values)
    return shorten(f"{text} or missing" if missing else text)


def condition_words(condition: Condition, feature: Feature) -> str:
    """The whole condition, with signs in place of ``<=``."""
    text = condition.text or feature.describe(condition.codes)
    return shorten(text.replace(" >= ", " ≥ ").replace(" <= ", " ≤ "))


def percent(share: float) -> str:
    """A share in per cent; small and large ones are not rounded to nothing or to all.

    >>> percent(0.333), percent(0.0004), percent(0.9999), percent(1.0)
    ('33 %', '<1 %', '>99 %', '100 %')
    """
    if 0.0 < share < 0.01:
        return "<1 %"
    if 0.99 < share < 1.0:
        return ">99 %"
    return f"{100 * share:.0f} %"


def answer(prediction: Any, classes: Sequence[Any]) -> str:
    """A predicted class or number as text."""
    return shorten(wording.answer(prediction, classes))


def _range_words(feature: Feature, low: int, high: int) -> str:
    last = feature.n_values - 1
    if feature.thresholds is not None:
        if feature.pair is not None and feature.n_values == 2 and low == high:
            return show_number(feature.pair[low])
        above = show_cut(feature, low - 1) if low > 0 else ""
        below = show_cut(feature, high) if high < last else ""
        if above and below:
            return f"{above} to <{below}"
        return f"≥ {above}" if above else f"< {below}"
    assert feature.levels is not None
    first, final = show_level(feature.levels[low]), show_level(feature.levels[high])
    if low == high:
        return first
    if low == 0:
        return f"≤ {final}"
    return f"≥ {first}" if high == last else f"{first} to {final}"


def _runs(values: Sequence[int]) -> list[tuple[int, int]]:
    runs = [(values[0], values[0])]
    for value in values[1:]:
        if value == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], value)
        else:
            runs.append((value, value))
    return runs
