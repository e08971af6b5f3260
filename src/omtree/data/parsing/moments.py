"""Dates, timestamps and times of day: texts in, days since 1970 or hours since midnight out; and their parts."""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from omtree.data.table import FloatArray, Unit

Part = Literal["year", "month", "weekday", "hour"]

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_ISO = re.compile(r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?( ?(Z|UTC|[+-]\d{2}:?(\d{2})?))?)?$")
_DAY_FIRST = ("%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%d.%m.%y", "%d/%m/%y")
_MONTH_FIRST = ("%m/%d/%Y", "%m-%d-%Y", "%m.%d.%Y", "%m/%d/%y")
_CLEAR = (
    "%Y/%m/%d", "%Y.%m.%d", "%Y-%m-%d", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y",
    "%b %d %Y", "%d. %B %Y",
)  # fmt: skip
_TIMES = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p")
_BETWEEN = (" ", "T", ", ")
#: A text that none of the formats could read is told by its look, before any of them is tried.
_LIKELY = re.compile(r"^(?=.*\d)[\w]{1,9}[-/. :][ ]?\w{1,9}[\w:/.,+\- ]*$")
_FIRST_LOOK = 50
_DAY = 86_400.0
_EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True)
class MomentFormat:
    """How the dates or times of a column are written.

    Attributes
    ----------
    pattern : str
        As for ``strptime``; "iso" for dates of ISO 8601, such as 2024-03-31T08:15.
    unit : {"date", "time"}
        Whether there are dates, or times of day alone.
    """

    pattern: str
    unit: Unit = "date"

    def __str__(self) -> str:
        if self.pattern == "iso":
            return "year-month-day"
        words = {
            "%Y": "year", "%y": "year", "%m": "month", "%d": "day", "%b": "month", "%B": "month", "%H": "hour",
            "%I": "hour", "%M": "minute", "%S": "second", "%f": "fraction", "%p": "am/pm",
        }  # fmt: skip
        return re.sub(r"%\w", lambda found: words[found[0]], self.pattern)

    def parse(self, texts: Sequence[str]) -> FloatArray:
        """Days since 1970, or hours since midnight; NaN where a text is none of this format.

        >>> MomentFormat("%d.%m.%Y").parse(["02.01.1970", "soon"]).tolist()
        [1.0, nan]
        """
        return np.array([self._number(text.strip()) for text in texts], dtype=np.float64)

    def reads(self, texts: Sequence[str]) -> bool:
        """Whether all texts are of this format; the first that is not ends it, as hundreds of formats are tried.

        >>> MomentFormat("%d.%m.%Y").reads(["02.01.1970", "soon"])
        False
        """
        return not any(math.isnan(self._number(text.strip())) for text in texts)

    def _number(self, text: str) -> float:
        try:
            if self.pattern == "iso":
                if _ISO.match(text) is None:
                    return np.nan
                moment = datetime.datetime.fromisoformat(text.replace(" UTC", "Z").replace(" Z", "Z"))
            else:
                moment = datetime.datetime.strptime(text, self.pattern)
        except ValueError:
            return np.nan
        if self.unit == "time":
            return moment.hour + moment.minute / 60 + (moment.second + moment.microsecond / 1e6) / 3600
        # The clock as it is written, wherever it hung.
        return (moment.replace(tzinfo=None) - _EPOCH).total_seconds() / _DAY


def find_moments(texts: Sequence[str], day_first: bool | None = None) -> tuple[MomentFormat, bool] | None:
    """The format that all these texts have, and whether day and month might be the other way round.

    Parameters
    ----------
    texts : sequence of str
    day_first : bool, optional
        Whether 1/2/2024 is the first of February; by default so, unless a month of more than 12 says otherwise.

    Examples
    --------
    >>> find_moments(["31/12/2023", "01/02/2024"])
    (MomentFormat(pattern='%d/%m/%Y', unit='date'), False)
    """
    if not texts or not all(_LIKELY.match(text.strip()) for text in texts[:_FIRST_LOOK]):
        return None
    fitting = [each for each in _candidates(day_first) if each.reads(texts)]
    if not fitting:
        return None
    return fitting[0], day_first is None and len({each.pattern.replace("%m", "%d") for each in fitting}) < len(fitting)


def _candidates(day_first: bool | None) -> list[MomentFormat]:
    unclear = {True: _DAY_FIRST, False: _MONTH_FIRST, None: (*_DAY_FIRST, *_MONTH_FIRST)}[day_first]
    dates = [*_CLEAR, *unclear]
    joined = [f"{date}{between}{time}" for date, between, time in itertools.product(dates, _BETWEEN, _TIMES)]
    return [
        MomentFormat("iso"),
        *map(MomentFormat, dates),
        *(MomentFormat(time, "time") for time in _TIMES),
        *map(MomentFormat, joined),
    ]


def days_of(moments: np.ndarray[tuple[int], np.dtype[np.datetime64]]) -> FloatArray:
    """Days since 1970 of an array of moments, NaN where there is none.

    >>> days_of(np.array(["1970-01-02T12", "NaT"], dtype="datetime64[h]")).tolist()
    [1.5, nan]
    """
    micro = moments.astype("datetime64[us]")
    days = micro.astype(np.int64) / (_DAY * 1e6)
    return np.asarray(np.where(np.isnat(micro), np.nan, days))


def part_of(days: FloatArray, part: Part) -> FloatArray:
    """The year, month (1 to 12), weekday (0 is Monday) or hour of days since 1970.

    >>> [part_of(np.array([0.25]), part).tolist() for part in ("year", "month", "weekday", "hour")]
    [[1970.0], [1.0], [3.0], [6.0]]
    """
    present = np.where(np.isnan(days), 0.0, days)
    # To the second, so that the hour is not one less by rounding.
    seconds = np.round(present * _DAY).astype(np.int64)
    whole = np.floor_divide(seconds, int(_DAY))
    if part == "weekday":
        found = (whole + 3) % 7
    elif part == "hour":
        found = (seconds - whole * int(_DAY)) // 3600
    else:
        months = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        found = months // 12 + 1970 if part == "year" else months % 12 + 1
    return np.asarray(np.where(np.isnan(days), np.nan, found.astype(np.float64)))
