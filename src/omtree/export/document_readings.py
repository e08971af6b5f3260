"""How columns are read, as a part of a model's document; what is as usual is left out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, get_args

from omtree.data.parsing.moments import MomentFormat, Part
from omtree.data.parsing.number_texts import NumberFormat
from omtree.data.parsing.reading import ColumnReading, How
from omtree.data.parsing.understand import given_readings
from omtree.export.plain import from_plain, listed, to_plain, whole
from omtree.export.schema import made


def reading_out(reading: ColumnReading) -> dict[str, Any]:
    """A reading as plain values.

    >>> reading_out(ColumnReading("price", how="number", number=NumberFormat(",")))
    {'name': 'price', 'how': 'number', 'number': {'decimal': ',', 'thousands': '', 'unit': ''}}
    """
    plain: dict[str, Any] = {}
    for each in dataclasses.fields(reading):
        value = getattr(reading, each.name)
        if each.name != "name" and value == each.default:
            continue
        plain[each.name] = dataclasses.asdict(value) if dataclasses.is_dataclass(value) else to_plain(value)  # type: ignore[arg-type]
    return plain


def readings_in(columns: Mapping[str, Any]) -> tuple[ColumnReading, ...]:
    """The readings of a document; before version 2, columns were what their types said."""
    count = whole(columns["count"])
    names = [f"x{place}" for place in range(count)] if columns["names"] is None else columns["names"]
    if "readings" not in columns:
        return given_readings(list(map(str, listed(names))), from_plain(columns["kinds"]))
    readings = tuple(_reading_in(each) for each in listed(columns["readings"]))
    if len(readings) != count:
        raise ValueError("there is not one reading per column")
    if [reading.name for reading in readings] != list(map(str, listed(names))):
        raise ValueError("the readings are of other columns")
    return readings


def _reading_in(document: Mapping[str, Any]) -> ColumnReading:
    """The reading behind plain values; a ValueError where it makes no sense."""
    known: dict[str, Any] = {"name": document["name"], "how": document.get("how", "given")}
    known["choice"] = from_plain(document.get("choice"))
    if isinstance(known["choice"], list):
        known["choice"] = tuple(known["choice"])
    known["words"] = document.get("words", "none")
    for name in ("missing", "parts", "notes"):
        known[name] = tuple(listed(document.get(name, [])))
        if not all(isinstance(item, str) for item in known[name]):
            raise ValueError(f"{known[name]!r} are no texts")
    if "number" in document:
        known["number"] = made(NumberFormat, document["number"])
    if "moment" in document:
        known["moment"] = made(MomentFormat, document["moment"])
    fine = (
        isinstance(known["name"], str)
        and known["how"] in get_args(How)
        and known["words"] in ("none", "letters", "all")
    )
    if (
        not fine
        or not set(known["parts"]) <= set(get_args(Part))
        or (known["how"] == "number") != ("number" in known)
        or (known["how"] != "moment" and ("moment" in known or known["parts"]))
    ):
        raise ValueError(f"{document!r} is no reading")
    return made(ColumnReading, known)
