"""Conditions in words."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omtree.data.table import Feature, Pooled
from omtree.data.wording import show_number

AGE = Feature("age", 0, "numeric", 4, True, thresholds=np.array([18.0, 35.0, 60.5]))
SAFETY = Feature("safety", 0, "ordinal", 4, False, levels=("low", "med", "high", "top"))
COLOUR = Feature("colour", 0, "nominal", 4, False, levels=("red", "blue", "green", "pink"))
SHAPE = Feature("shape", 0, "nominal", 4, True, levels=("round", "square", "flat", "a, b"))
FLAG = Feature("flag", 0, "nominal", 2, True, levels=(False, True))
ODD = Feature('it\'s "odd"', 0, "nominal", 3, False, levels=("", " x", Pooled(frozenset("yz"))))


@pytest.mark.parametrize(
    ("feature", "codes", "text"),
    [
        (AGE, (0,), "age < 18"),
        (AGE, (1,), "18 <= age < 35"),
        (AGE, (1, 2), "18 <= age < 60.5"),
        (AGE, (2, 3), "age >= 35"),
        (AGE, (4,), "age is missing"),
        (AGE, (1, 4), "18 <= age < 35 or missing"),
        (AGE, (0, 1, 2, 3), "age is not missing"),
        (AGE, (0, 3), "age < 18 or age >= 60.5"),
        (AGE, (0, 1, 2, 3, 4), "any age"),
        (SAFETY, (1,), "safety = med"),
        (SAFETY, (0, 1), "safety <= med"),
        (SAFETY, (2, 3), "safety >= high"),
        (SAFETY, (1, 2), "med <= safety <= high"),
        (SAFETY, (0, 2), "safety in {low, high}"),
        (COLOUR, (0,), "colour = red"),
        (COLOUR, (1, 0), "colour in {red, blue}"),
        (COLOUR, (1, 2, 3), "colour != red"),
        (SHAPE, (1, 2, 3), "shape in {square, flat, 'a, b'}"),
        (SHAPE, (0, 4), "shape = round or missing"),
        (FLAG, (1,), "flag = True"),
        (FLAG, (2,), "flag is missing"),
        (ODD, (0,), "it's \"odd\" = ''"),
        (ODD, (1, 2), "it's \"odd\" in {' x', (other)}"),
    ],
)
def test_words(feature, codes, text):
    """Each set of codes reads as a person would say it, in original units."""
    assert feature.describe(codes) == text


@pytest.mark.parametrize("codes", [(), (5,), (-1,)])
def test_impossible_codes_are_refused(codes):
    """No codes, or codes the feature does not have, can't be put into words."""
    with pytest.raises(ValueError, match="'age'"):
        AGE.describe(codes)


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back_exactly(value):
    """A number as shown is exactly the number meant, so that the words state the true condition."""
    assert float(show_number(value)) == value
    assert not show_number(value).endswith(".0")
