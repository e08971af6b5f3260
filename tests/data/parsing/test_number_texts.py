"""Numbers as people write them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omtree.data.parsing.number_texts import NumberFormat, find_formats


@pytest.mark.parametrize(
    ("texts", "form", "numbers"),
    [
        (["1", "2.5", "-3e2", "+4"], NumberFormat(), [1, 2.5, -300, 4]),
        ([" 1 ", ".5", "5."], NumberFormat(), [1, 0.5, 5]),
        (["1,5", "12,25", "-3"], NumberFormat(","), [1.5, 12.25, -3]),
        (["1.234,5", "12,25"], NumberFormat(",", "."), [1234.5, 12.25]),
        (["1,234.5", "12.25"], NumberFormat(".", ","), [1234.5, 12.25]),
        (["1,234", "56,789"], NumberFormat(".", ","), [1234, 56789]),
        (["1 234,5", "12"], NumberFormat(",", " "), [1234.5, 12]),
        (["1\u00a0234", "1\u202f234\u202f567"], NumberFormat(".", " "), [1234, 1234567]),
        (["1'234.50", "1’234"], NumberFormat(".", "'"), [1234.5, 1234]),
        (["45.3%", "7 %", "0"], NumberFormat(unit="%"), [45.3, 7, 0]),
        (["€ 1.234,50", "€ -3,25"], NumberFormat(",", ".", "€"), [1234.5, -3.25]),
        (["-$1,234.50", "$ 3"], NumberFormat(".", ",", "$"), [-1234.5, 3]),
        (["12 EUR", "13,5 EUR"], NumberFormat(",", "", "EUR"), [12, 13.5]),
        (["\u2212" + "5", "6"], NumberFormat(), [-5, 6]),
    ],
)
def test_formats(texts, form, numbers):
    """A column of numbers is known by its texts, and each text is its number."""
    assert find_formats(texts).with_decimal(None) == form
    assert form.parse(texts).tolist() == numbers


@pytest.mark.parametrize(
    "texts",
    [
        ["007", "12"],  # codes
        ["1", "two"],
        ["12 €", "12 $"],  # which of them?
        ["45%", "0.5"],  # per cent, or a share?
        ["1.2.3"],
        ["1,23,456"],
        ["2024-01-02"],
        ["08:15"],
        ["1-2"],
        ["+-1"],
        ["1e999"],
        [],
    ],
)
def test_no_numbers(texts):
    """Codes, dates, mixed units and texts are no numbers."""
    form = find_formats(texts).with_decimal(None)
    assert form is None or np.isnan(form.parse(texts)).any()


def test_the_decimal_sign_decides():
    """Where a text can be read in two ways, the sign that is known decides."""
    assert find_formats(["1,234"]).with_decimal(",").parse(["1,234"]).tolist() == [1.234]
    assert find_formats(["1,234"]).with_decimal(".").parse(["1,234"]).tolist() == [1234]
    assert find_formats(["1.234"]).with_decimal(".").parse(["1.234"]).tolist() == [1.234]
    assert find_formats(["1.234"]).with_decimal(",").parse(["1.234"]).tolist() == [1234]
    assert find_formats(["1.5"]).with_decimal(",") is None


@given(
    st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1, max_size=30),
    st.sampled_from([(".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'")]),
    st.sampled_from(["", "%", "€", "USD"]),
)
def test_what_is_written_is_read(numbers, signs, unit):
    """Numbers with two decimals come back from every format, found by itself."""
    decimal, thousands = signs
    texts = [f"{number:,.2f}".replace(",", "_").replace(".", decimal).replace("_", thousands) for number in numbers]
    texts = [f"{text} {unit}".strip() for text in texts]
    form = find_formats(texts).with_decimal(decimal)
    assert form is not None
    assert form.parse(texts).tolist() == [float(number) for number in numbers]
