"""The data sets of the benchmarks: CSV and Parquet files in one folder, the class in the column `target`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

SMALL = (
    "soybean-small",
    "monks-1",
    "monks-2",
    "monks-3",
    "hayes-roth",
    "house-votes-84_complete",
    "spect",
    "breast-cancer_complete",
    "balance-scale",
    "tic-tac-toe",
    "car-evaluation",
    "kr-vs-kp",
)
LARGE = ("pendigits", "avila", "eeg-eye-state", "htru2", "shuttle", "skin-segmentation")
HUGE = ("covertype",)

_ONE_TO_FIVE = ["1", "2", "3", "4", "5"]
#: Orders of the ordinal columns; "numbers" means the order of the first number in the text.
_ORDERS: dict[str, dict[str, Any]] = {
    "hayes-roth": {"age": _ONE_TO_FIVE[:4], "educational_level": _ONE_TO_FIVE[:4]},
    "breast-cancer_complete": dict.fromkeys(("age", "tumor-size", "inv-nodes", "deg-malig"), "numbers"),
    "balance-scale": dict.fromkeys(("left-weight", "left-distance", "right-weight", "right-distance"), _ONE_TO_FIVE),
    "car-evaluation": {
        "buying": ["low", "med", "high", "vhigh"],
        "maint": ["low", "med", "high", "vhigh"],
        "doors": ["2", "3", "4", "5more"],
        "persons": ["2", "4", "more"],
        "lug_boot": ["small", "med", "big"],
        "safety": ["low", "med", "high"],
    },
}


def load(folder: Path, name: str) -> tuple[pd.DataFrame, pd.Series, dict[str, Any]]:
    """Features, classes, and the kinds of those columns whose type does not say it."""
    if (folder / f"{name}.parquet").exists():
        frame = pd.read_parquet(folder / f"{name}.parquet")
    elif name.removesuffix("_test") in SMALL:
        frame = pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False)
    else:
        frame = pd.read_csv(folder / f"{name}.csv")
    X, y = frame.drop(columns="target"), frame["target"]
    unknown = set(_ORDERS.get(name, {})) - set(X)
    if unknown:
        raise ValueError(f"{name} has no columns {sorted(unknown)}; its columns are {list(X)}.")
    return X, y, orders(name, X)


def orders(name: str, X: pd.DataFrame) -> dict[str, Any]:
    """The ordinal columns of a set, each with its values in order."""
    return {
        column: sorted(X[column].unique(), key=lambda text: int(text.split("-")[0])) if order == "numbers" else order
        for column, order in _ORDERS.get(name, {}).items()
        if column in X
    }
