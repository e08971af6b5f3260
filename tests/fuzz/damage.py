"""Ways to damage what is well formed."""

from __future__ import annotations

import copy
import random
from typing import Any

#: Values of the wrong kind or size.
STRANGE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**30,
    -(2**63),
    1e308,
    -0.0,
    "",
    "x",
    "\u0000",
    "\ud83d",
    [],
    {},
    [[]],
    [None],
    {"": 0},
)


def check_sentence(fault: ValueError) -> None:
    """A refusal is one sentence that says something."""
    said = str(fault)
    assert len(said) > 20, said
    assert "\n" not in said, said


def damaged_bytes(content: bytes, rng: random.Random) -> bytes:
    """Some bytes gone, doubled, changed or put in from elsewhere."""
    made = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        place = rng.randrange(len(made) + 1)
        length = min(rng.choice((1, 1, 2, 8, 100)), len(made) - place)
        match rng.randrange(4):
            case 0:
                del made[place : place + length]
            case 1:
                made[place:place] = made[place : place + length]
            case 2:
                made[place : place + length] = rng.randbytes(length)
            case _:
                start = rng.randrange(len(content))
                made[place:place] = content[start : start + rng.choice((1, 4, 30))]
    return bytes(made)


def damaged_document(document: Any, rng: random.Random) -> None:
    """One value of a JSON document changed, gone, or taken from another place of it, in place."""
    places = [(holder, key) for holder in _holders(document) for key in _keys(holder)]
    holder, key = rng.choice(places)
    match rng.randrange(4):
        case 0:
            holder[key] = rng.choice(STRANGE)
        case 1:
            del holder[key]
        case 2:
            other, name = rng.choice(places)
            holder[key] = copy.deepcopy(other[name])
        case _:
            value = holder[key]
            if isinstance(value, bool | int | float):
                holder[key] = rng.choice((-value, value + 1, value * 2, value / 3, str(value)))
            else:
                holder[key] = [value, value]


def _holders(value: Any) -> list[Any]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [*([value] if inside else []), *(holder for part in inside for holder in _holders(part))]


def _keys(holder: Any) -> list[Any]:
    return list(holder) if isinstance(holder, dict) else list(range(len(holder)))
