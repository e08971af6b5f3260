"""Python values as JSON values and back; nothing that is read is ever run."""

from __future__ import annotations

import dataclasses
import importlib
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from omtree.export.schema import typed

#: The only modules whose dataclasses may be named in a file.
_OWN = re.compile(
    r"omtree\.((objectives|constraints)(\.[a-z][a-z0-9_]*)*|engines\.rules\.preset|data\.parsing\.reading)"
)


class NotPlainError(ValueError):
    """The value has no JSON form."""


def to_plain(value: Any) -> Any:
    """The value as JSON can hold it: numbers, texts, lists, dicts, and this package's objectives, constraints, presets.

    >>> to_plain({1: (2.0, float("inf"))})
    {'pairs': [[1, [2.0, {'number': 'inf'}]]]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": repr(value)}
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, (set, frozenset)):
        return sorted(map(to_plain, value), key=repr)
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {"pairs": [[to_plain(key), to_plain(item)] for key, item in value.items()]}
    kind = type(value)
    if _is_own(kind):
        fields = (
            [field.name for field in dataclasses.fields(kind) if field.init] if dataclasses.is_dataclass(kind) else []
        )
        plain = {name: to_plain(getattr(value, name)) for name in fields}
        return {"object": f"{kind.__module__}:{kind.__name__}", "fields": plain}
    raise NotPlainError(f"{kind.__name__} cannot be written to a file.")


def from_plain(value: Any) -> Any:
    """The value behind what `to_plain` returned; lists stay lists.

    >>> from_plain({"pairs": [[1, [2.0, {"number": "inf"}]]]})
    {1: [2.0, inf]}
    """
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"number"}:
        return float(value["number"])
    if set(value) == {"pairs"}:
        return {from_plain(key): from_plain(item) for key, item in value["pairs"]}
    if set(value) == {"object", "fields"}:
        return _own_object(value["object"], value["fields"])
    raise ValueError(f"{sorted(value)} is no value")


def number(value: Any) -> float:
    """A finite or infinite number, as `to_plain` writes it."""
    found = from_plain(value)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or found != found:
        raise ValueError(f"{found!r} is not a number")
    return float(found)


def finite(value: Any) -> float:
    """A number that is not infinite."""
    found = number(value)
    if not math.isfinite(found):
        raise ValueError(f"{found!r} is not a finite number")
    return found


def whole(value: Any, below: int | None = None) -> int:
    """A whole number of at least 0, and below a limit."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0 or (below is not None and value >= below):
        raise ValueError(f"{value!r} is not a possible position or count")
    return value


def listed(value: Any) -> list[Any]:
    """A list; a text, which Python would take for one, is none."""
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is not a list")
    return value


def _is_own(kind: type) -> bool:
    """Whether this is the class of an objective, constraint or preset of this package, which its fields make anew."""
    if not _OWN.fullmatch(kind.__module__) or not kind.__qualname__.isidentifier():
        return False
    if dataclasses.is_dataclass(kind):
        return True
    from omtree.objectives import Objective  # only here: what answers rows reads no objective

    return issubclass(kind, Objective) and kind is not Objective


def _own_object(name: str, fields: Mapping[str, Any]) -> Any:
    """An objective or constraint of this package, made from its fields."""
    module, _, kind = name.partition(":")
    if not _OWN.fullmatch(module):
        raise ValueError(f"{name!r} is not an objective or constraint of omtree")
    try:
        found = getattr(importlib.import_module(module), kind, None)
    except ImportError:
        found = None
    if not isinstance(found, type) or found.__module__ != module or not _is_own(found):
        raise ValueError(f"{name!r} is not an objective or constraint of omtree")
    values = {key: from_plain(item) for key, item in fields.items()}
    if dataclasses.is_dataclass(found):
        typed(found, values)
    return found(**values)
