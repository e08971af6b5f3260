"""Dates and times as people write them."""

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omtree.data.clock import show_moment
from omtree.data.parsing.moments import WEEKDAYS, MomentFormat, find_moments, part_of

DAY = datetime.datetime(2024, 3, 5, 8, 15)
DAYS = (DAY - datetime.datetime(1970, 1, 1)).total_seconds() / 86400


@pytest.mark.parametrize(
    ("text", "pattern", "days"),
    [
        ("2024-03-05", "iso", int(DAYS)),
        ("2024-03-05T08:15", "iso", DAYS),
        ("2024-03-05 08:15:00", "iso", DAYS),
        ("2024-03-05T08:15:00Z", "iso", DAYS),
        ("2024-03-05 08:15:00+02:00", "iso", DAYS),
        ("05.03.2024", "%d.%m.%Y", int(DAYS)),
        ("05.03.2024 08:15", "%d.%m.%Y %H:%M", DAYS),
        ("3/25/2024", "%m/%d/%Y", int(DAYS) + 20),
        ("2024/03/05", "%Y/%m/%d", int(DAYS)),
        ("5 Mar 2024", "%d %b %Y", int(DAYS)),
        ("March 5, 2024", "%B %d, %Y", int(DAYS)),
        ("05-Mar-24", "%d-%b-%y", int(DAYS)),
        ("3/25/2024 8:15 AM", "%m/%d/%Y %I:%M %p", DAYS + 20),
        ("08:15", "%H:%M", 8.25),
        ("8:15:36", "%H:%M:%S", 8.26),
        ("8:15 PM", "%I:%M %p", 20.25),
    ],
)
def test_formats(text, pattern, days):
    """A date or time is known by its text; the clock counts as it is written, wherever it hung."""
    found = find_moments([text])
    assert found is not None
    assert found[0].pattern == pattern
    assert found[0].parse([text])[0] == pytest.approx(days, abs=1e-9)


@pytest.mark.parametrize(
    "text", ["12", "1.5", "12.5.", "a-b", "2024-13-01", "31.02.2024", "25:00", "red", "2024", "1-2-3"]
)
def test_no_dates(text):
    """Numbers, texts and days that do not exist are no dates."""
    assert find_moments([text]) is None


def test_day_or_month_first():
    """A day above 12 decides; where none is, the day comes first unless the user says otherwise, and it is said."""
    assert find_moments(["01/02/2024", "01/13/2024"]) == (MomentFormat("%m/%d/%Y"), False)
    assert find_moments(["01/02/2024", "13/01/2024"]) == (MomentFormat("%d/%m/%Y"), False)
    assert find_moments(["01/02/2024"]) == (MomentFormat("%d/%m/%Y"), True)
    assert find_moments(["01/02/2024"], day_first=False) == (MomentFormat("%m/%d/%Y"), False)


@given(
    st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)).map(lambda d: d.replace(microsecond=0))
)
def test_parts_and_words(moment):
    """Year, month, weekday and hour are those of the calendar, and a moment is shown as it was written."""
    (days,) = MomentFormat("iso").parse([moment.isoformat()])
    parts = {part: part_of(np.array([days, np.nan]), part) for part in ("year", "month", "weekday", "hour")}
    assert all(np.isnan(values[1]) for values in parts.values())
    found = {part: int(values[0]) for part, values in parts.items()}
    assert found == {"year": moment.year, "month": moment.month, "weekday": moment.weekday(), "hour": moment.hour}
    assert WEEKDAYS[found["weekday"]] == moment.strftime("%a")
    assert datetime.datetime.fromisoformat(show_moment(days, "date")) == moment


def test_a_format_is_given_up_at_the_first_text_that_is_not_of_it(monkeypatch):
    """Hundreds of formats are tried, so each of them reads one text unless it fits: 300 dates took over a second."""
    tried = []
    number = MomentFormat._number
    monkeypatch.setattr(MomentFormat, "_number", lambda self, text: tried.append(text) or number(self, text))
    texts = [f"{day:02d}.{month:02d}.2024" for month in range(1, 13) for day in range(1, 26)]
    assert find_moments(texts) == (MomentFormat("%d.%m.%Y"), False)
    assert len(tried) < 3 * len(texts)
