"""Rows whose values training never saw, or had in other words."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from omtree import OptimalTreeClassifier
from omtree.model.answering import MANY_ROWS


@pytest.fixture(scope="module")
def model() -> OptimalTreeClassifier:
    """What is true of a row is its class."""
    X = pd.DataFrame({"flag": [True, False] * 20, "z": np.arange(40) % 7})
    return OptimalTreeClassifier(max_depth=1).fit(X, X["flag"].astype(int))


def rows(flags: list[Any], times: int = 20) -> pd.DataFrame:
    """So many times these cells."""
    return pd.DataFrame({"flag": flags * times, "z": np.arange(len(flags) * times) % 7})


@pytest.mark.parametrize("flags", [[True, False], [1, 0], [1.0, 0.0], ["True", "False"], ["true", "false"]])
def test_booleans_may_come_as_text_or_numbers(model: OptimalTreeClassifier, flags: list[Any]) -> None:
    """However true and false are written, they are what they were in training."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(rows(flags)).tolist() == [1, 0] * 20


@pytest.mark.parametrize(("flags", "named"), [(["yes", "no"], "yes"), ([7, -7], "7"), (["t", None], "t")])
def test_other_words_for_all_values_are_told(model: OptimalTreeClassifier, flags: list[Any], named: str) -> None:
    """Where no row has a known value, a sentence names the column, what it has and what it had."""
    said = rf"column 'flag' that training had: {named} in place of False and the like"
    with pytest.warns(UserWarning, match=said):
        model.predict(rows(flags))


@pytest.mark.parametrize(
    ("flags", "times"), [(["maybe"], MANY_ROWS - 1), (["maybe"] * MANY_ROWS + [True], 1), ([None], 2 * MANY_ROWS)]
)
def test_some_new_values_are_everyday(model: OptimalTreeClassifier, flags: list[Any], times: int) -> None:
    """Few rows, a single known value, or missing cells are no reason to warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(rows(flags, times))
