"""Policies and survival trees from disk are those of memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import omtree
import omtree.fit.thresholds
from helpers.disk_tables import COLUMNS, PLAIN, table, write_parquet
from omtree import OptimalPolicyTree, OptimalSurvivalTree, scan
from omtree.constraints import AnswerShare
from omtree.sources.counts import SummedCounts

pytestmark = pytest.mark.filterwarnings("ignore:Columns that cannot tell:UserWarning")

ACTIONS = ["none", "drug", "surgery"]


@pytest.fixture(params=["as they are", "merged", "in a file"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the rows are while a tree is sought: in memory, coded in memory, or in a file."""
    monkeypatch.setattr(omtree.fit.thresholds, "MIN_SAMPLES", 300)
    monkeypatch.setattr(omtree.fit.thresholds, "MAX_CELLS", 10)
    if request.param != "as they are":
        monkeypatch.setattr("omtree.sources.disk.disk_samples.SMALL_SHARE", 0.0)
    if request.param == "in a file":
        monkeypatch.setattr("omtree.sources.disk.rows.TABLE_SHARE", 1e-7)
        monkeypatch.setattr("omtree.data.merging._FIRST_MERGE", 50)
    return str(request.param)


@pytest.fixture
def summed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Notes every question about sums over rows in a file."""
    asked: list[int] = []
    tables = SummedCounts.tables
    monkeypatch.setattr(SummedCounts, "tables", lambda *given: asked.append(1) or tables(*given))
    return asked


def rows_with_targets(seed: int = 0) -> pa.Table:
    """The table with whole rewards of three actions, times in days, some of them zero, and events."""
    rows = table(seed)
    rng = np.random.default_rng(seed + 100)
    age, size = rows["age"].to_numpy(), rows["size"].to_numpy().astype(float)
    sick = age > 45
    rewards = {"none": np.where(sick, 0, 5), "drug": np.where(sick, 4 + size, 2), "surgery": np.where(size > 3, 9, 1)}
    for name, values in rewards.items():
        rows = rows.append_column(name, pa.array((values + rng.integers(-3, 4, len(age))).astype(float)))
    days = np.floor(rng.exponential(np.where(sick, 20.0, 60.0)))
    return rows.append_column("days", pa.array(days)).append_column("died", pa.array(rng.random(len(age)) < 0.7))


def assert_same(here: Any, there: Any, *, exact: bool) -> None:
    """Same rules, answers and certificate; the losses but for rounding where sums are taken in another order."""
    assert here.certificate_.status == there.certificate_.status == "optimal"
    assert here.certificate_.search_space == there.certificate_.search_space
    assert here.certificate_.value == pytest.approx(there.certificate_.value, rel=1e-12)
    rows = table().select(COLUMNS)
    assert (here.apply(rows) == there.apply(rows)).all()
    if exact:
        assert omtree.to_text(here.rules_) == omtree.to_text(there.rules_)
        assert (here.predict(rows) == there.predict(rows)).all()


@pytest.mark.parametrize("weight", [None, "weight", "share"])
@pytest.mark.parametrize("binning", ["adaptive", "supervised"])
def test_policies(place: str, weight: str | None, binning: str, tmp_path: Path, summed: list[int]) -> None:
    """The same policy, and the same value of it, with and without weights."""
    rows = rows_with_targets()
    extra = {} if weight is None else {"sample_weight": rows[weight].to_numpy()}
    options: dict[str, Any] = {"max_depth": 3, "n_bins": 4, "binning": binning}
    here = OptimalPolicyTree(reading=PLAIN, **options).fit(
        rows.select(COLUMNS), rewards=rows.select(ACTIONS).to_pandas(), **extra
    )
    there = OptimalPolicyTree(**options).fit(
        scan(write_parquet(rows, tmp_path), ACTIONS, columns=COLUMNS, weight=weight)
    )
    assert bool(summed) == (place == "in a file")
    assert_same(here, there, exact=weight != "share")
    assert there.actions_.tolist() == ACTIONS
    for mine, yours in zip(here.rules_, there.rules_, strict=True):
        assert mine.support == pytest.approx(yours.support)
        assert mine.values == pytest.approx(yours.values)
    assert str(there.value_) == str(here.value_)
    assert there.value_.policy.low == pytest.approx(here.value_.policy.low, rel=1e-9)
    assert there.value_.gain["all drug"].high == pytest.approx(here.value_.gain["all drug"].high, rel=1e-9)
    there.save(tmp_path / "model.json")
    again = omtree.load(tmp_path / "model.json")
    assert (again.predict(rows.select(COLUMNS)) == there.predict(rows.select(COLUMNS))).all()


@pytest.mark.parametrize("weight", [None, "weight", "share"])
@pytest.mark.parametrize("binning", ["adaptive", "supervised"])
def test_survival(place: str, weight: str | None, binning: str, tmp_path: Path, summed: list[int]) -> None:
    """The same risks and curves, with times of zero, with and without weights."""
    rows = rows_with_targets()
    times, events = rows["days"].to_numpy(), rows["died"].to_numpy(zero_copy_only=False)
    assert ((times == 0) & events).any()
    assert ((times == 0) & ~events).any()
    extra = {} if weight is None else {"sample_weight": rows[weight].to_numpy()}
    options: dict[str, Any] = {"max_depth": 3, "n_bins": 4, "binning": binning}
    here = OptimalSurvivalTree(reading=PLAIN, **options).fit(rows.select(COLUMNS), time=times, event=events, **extra)
    there = OptimalSurvivalTree(**options).fit(
        scan(write_parquet(rows, tmp_path), ["days", "died"], columns=COLUMNS, weight=weight)
    )
    assert bool(summed) == (place == "in a file")
    assert_same(here, there, exact=False)
    assert there.event_times_.tolist() == here.event_times_.tolist()
    for mine, yours in zip(here.rules_, there.rules_, strict=True):
        assert mine.prediction == pytest.approx(yours.prediction, rel=1e-12)
        assert mine.survival.times == yours.survival.times
        assert mine.survival.at_risk == pytest.approx(yours.survival.at_risk)
        assert mine.survival.hazard == pytest.approx(yours.survival.hazard)


def test_relations_and_events_of_numbers(tmp_path: Path) -> None:
    """A DuckDB relation, with the names of time and event, or of the actions, given to fit."""
    rows = rows_with_targets()
    path = write_parquet(rows, tmp_path)
    names = ", ".join(["age", "size", "income"])
    lazy = duckdb.sql(f"SELECT {names}, days, died::INTEGER AS died FROM '{path}'")
    there = OptimalSurvivalTree(max_depth=2).fit(lazy, time="days", event="died")
    here = OptimalSurvivalTree(max_depth=2, reading=PLAIN).fit(
        rows.select(["age", "size", "income"]),
        time=rows["days"].to_numpy(),
        event=rows["died"].to_numpy(zero_copy_only=False),
    )
    assert here.certificate_.value == pytest.approx(there.certificate_.value, rel=1e-12)
    policy = OptimalPolicyTree(max_depth=2).fit(
        duckdb.sql(f"SELECT {names}, {', '.join(ACTIONS)} FROM '{path}'"), rewards=ACTIONS
    )
    assert policy.certificate_.status == "optimal"
    assert policy.value_.rows == rows.num_rows


def test_constraints_of_policies_that_fit_into_memory_once_coded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A share of treated rows is kept, and the model is that of memory."""
    monkeypatch.setattr("omtree.sources.disk.disk_samples.SMALL_SHARE", 0.0)
    rows = rows_with_targets()
    options: dict[str, Any] = {"max_depth": 2, "n_bins": 4, "constraints": [AnswerShare("surgery", at_most=0.05)]}
    here = OptimalPolicyTree(reading=PLAIN, **options).fit(
        rows.select(COLUMNS), rewards=rows.select(ACTIONS).to_pandas()
    )
    there = OptimalPolicyTree(**options).fit(scan(write_parquet(rows, tmp_path), ACTIONS, columns=COLUMNS))
    assert here.certificate_.value == pytest.approx(there.certificate_.value)
    assert there.value_.shares["surgery"] <= 0.05


def test_what_rows_on_disk_cannot_have_is_said(tmp_path: Path) -> None:
    """One sentence that names the column or parameter."""
    rows = rows_with_targets()
    bad = rows.append_column("sometimes", pa.array([2] * rows.num_rows)).append_column(
        "gone", pa.array([None] + [1.0] * (rows.num_rows - 1))
    )
    path = write_parquet(bad, tmp_path)
    for target, text in (
        ("days", "this model needs two, time and event"),
        (["days", "sometimes"], "'sometimes' has entries that are neither 0 nor 1"),
        (["score", "died"], "'score' has negative entries"),
        (["gone", "died"], "'gone' has missing or infinite entries"),
        (["days", "y"], "'y' holds no numbers or flags"),
        (["nowhere", "died"], "no column 'nowhere'"),
    ):
        with pytest.raises(ValueError, match=text):
            OptimalSurvivalTree().fit(scan(path, target))
    for target, text in (
        ("none", "this model needs several"),
        (["none", "gone"], "The reward 'gone' has missing"),
        (["none", "y"], "'y' holds no numbers"),
    ):
        with pytest.raises(ValueError, match=text):
            OptimalPolicyTree().fit(scan(path, target))
    with pytest.raises(ValueError, match="this model needs one; name one, or load the rows"):
        omtree.OptimalTreeRegressor().fit(scan(path, ACTIONS))
    relation = duckdb.from_arrow(rows)
    with pytest.raises(ValueError, match="fitted to rewards; give rewards="):
        OptimalPolicyTree().fit(relation)
    with pytest.raises(ValueError, match="have time= and event= by name"):
        OptimalSurvivalTree().fit(relation)
    with pytest.raises(ValueError, match="entry needs rows in memory"):
        OptimalSurvivalTree().fit(scan(path, ["days", "died"]), entry="age")
    with pytest.raises(ValueError, match="have rewards by name"):
        OptimalPolicyTree().fit(scan(path, ACTIONS), treatment="group")


def test_what_the_page_says_is_refused_on_disk_is(tmp_path: Path) -> None:
    """Each in one sentence that says what to do, however few the rows are."""
    path = write_parquet(rows_with_targets(), tmp_path)
    lines = omtree.OptimalTreeRegressor(leaves="linear")
    with pytest.raises(ValueError, match=r"leaves='linear' does not go with rows on disk; use leaves='constant'\."):
        lines.fit(scan(path, "score"))
    with pytest.raises(ValueError, match=r"costs by row need rows in memory or on a cluster; load them"):
        omtree.OptimalTreeClassifier().fit(scan(path, "y"), costs=["none", "drug"])
    for model, target in (
        (omtree.OptimalTreeClassifier, "y"),
        (OptimalPolicyTree, ACTIONS),
        (OptimalSurvivalTree, ["days", "died"]),
    ):
        with pytest.raises(ValueError, match=r"on disk or on a cluster are not cross-validated; .* or load the rows"):
            model(max_leaves="auto").fit(scan(path, target))
        with pytest.raises(ValueError, match=r"stability needs rows in memory; load them, or leave it out\."):
            model(max_depth=1, stability=2).fit(scan(path, target))
