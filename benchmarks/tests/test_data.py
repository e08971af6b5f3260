"""Data sets and the matrices that other methods get."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.coding import Numbers, ZeroOne, has_numbers
from benchmarks.data import OPENML, NoData, load, synthetic
from benchmarks.sets import HUGE, LARGE, SMALL


def mixed() -> pd.DataFrame:
    """A column of each kind."""
    return pd.DataFrame(
        {
            "size": pd.Categorical(["low", "high", "mid", "low"], categories=["low", "mid", "high"], ordered=True),
            "colour": pd.Categorical(["red", "green", "blue", "red"]),
            "flag": pd.Categorical(["n", "y", "n", "y"]),
            "weight": [1.5, 2.5, 4.5, 4.5],
        }
    )


def test_a_file_becomes_a_frame_with_its_orders(tmp_path: Path) -> None:
    """Ordinal columns of a known set are ordered categories, the others of a small set plain ones."""
    (tmp_path / "hayes-roth.csv").write_text(
        "hobby,age,educational_level,marital_status,target\n1,4,2,1,1\n2,1,3,2,3\n1,2,1,1,1\n"
    )
    data = load("hayes-roth", tmp_path)
    assert list(data.X["age"].cat.categories) == ["1", "2", "3", "4"]
    assert data.X["age"].cat.ordered
    assert not data.X["hobby"].cat.ordered
    assert data.y.tolist() == ["1", "3", "1"]


def test_the_test_rows_of_some_sets_belong_to_them(tmp_path: Path) -> None:
    """The MONK's problems are their training and test rows together; the test rows of other sets are left alone."""
    for name in ("monks-1", "pendigits"):
        (tmp_path / f"{name}.csv").write_text("a,target\n1,0\n2,1\n")
        (tmp_path / f"{name}_test.csv").write_text("a,target\n3,1\n")
    assert load("monks-1", tmp_path).X["a"].tolist() == ["1", "2", "3"]
    assert load("monks-1", tmp_path).y.tolist() == ["0", "1", "1"]
    assert len(load("pendigits", tmp_path).y) == 2


def test_a_missing_file_is_no_data(tmp_path: Path) -> None:
    """A set that is not in the folder is told by name, so that it can be reported as not run."""
    with pytest.raises(NoData, match="MiniBooNE"):
        load("MiniBooNE", tmp_path)


def test_openml_stands_in_for_a_folder() -> None:
    """Without a folder a set is asked for by its name on OpenML, incomplete rows are dropped where the paper did."""
    asked: dict[str, Any] = {}

    def fetch(**question: Any) -> SimpleNamespace:
        asked.update(question)
        frame = pd.DataFrame({"a": pd.Categorical(["'y'", "'n'", None]), "b": pd.Categorical(["y", "y", "n"])})
        return SimpleNamespace(data=frame, target=pd.Series(["democrat", "republican", "democrat"]))

    data = load("house-votes-84_complete", None, fetch)
    assert asked["name"] == "vote"
    assert data.source == "OpenML"
    assert data.X["a"].tolist() == ["y", "n"]
    assert data.y.tolist() == ["democrat", "republican"]


def test_openml_out_of_reach_is_no_data() -> None:
    """Without a network a set is reported as not run."""

    def fetch(**question: Any) -> None:
        raise OSError("no route")

    with pytest.raises(NoData, match="no route"):
        load("car-evaluation", None, fetch)


def test_every_set_but_two_is_on_openml() -> None:
    """Sets that OpenML does not have say so; all others have a name there."""
    missing = [name for name in (*SMALL, *LARGE, *HUGE) if name not in OPENML]
    assert missing == ["soybean-small"]
    for name in (*missing, "crop-mapping"):
        with pytest.raises(NoData, match="data folder"):
            load(name, None)


def test_synthetic_data_are_the_same_every_time() -> None:
    """The synthetic set has the size asked for, both classes, and the same rows again."""
    one, two = synthetic(500), load("synthetic-500", None)
    assert one.X.shape == (500, 18)
    assert set(one.y) == {"0", "1"}
    assert one.X.equals(two.X)
    assert (one.y == two.y).all()


def test_numbers_code_every_kind() -> None:
    """Positions for ordered values, one column a plain value (one in all for two), numbers as they are."""
    X = mixed()
    matrix = Numbers(X)(X)
    assert matrix.tolist() == [
        [0, 0, 0, 1, 0, 1.5],
        [2, 0, 1, 0, 1, 2.5],
        [1, 1, 0, 0, 0, 4.5],
        [0, 0, 0, 1, 1, 4.5],
    ]
    assert has_numbers(X)
    assert not has_numbers(X.drop(columns="weight"))


def test_zero_one_columns_tell_as_much_as_the_numbers() -> None:
    """Rows that differ in a column with few values differ in a 0/1 column, and new rows are cut at the same places."""
    X = mixed()
    code = ZeroOne(X)
    assert set(np.unique(code(X))) <= {0, 1}
    assert len(np.unique(code(X), axis=0)) == len(X)
    assert (code(X.iloc[[2]]) == code(X)[2]).all()


def test_zero_one_columns_cut_numbers_at_quantiles() -> None:
    """A column of many numbers gets one cut fewer than bins, at about equal shares of the rows."""
    X = pd.DataFrame({"x": np.arange(1000.0)})
    shares = ZeroOne(X, 4)(X).mean(axis=0)
    assert shares == pytest.approx([0.25, 0.5, 0.75], abs=0.002)


def test_constant_columns_give_a_matrix_all_the_same() -> None:
    """Where nothing can be cut there is one column of zeros."""
    X = pd.DataFrame({"x": [1.0, 1.0]})
    assert ZeroOne(X)(X).tolist() == [[0], [0]]
