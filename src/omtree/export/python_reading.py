"""The part of a model's Python source that reads cells as the model does: missing words, numbers and dates in texts."""

from __future__ import annotations

from collections.abc import Sequence

from omtree.data.parsing.missing import MISSING_WORDS
from omtree.data.parsing.moments import Part
from omtree.data.parsing.reading import ColumnReading

_PRESENT = '''
def _present(value, words):
    """The cell, None where its text means missing."""
    return None if isinstance(value, str) and value.strip() in words else value
'''

_NUMBER = '''
def _number(value, decimal, thousands, unit):
    """The number behind a text; what is no text is a number already."""
    if not isinstance(value, str):
        return value
    text = value.strip().replace(unit, "").replace("\\u2212", "-")
    for blank in " \\u00a0\\u202f\\u2009":
        text = text.replace(blank, "")
    if thousands == "\'":
        text = text.replace("\\u2019", "\'")
    return float(text.replace(thousands, "").replace(decimal, "."))
'''

_DAYS = '''
def _days(value, pattern):
    """Days since 1970 of a date, a timestamp or the text of one."""
    if value is None:
        return None
    if isinstance(value, str):
        text = value.strip().replace(" UTC", "Z").replace(" Z", "Z")
        value = datetime.fromisoformat(text) if pattern == "iso" else datetime.strptime(text, pattern)
    elif not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    return (value.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() / 86400


def _part(days, part):
    """The year, month, weekday or hour of days since 1970."""
    if days is None:
        return None
    moment = datetime(1970, 1, 1) + timedelta(seconds=round(days * 86400))
    if part == "weekday":
        return ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[moment.weekday()]
    return {"year": moment.year, "month": moment.month, "hour": moment.hour}[part]
'''

_HOURS = '''
def _hours(value, pattern):
    """Hours since midnight of a time of day or the text of one."""
    if value is None:
        return None
    if isinstance(value, str):
        value = datetime.strptime(value.strip(), pattern).time()
    return value.hour + value.minute / 60 + (value.second + value.microsecond / 1e6) / 3600
'''


def reading_helpers(sources: Sequence[tuple[ColumnReading, Part | None]]) -> list[str]:
    """The functions that `read_cell` calls for these columns."""
    found = []
    if any(reading.words != "none" for reading, _ in sources):
        found.append(_PRESENT)
    if any(reading.how == "number" for reading, _ in sources):
        found.append(_NUMBER)
    moments = [_is_time(reading) for reading, _ in sources if reading.how == "moment"]
    if moments:
        found.append("from datetime import datetime, timedelta")
    if False in moments:
        found.append(_DAYS)
    if True in moments:
        found.append(_HOURS)
    return [source.strip() for source in found]


def read_cell(cell: str, reading: ColumnReading, part: Part | None) -> str:
    """The expression that reads a cell as the model does."""
    if reading.words != "none":
        words = sorted(reading.is_missing([*MISSING_WORDS, *reading.missing]))
        cell = f"_present({cell}, {words!r})"
    if reading.how == "number" and reading.number is not None:
        form = reading.number
        return f"_number({cell}, {form.decimal!r}, {form.thousands!r}, {form.unit!r})"
    if reading.how != "moment":
        return cell
    pattern = "iso" if reading.moment is None else reading.moment.pattern
    if _is_time(reading):
        return f"_hours({cell}, {pattern!r})"
    days = f"_days({cell}, {pattern!r})"
    return days if part is None else f"_part({days}, {part!r})"


def _is_time(reading: ColumnReading) -> bool:
    return reading.moment is not None and reading.moment.unit == "time"
