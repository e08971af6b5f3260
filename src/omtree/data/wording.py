"""Sets of codes in words, in the units of the original column."""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsFloat

from omtree.data.clock import show_moment

if TYPE_CHECKING:
    from omtree.data.table import Feature, Unit

_UNCLEAR = frozenset(",{}\n")


#: A name or a category longer than this is cut, whatever there is room for.
MOST_CHARACTERS = 120


def shorten(text: str, most: int = MOST_CHARACTERS) -> str:
    """The text, or its beginning where it is excessively long."""
    return text if len(text) <= most else text[: most - 1] + "…"


def show_number(value: SupportsFloat) -> str:
    """The shortest text that reads back as the same number.

    >>> show_number(35.0), show_number(0.25), show_number(1e22)
    ('35', '0.25', '1e+22')
    """
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e16 else repr(number)


def number(value: float) -> str:
    """A weight or a loss: whole numbers without a fraction, others with at most four significant decimals.

    >>> number(1234.0), number(0.123456), number(1234.56)
    ('1,234', '0.1235', '1,234.6')
    """
    if abs(value - round(value)) < 1e-9 * max(1.0, abs(value)):
        return f"{round(value):,}"
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"


def amount(support: float, rows: bool) -> str:
    """How many rows, or what weight, where weights are no whole numbers.

    >>> amount(1.0, True), amount(30.0, True), amount(2.5, False)
    ('1 row', '30 rows', 'weight 2.5')
    """
    if not rows:
        return f"weight {number(support)}"
    return f"{number(support)} {'row' if support == 1 else 'rows'}"


def counts_rows(supports: Sequence[float]) -> bool:
    """Whether these weights can be read as numbers of rows."""
    return all(abs(s - round(s)) < 1e-9 * max(1.0, abs(s)) for s in supports)


def answer(prediction: Any, classes: Sequence[Any] = ()) -> str:
    """What is predicted: a class as it was given, or a number.

    >>> answer(1.0, (0.0, 1.0)), answer("yes", ("no", "yes")), answer(1234567.0)
    ('1', 'yes', '1,234,567')
    """
    if isinstance(prediction, tuple):
        return f"({', '.join(map(number, prediction))})"
    # A line is no number, and says itself what it is.
    return text_of(prediction) if classes or not isinstance(prediction, float) else number(prediction)


def text_of(cell: Any) -> str:
    """The text of a cell where numbers and texts share a column."""
    if cell is True or cell is False:
        return str(cell)
    return show_number(cell) if isinstance(cell, numbers.Real) else str(cell)


def show_level(level: Any) -> str:
    """A level as it is shown in a condition; text that would be unclear between commas and braces is quoted."""
    if isinstance(level, float):
        return show_number(level)
    text = str(level)
    unclear = isinstance(level, str) and (text != text.strip() or not text or not _UNCLEAR.isdisjoint(text))
    return repr(text) if unclear else text


def describe(feature: Feature, codes: Sequence[int]) -> str:
    """The condition that the feature has one of these codes, in words."""
    chosen = sorted(set(codes))
    if not chosen or chosen[0] < 0 or chosen[-1] >= feature.n_codes:
        raise ValueError(f"codes of {feature.name!r} must be some of 0 .. {feature.n_codes - 1}, got {tuple(codes)}.")
    missing = feature.has_missing and chosen[-1] == feature.n_values
    values = chosen[:-1] if missing else chosen
    if len(chosen) == feature.n_codes:
        return f"any {feature.name}"
    if not values:
        return f"{feature.name} is missing"
    if len(values) == feature.n_values:
        return f"{feature.name} is not missing"
    if feature.kind == "numeric":
        text = _interval_words(feature, values)
    elif feature.kind == "ordinal":
        text = _ordinal_words(feature, values)
    else:
        text = _group_words(feature, values)
    return f"{text} or missing" if missing else text


def show_cut(feature: Feature, place: int) -> str:
    """A threshold of a numeric feature: a number, or the date or time that it stands for."""
    assert feature.thresholds is not None
    return show_value(feature.unit, feature.thresholds[place])


def show_value(unit: Unit, value: SupportsFloat) -> str:
    """A number of a column of this unit.

    >>> show_value("", 0.25), show_value("date", 18262.0)
    ('0.25', '2020-01-01')
    """
    return show_moment(float(value), unit) if unit else show_number(value)


def _interval_words(feature: Feature, values: Sequence[int]) -> str:
    assert feature.thresholds is not None
    if feature.pair is not None and feature.n_values == 2 and len(values) == 1:
        return f"{feature.name} = {show_number(feature.pair[values[0]])}"
    parts = []
    for low, high in _runs(values):
        above = show_cut(feature, low - 1) if low > 0 else ""
        below = show_cut(feature, high) if high < feature.n_values - 1 else ""
        if above and below:
            parts.append(f"{above} <= {feature.name} < {below}")
        else:
            parts.append(f"{feature.name} >= {above}" if above else f"{feature.name} < {below}")
    return " or ".join(parts)


def _ordinal_words(feature: Feature, values: Sequence[int]) -> str:
    assert feature.levels is not None
    runs = _runs(values)
    if len(values) == 1 or len(runs) > 1:
        return _set_words(feature, values)
    low, high = runs[0]
    if low == 0:
        return f"{feature.name} <= {show_level(feature.levels[high])}"
    if high == feature.n_values - 1:
        return f"{feature.name} >= {show_level(feature.levels[low])}"
    return f"{show_level(feature.levels[low])} <= {feature.name} <= {show_level(feature.levels[high])}"


def _group_words(feature: Feature, values: Sequence[int]) -> str:
    others = sorted(set(range(feature.n_values)).difference(values))
    # Where cells can be missing, "not red" would leave open whether they are meant.
    if not feature.has_missing and 2 * len(others) < len(values):
        return _set_words(feature, others, "!=", "not in")
    return _set_words(feature, values)


def _set_words(feature: Feature, values: Sequence[int], single: str = "=", several: str = "in") -> str:
    assert feature.levels is not None
    shown = [show_level(feature.levels[code]) for code in values]
    if len(shown) == 1 and ", " not in shown[0]:
        return f"{feature.name} {single} {shown[0]}"
    return f"{feature.name} {several} {{{', '.join(shown)}}}"


def _runs(values: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of each run of consecutive codes."""
    if values[-1] - values[0] == len(values) - 1:  # by far the most frequent case
        return [(values[0], values[-1])]
    runs = []
    for _, group in itertools.groupby(enumerate(values), lambda pair: pair[1] - pair[0]):
        members = [code for _, code in group]
        runs.append((members[0], members[-1]))
    return runs
