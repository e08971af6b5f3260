"""Files of all kinds, and what is said of those that cannot be read."""

from __future__ import annotations

import builtins
import gzip
import pickle
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import omtree.sources.disk.goals
from helpers.disk_tables import COLUMNS, PLAIN, assert_same_model, table, write_parquet
from omtree import OptimalTreeClassifier, OptimalTreeRegressor, scan
from omtree.cli.tables import FileOptions, read_table
from omtree.sources.disk.scan import bytes_of

pytestmark = pytest.mark.filterwarnings("ignore:Columns that cannot tell:UserWarning")


def small() -> pa.Table:
    """Two columns and a class."""
    return pa.table({"a": [1, 2, 3, 4], "b": ["x", "y", "x", "y"], "y": [0, 0, 1, 1]})


def complaint(source: Any, target: str = "y", model: Any = OptimalTreeClassifier, **options: Any) -> str:
    """What is said of a scan that cannot be fitted."""
    with pytest.raises(ValueError) as fault:
        model().fit(scan(source, target, **options))
    text = str(fault.value)
    assert text.endswith(".")
    assert "\n" not in text
    return text


CSV = "age;size;colour;code;y\n" + "".join(
    f"{age};{size};{colour};{code:03d};{label}\n"
    for age, size, colour, code, label in [
        (18.5, 1, "red", 7, "no"),
        (35, "", "?", 8, "no"),
        (" +60 ", 2, '"dark; red"', 9, "yes"),
        (70, 1, "", 7, "yes"),
    ]
    * 5
)


@pytest.mark.parametrize("packed", [False, True])
def test_csv_is_read_as_on_the_command_line(way: str, packed: bool, tmp_path: Path) -> None:
    """Numbers, codes with leading zeros, quotes, missing cells and a guessed delimiter, also compressed."""
    path = tmp_path / ("rows.csv.gz" if packed else "rows.csv")
    path.write_bytes(gzip.compress(CSV.encode()) if packed else CSV.encode())
    rows = read_table(str(path), FileOptions(missing=("?",)))
    here = OptimalTreeClassifier(max_depth=2, min_samples_leaf=1, reading=PLAIN).fit(
        rows.drop_columns(["y"]), rows["y"].to_numpy()
    )
    there = OptimalTreeClassifier(max_depth=2, min_samples_leaf=1).fit(scan(path, "y", missing=["?"]))
    assert_same_model(here, there)
    assert [feature.kind for feature in there.rules_.features] == ["numeric", "numeric", "nominal", "nominal"]


def test_whole_numbers_in_csv_are_whole_classes(tmp_path: Path) -> None:
    """Classes 0 and 1 in a text file are integers, as on the command line."""
    (tmp_path / "a.csv").write_text("a,y\n1,0\n2,0\n3,1\n4,1\n")
    model = OptimalTreeClassifier(max_depth=1).fit(scan(tmp_path / "a.csv", "y"))
    assert model.classes_.dtype.kind == "i"
    assert model.predict(pa.table({"a": [1, 4]})).tolist() == [0, 1]


def test_csv_files_with_columns_in_another_order(tmp_path: Path) -> None:
    """Columns are found by name, not by place."""
    (tmp_path / "a.csv").write_text("a,b,y\n1,5,0\n2,5,0\n")
    (tmp_path / "b.csv").write_text("y,a,b\n1,3,6\n1,4,6\n")
    model = OptimalTreeClassifier(max_depth=1).fit(scan(tmp_path, "y"))
    assert model.certificate_.value == 0
    assert model.feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("kind", ["feather", "stream"])
def test_arrow(way: str, kind: str, tmp_path: Path) -> None:
    """Arrow files and streams, also with categories."""
    rows = table()
    rows = rows.set_column(2, "colour", rows["colour"].dictionary_encode())
    if kind == "feather":
        pyarrow.feather.write_feather(rows, tmp_path / "rows.arrow")
    else:
        with pa.ipc.new_stream(tmp_path / "rows.arrow", rows.schema) as stream:
            stream.write_table(rows)
    here = OptimalTreeClassifier(max_depth=2, reading=PLAIN).fit(rows.select(COLUMNS), rows["y"].to_numpy())
    assert_same_model(here, OptimalTreeClassifier(max_depth=2).fit(scan(tmp_path, "y", columns=COLUMNS)))


def test_files_of_several_kinds_are_one_table(tmp_path: Path) -> None:
    """A folder is read in the order of names, whatever the kinds; numbers of other widths are numbers."""
    rows = small()
    pq.write_table(rows.slice(0, 2), tmp_path / "1.parquet")
    wider = rows.slice(2, 2).set_column(0, "a", pa.array([3, 2**40], pa.int64()))
    pyarrow.feather.write_feather(wider, tmp_path / "2.feather")
    (tmp_path / "3.csv").write_text("a,b,y\n5,x,1\n")
    (tmp_path / "notes.txt").write_text("not a table")
    (tmp_path / ".hidden.csv").write_text("not a table")
    model = OptimalTreeClassifier(max_depth=1).fit(scan(tmp_path, "y"))
    assert model.certificate_.weight == 5


def test_a_scan_is_a_plain_description(tmp_path: Path) -> None:
    """It reads nothing before the fit, and can be pickled and fitted twice."""
    path = write_parquet(small(), tmp_path)
    found = pickle.loads(pickle.dumps(scan(path, "y")))
    assert "*.parquet" in repr(found)
    first, second = (OptimalTreeClassifier(max_depth=1).fit(found) for _ in range(2))
    assert_same_model(first, second)
    assert scan("not/there", "y").target == "y"


def test_a_column_that_disappears(tmp_path: Path) -> None:
    """Named with both files; not when it is not needed."""
    pq.write_table(small(), tmp_path / "1.parquet")
    pq.write_table(small().drop_columns(["b"]), tmp_path / "2.parquet")
    assert complaint(tmp_path) == f"{tmp_path}/2.parquet lacks the column 'b', which {tmp_path}/1.parquet has."
    model = OptimalTreeClassifier(max_depth=1).fit(scan(tmp_path, "y", columns=["a"]))
    assert model.certificate_.weight == 8


def test_a_column_that_appears(tmp_path: Path) -> None:
    """A column that only later files have."""
    pq.write_table(small().drop_columns(["b"]), tmp_path / "1.parquet")
    pq.write_table(small(), tmp_path / "2.parquet")
    assert complaint(tmp_path) == f"{tmp_path}/1.parquet lacks the column 'b', which {tmp_path}/2.parquet has."


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_type_that_changes(ending: str, tmp_path: Path) -> None:
    """A number in one file and a text in another, in typed files and in CSV."""
    if ending == "csv":
        (tmp_path / "1.csv").write_text("a,y\n1,0\n2,1\n")
        (tmp_path / "2.csv").write_text("a,y\none,0\n2,1\n")
    else:
        pq.write_table(pa.table({"a": [1, 2], "y": [0, 1]}), tmp_path / "1.parquet")
        pq.write_table(pa.table({"a": ["one", "2"], "y": [0, 1]}), tmp_path / "2.parquet")
    assert (
        complaint(tmp_path) == f"The column 'a' is a number in {tmp_path}/1.{ending} and text in {tmp_path}/2.{ending}."
    )


def test_damaged_parquet(tmp_path: Path) -> None:
    """A file that was cut off, and one with wrong bytes in the middle."""
    numbers = pa.table({"a": np.arange(50_000), "y": np.arange(50_000) % 2})
    for name in ("1", "2"):
        pq.write_table(numbers, tmp_path / f"{name}.parquet")
    whole = (tmp_path / "2.parquet").read_bytes()
    (tmp_path / "2.parquet").write_bytes(whole[: len(whole) // 2])
    assert complaint(tmp_path).startswith(f"{tmp_path}/2.parquet is damaged or cannot be read: ")
    (tmp_path / "2.parquet").write_bytes(whole[:5000] + bytes(range(256)) * 20 + whole[10_120:])
    assert complaint(tmp_path).startswith(f"{tmp_path}/2.parquet is damaged or cannot be read: ")


def test_damaged_text(tmp_path: Path) -> None:
    """Lines with too many cells, wrong bytes, a header that names a column twice, gzip cut off, nothing at all."""
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n1,0\n2,1,3\n")
    assert complaint(path) == f"{path}: line 3 has 3 cells, but the header has 2 names."
    path.write_bytes(b"a,y\n1,0\n2,\xff\xfe\n")
    assert complaint(path) == f"{path} is not UTF-8 text (line 3); save it as UTF-8 (or as Parquet)."
    path.write_text("a,a,y\n1,1,0\n")
    assert complaint(path) == f"{path} has a column without a name, or two of the same; give each its own name."
    packed = gzip.compress(("a,y\n" + "1,0\n2,1\n" * 100_000).encode())
    path.write_bytes(packed[: len(packed) // 2])
    assert complaint(path).startswith(f"{path} is")
    path.write_bytes(b"")
    assert complaint(path) == f"{path} is empty."
    path.write_bytes(b"\x01\x00\x02")
    assert complaint(path) == f"{path} is not a table: it is neither CSV in UTF-8, nor Parquet, nor Arrow."


def test_damaged_arrow(tmp_path: Path) -> None:
    """An Arrow file that was cut off."""
    path = tmp_path / "rows.arrow"
    pyarrow.feather.write_feather(table(), path)
    path.write_bytes(path.read_bytes()[:3000])
    assert complaint(path) == f"{path} looks like Arrow but is damaged."


def test_nothing_to_read(tmp_path: Path) -> None:
    """A folder, a pattern and a path without files, and files without rows."""
    (tmp_path / "empty").mkdir()
    assert complaint(tmp_path / "empty") == f"The folder {tmp_path}/empty has no Parquet, CSV or Arrow files."
    assert complaint(tmp_path / "*.parquet") == f"No file matches {tmp_path}/*.parquet."
    assert complaint(tmp_path / "none.csv") == f"There is no file {tmp_path}/none.csv."
    pq.write_table(small().slice(0, 0), tmp_path / "none.parquet")
    assert complaint(tmp_path / "none.parquet") == f"{tmp_path}/none.parquet has no rows."


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    """The target, the weights, groups and columns are looked for by name."""
    path = tmp_path / "rows.parquet"
    pq.write_table(small(), path)
    has = "it has 'a', 'b', 'y'."
    assert complaint(path, "z") == f"{path} has no column 'z' for the target; {has}"
    assert complaint(path, weight="w") == f"{path} has no column 'w' for the weights; {has}"
    assert complaint(path, groups=["g"]) == f"{path} has no column 'g' for groups; {has}"
    assert complaint(path, columns=["c"]) == f"{path} has no column 'c' for the columns; {has}"
    assert complaint(path, columns=["y"]) == "columns names 'y', which is used already; name each column once."


def test_cells_that_make_no_sense(tmp_path: Path) -> None:
    """Missing and too many classes, infinite numbers, wrong weights, dates and lists are named."""
    path = tmp_path / "rows.parquet"

    def of(**columns: Any) -> Path:
        pq.write_table(pa.table({"a": [1.0, 2.0, 3.0, 4.0], "y": [0, 0, 1, 1], **columns}), path)
        return path

    assert complaint(of(y=[0, None, 1, 1])) == "The target 'y' has 1 missing cell; drop those rows or fill them in."
    assert complaint(of(y=[1, 1, 1, 1])).startswith("y has only one class")
    assert complaint(of(y=[0.5, 1.5, 2.5, 3.5])).startswith("Unknown label type")
    assert complaint(of(a=[1, np.inf, 2, 3])).startswith("Column 'a' has infinite values")
    assert complaint(of(w=[1, -1, 1, 1]), weight="w").startswith("The weights 'w' are negative")
    assert complaint(of(w=[1, None, 1, 1]), weight="w").startswith("The weights 'w' are missing or infinite")
    assert complaint(of(w=[0, 0, 0, 0]), weight="w").startswith("The weights 'w' are zero in every row")
    assert complaint(of(w=["1", "2", "3", "4"]), weight="w").startswith("The weights 'w' are not numbers")
    dates = pa.array([1, 2, 3, 4], pa.date32())
    assert complaint(of(d=dates)).startswith("Column 'd' holds dates or times")
    assert complaint(of(d=[[1]] * 4)).startswith("Column 'd' holds values of type")
    assert complaint(of(y=dates)) == "The target 'y' holds DATE; give classes or numbers."
    text = complaint(of(y=["p", "q", "p", "q"]), model=OptimalTreeRegressor)
    assert text == "The target 'y' holds no numbers; a regressor needs numbers."
    many = pa.table({"a": np.arange(300.0), "y": np.arange(300)})
    pq.write_table(many, path)
    assert complaint(path).startswith("The target 'y' has more than 256 classes")


def test_wrong_use(tmp_path: Path) -> None:
    """A target given twice, data in memory, sizes that are none, and too little memory."""
    path = write_parquet(small(), tmp_path)
    with pytest.raises(ValueError, match="fit takes the target, weights and groups of a scan from the scan itself"):
        OptimalTreeClassifier().fit(scan(path, "y"), "y")
    with pytest.raises(ValueError, match="X is a scan, which only fit takes"):
        OptimalTreeClassifier(max_depth=1).fit(scan(path, "y")).predict(scan(path, "y"))
    with pytest.raises(ValueError, match="X is a lazy frame or a relation, which only fit takes"):
        OptimalTreeClassifier(max_depth=1).fit(scan(path, "y")).predict(duckdb.read_parquet(str(path)))
    with pytest.raises(ValueError, match="scan reads paths, DuckDB relations and lazy frames, not Table"):
        scan(small(), "y")
    with pytest.raises(ValueError, match="memory_limit='much' is no size; use such as '2GB'"):
        scan(path, "y", memory_limit="much")
    with pytest.raises(ValueError, match="memory_limit='1MB' is too little; use at least 400MB"):
        scan(path, "y", memory_limit="1MB")
    assert bytes_of("0.5 GB") == 500_000_000


def test_without_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence says what to install."""
    path = write_parquet(small(), tmp_path)
    real = builtins.__import__

    def without(name: str, *rest: Any, **options: Any) -> Any:
        if name == "duckdb":
            raise ModuleNotFoundError("No module named 'duckdb'", name="duckdb")
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"Rows on disk need the package duckdb; .* pip install 'omtree\[duckdb\]'"):
        OptimalTreeClassifier().fit(scan(path, "y"))


def test_more_than_fits_is_refused_where_it_must(
    spilled: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What needs rows in memory says so, in one sentence, when there are too many of them."""
    path = write_parquet(table(), tmp_path)
    for options in ({"objective": "f1"}, {"structure": "rules"}):
        with pytest.raises(ValueError, match=r"allow trees without constraints, .*: raise memory_limit, or"):
            OptimalTreeClassifier(binning="quantile", **options).fit(scan(path, "y", columns=COLUMNS))
    with pytest.raises(ValueError, match=r"features in an order that is given.*: raise memory_limit, or"):
        OptimalTreeClassifier(feature_order="importance").fit(scan(path, "y", columns=COLUMNS))
    with pytest.raises(ValueError, match=r"or sums of the target \('squared', 'poisson'\): raise memory_limit, or"):
        OptimalTreeRegressor(objective="absolute").fit(scan(path, "amount", columns=COLUMNS))
    monkeypatch.setattr(omtree.sources.disk.goals, "MAX_TARGETS", 100)
    with pytest.raises(ValueError, match=r"rows of a numeric target need about .* raise memory_limit"):
        OptimalTreeRegressor().fit(scan(path, "amount", columns=COLUMNS))
