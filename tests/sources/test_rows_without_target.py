"""Rows without a target are left out of a fit, whatever the data are given as, and a note says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import omtree
from omtree.constraints import StatisticalParity

X = pd.DataFrame({"x": np.arange(40.0), "g": list("ab") * 20})
Y = np.where(X["x"] < 20, "low", "high").astype(object)
Y[[3, 30, 31]] = None
KEPT = np.array([cell is not None for cell in Y])
WEIGHT = np.arange(1.0, 41.0)
LIMITS: dict[str, Any] = {"max_depth": 1, "min_samples_leaf": 1}


@pytest.mark.parametrize(
    ("given", "target"),
    [
        (X, pd.Series(Y)),
        (X, pd.Series(Y).astype("string")),
        (pl.from_pandas(X), pl.Series(Y.tolist())),
        (pa.Table.from_pandas(X), pa.chunked_array([Y.tolist()])),
        (X[["x"]].to_numpy(), Y),
        (X[["x"]].to_numpy().tolist(), Y.tolist()),
    ],
    ids=["pandas", "pandas texts", "polars", "pyarrow", "numpy", "lists"],
)
def test_classes(given: Any, target: Any) -> None:
    """The model is that of the other rows, with their weights, and the note counts those left out."""
    model = omtree.OptimalTreeClassifier(**LIMITS)
    with pytest.warns(UserWarning, match=r"^3 rows have no target and are left out\.$"):
        model.fit(given, target, sample_weight=WEIGHT)
    assert "3 rows have no target and are left out" in model.notes_
    assert model.certificate_.weight == WEIGHT[KEPT].sum()
    assert sorted(map(str, model.classes_)) == ["high", "low"]
    assert model.certificate_.value == 0


def test_numbers_and_groups() -> None:
    """A regressor does so too, and groups stay with their rows."""
    y = np.where(KEPT, X["x"] ** 2, np.nan)
    with pytest.warns(UserWarning, match="3 rows"):
        model = omtree.OptimalTreeRegressor(**LIMITS).fit(X, y)
    expected = omtree.OptimalTreeRegressor(**LIMITS).fit(X[KEPT], y[KEPT])
    assert model.certificate_.value == expected.certificate_.value
    parity = StatisticalParity("group", tolerance=0.5)
    groups = pd.DataFrame({"group": np.where(X["x"] % 3 == 0, "u", "v")})
    with pytest.warns(UserWarning, match="3 rows"):
        fair = omtree.OptimalTreeClassifier(constraints=[parity], **LIMITS).fit(X, Y, groups=groups)
    same = omtree.OptimalTreeClassifier(constraints=[parity], **LIMITS).fit(X[KEPT], Y[KEPT], groups=groups[KEPT])
    assert fair.certificate_.constraints == same.certificate_.constraints


def test_row_numbers_would_shift() -> None:
    """Pairs of row numbers to hold out no longer fit, which is said."""
    folds = [(np.arange(30), np.arange(30, 40))]
    with pytest.raises(ValueError, match="cv has numbers of rows, and some rows have no target"):
        omtree.OptimalTreeClassifier(cv=folds, **LIMITS).fit(X, Y)


def test_no_target_at_all() -> None:
    """Without any target there is nothing to fit."""
    with pytest.raises(ValueError, match="y"):
        omtree.OptimalTreeClassifier().fit(X, [None] * 40)
