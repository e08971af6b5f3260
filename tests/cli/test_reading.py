"""Tables are read as the documentation says, and files that are none get one sentence."""

from __future__ import annotations

import gzip
import io
import sys
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from helpers.credit_tables import credit_lines, write_credit
from omtree.cli.tables import FileOptions, read_table


def table_of(tmp_path, text, **options):
    """The table in a CSV text."""
    path = tmp_path / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return read_table(str(path), **options)


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "2", "-3"], "int64", [1, 2, -3]),
        (["1", "2.5", "1e3"], "double", [1.0, 2.5, 1000.0]),
        (["+1", ".5", "5."], "double", [1.0, 0.5, 5.0]),
        ([" 1", "2 "], "int64", [1, 2]),
        (["1", "", "3"], "int64", [1, None, 3]),
        (["007", "12", "13"], "string", ["007", "12", "13"]),
        (["0", "0.5", "-0.5"], "double", [0.0, 0.5, -0.5]),
        (["red", "", "blue"], "string", ["red", None, "blue"]),
        (["true", "false"], "string", ["true", "false"]),
        (["1", "two"], "string", ["1", "two"]),
        (["NA", "1"], "string", ["NA", "1"]),
        (["1,5", "2,5"], "string", ["1,5", "2,5"]),
        (["", ""], "double", [None, None]),
        (["12345678901234567890"], "double", [1.2345678901234567e19]),
        (['say ""hi""', "two\nlines"], "string", ['say "hi"', "two\nlines"]),
    ],
)
def test_types_of_cells(tmp_path, cells, kind, values):
    """Numbers are numbers unless one has a leading zero, everything else is text, empty cells are missing."""
    text = "a,b\n" + "".join(f'"{cell}",x\n' if cell else ",x\n" for cell in cells)
    column = table_of(tmp_path, text)["a"]
    assert str(column.type) == kind
    assert column.to_pylist() == values


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(tmp_path, delimiter):
    """The delimiter is found in the header."""
    table = table_of(tmp_path, f"a b{delimiter}c\n1{delimiter}x\n")
    assert table.to_pylist() == [{"a b": 1, "c": "x"}]


def test_delimiter_given(tmp_path):
    """A delimiter can be given."""
    assert table_of(tmp_path, "a:b,c\n1:2\n", options=FileOptions(delimiter=":")).to_pylist() == [{"a": 1, "b,c": 2}]
    with pytest.raises(ValueError, match="--delimiter '::' is not one character"):
        table_of(tmp_path, "a::b\n", options=FileOptions(delimiter="::"))


def test_missing_markers(tmp_path):
    """Cells that mean missing can be named; then the column is one of numbers."""
    rows = "".join(f"{i}\n" for i in range(30))
    assert str(table_of(tmp_path, f"a\n{rows}none\n")["a"].type) == "string"
    column = table_of(tmp_path, f"a\n{rows}none\n", options=FileOptions(missing=("none",)))["a"]
    assert str(column.type) == "int64"
    assert column.null_count == 1


def test_byte_order_mark_and_line_ends(tmp_path):
    """Files as Windows programs write them are read as any other."""
    assert table_of(tmp_path, b"\xef\xbb\xbfa,b\r\n1,x\r\n").to_pylist() == [{"a": 1, "b": "x"}]


def test_formats_agree(tmp_path, monkeypatch):
    """CSV, gzip, Parquet, Feather, an Arrow stream and standard input give the same table."""
    text = "\n".join(credit_lines()) + "\n"
    table = table_of(tmp_path, text)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "t.feather")
    with pa.ipc.new_stream(str(tmp_path / "t.arrows"), table.schema) as stream:
        stream.write_table(table)
    with pa.ipc.new_file(str(tmp_path / "t.arrow"), table.schema) as file:
        file.write_table(table)
    for name in ("t.csv.gz", "t.parquet", "t.feather", "t.arrow", "t.arrows"):
        assert read_table(str(tmp_path / name)).equals(table), name
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert read_table("-").equals(table)


def test_columns_as_text(tmp_path):
    """Where the model knows what the texts of a column mean, their look does not decide."""
    table = table_of(tmp_path, "a,b\n1.50,7\n2,\n", as_text={"a"})
    assert table.to_pylist() == [{"a": "1.50", "b": 7}, {"a": "2", "b": None}]


BAD = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\n", "is empty"),
    "junk": (bytes(range(256)) * 4, "is not a table: it is neither text, nor Parquet, Arrow, Excel or JSON"),
    "twice": (b"a,b,a\n1,2,3\n", "has 2 columns named 'a'; give each its own name"),
    "long": (b"a,b\n1,2\n1,2,3\n", "line 3 has 3 cells, but the header has 2 names"),
    "short": (b"a,b\n1,2\n1\n", "line 3 has 1 cell, but the header has 2 names"),
    "no rows": (b"a,b\n", "has a header but no rows"),
    "parquet": (b"PAR1 and then junk", "looks like Parquet or Arrow but is damaged"),
    "arrow": (b"ARROW1 and then junk", "looks like Parquet or Arrow but is damaged"),
    "gzip": (b"\x1f\x8b\x08 and then junk", "is a damaged gzip file"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_files(tmp_path, fails, kind):
    """A file that is no good table gives one sentence and exit code 1."""
    content, wanted = BAD[kind]
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    assert wanted in fails("fit", str(path), "--target", "b")


def test_no_such_file(tmp_path, fails):
    """A file that is not there is named."""
    assert "nothing.csv: no such file or directory" in fails("fit", str(tmp_path / "nothing.csv"), "--target", "b")
    assert "has no Parquet, CSV or Arrow files" in fails("fit", str(tmp_path), "--target", "b")


def test_drop_unknown(tmp_path, fails):
    """A column to drop must be there."""
    data = write_credit(tmp_path / "data.csv")
    sentence = fails("fit", data, "--target", "outcome", "--drop", "hom")
    assert "has no column 'hom' to drop; the nearest name is 'home'" in sentence
