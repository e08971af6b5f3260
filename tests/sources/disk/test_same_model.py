"""A fit from disk gives the model that a fit from memory gives, to the last digit."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import omtree.fit.thresholds
import omtree.sources.disk.disk_samples
from helpers.disk_tables import COLUMNS, PLAIN, assert_same_model, table, write_parquet
from omtree import OptimalTreeClassifier, OptimalTreeRegressor, constraints, scan
from omtree.sources.counts import SummedCounts

pytestmark = pytest.mark.filterwarnings("ignore:Columns that cannot tell:UserWarning")


def both(
    estimator: Any,
    folder: Path,
    target: str,
    weight: str | None = None,
    groups: tuple[str, ...] = (),
    seed: int = 0,
    columns: list[str] = COLUMNS,
) -> tuple[Any, Any]:
    """The model of the same rows from memory, where texts are taken as they are on disk too, and from disk."""
    rows = table(seed)
    pounds = np.maximum(4 * rows["amount"].to_numpy(), 0).round()
    rows = rows.append_column("pounds", pa.array(pounds))
    extra: dict[str, Any] = {}
    if weight is not None:
        extra["sample_weight"] = rows[weight].to_numpy()
    if groups:
        extra["groups"] = rows.select(list(groups))
    plain = {**estimator.get_params(), "reading": PLAIN}
    here = type(estimator)(**plain).fit(rows.select(columns), rows[target].to_numpy(), **extra)
    found = scan(write_parquet(rows, folder), target, columns=columns, weight=weight, groups=groups)
    return here, type(estimator)(**estimator.get_params()).fit(found)


@pytest.mark.parametrize("binning", ["adaptive", "quantile", "supervised"])
@pytest.mark.parametrize("weight", [None, "weight", "share"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_classes(way: str, binning: str, weight: str | None, class_weight: Any, tmp_path: Path) -> None:
    """With every kind of thresholds, with and without weights."""
    model = OptimalTreeClassifier(max_depth=2, binning=binning, class_weight=class_weight)
    here, there = both(model, tmp_path, "y", weight)
    assert_same_model(here, there)
    assert there.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("binning", ["adaptive", "quantile", "supervised"])
@pytest.mark.parametrize("objective", ["squared", "absolute"])
def test_numbers(way: str, binning: str, objective: str, tmp_path: Path) -> None:
    """A numeric target: sums of its values are those of memory in every digit, with weights too."""
    model = OptimalTreeRegressor(max_depth=2, binning=binning, objective=objective)
    assert_same_model(*both(model, tmp_path / "a", "amount"))
    assert_same_model(*both(model, tmp_path / "b", "amount", "share"))


@pytest.mark.parametrize("objective", ["balanced_error", "gini", "f1"])
def test_objectives(merged: None, objective: str, tmp_path: Path) -> None:
    """Other objectives of classes."""
    assert_same_model(*both(OptimalTreeClassifier(max_depth=2, objective=objective), tmp_path, "y"))


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("options", [{"objective": "gini"}, {"objective": "entropy"}, {"costs": [[0, 1], [3, 0]]}])
def test_objectives_of_more_rows_than_fit(
    spilled: None, options: dict[str, Any], weight: str | None, tmp_path: Path
) -> None:
    """What the weights of the classes decide is found from joint counts alone."""
    model = OptimalTreeClassifier(max_leaves=5, n_bins=4, binning="quantile", **options)
    assert_same_model(*both(model, tmp_path, "y", weight, columns=["age", "size", "income", "member", "score"]))


def test_own_objective(merged: None, tmp_path: Path) -> None:
    """A function of the class weights of a rule."""

    def impure(rule: Any) -> float:
        return 0.0 if rule.class_weights.max() > 0.8 * rule.weight else float(rule.weight)

    model = OptimalTreeClassifier(max_depth=1, objective=impure, n_bins=3, binning="quantile")
    assert_same_model(*both(model, tmp_path, "y"))


def test_rules(merged: None, tmp_path: Path) -> None:
    """Sets of disjoint rules."""
    model = OptimalTreeClassifier(max_depth=2, structure="rules", n_bins=3, binning="quantile")
    assert_same_model(*both(model, tmp_path, "digit"))


def test_order_by_importance(merged: None, tmp_path: Path) -> None:
    """An order of the features that looks at the coded rows."""
    model = OptimalTreeClassifier(max_depth=2, feature_order="importance")
    assert_same_model(*both(model, tmp_path, "y"))


@pytest.mark.parametrize("groups", [("group",), ()])
def test_constraints(way: str, groups: tuple[str, ...], tmp_path: Path) -> None:
    """Constraints over the whole model and over groups, given apart or among the columns."""
    limits = [
        constraints.StatisticalParity(groups[0] if groups else "colour", 0.2),
        constraints.Recall("yes", at_least=0.7),
        constraints.MinSupport(30),
    ]
    model = OptimalTreeClassifier(max_depth=2, constraints=limits, n_bins=4)
    here, there = both(model, tmp_path, "y", groups=groups)
    assert_same_model(here, there)
    assert [check.value for check in here.certificate_.constraints] == [
        check.value for check in there.certificate_.constraints
    ]


def test_kinds(way: str, tmp_path: Path) -> None:
    """Columns that the user says are ordinal, nominal or numeric."""
    kinds = {"size": "nominal", "member": "numeric", "colour": ["", "red", "green", "it's", "blue"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = OptimalTreeClassifier(max_depth=2, feature_kinds=kinds, n_bins=4)
        assert_same_model(*both(model, tmp_path, "y"))


@pytest.mark.parametrize("seed", range(4))
def test_thresholds_on_a_sample(merged: None, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In many rows thresholds are found on a sample, and it is the same sample."""
    monkeypatch.setattr(omtree.fit.thresholds, "MIN_SAMPLES", 300)
    monkeypatch.setattr(omtree.fit.thresholds, "MAX_CELLS", 10)
    assert_same_model(*both(OptimalTreeClassifier(max_depth=2), tmp_path, "digit", seed=seed))


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_rows_in_a_file(spilled: None, depth: int, weight: str | None, tmp_path: Path) -> None:
    """Rows that do not fit into memory even when merged."""
    model = OptimalTreeClassifier(max_depth=depth, n_bins=4, binning="quantile")
    assert_same_model(*both(model, tmp_path, "digit", weight))


@pytest.mark.parametrize("weight", [None, "weight", "share"])
@pytest.mark.parametrize("objective", ["squared", "poisson"])
@pytest.mark.parametrize("binning", ["adaptive", "quantile", "supervised"])
def test_numbers_in_a_file(
    spilled: None, binning: str, objective: str, weight: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of a target whose rows do not fit into memory: the same model, and the same loss but for rounding."""
    monkeypatch.setattr(omtree.fit.thresholds, "MIN_SAMPLES", 300)
    monkeypatch.setattr(omtree.fit.thresholds, "MAX_CELLS", 10)
    summed = []
    tables = SummedCounts.tables
    monkeypatch.setattr(SummedCounts, "tables", lambda *given: summed.append(1) or tables(*given))
    model = OptimalTreeRegressor(max_depth=3, n_bins=4, binning=binning, objective=objective)
    here, there = both(model, tmp_path, "pounds", weight)
    assert summed
    assert here.certificate_.status == there.certificate_.status == "optimal"
    assert here.certificate_.value == pytest.approx(there.certificate_.value, rel=1e-12)
    rows = table().select(COLUMNS)
    assert here.predict(rows) == pytest.approx(there.predict(rows), rel=1e-12)
    if weight != "share":
        # Sums of whole numbers are the same in every digit, in any order.
        assert (here.predict(rows) == there.predict(rows)).all()
        assert omtree.to_text(here.rules_) == omtree.to_text(there.rules_)


def test_rows_in_a_file_with_thresholds_on_a_sample(
    spilled: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thresholds are found on the sample, the tree on all rows in the file."""
    monkeypatch.setattr(omtree.fit.thresholds, "MIN_SAMPLES", 300)
    monkeypatch.setattr(omtree.fit.thresholds, "MAX_CELLS", 10)
    assert_same_model(*both(OptimalTreeClassifier(max_depth=2), tmp_path, "y"))


def test_numbers_counted_in_ranges(merged: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of many rows are counted in ranges first, and have the same quantiles."""
    monkeypatch.setattr(omtree.sources.disk.disk_samples, "_FEW_ROWS", 20)
    assert_same_model(*both(OptimalTreeClassifier(max_depth=2, binning="quantile"), tmp_path, "y"))


@pytest.mark.parametrize("source", ["relation", "polars", "narwhals", "narwhals relation"])
def test_lazy_frames(way: str, source: str, tmp_path: Path) -> None:
    """DuckDB relations and lazy frames are fitted with the names of their columns."""
    rows = table()
    path = write_parquet(rows, tmp_path)
    names = [*COLUMNS, "y", "weight"]
    lazy: Any = pl.scan_parquet(path).select(names)
    if source.endswith("relation"):
        lazy = duckdb.sql(f"SELECT {', '.join(names)} FROM '{path}'")
    if source.startswith("narwhals"):
        lazy = nw.from_native(lazy)
    here = OptimalTreeClassifier(max_depth=2, reading=PLAIN).fit(
        rows.select(COLUMNS), rows["y"].to_numpy(), sample_weight=rows["weight"].to_numpy()
    )
    assert_same_model(here, OptimalTreeClassifier(max_depth=2).fit(lazy, "y", sample_weight="weight"))
