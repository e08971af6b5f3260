"""Which rules of a pool are in the LP."""

from __future__ import annotations

import numpy as np
import pytest

from omtree.engines.rules import lp_columns
from omtree.engines.rules.lp_columns import LpColumns

NO_MODEL = np.empty(0, dtype=np.int32)


def test_only_negative_columns_come_in_cheapest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three waiting columns two are let in at a time; those whose cost is not negative stay out."""
    monkeypatch.setattr(lp_columns, "BATCH", 2)
    columns = LpColumns(1, limited=True)
    cost = np.array([0.0, -1.0, -3.0, -2.0, 0.0, 4.0])
    assert columns.enter(cost, 1e-9, 10, NO_MODEL) == (2, -3.0)
    assert columns.numbers().tolist() == [0, 2, 3]
    assert columns.enter(cost, 1e-9, 10, NO_MODEL) == (1, -1.0)
    assert columns.enter(cost, 1e-9, 10, NO_MODEL) == (0, 0.0)
    assert columns.numbers().tolist() == [0, 1, 2, 3]


def test_several_times_as_many_come_in_and_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """With twice as many, four come in at a time instead of two, and none leaves where the dearest would."""
    monkeypatch.setattr(lp_columns, "BATCH", 2)
    monkeypatch.setattr(lp_columns, "FEWEST_COLUMNS", 1)
    monkeypatch.setattr(lp_columns, "COLUMNS_A_ROW", 2.0)
    cost = np.array([5.0, 4.0, 3.0, 2.0, 1.0, -1.0, -2.0, -3.0, -4.0, -5.0])
    once, twice = LpColumns(5, limited=True), LpColumns(5, limited=True, times=2)
    assert once.enter(cost, 1e-9, 2, NO_MODEL)[0] == 2
    assert once.numbers().tolist() == [2, 3, 4, 8, 9]
    assert twice.enter(cost, 1e-9, 2, NO_MODEL)[0] == 4
    assert twice.numbers().tolist() == [0, 1, 2, 3, 4, 6, 7, 8, 9]


def test_without_a_limit_all_come_in_and_none_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the number at a time nor that of all counts."""
    monkeypatch.setattr(lp_columns, "BATCH", 1)
    monkeypatch.setattr(lp_columns, "FEWEST_COLUMNS", 1)
    columns = LpColumns(4, limited=False)
    assert columns.enter(np.array([9.0, 9.0, 9.0, 9.0, -1.0, -2.0]), 1e-9, 0, NO_MODEL) == (2, -2.0)
    assert columns.inside.all()


def test_the_dearest_leave_but_for_the_best_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above four columns the cheapest half stays, and the rules of the best model whatever they cost."""
    monkeypatch.setattr(lp_columns, "FEWEST_COLUMNS", 4)
    monkeypatch.setattr(lp_columns, "COLUMNS_A_ROW", 2.0)
    columns = LpColumns(6, limited=True)
    cost = np.array([5.0, 1.0, 2.0, 3.0, 4.0, 6.0, -1.0])
    columns.enter(cost, 1e-9, 1, np.array([5], dtype=np.int32))
    assert columns.numbers().tolist() == [1, 2, 3, 5, 6]


def test_as_many_columns_stay_as_the_rows_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """An LP of many rows keeps more columns than the least number."""
    monkeypatch.setattr(lp_columns, "FEWEST_COLUMNS", 4)
    monkeypatch.setattr(lp_columns, "COLUMNS_A_ROW", 2.0)
    columns = LpColumns(6, limited=True)
    columns.enter(np.array([5.0, 1.0, 2.0, 3.0, 4.0, 6.0, -1.0]), 1e-9, 3, NO_MODEL)
    assert columns.inside.all()


def test_what_is_forgotten() -> None:
    """A pool keeps the columns of the LP, those of the best model, and the cheapest others up to half its limit."""
    columns = LpColumns(1, limited=True)
    kept = columns.worth_keeping(np.array([9.0, 3.0, 1.0, 2.0, 8.0]), 6, np.array([4], dtype=np.int32))
    assert np.flatnonzero(kept).tolist() == [0, 2, 4]
    columns.forget(kept)
    assert columns.inside.tolist() == [True, False, False]
