"""Columns that name their rows."""

import numpy as np
import pandas as pd
import pytest

from omtree.data.columns import read_columns
from omtree.data.parsing.ids import names_its_rows

ROWS = np.arange(200)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("name", [f"person {row}" for row in ROWS]),
        ("name", [f"person {row // 1.05:.0f}" for row in ROWS]),
        ("name", [None if row < 100 else f"person {row}" for row in ROWS]),
        ("x", ROWS + 1),
        ("x", ROWS + 1000.0),
        ("x", RNG.permutation(ROWS)),
        ("id", RNG.choice(10**6, 200, replace=False)),
        ("patient_nr", np.sort(RNG.choice(1000, 200, replace=False))),
        ("customerID", RNG.choice(10**6, 200, replace=False)),
    ],
)
def test_names_and_numbers_of_rows(name, cells):
    """Texts that are nearly all different and numbers that count the rows are told, with the reason."""
    assert names_its_rows(read_columns(pd.DataFrame({name: cells}))[0])


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("name", [f"person {row % 100}" for row in ROWS]),
        ("x", ROWS // 2),
        ("x", RNG.normal(size=200)),
        ("x", RNG.choice(10**6, 200, replace=False)),
        ("id", RNG.choice(50, 200)),
        ("id", RNG.normal(size=200)),
        ("grid", RNG.choice(10**6, 200, replace=False)),
        ("x", [None, *range(199)]),
        ("year", 1900 + ROWS[:19]),
        ("when", pd.date_range("2020", periods=200)),
    ],
)
def test_other_columns(name, cells):
    """Measurements, values that repeat, dates and small tables are not taken for names of rows."""
    assert names_its_rows(read_columns(pd.DataFrame({name: cells}))[0]) == ""
