"""Texts of pictures, and the room they take."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import shown_models
from omtree.data.table import Feature
from omtree.data.wording import amount, counts_rows
from omtree.model.text import to_text
from omtree.report.measure import text_width, widest, wrap
from omtree.report.words import branch_words, percent


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=200), st.floats(20, 300), st.integers(1, 4))
def test_wrapped_lines_fit(text: str, room: float, lines: int) -> None:
    """Whatever the text, there are at most so many lines and none is wider than the room, one character aside."""
    wrapped = wrap(text, room, 12, lines)
    assert 1 <= len(wrapped) <= lines
    assert all(len(line) <= 2 or text_width(line, 12) <= room for line in wrapped)


@pytest.mark.parametrize("text", ["a short name", "x", "word " * 30, "one_very_long_name_without_spaces" * 3])
def test_nothing_is_lost_silently(text: str) -> None:
    """Lines hold the whole text, or end in an ellipsis."""
    wrapped = wrap(text, 120, 12, 2)
    whole = "".join("".join(wrapped).split()) == "".join(text.split())
    assert whole or wrapped[-1].endswith("…")
    assert widest(wrapped, 12) <= 120


def test_branches_are_worded_beside_their_feature() -> None:
    """Intervals, groups, complements, missing cells and ordered levels, each without the feature's name."""
    number = Feature("n", 0, "numeric", 3, False, thresholds=np.array([-1.5, 2.0]))
    assert [branch_words(number, c) for c in ((0,), (1,), (2,), (0, 2))] == [
        "< -1.5",
        "-1.5 to <2",
        "≥ 2",
        "< -1.5, ≥ 2",
    ]
    colour = Feature("c", 0, "nominal", 4, False, levels=("red", "a, b", "blue", "pink"))
    assert branch_words(colour, (1,)) == "'a, b'"
    assert branch_words(colour, (0, 2, 3)) == "not 'a, b'"
    gaps = Feature("g", 0, "ordinal", 3, True, levels=("S", "M", "L"))
    texts = [branch_words(gaps, c) for c in ((0, 1), (1, 2, 3), (1,), (3,), (0, 1, 2))]
    assert texts == ["≤ M", "≥ M or missing", "M", "missing", "not missing"]


def test_shares_and_amounts() -> None:
    """A share is never rounded to nothing or to everything; weights that are no counts are not called rows."""
    assert [percent(s) for s in (0.0, 0.001, 0.5, 0.996, 1.0)] == ["0 %", "<1 %", "50 %", ">99 %", "100 %"]
    assert counts_rows([3.0, 5.0])
    assert not counts_rows([3.0, 5.5])
    assert (amount(1, True), amount(2.5, False)) == ("1 row", "weight 2.5")


def test_numbers_as_text() -> None:
    """A leaf that predicts a number says how its target is spread."""
    model, _, _ = shown_models.numbers()
    text = to_text(model)
    assert text == model.to_text()
    assert text.count("median") == 4
    assert "half in" in text
