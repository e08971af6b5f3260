"""Groups as they are given, and the strata of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from helpers.constraint_cases import random_case
from omtree.constraints import GroupColumn, Samples, StatisticalParity, group_columns, read_groups, strata_of
from omtree.data.columns import read_columns

COLUMNS = read_columns(pd.DataFrame({"age": [18, 35, 60, 35], "town": ["A", "B", None, "A"]}))
SEX = ["M", "F", "M", "M"]


@pytest.mark.parametrize(
    "groups",
    [
        SEX,
        np.array(SEX),
        np.array(SEX, dtype=object).reshape(-1, 1),
        pd.Series(SEX),
        pd.Series(SEX, name="sex"),
        pl.Series("sex", SEX),
        pd.DataFrame({"sex": SEX, "other": [1, 2, 3, 4]}),
        pl.DataFrame({"sex": SEX}),
        {"sex": SEX},
        pd.Series(SEX, name="sex", dtype="category"),
    ],
    ids=lambda groups: type(groups).__name__,
)
def test_ways_to_give_groups(groups: Any) -> None:
    """Arrays, series, frames and dicts give the same groups."""
    column = read_groups(["sex"], groups, COLUMNS)["sex"]
    assert column.levels == ("F", "M")
    assert column.codes.tolist() == [1, 0, 1, 1]


def test_groups_from_columns_of_the_data() -> None:
    """A column of X serves as group column, numbers and missing cells included; `groups` comes first."""
    found = read_groups(["age", "town"], None, COLUMNS)
    assert found["age"].levels == (18, 35, 60)
    assert found["town"].levels == ("A", "B", None)
    assert found["town"].codes.tolist() == [0, 1, 2, 0]
    assert read_groups(["age"], {"age": ["old", "new", "old", "old"]}, COLUMNS)["age"].levels == ("new", "old")


def test_group_errors() -> None:
    """Unknown columns, wrong lengths, too many groups and two names for one column are refused."""
    with pytest.raises(ValueError, match="'sex', which neither X nor groups has"):
        read_groups(["sex"], None, COLUMNS)
    with pytest.raises(ValueError, match="'race', which neither X nor groups has"):
        read_groups(["race"], pd.Series(SEX, name="sex"), COLUMNS)
    with pytest.raises(ValueError, match="groups has 2 rows and X has 4"):
        read_groups(["sex"], ["F", "M"], COLUMNS)
    with pytest.raises(ValueError, match="the constraints name 'sex' and 'race'"):
        read_groups(["sex", "race"], SEX, COLUMNS)
    with pytest.raises(ValueError, match="3 dimensions"):
        read_groups(["sex"], np.zeros((2, 2, 2)), COLUMNS)
    many = read_columns(np.arange(50.0).reshape(-1, 1))
    with pytest.raises(ValueError, match="'x0' has 50 different values, more than 32"):
        read_groups(["x0"], None, many)


def test_names_of_group_columns() -> None:
    """Each group column is named once."""
    assert group_columns(
        [StatisticalParity("sex", 1), StatisticalParity("race", 1), StatisticalParity("sex", 0.5)]
    ) == (
        "sex",
        "race",
    )


@pytest.mark.parametrize("seed", range(10))
def test_strata(seed: int) -> None:
    """Samples are in one stratum exactly when class and groups agree; totals add up the weights."""
    case = random_case(seed, n_classes=3)
    strata = case.samples.strata()
    keys = list(zip(case.y, case.groups["sex"].codes, case.groups["dept"].codes, strict=True))
    assert len(strata) == len(set(keys))
    for i, s in enumerate(strata.of_sample):
        assert keys[i] == (strata.label[s], strata.groups["sex"][s], strata.groups["dept"][s])
    for s in range(len(strata)):
        assert strata.totals[s] == pytest.approx(case.weight[strata.of_sample == s].sum())
    rows = np.arange(0, len(case.y), 2)
    part = strata.part(rows, case.weight[rows])
    assert part.label is strata.label
    assert part.totals.sum() == pytest.approx(case.weight[rows].sum())


def test_many_combinations() -> None:
    """Strata are found by sorting where a table of all combinations would be large."""
    rng = np.random.default_rng(0)
    groups = {f"g{i}": GroupColumn(rng.integers(32, size=50), tuple(range(32))) for i in range(5)}
    strata = strata_of(rng.integers(2, size=50), groups)
    for name, column in groups.items():
        assert (strata.groups[name][strata.of_sample] == column.codes).all()


def test_classes_of_no_weight() -> None:
    """Samples of a class that counts for nothing take no part in constraints."""
    samples = Samples(np.array([0, 1, 1]), np.ones(3), class_scale=np.array([2.0, 0.0]))
    assert samples.weight.tolist() == [1.0, 0.0, 0.0]
    assert samples.strata().totals.tolist() == [1.0, 0.0]
