"""Tables as people have them: some sixty rows each, and what they should be read as."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

ROWS = 60
#: The encodings that every file of text is tried in.
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "cp1252")


@dataclass(frozen=True)
class Messy:
    """A messy file.

    Attributes
    ----------
    text : str
        Its content.
    kinds : mapping
        The columns to predict from that are read, and their kinds: a kind, or the unit of a date or time.
    notes : tuple of str
        Parts of the notes, in their order.
    fault : str
        Part of the sentence that refuses it, in place of the others.
    options : tuple of str
        Further options of the command.
    """

    text: str
    kinds: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fault: str = ""
    options: tuple[str, ...] = ()


def lines(columns: dict[str, Callable[[int], Any]], delimiter: str = ",", rows: int = ROWS) -> str:
    """A table of cells by row, with a target y that follows the row, and a plain number x that follows the target."""
    whole = {**columns, "x": lambda row: (7 * row) % 30 + 100 * (row % 2), "y": lambda row: ["no", "yes"][row % 2]}
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(whole)
    writer.writerows([cell(row) for cell in whole.values()] for row in range(rows))
    return text.getvalue()


def comma(number: float, places: int = 2) -> str:
    """A number with a decimal comma."""
    return f"{number:.{places}f}".replace(".", ",")


def one_of(*cells: str) -> Callable[[int], str]:
    """These cells in turn."""
    return lambda row: cells[row % len(cells)]


N = {"x": "numeric"}
MESSY: dict[str, Messy] = {
    "decimal commas": Messy(
        lines({"a": lambda r: comma(r / 7)}, ";"),
        {"a": "numeric", **N},
        ("column 'a' is read as numbers with a decimal comma",),
    ),
    "decimal commas in quotes": Messy(
        lines({"a": lambda r: comma(r / 7)}),
        {"a": "numeric", **N},
        ("column 'a' is read as numbers with a decimal comma",),
    ),
    "points between thousands beside decimal commas": Messy(
        lines({"a": lambda r: comma(r / 7), "b": lambda r: f"{r % 9 + 1}.{100 + r}"}, ";"),
        {"a": "numeric", "b": "numeric", **N},
        (
            "column 'a' is read as numbers with a decimal comma",
            "'b' is read as numbers with a decimal comma and points",
        ),
    ),
    "commas between thousands": Messy(
        lines({"a": lambda r: f"{1234.5 * (r + 1):,.2f}"}),
        {"a": "numeric", **N},
        ("column 'a' is read as numbers with commas between thousands",),
    ),
    "thousands that might be fractions": Messy(
        lines({"a": lambda r: f"{r % 9 + 1},{100 + r}"}),
        {"a": "numeric", **N},
        ("commas between thousands; if that is wrong, say so with --decimal ','",),
    ),
    "fractions by decree": Messy(
        lines({"a": lambda r: f"{r % 9 + 1},{100 + r}"}),
        {"a": "numeric", **N},
        ("column 'a' is read as numbers with a decimal comma\n",),
        options=("--decimal", ","),
    ),
    "blanks between thousands": Messy(
        lines({"a": lambda r: f"{1234 * (r + 1):,}".replace(",", "\u00a0")}),
        {"a": "numeric", **N},
        ("column 'a' is read as numbers with blanks between thousands",),
    ),
    "apostrophes between thousands": Messy(
        lines({"a": lambda r: f"{1234 * (r + 1):,}".replace(",", "'")}),
        {"a": "numeric", **N},
        ("column 'a' is read as numbers with apostrophes between thousands",),
    ),
    "per cent": Messy(
        lines({"a": lambda r: f"{r % 13 + 0.3:.1f}%"}), {"a": "numeric", **N}, ("numbers with the unit %",)
    ),
    "euros": Messy(
        lines({"a": lambda r: f"{comma(3.5 * r)} €"}, ";"),
        {"a": "numeric", **N},
        ("numbers with a decimal comma and the unit €",),
    ),
    "dollars": Messy(
        lines({"a": lambda r: f"${1000 + 3.5 * r:,.2f}"}),
        {"a": "numeric", **N},
        ("numbers with commas between thousands and the unit $",),
    ),
    "two currencies": Messy(lines({"a": one_of("3 €", "4 $", "5 €")}), {"a": "nominal", **N}),
    "times": Messy(
        lines({"a": one_of("08:15", "9:30", "23:59")}), {"a": "time", **N}, ("'a' is read as times of day",)
    ),
    "iso dates": Messy(
        lines({"a": lambda r: f"2024-{r % 12 + 1:02d}-{r % 28 + 1:02d}"}),
        {"a": "date", "month of a": "numeric", "weekday of a": "ordinal", **N},
        ("column 'a' is read as a date (year-month-day), and as its month and weekday",),
    ),
    "timestamps": Messy(
        lines({"a": lambda r: f"202{r % 3}-01-{r % 28 + 1:02d} {r % 24:02d}:15:00"}),
        {"a": "date", "year of a": "numeric", "weekday of a": "ordinal", "hour of a": "numeric", **N},
        ("column 'a' is read as a date (year-month-day), and as its year, weekday and hour",),
    ),
    "german dates": Messy(
        lines({"a": lambda r: f"{r % 28 + 1}.{r % 12 + 1}.2024"}, ";"),
        {"a": "date", "month of a": "numeric", "weekday of a": "ordinal", **N},
        ("column 'a' is read as a date (day.month.year)",),
    ),
    "american dates": Messy(
        lines({"a": lambda r: f"{r % 12 + 1}/{r % 28 + 1}/2024"}),
        {"a": "date", "month of a": "numeric", "weekday of a": "ordinal", **N},
        ("column 'a' is read as a date (month/day/year)",),
    ),
    "dates that might be american": Messy(
        lines({"a": lambda r: f"{r % 12 + 1}/{r % 11 + 1}/2024"}),
        {"a": "date", "month of a": "numeric", "weekday of a": "ordinal", **N},
        ("(day/month/year; where it is month before day, say so with --month-first)",),
    ),
    "months in words": Messy(
        lines({"a": lambda r: f"{r % 28 + 1} {['Jan', 'Mar', 'Dec'][r % 3]} 2024"}),
        {"a": "date", "month of a": "numeric", "weekday of a": "ordinal", **N},
        ("column 'a' is read as a date (day month year)",),
    ),
    "missing in many words": Messy(
        lines({"a": one_of("1", "NA", "2", "?", "n/a", "nan", "None", ".", "-", "NULL", "4")}),
        {"a": "numeric", **N},
        ("column 'a': '-', '.', '?' and more mean missing", "column 'a' holds numbers as text"),
    ),
    "mostly missing": Messy(
        lines({"a": lambda r: "1.5" if r % 20 == 0 else "2.5" if r % 20 == 1 else "?"}),
        {"a": "numeric", **N},
        ("'a': '?' means missing",),
    ),
    "missing in words of one's own": Messy(
        lines({"a": one_of("1", "unknown", "2", "3")}), {"a": "numeric", **N}, options=("--missing", "unknown")
    ),
    "nearly numbers": Messy(
        lines({"a": lambda r: "twelve" if r == 30 else str(3 * r)}),
        N,
        (
            "'a' is read as text because of cells such as 'twelve'; if that means missing, "
            "say so with --missing 'twelve'",
        ),
    ),
    "plus and minus": Messy(lines({"a": one_of("+", "-", "-")}), {"a": "nominal", **N}),
    "codes with zeros": Messy(lines({"a": one_of("01234", "10115", "80331")}), {"a": "nominal", **N}),
    "names of rows": Messy(
        lines({"a": lambda r: f"Müller {r}"}), N, ("column 'a' is left out: it has 60 different texts in 60 rows",)
    ),
    "numbers of rows": Messy(
        lines({"a": lambda r: r + 1}),
        N,
        ("'a' is left out: its numbers count the rows; keep it with --kind 'a=numeric'",),
    ),
    "names that are kept": Messy(lines({"a": lambda r: 5 + r}), {"a": "numeric", **N}, options=("--kind", "a=numeric")),
    "index without a name": Messy(
        lines({"": lambda r: r}), N, ("column 'unnamed 1' is left out: its numbers count the rows",)
    ),
    "rows with names": Messy(
        "a,x,y\n" + "".join(f"row{r},{r % 5},{r % 3},{'no' if r % 2 else 'yes'}\n" for r in range(ROWS)),
        {"a": "numeric", **N},
        ("column 'unnamed 1' is left out",),
    ),
    "semicolons": Messy(lines({"a": one_of("red, or so", "blue")}, ";"), {"a": "nominal", **N}),
    "tabs": Messy(lines({"a": one_of("red; dark", "blue")}, "\t"), {"a": "nominal", **N}),
    "bars": Messy(lines({"a": one_of("1.5", "2,5 or so")}, "|"), {"a": "nominal", **N}),
    "titles above": Messy(
        "Patients of the north ward\nexported 2024-05-06\n\n" + lines({"a": one_of("red", "blue")}),
        {"a": "nominal", **N},
        ("the first 3 lines of", "are left out: the names of the columns stand below"),
    ),
    "titles padded by a spreadsheet": Messy(
        "Customers of the north branch,,\n,,\n" + lines({"a": one_of("red", "blue")}),
        {"a": "nominal", **N},
        ("the first 2 lines of", "are left out: the names of the columns stand below"),
    ),
    "titles in a single line": Messy(
        "Customers;;\n" + lines({"a": one_of("red", "blue")}, ";"),
        {"a": "nominal", **N},
        ("the first line of", "is left out: the names of the columns stand below"),
    ),
    "line ends of windows": Messy(lines({"a": one_of("rot", "grün")}).replace("\n", "\r\n"), {"a": "nominal", **N}),
    "line breaks in cells": Messy(lines({"a": one_of("two\nlines", "one")}), {"a": "nominal", **N}),
    "umlauts in names": Messy(lines({"größe": one_of("S", "L", "über")}), {"größe": "nominal", **N}),
    "rows without a target": Messy(
        lines({"a": one_of("red", "blue")}) + "red,5,\nblue,7,NA\n",
        {"a": "nominal", **N},
        ("2 rows without a target are left out",),
    ),
    "whole numbers to predict": Messy(
        lines({"a": one_of("1", "2", "3")}).replace("a,x,y", "y,x,z"),
        {"x": "numeric", "z": "nominal"},
        ("the target 'y' has 3 different whole numbers and is fitted as classes; use --task regression",),
    ),
    "fractions to predict": Messy(
        lines({"a": lambda r: comma(r / 7)}, ";").replace("a;x;y", "y;x;z"),
        {"x": "numeric", "z": "nominal"},
        ("the target 'y' is read as numbers with a decimal comma", "is fitted as a quantity"),
    ),
    "an empty column": Messy(lines({"a": lambda r: ""}), N, ("'a': all its cells are missing",)),
    "dates to predict": Messy(
        lines({"a": lambda r: f"2024-{r % 12 + 1:02d}-{r % 28 + 1:02d}"}).replace("a,x,y", "y,x,z"),
        fault="The target 'y' holds dates or times; give classes or numbers",
    ),
    "a name twice": Messy(lines({"x ": one_of("1")}), fault="has 2 columns named 'x'; give each its own name"),
    "a line too long": Messy(
        lines({"a": one_of("red")}) + "1,2,3,4\n", fault="line 62 has 4 cells, but the header has 3"
    ),
    "a web page": Messy("<!DOCTYPE html>\n<html><table>\n</table></html>\n", fault="is a web page or XML, not a table"),
    "broken json": Messy('{"a": 1,\n "b"\n', fault="looks like JSON but is no table; give one object a line"),
    "no rows": Messy("a,y\n", fault="has a header but no rows"),
}
