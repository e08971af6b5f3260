"""The classes and the features of a document, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from omtree.data.parsing.reading import ColumnReading
from omtree.data.table import MAX_CODES, Feature, Kind, Pooled, Unit
from omtree.export.plain import from_plain, listed, number, to_plain, whole

_CLASS_TYPES = {"bool", "object", "str", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
_CLASS_TYPES |= {"float16", "float32", "float64"}


def type_name(classes: npt.NDArray[Any]) -> str:
    """What a document calls their type."""
    return "str" if classes.dtype.kind == "U" else classes.dtype.name


def classes_in(document: Mapping[str, Any] | None) -> npt.NDArray[Any] | None:
    """The classes; None where there are none."""
    if document is None:
        return None
    if document["type"] not in _CLASS_TYPES:
        raise ValueError(f"{document['type']!r} is no type of classes")
    values = from_plain(listed(document["values"]))
    if not values or not all(isinstance(value, (bool, int, float, str)) for value in values):
        raise ValueError("the classes are not values")
    return np.array(values, dtype=document["type"])


def are_ordered(document: Mapping[str, Any] | None) -> bool:
    """Whether the classes go from low to high."""
    return document is not None and document.get("ordered") is True


def features_in(document: Mapping[str, Any], readings: Sequence[ColumnReading]) -> tuple[Feature, ...]:
    """The features of a document, whose columns were read like this."""
    names = [name for reading in readings for name in reading.names]
    features = tuple(feature_in(each, len(names)) for each in listed(document["features"]))
    if any(names[feature.column] != feature.name for feature in features):
        raise ValueError("a feature has the name of another column")
    return features


def feature_out(feature: Feature, asked: bool) -> dict[str, Any]:
    """A feature as plain values; levels that nothing asks about are not named."""
    levels: list[Any] | None = None
    if feature.levels is not None:
        levels = [_level_out(level, place, asked) for place, level in enumerate(feature.levels)]
    return {
        "name": feature.name,
        "column": feature.column,
        "kind": feature.kind,
        "missing": feature.has_missing,
        "thresholds": None if feature.thresholds is None else to_plain(feature.thresholds),
        "levels": levels,
        "target_order": to_plain(feature.target_order),
        "unit": feature.unit,
        "pair": to_plain(feature.pair),
    }


def _level_out(level: Any, place: int, asked: bool) -> Any:
    """A level; texts that no condition names, and the values in a rest, may be nobody's business."""
    if isinstance(level, Pooled):
        members = [] if level.rest or not asked else sorted(map(to_plain, level.members), key=str)
        return {"pooled": members, "text": level.text if asked else f"value {place + 1}", "rest": level.rest}
    if isinstance(level, str) and not asked:
        return {"pooled": [], "text": f"value {place + 1}", "rest": False}
    return to_plain(level)


def feature_in(document: Mapping[str, Any], n_columns: int) -> Feature:
    """The feature behind such values."""
    name, kind, missing = text(document["name"]), document["kind"], document["missing"]
    if kind not in get_args(Kind) or not isinstance(missing, bool):
        raise ValueError(f"feature {name!r} is of no known kind")
    thresholds = levels = order = None
    if kind == "numeric":
        thresholds = np.array([number(cut) for cut in listed(document["thresholds"])], dtype=np.float64)
        if not np.isfinite(thresholds).all() or (np.diff(thresholds) <= 0).any():
            raise ValueError(f"the thresholds of {name!r} do not increase")
        n_values = len(thresholds) + 1
    else:
        levels = tuple(_level_in(level) for level in listed(document["levels"]))
        n_values = len(levels)
    n_codes = n_values + missing
    if not 0 < n_codes <= MAX_CODES:
        raise ValueError(f"feature {name!r} has {n_codes} values")
    if document["target_order"] is not None:
        order = tuple(whole(code, n_codes) for code in listed(document["target_order"]))
    column = whole(document["column"], n_columns)
    unit, pair = document.get("unit", ""), document.get("pair")
    if unit not in get_args(Unit) or (pair is not None and len(listed(pair)) != 2):
        raise ValueError(f"feature {name!r} is of no known unit")
    pair = None if pair is None else (number(pair[0]), number(pair[1]))
    return Feature(name, column, kind, n_values, missing, thresholds, levels, order, unit, pair)


def _level_in(level: Any) -> Any:
    if isinstance(level, dict) and "pooled" in level:
        rest = bool(level.get("rest", False))
        return Pooled(frozenset(from_plain(level["pooled"])), str(level.get("text", "(other)")), rest)
    value = from_plain(level)
    if value is None or isinstance(value, (list, dict)):
        raise ValueError(f"{level!r} is no level")
    return value


def text(value: Any) -> str:
    """The value, if it is a text."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")
    return value
