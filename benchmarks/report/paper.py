"""The figures of the paper that are cited."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

#: The paper's name for a method of ours.
OMT = "OMT"
#: The methods of the paper, in the order in which they are shown.
METHODS = (OMT, "OCT", "BinOCT", "FlowOCT", "S1O", "CART")


def read() -> pd.DataFrame:
    """Every figure: table, data, depth, method, value, std."""
    path = Path(__file__).resolve().parent.parent / "paper.csv"
    return pd.read_csv(path, comment="#", dtype={"data": str, "method": str}, keep_default_na=True)


def accuracy(table: str) -> pd.DataFrame:
    """Mean test accuracy of a table, one row for each data set and depth, one column for each method."""
    return _wide(table, ["data", "depth"], "value")


def deviations(table: str) -> pd.DataFrame:
    """Standard deviation over the splits of the same; not a number where the paper gives none."""
    return _wide(table, ["data", "depth"], "std")


def by_depth(table: str) -> pd.DataFrame:
    """A table that has depths only."""
    return _wide(table, ["depth"], "value")


def solved(seconds: int) -> dict[str, int]:
    """Instances solved within so many seconds, of 240."""
    chosen = read().query("table == @name", local_dict={"name": f"solved-in-{seconds}-seconds"})
    return {row.method: int(row.value) for row in chosen.itertuples()}


def _wide(table: str, index: list[str], values: str) -> pd.DataFrame:
    chosen = read().query("table == @table").astype({"depth": int})
    wide = chosen.pivot(index=index, columns="method", values=values)
    return wide[[method for method in METHODS if method in wide]]
