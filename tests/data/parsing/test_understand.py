"""Training tables are understood, and new rows read the same way."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from omtree import OptimalTreeClassifier, Reading
from omtree.data.parsing.understand import read_again, understand

ROWS = 60
MESSY = {
    "no": list(range(ROWS)),
    "patient": [f"p{row}" for row in range(ROWS)],
    "weight": [f"{40 + row % 7},{row % 10}" for row in range(ROWS)],
    "rate": [["45.3%", "7%", "?"][row % 3] for row in range(ROWS)],
    "seen": [f"{row % 28 + 1:02d}.{row % 12 + 1:02d}.{2020 + row % 3}" for row in range(ROWS)],
    "at": [["08:15", "9:30", "n/a"][row % 3] for row in range(ROWS)],
    "sign": ["+-"[row % 2] for row in range(ROWS)],
    "zip": [["01234", "10115"][row % 2] for row in range(ROWS)],
    "colour": [["red", "blue", "-", None][row % 4] for row in range(ROWS)],
}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, lambda cells: pd.DataFrame(cells).astype(object)])
def test_a_messy_frame(kind):
    """Every column becomes what it means, and what was done is said in a sentence a column."""
    columns = understand(kind(MESSY))
    found = {column.name: (column.kind, column.unit, column.has_missing) for column in columns}
    assert found == {
        "weight": ("numeric", "", False),
        "rate": ("numeric", "", True),
        "seen": ("numeric", "date", False),
        "year of seen": ("numeric", "", False),
        "month of seen": ("numeric", "", False),
        "weekday of seen": ("ordinal", "", False),
        "at": ("numeric", "time", True),
        "sign": ("nominal", "", False),
        "zip": ("nominal", "", False),
        "colour": ("nominal", "", True),
    }
    assert [note for reading in columns.readings for note in reading.notes] == [
        "column 'no' is left out: its numbers count the rows; keep it with feature_kinds={'no': 'numeric'}",
        "column 'patient' is left out: it has 60 different texts in 60 rows; "
        "keep it with feature_kinds={'patient': 'nominal'}",
        "column 'weight' is read as numbers with a decimal comma",
        "column 'rate': '?' means missing",
        "column 'rate' is read as numbers with the unit %",
        "column 'seen' is read as a date (day.month.year), and as its year, month and weekday",
        "column 'at': 'n/a' means missing",
        "column 'at' is read as times of day, in hours",
        "column 'colour': '-' means missing",
    ]


def test_new_rows_are_read_the_same_way():
    """Any part of the rows, and of the columns, is read as it was in training."""
    frame = pd.DataFrame(MESSY)
    whole = understand(frame)
    for rows in (slice(0, 1), slice(1, 2), slice(5, 30)):
        again = read_again(frame.iloc[rows][["seen", "weight", "sign"]], whole.readings, {2, 4, 6})
        assert again.names == whole.names
        for name in ("weight", "seen", "weekday of seen", "sign"):
            place = whole.names.index(name)
            for old, new in ((whole[place], again[place]),):
                was = old.values[rows] if old.levels is None else [old.levels[code] for code in old.values[rows]]
                now = new.values if new.levels is None else [new.levels[code] for code in new.values]
                assert list(was) == list(now)


def test_numbers_are_not_read_otherwise_than_in_training():
    """A point between thousands stays one where a file has nothing but whole thousands."""
    readings = understand(pd.DataFrame({"x": ["1.234,5", "2.000", "17"]})).readings
    assert read_again(pd.DataFrame({"x": ["1.234", "NA"]}), readings, {0})[0].values[0] == 1234.0
    assert read_again(pd.DataFrame({"x": [1.234]}), readings, {0})[0].values[0] == 1.234
    with pytest.raises(ValueError, match="Column 'x' held numbers in training, but has the cell 'abc' here"):
        read_again(pd.DataFrame({"x": ["abc", "1"]}), readings, {0})


def test_one_table_has_one_decimal_sign():
    """A column that can be read in two ways follows those that can be read in one."""
    comma = understand(pd.DataFrame({"sure": ["1,5", "2,25"], "unsure": ["1.234", "5.678"]}))
    assert comma[1].values.tolist() == [1234, 5678]
    point = understand(pd.DataFrame({"sure": ["$1.5", "$2.25"], "unsure": ["1,234", "5,678"]}))
    assert point[1].values.tolist() == [1234, 5678]
    told = understand(pd.DataFrame({"unsure": ["1,234", "5,678"]}), reading=Reading(decimal=","))
    assert told[0].values.tolist() == [1.234, 5.678]


def test_the_user_decides():
    """A kind that is given is followed, guessing can be switched off, and further words can mean missing."""
    frame = pd.DataFrame(MESSY)
    kinds = {"no": "numeric", "patient": "nominal", "colour": "nominal", "weight": "numeric"}
    kept = understand(frame, kinds)
    assert {"no", "patient"} <= set(kept.names)
    assert "-" in kept[kept.names.index("colour")].levels
    assert kept[kept.names.index("weight")].values[0] == 40.0
    plain = understand(frame, reading=Reading(guess=False))
    assert plain.names == tuple(MESSY)
    assert plain.kinds == ("numeric", *["nominal"] * 8)
    more = understand(pd.DataFrame({"x": ["1", "2", "refused"]}), reading=Reading(missing=("refused",)))
    assert np.isnan(more[0].values[2])
    nearly = understand(pd.DataFrame({"x": [*map(str, range(0, 40, 2)), "refused"]}))
    assert "because of cells such as 'refused'" in nearly.readings[0].notes[0]


def test_something_is_left():
    """Columns that name their rows stay where there are no others."""
    assert understand(pd.DataFrame({"id": range(50)})).names == ("id",)


def test_options_that_make_no_sense():
    """A decimal sign that is none is refused."""
    with pytest.raises(ValueError, match=r"decimal=';' is not possible; use '.', ',' or None"):
        Reading(decimal=";")


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["12,5", "k. A.", "3,25", "keine Angabe"], [12.5, np.nan, 3.25, np.nan]),
        (["1", "n.d.", "2", "S/O "], [1.0, np.nan, 2.0, np.nan]),
        (["#DIV/0!", "4.5", "unknown", "6"], [np.nan, 4.5, np.nan, 6.0]),
    ],
)
def test_words_among_numbers_mean_missing(cells, numbers):
    """Where all other cells are numbers, words for "not known" in several languages are missing, and that is said."""
    columns = understand([[cell, "x" if row % 2 else "y"] for row, cell in enumerate(cells)])
    np.testing.assert_array_equal(columns[0].values, numbers)
    reading = columns.readings[0]
    assert reading.how == "number"
    assert any("mean missing" in note for note in reading.notes)
    # New rows may have another of these words, which training did not have.
    rows = [["unbekannt", "x"], [next(cell for cell in cells if cell[0].isdigit()), "x"]]
    again = read_again(rows, columns.readings, {0, 1}, by_name=False)
    assert np.isnan(again[0].values).tolist() == [True, False]


def test_words_among_texts_are_values():
    """Beside other texts the same words are values: a country, an answer, a size."""
    for cells in (["SO", "ND", "CA", "TX"], ["unknown", "yes", "no", "yes"], ["n.d.", "12", "many", "3"]):
        column = understand([[cell, row] for row, cell in enumerate(cells)])[0]
        assert column.kind == "nominal"
        assert set(column.levels) == set(cells)
    # A column of nothing else stays what it is.
    column = understand([["unknown", 1], ["missing", 2]])[0]
    assert column.levels == ("missing", "unknown")
    dates = understand([["2024-01-05", 1], ["k.A.", 2], ["2024-03-09", 3]])
    assert dates.readings[0].how == "moment"
    assert np.isnan(dates[0].values[1])


def test_notes_of_a_column_that_is_left_out():
    """Only that it is left out is said of it; and words for missing are listed as a sentence lists them."""
    rows = pd.DataFrame({"id": [str(i) for i in range(60)], "age": ["-", "?", "n/a", *map(str, range(20, 77))]})
    with pytest.warns(UserWarning, match="'id' is left out"):
        model = OptimalTreeClassifier(max_depth=1).fit(rows, [0, 1] * 30)
    assert [note for note in model.notes_ if "'id'" in note] == [
        "column 'id' is left out: its numbers count the rows; keep it with feature_kinds={'id': 'numeric'}"
    ]
    assert "column 'age': '-', '?' and 'n/a' mean missing" in model.notes_
