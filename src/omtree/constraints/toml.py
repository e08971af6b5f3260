"""Constraints in a TOML file: one table each, under ``[[constraint]]``."""

from __future__ import annotations

import dataclasses
import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from omtree.constraints.constraint import Constraint, code_of, fields_of, same


def load_toml(path: str | os.PathLike[str]) -> tuple[Constraint, ...]:
    """The constraints in a TOML file; see `loads`."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        return loads(text)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None


def loads(text: str) -> tuple[Constraint, ...]:
    """The constraints in a TOML text.

    Each is a table ``[[constraint]]``: its ``type`` is the name of the class in snake case, its other keys are the
    parameters of the class (``class`` for ``class_``); sets and tuples are arrays.

    Examples
    --------
    >>> loads('''
    ... [[constraint]]
    ... type = "recall"
    ... class = "yes"
    ... at_least = 0.8
    ...
    ... [[constraint]]
    ... type = "forbid"
    ... features = ["age", "zip"]
    ... ''')
    (Recall('yes', at_least=0.8), Forbid({'age', 'zip'}))
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"This is not TOML: {error}.") from None
    for key in content:
        if key != "constraint":
            raise ValueError(f"The key {key!r} is not known; write each constraint as a table [[constraint]].")
    tables = content.get("constraint", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ValueError("The key 'constraint' is no array of tables; write each constraint as [[constraint]].")
    return from_tables(tables)


def from_tables(tables: Sequence[Mapping[str, Any]]) -> tuple[Constraint, ...]:
    """The constraints behind parsed tables."""
    return tuple(_from_table(table, number) for number, table in enumerate(tables, start=1))


def _from_table(table: Mapping[str, Any], number: int) -> Constraint:
    kind = table.get("type")
    cls = Constraint.known.get(kind) if isinstance(kind, str) else None
    if cls is None:
        known = ", ".join(sorted(Constraint.known))
        wrong = "has no key 'type'" if kind is None else f"has the unknown type {kind!r}"
        raise ValueError(f"Constraint {number} {wrong}; use one of {known}.")
    where = f"Constraint {number} ({kind})"
    fields = {_key(item): item for item in fields_of(cls)}
    for key, item in fields.items():
        if "Callable" in str(item.type):
            raise ValueError(f"{where} holds a function as {key!r}, which a TOML file cannot; add it in Python.")
    values = {key: value for key, value in table.items() if key != "type"}
    for key in values:
        if key not in fields:
            raise ValueError(f"{where} has the unknown key {key!r}; it takes {', '.join(fields)}.")
    for key, item in fields.items():
        if item.default is dataclasses.MISSING and key not in values:
            raise ValueError(f"{where} lacks the key {key!r}.")
    try:
        return cls(**{fields[key].name: value for key, value in values.items()})
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def to_toml(constraints: Iterable[Constraint]) -> str:
    """Constraints as TOML text, from which `loads` makes equal ones.

    Examples
    --------
    >>> from omtree.constraints import Recall
    >>> print(to_toml([Recall("yes", at_least=0.8)]), end="")
    [[constraint]]
    type = "recall"
    class = "yes"
    at_least = 0.8
    """
    tables = []
    for constraint in constraints:
        lines = ["[[constraint]]", f'type = "{constraint.kind()}"']
        for item in fields_of(type(constraint)):
            value = getattr(constraint, item.name)
            if not same(value, item.default):
                lines.append(f"{_key(item)} = {_value(value, constraint, _key(item))}")
        tables.append("\n".join([*lines, ""]))
    return "\n".join(tables)


def _key(item: dataclasses.Field[Any]) -> str:
    return item.name.rstrip("_")


def _value(value: Any, of: Constraint, key: str) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=code_of)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value(item, of, key) for item in value)}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_text(str(k))} = {_value(v, of, key)}' for k, v in value.items())} }}"
    raise ValueError(f"{of!r} holds {code_of(value)} as {key!r}, which a TOML file cannot; keep it in Python.")


def _text(text: str) -> str:
    # JSON's texts are TOML's, but for one control character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
