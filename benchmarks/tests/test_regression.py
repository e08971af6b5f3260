"""The comparison of speed with the last release."""

from __future__ import annotations

import json

from benchmarks import regression


def test_growth_by_more_than_a_fifth_is_told() -> None:
    """A ratio within the slack passes, a larger one is named, a new case has nothing to be compared with."""
    before = {"a": 1.0, "b": 1.0}
    assert regression.slower({"a": 1.19, "b": 0.2, "new": 9.0}, before) == []
    assert regression.slower({"a": 1.21, "b": 1.0}, before) == ["a: 1.210 of the yardstick, 1.000 at the last release"]


def test_every_case_is_stored() -> None:
    """The stored ratios are those of the cases there are."""
    assert set(json.loads(regression.STORED.read_text())) == set(regression.cases())
