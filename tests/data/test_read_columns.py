"""What is read from arrays and frames, and what is refused."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from omtree.data import columns
from omtree.data.columns import read_columns


def cells(column):
    """The column's cells as Python objects, None where missing."""
    if column.levels is None:
        return [None if np.isnan(v) else v for v in column.values]
    return [None if code < 0 else column.levels[code] for code in column.values]


def as_read(X, **options):
    return [(column.name, column.kind, cells(column)) for column in read_columns(X, **options)]


def test_a_frame_of_plain_numbers_is_read_as_its_columns_are():
    """Whole numbers and floats of any width, missing cells and a part of the columns: as beside a column of texts."""
    frame = pd.DataFrame(
        {
            "whole": [3, 1, 2],
            "byte": np.array([0, 255, 7], dtype=np.uint8),
            "float": [0.5, np.nan, -2.0],
            "short": np.array([0.1, 0.2, 0.3], dtype=np.float32),
        }
    )
    assert as_read(frame) == as_read(frame.assign(text=["a", "b", "c"]))[:-1]
    part = columns.raw_columns(frame, {"short", "byte"})
    assert [(column.name, cells(column)) for column in part.columns] == [
        ("byte", [0.0, 255.0, 7.0]),
        ("short", np.array([0.1, 0.2, 0.3], dtype=np.float32).tolist()),
    ]


ORDERED_ARROW = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["small", "big"]), ordered=True)


@pytest.mark.parametrize(
    ("frame", "kind", "expected"),
    [
        (pd.DataFrame({"a": [1, 2, 3]}), "numeric", [1, 2, 3]),
        (pd.DataFrame({"a": np.array([1, 2, np.nan], dtype="float32")}), "numeric", [1, 2, None]),
        (pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64")}), "numeric", [1, None, 3]),
        (pd.DataFrame({"a": pd.array([1.5, None, 3], dtype="Float64")}), "numeric", [1.5, None, 3]),
        (pd.DataFrame({"a": pd.Series([1, pd.NA, None], dtype=object)}), "numeric", [1, None, None]),
        (pd.DataFrame({"a": pd.Series([decimal.Decimal("0.5"), None, 2])}), "numeric", [0.5, None, 2]),
        (pd.DataFrame({"a": [True, False, True]}), "nominal", [True, False, True]),
        (pd.DataFrame({"a": pd.array([True, None, False], dtype="boolean")}), "nominal", [True, None, False]),
        (pd.DataFrame({"a": pd.Series([True, None, False], dtype=object)}), "nominal", [True, None, False]),
        (pd.DataFrame({"a": ["x", None, "y"]}), "nominal", ["x", None, "y"]),
        (pd.DataFrame({"a": pd.array(["x", None, ""], dtype="string")}), "nominal", ["x", None, ""]),
        (pd.DataFrame({"a": pd.Series(["x", np.nan, pd.NaT], dtype=object)}), "nominal", ["x", None, None]),
        (pd.DataFrame({"a": pd.Categorical(["x", None, "y"])}), "nominal", ["x", None, "y"]),
        (pd.DataFrame({"a": pd.Categorical([3, None, 1], categories=[3, 1], ordered=True)}), "ordinal", [3, None, 1]),
        (pd.DataFrame({"a": pd.Series([1, "b", 2.0], dtype=object)}), "nominal", ["1", "b", "2"]),
        (pd.DataFrame({"a": [None, None, None]}), "numeric", [None, None, None]),
        (pl.DataFrame({"a": [1, None, 3]}), "numeric", [1, None, 3]),
        (pl.DataFrame({"a": [1.0, None, float("nan")]}), "numeric", [1, None, None]),
        (pl.DataFrame({"a": [decimal.Decimal("1.5"), None]}), "numeric", [1.5, None]),
        (pl.DataFrame({"a": [True, None, False]}), "nominal", [True, None, False]),
        (pl.DataFrame({"a": ["x", None, "y"]}), "nominal", ["x", None, "y"]),
        (pl.DataFrame({"a": pl.Series(["x", None, "y"], dtype=pl.Categorical)}), "nominal", ["x", None, "y"]),
        (pl.DataFrame({"a": pl.Series(["x", None], dtype=pl.Enum(["y", "x"]))}), "ordinal", ["x", None]),
        (pl.DataFrame({"a": [None, None]}), "numeric", [None, None]),
        (pa.table({"a": [1, None, 3]}), "numeric", [1, None, 3]),
        (pa.table({"a": [True, None]}), "nominal", [True, None]),
        (pa.table({"a": ["x", None]}), "nominal", ["x", None]),
        (pa.table({"a": pa.array(["x", None]).dictionary_encode()}), "nominal", ["x", None]),
        (pa.table({"a": ORDERED_ARROW}), "ordinal", ["small", "big", None]),
        (pa.table({"a": pa.nulls(2)}), "numeric", [None, None]),
    ],
)
def test_kinds_and_cells_of_frames(frame, kind, expected):
    """Each type of column has its documented kind, and its cells, missing ones included, come through unchanged."""
    assert as_read(frame) == [("a", kind, expected)]
    assert read_columns(frame)[0].has_missing == (None in expected)


@pytest.mark.parametrize(
    ("frame", "levels"),
    [
        (pd.DataFrame({"a": pd.Categorical(["m", "s"], categories=["s", "m", "l"], ordered=True)}), ("s", "m", "l")),
        (pd.DataFrame({"a": pd.Categorical([1, 3], categories=[3, 1], ordered=True)}), (3, 1)),
        (pl.DataFrame({"a": pl.Series(["m", "s"], dtype=pl.Enum(["s", "m", "l"]))}), ("s", "m", "l")),
        (pa.table({"a": ORDERED_ARROW}), ("small", "big")),
        (pd.DataFrame({"a": ["m", "l", "s"]}), ("l", "m", "s")),
    ],
)
def test_order_of_levels(frame, levels):
    """Ordered categoricals keep their own order; unordered levels are sorted, whatever the order of rows."""
    assert read_columns(frame)[0].levels == levels


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int8", "uint8"])
def test_number_arrays(dtype):
    """Arrays of any number type are numeric columns x0, x1, ..."""
    X = np.arange(6).reshape(3, 2).astype(dtype)
    assert as_read(X) == [("x0", "numeric", [0, 2, 4]), ("x1", "numeric", [1, 3, 5])]


def test_float_arrays_are_not_copied():
    """A float64 array is read in place."""
    X = np.random.default_rng(0).random((5, 3))
    assert all(np.shares_memory(column.values, X) for column in read_columns(X))


def test_other_arrays():
    """Booleans and texts are nominal, objects what their cells are, and lists of mixed rows keep their numbers."""
    assert as_read(np.array([[True], [False]])) == [("x0", "nominal", [True, False])]
    assert as_read(np.array([["b"], ["a"]])) == [("x0", "nominal", ["b", "a"])]
    mixed = [["a", 1, None], ["b", 2.5, None]]
    expected = [("x0", "nominal", ["a", "b"]), ("x1", "numeric", [1, 2.5]), ("x2", "numeric", [None, None])]
    assert as_read(mixed) == as_read(np.array(mixed, dtype=object)) == expected


def test_order_of_rows_does_not_decide_a_kind():
    """True beside 1 in a column of objects is a number, whichever comes first."""
    for rows in ([[True], [1]], [[1], [True]]):
        assert read_columns(np.array(rows, dtype=object)).kinds == ("numeric",)


def test_kinds_chosen_by_the_user():
    """Columns can be read as numeric, nominal, ordinal or by a list of levels, by name or by position."""
    frame = pd.DataFrame({"n": ["1.5", "2", None], "z": [3, 1, 3], "s": ["low", None, "high"]})
    chosen = {"n": "numeric", "z": "ordinal", "s": ["low", "med", "high"]}
    columns = read_columns(frame, chosen)
    assert columns.kinds == ("numeric", "ordinal", "ordinal")
    assert [cells(column) for column in columns] == [[1.5, 2, None], [3, 1, 3], ["low", None, "high"]]
    assert (columns[1].levels, columns[2].levels) == ((1, 3), ("low", "med", "high"))
    by_position = read_columns(frame.to_numpy(dtype=object), {0: "numeric", "x1": "nominal", np.int64(2): chosen["s"]})
    assert by_position.kinds == ("numeric", "nominal", "ordinal")
    assert by_position[1].levels == (1, 3)
    assert read_columns(pd.DataFrame({5: [1, 2]}), {5: "nominal"}).kinds == ("nominal",)
    assert read_columns(np.array([[True], [False]]), {0: "numeric"})[0].values.tolist() == [1.0, 0.0]


def test_unlisted_levels_are_an_error_in_training_only():
    """A cell outside the given levels is refused in training and let through, as a further level, later."""
    frame = pd.DataFrame({"s": ["low", "what"]})
    with pytest.raises(ValueError, match=r"Column 's' has the value 'what'"):
        read_columns(frame, {"s": ["low", "high"]})
    assert read_columns(frame, {"s": ["low", "high"]}, training=False)[0].levels == ("low", "high", "what")


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"b": "numeric"}, "names the column 'b', which X does not have"),
        ({7: "numeric"}, "names the column 7, which X does not have"),
        ({"a": "number"}, r"feature_kinds\['a'\] is 'number'"),
        ({"a": []}, "list of different levels"),
        ({"a": ["x", "x"]}, "list of different levels"),
        ({"a": 3}, "list of different levels"),
        ({"a": "numeric"}, "Column 'a' is to be numeric, but 'x' is not a number"),
        ({"a": "ordinal"}, "Column 'a' holds text, whose order is unknown"),
    ],
)
def test_bad_choices_of_kinds(kinds, message):
    """A choice that can't be followed is refused in a sentence that names the column."""
    with pytest.raises(ValueError, match=message):
        read_columns(pd.DataFrame({"a": ["x", "y"]}), kinds)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (pl.DataFrame({"l": [[1]]}), ValueError, "Column 'l' holds values of type List"),
        (pd.DataFrame({"l": [[1]]}), TypeError, "argument must be .* string.* number"),
        (np.array([[{"a": 1}]], dtype=object), TypeError, "argument must be .* string.* number"),
        (np.array([[1.0, np.inf]]), ValueError, "Column 'x1' has infinite values"),
        (np.array([[1.0, np.nan], [2.0, -np.inf]]), ValueError, "Column 'x1' has infinite values"),
        (pd.DataFrame({"i": [1.0, -np.inf]}), ValueError, "Column 'i' has infinite values"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "several columns named 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), ValueError, "several columns named 'a'"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), ValueError, "several columns named '1'"),
        (pl.DataFrame({"a": [1]}).lazy(), ValueError, "lazy frame; collect it"),
        (pd.DataFrame({"a": []}), ValueError, r"0 sample\(s\)"),
        (pl.DataFrame({"a": []}), ValueError, r"0 sample\(s\)"),
        (
            pd.DataFrame(index=range(3)),
            ValueError,
            r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required.",
        ),
        (np.zeros((0, 2)), ValueError, r"0 sample\(s\)"),
        (np.zeros((3, 0)), ValueError, r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required."),
        (np.zeros(3), ValueError, "Reshape your data"),
        (np.zeros((2, 2, 2)), ValueError, "dim"),
        (np.array([[1j]]), ValueError, "Complex data not supported"),
        (sparse.csr_array(np.eye(3)), TypeError, "[Ss]parse"),
    ],
)
def test_what_is_refused(X, error, message):
    """Data that can't be read is refused in a sentence that says where and why."""
    with pytest.raises(error, match=message):
        read_columns(X)


@pytest.mark.parametrize(
    ("frame", "unit", "expected"),
    [
        (
            pd.DataFrame({"t": pd.to_datetime(["1970-01-02", "1971-01-01T12", None], format="ISO8601")}),
            "date",
            [1, 365.5, None],
        ),
        (pd.DataFrame({"t": pd.to_datetime(["1970-01-02 01:00"]).tz_localize("Asia/Tokyo")}), "date", [1 + 1 / 24]),
        (pd.DataFrame({"t": [datetime.date(1970, 1, 3), None]}), "date", [2, None]),
        (pd.DataFrame({"t": [datetime.time(8, 15), None]}), "time", [8.25, None]),
        (pd.DataFrame({"t": pd.to_timedelta([12, None], "h")}), "", [0.5, None]),
        (pl.DataFrame({"t": [datetime.date(1970, 1, 3), None]}), "date", [2, None]),
        (pl.DataFrame({"t": [datetime.datetime(1970, 1, 3, 6), None]}), "date", [2.25, None]),
        (pl.DataFrame({"t": [datetime.time(8, 15), None]}), "time", [8.25, None]),
        (pa.table({"t": [datetime.datetime(1970, 1, 3, 6), None]}), "date", [2.25, None]),
        (np.array([["1970-01-02"], ["NaT"]], dtype="datetime64[D]"), "date", [1, None]),
        (np.array([[36]], dtype="timedelta64[h]"), "", [1.5]),
    ],
)
def test_dates_and_times_are_numbers(frame, unit, expected):
    """Dates are days since 1970 by the clock of their zone, times of day hours, and spans of time days."""
    (column,) = read_columns(frame)
    assert (column.kind, column.unit, cells(column)) == ("numeric", unit, expected)
    assert column.has_missing == (None in expected)


def test_dates_among_other_values_are_refused():
    """A column of dates and texts is refused by name."""
    with pytest.raises(ValueError, match="Column 't' mixes dates or times with other values"):
        read_columns(pd.DataFrame({"t": pd.Series([datetime.date(1970, 1, 3), "soon"], dtype=object)}))


def test_large_finite_numbers_are_not_infinite():
    """A column whose sum overflows is still finite."""
    assert read_columns(np.full((3, 1), 1.7e308))[0].values.tolist() == [1.7e308] * 3


def test_odd_names_come_through():
    """Quotes, spaces and empty names are names like any other."""
    names = ['a "b"', "it's", "", "x\ny", "größe"]
    assert read_columns(pd.DataFrame([[1] * 5], columns=names)).names == tuple(names)


TEXTS = ["b", None, "a", "", "b", "ü", "a"]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"n": range(7), "t": pd.array(TEXTS, dtype=pd.StringDtype("pyarrow"))}),
        pd.DataFrame({"n": range(7), "t": pd.array(TEXTS, dtype=pd.StringDtype("python"))}),
        pl.DataFrame({"n": range(7), "t": TEXTS}),
        pl.concat(
            [pl.DataFrame({"n": range(7), "t": TEXTS})[:3], pl.DataFrame({"n": range(7), "t": TEXTS})[3:]],
            rechunk=False,
        ),
        pa.table({"n": range(7), "t": TEXTS}),
        pa.table({"n": range(7), "t": pa.chunked_array([TEXTS[:2], [], TEXTS[2:]])}),
    ],
)
@pytest.mark.parametrize("kinds", [None, {"t": ["ü", "b", "", "a", "z"]}])
def test_texts_are_read_alike_wherever_they_are_kept(frame, kinds):
    """Levels, codes and what is missing are those of the same cells in a column of objects."""
    of_objects = read_columns(pd.DataFrame({"n": range(7), "t": pd.Series(TEXTS, dtype=object)}), kinds)
    read = read_columns(frame, kinds)
    assert read.names == ("n", "t")
    for column, expected in zip(read, of_objects, strict=True):
        assert (column.kind, column.levels, column.has_missing) == (
            expected.kind,
            expected.levels,
            expected.has_missing,
        )
        assert column.values.dtype == expected.values.dtype
        assert column.values.tolist() == expected.values.tolist()


def test_frames_of_texts_alone():
    """A frame with nothing but texts is read like the same frame with a number beside them."""
    texts = pd.DataFrame({0: TEXTS, "t": TEXTS[::-1]}, dtype=pd.StringDtype("pyarrow"))
    beside = texts.assign(n=1.0)
    assert as_read(texts) == as_read(beside)[:2]
    chosen = {0: ["ü", "b", "", "a"]}
    assert as_read(texts, feature_kinds=chosen) == as_read(beside, feature_kinds=chosen)[:2]
    with pytest.raises(ValueError, match="several columns named 't'"):
        read_columns(texts.set_axis(["t", "t"], axis=1))


@pytest.mark.parametrize("part", [slice(None), slice(2, 6), slice(None, None, -2)])
def test_texts_without_shortcuts(monkeypatch, part):
    """Parts of frames are read alike where pandas gives no arrays, or Arrow hands none over."""
    texts = pd.DataFrame({"s": TEXTS, "t": TEXTS[::-1]}, dtype=pd.StringDtype("pyarrow"))[part]
    texts = pd.concat([texts, texts[:2]])
    expected = [("s", "nominal", cells_of(texts["s"])), ("t", "nominal", cells_of(texts["t"]))]
    assert as_read(texts) == expected
    monkeypatch.delattr(pd.DataFrame, "_iter_column_arrays")
    assert as_read(texts) == expected
    monkeypatch.setattr(columns, "_has_streams", lambda: False)
    assert as_read(texts) == expected


def cells_of(series):
    """Its texts, None where there is none."""
    return [None if pd.isna(cell) else cell for cell in series]


def test_levels_given_in_the_order_of_the_texts():
    """Levels in alphabetical order make a column of texts ordinal like any others; they may be more than there are."""
    frame = pd.DataFrame({"t": ["b", "a", "b"]})
    for levels in (["a", "b"], ["a", "b", "c"], ["b", "a"]):
        (column,) = read_columns(frame, {"t": levels})
        assert (column.kind, column.levels, cells(column)) == ("ordinal", tuple(levels), ["b", "a", "b"])
    # A level that no cell has need not be given.
    assert read_columns(pd.DataFrame({"t": [True, True]}), {"t": [True]})[0].levels == (True,)


def test_texts_that_are_all_missing():
    """A column without any text says nothing, in whatever it is kept."""
    frame = pd.DataFrame({"t": pd.array([None, None], dtype=pd.StringDtype("pyarrow"))})
    (column,) = read_columns(frame)
    assert column.kind == "numeric"
    assert column.has_missing
    assert np.isnan(column.values).all()


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float32"])
def test_numbers_of_any_width_are_read_at_once(monkeypatch, dtype):
    """A frame of numbers becomes no series at all, and has the values that a series for each column would have."""
    frame = pd.DataFrame({"a": np.array([3, 1, 2], dtype=dtype), "b": [0.5, np.nan, 2.0], "c": [7, 8, 9]})
    expected = columns.raw_columns(pa.Table.from_pandas(frame)).columns
    monkeypatch.setattr("omtree.data.columns._from_series", None)
    found = columns.raw_columns(frame).columns
    assert [(each.name, each.kind, each.has_missing) for each in found] == [
        (each.name, each.kind, each.has_missing) for each in expected
    ]
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(own.values, other.values)
