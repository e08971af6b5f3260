"""Values from a file against the types that a dataclass declares for its fields."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def made(kind: type[T], fields: Mapping[str, Any], names: Mapping[str, Any] | None = None) -> T:
    """A dataclass from the values of its fields, each of the type that is declared for it.

    Parameters
    ----------
    kind : type
        A dataclass.
    fields : mapping of str to value
        Lists stand for tuples.
    names : mapping of str to type, optional
        Types that the declarations name and their module knows only while types are checked.

    Raises
    ------
    ValueError
        Where a value is of another type, or a field is not known or missing.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Size:
    ...     rows: int
    ...     share: float | None = None
    >>> made(Size, {"rows": 3, "share": 1})
    Size(rows=3, share=1.0)
    >>> made(Size, {"rows": "3"})
    Traceback (most recent call last):
    ...
    ValueError: rows is '3'
    """
    return kind(**typed(kind, fields, names))


def typed(kind: type, fields: Mapping[str, Any], names: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The values of the fields of a dataclass as their types have them; errors as in `made`."""
    declared = {field.name: field for field in dataclasses.fields(kind) if field.init}
    hints = _hints(kind, tuple((names or {}).items()))
    for name, field in declared.items():
        bare = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if bare and name not in fields:
            raise ValueError(f"{name} is missing")
    for name in fields:
        if name not in declared:
            raise ValueError(f"{name!r} is not known")
    return {name: _as(hints[name], value, name) for name, value in fields.items()}


@cache
def _hints(kind: type, names: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    return get_type_hints(kind, localns=dict(names))


def _as(hint: Any, value: Any, name: str) -> Any:
    """The value as the type has it."""
    for each in _choices(hint):
        found = _one(each, value, name)
        if found is not _NOT:
            return found
    raise ValueError(f"{name} is {value!r}")


@cache
def _choices(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


class _Not:
    """What is no value of a type."""


_NOT = _Not()


def _one(hint: Any, value: Any, name: str) -> Any:
    """The value as a type that is no choice of several has it, or `_NOT`."""
    origin, inside = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if hint is None or hint is type(None):
        return value if value is None else _NOT
    if origin is Literal:
        return value if isinstance(value, str) and value in inside else _NOT
    if hint is float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return float(value) if number else _NOT
    if hint is int:
        return value if isinstance(value, int) and not isinstance(value, bool) else _NOT
    if hint in (bool, str):
        return value if isinstance(value, hint) else _NOT
    if origin is tuple:
        return _tuple(inside, value, name)
    if origin is frozenset:
        return _tuple((inside[0], ...), value, name)
    if origin is Callable:
        return value if callable(value) else _NOT
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            return _NOT
        return {_as(inside[0], key, name): _as(inside[1], item, f"{name} of {key}") for key, item in value.items()}
    return value if isinstance(value, hint) else _NOT


def _tuple(inside: tuple[Any, ...], value: Any, name: str) -> Any:
    if not isinstance(value, (list, tuple)):
        return _NOT
    if inside[-1] is Ellipsis:
        inside = (inside[0],) * len(value)
    if len(inside) != len(value):
        return _NOT
    return tuple(_as(each, item, name) for each, item in zip(inside, value, strict=True))
