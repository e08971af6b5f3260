"""Numbers as people write them: decimal commas, thousands separators, per cent and currencies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from omtree.data.table import FloatArray

Decimal = Literal[".", ","]

#: Blanks that stand between thousands: the usual one, the one that does not break a line, the narrow one, the thin one.
_BLANKS = " \u00a0\u202f\u2009"
_SIGNS = "€$£¥₹₽₺₩₪₫₴฿%‰"
_CODES = (
    "AUD", "BGN", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "IDR", "ILS", "INR", "JPY",
    "KRW", "MXN", "MYR", "NOK", "NZD", "PHP", "PLN", "RON", "RUB", "SEK", "SGD", "THB", "TRY", "TWD", "UAH", "USD",
    "ZAR", "Fr", "kr", "zł", "Kč", "Ft", "lei",
)  # fmt: skip
_UNIT = "|".join(map(re.escape, [*_SIGNS, *_CODES]))
_WHOLE = re.compile(
    rf"^(?P<sign>[+\-−]?)(?P<before>{_UNIT})?[{_BLANKS}]*(?P<second>[+\-−]?)(?P<body>[\d.,'’{_BLANKS}]*\d[.,]?)"
    rf"(?P<power>[eE][+-]?\d+)?[{_BLANKS}]*(?P<after>{_UNIT})?$"
)
#: How the digits may be grouped and cut, by the decimal sign and the sign between thousands; the simplest first.
_FORMS: tuple[tuple[Decimal, str], ...] = (
    (".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"),
)  # fmt: skip
#: So many of the texts are looked at before all of them are.
_FIRST_LOOK = 200


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal : {".", ","}
        The sign before the fraction.
    thousands : {"", ",", ".", " ", "'"}
        The sign between groups of three digits.
    unit : str
        A sign or code beside every number, such as ``%`` or ``€``; it is left out.
    """

    decimal: Decimal = "."
    thousands: str = ""
    unit: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether any program reads these numbers."""
        return self == NumberFormat()

    def __str__(self) -> str:
        signs = []
        if self.decimal == ",":
            signs.append("a decimal comma")
        if self.thousands:
            name = {",": "commas", ".": "points", " ": "blanks", "'": "apostrophes"}[self.thousands]
            signs.append(f"{name} between thousands")
        if self.unit:
            signs.append(f"the unit {self.unit}")
        return " and ".join(signs)

    def parse(self, texts: Iterable[str]) -> FloatArray:
        """The numbers behind texts, NaN where a text is none of this format.

        >>> NumberFormat(",", ".", "€").parse(["1.234,50 €", "12 €", "twelve"]).tolist()
        [1234.5, 12.0, nan]
        """
        body = _body_pattern(self.decimal, self.thousands)
        return np.array([self._number(text, body) for text in texts], dtype=np.float64)

    def _number(self, text: str, body: re.Pattern[str]) -> float:
        found = _WHOLE.match(text.strip())
        if found is None or (found["sign"] and found["second"]):
            return np.nan
        unit = found["before"] or found["after"] or ""
        digits = _one_blank(found["body"])
        if (found["before"] and found["after"]) or unit not in ("", self.unit) or body.match(digits) is None:
            return np.nan
        plain = digits.replace(self.thousands, "") if self.thousands else digits
        number = float(plain.replace(self.decimal, ".") + (found["power"] or ""))
        if not np.isfinite(number):
            return np.nan
        return -number if "+" not in (sign := found["sign"] + found["second"]) and sign else number


@dataclass(frozen=True)
class NumberFormats:
    """Every format that all texts of a column have, the simplest first."""

    formats: tuple[NumberFormat, ...]

    def with_decimal(self, decimal: Decimal | None) -> NumberFormat | None:
        """The format with this sign before the fraction, or the likeliest one."""
        fitting = [each for each in self.formats if decimal in (None, each.decimal)]
        if not fitting:
            return None
        if decimal is None and len(fitting) > 1 and fitting[0].decimal == "," and not fitting[0].thousands:
            # Three digits behind every comma: thousands, as long as no other column says otherwise.
            return next((each for each in fitting if each.thousands == ","), fitting[0])
        return fitting[0]

    @property
    def only_decimal(self) -> Decimal | None:
        """The sign before fractions, where only one is possible."""
        signs = {each.decimal for each in self.formats}
        return signs.pop() if len(signs) == 1 else None


def find_formats(texts: Sequence[str]) -> NumberFormats:
    """The formats that all these texts can be numbers of; none where they are no numbers, or codes such as ``007``.

    >>> find_formats(["1,5", "12,25"]).with_decimal(None)
    NumberFormat(decimal=',', thousands='', unit='')
    """
    first = _possible(texts[:_FIRST_LOOK], _FORMS)
    if len(texts) <= _FIRST_LOOK or not first:
        return NumberFormats(first)
    return NumberFormats(_possible(texts, [(each.decimal, each.thousands) for each in first]))


def _possible(texts: Sequence[str], forms: Sequence[tuple[Decimal, str]]) -> tuple[NumberFormat, ...]:
    units: set[str] = set()
    bodies: set[str] = set()
    bare_zero = True
    for text in texts:
        found = _WHOLE.match(text.strip())
        if found is None or (found["before"] and found["after"]) or (found["sign"] and found["second"]):
            return ()
        body = _one_blank(found["body"])
        if len(body) > 1 and body[0] == "0" and body[1].isdigit():
            return ()
        unit = found["before"] or found["after"]
        if unit is None:
            bare_zero &= not body.strip("0.,")
        else:
            units.add(unit)
        bodies.add(body)
    if not bodies or len(units) > 1 or (units and not bare_zero):
        return ()
    unit = units.pop() if units else ""
    separators = {sign for body in bodies for sign in body if not sign.isdigit()}
    fitting = []
    for decimal, thousands in forms:
        # A format that uses a sign no text has says nothing that a simpler one does not.
        if thousands and thousands not in separators:
            continue
        if decimal == "," and "," not in separators and not ("." in separators and thousands == "."):
            continue
        pattern = _body_pattern(decimal, thousands)
        if all(map(pattern.match, bodies)):
            fitting.append(NumberFormat(decimal, thousands, unit))
    return tuple(fitting)


def _body_pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    point = re.escape(decimal)
    plain = rf"\d+(?:{point}\d*)?|{point}\d+"
    if not thousands:
        return re.compile(rf"^(?:{plain})$")
    grouped = rf"[1-9]\d{{0,2}}(?:{re.escape(thousands)}\d{{3}})+(?:{point}\d*)?"
    return re.compile(rf"^(?:{grouped}|{plain})$")


def _one_blank(body: str) -> str:
    """The digits with one kind of blank and one kind of apostrophe."""
    return body.translate(_SAME) if not body.isalnum() else body


_SAME = str.maketrans({**dict.fromkeys(_BLANKS, " "), "’": "'"})
