"""Days since 1970 and hours since midnight as the dates and times that they are."""

from __future__ import annotations

import datetime

_EPOCH = datetime.datetime(1970, 1, 1)


def show_moment(value: float, unit: str) -> str:
    """A number of days or hours as the date or time that it is.

    >>> show_moment(1.5, "date"), show_moment(18262.0, "date"), show_moment(8.25, "time")
    ('1970-01-02 12:00', '2020-01-01', '08:15')
    """
    if unit == "time":
        seconds = round(value * 3600)
        text = f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}"
        return f"{text}:{seconds % 60:02d}" if seconds % 60 else text
    moment = _EPOCH + datetime.timedelta(seconds=round(value * 86_400))
    if moment.time() == datetime.time():
        return moment.strftime("%Y-%m-%d")
    return moment.strftime("%Y-%m-%d %H:%M:%S" if moment.second else "%Y-%m-%d %H:%M")
