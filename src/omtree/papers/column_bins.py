"""Columns in bins that two tables can be compared by: those of the model, or values of the older table."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from omtree.data.column import Column
from omtree.data.table import UNKNOWN, Feature, FloatArray, Pooled
from omtree.data.wording import shorten, show_level, text_of
from omtree.papers.shift import Shift, shift_of
from omtree.report.words import branch_words

#: Values of a column beyond these, the most frequent ones, are counted together.
_MOST_VALUES = 20
_UNSEEN = "never seen in training"


def hides_levels(feature: Feature) -> bool:
    """Whether a saved model does not tell the levels of a feature: nothing that it asks about."""
    return feature.levels is not None and any(
        isinstance(level, Pooled) and not level.members and not level.rest for level in feature.levels
    )


def bin_names(feature: Feature) -> list[str]:
    """What each code of a feature is, and at the end what training did not have."""
    return [*(branch_words(feature, (code,)) for code in range(feature.n_codes)), _UNSEEN]


def counts_of(feature: Feature, column: Column) -> FloatArray:
    """Rows with each code, and at the end those with a value that training did not have."""
    codes = feature.encode(column).astype(np.intp)
    return np.bincount(np.where(codes == UNKNOWN, feature.n_codes, codes), minlength=feature.n_codes + 1).astype(float)


def shift_by_values(feature: Feature, before: Column, now: Column) -> Shift | None:
    """The shift of a column whose levels the model does not tell, by the most frequent values of the older rows."""
    old, new = _values(before), _values(now)
    frequent = [value for value, _ in Counter(old).most_common(_MOST_VALUES)]
    place = {value: position for position, value in enumerate(frequent)}
    names = [*("missing" if value is None else shorten(show_level(value), 40) for value in frequent), "other values"]
    counts = [
        np.bincount([place.get(value, len(frequent)) for value in values], minlength=len(names)).astype(float)
        for values in (old, new)
    ]
    return shift_of(feature.name, names, *counts)


def _values(column: Column) -> list[Any]:
    if column.levels is None:
        return [None if value != value else text_of(value) for value in column.values.tolist()]
    texts = [*map(text_of, column.levels), None]
    return [texts[position] for position in column.values.tolist()]
