"""Regression on Dask frames: sums of the target are formed where the rows are, and the model is that of memory."""

import numpy as np
import pandas as pd
import pytest

from helpers.dask_tables import on_dask, random_frame, random_targets, same_model
from omtree import OptimalTreeRegressor
from omtree.constraints import MinSupport
from omtree.sources.cluster import cluster_columns, gathered_target
from omtree.sources.cluster.cluster_counts import DaskCounts

pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore:Columns that cannot tell")


@pytest.fixture(scope="module")
def workers():
    """A cluster of three workers that are threads here."""
    cluster = distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def summed(monkeypatch):
    """Tables of sums that workers were asked for."""
    asked, tables = [], DaskCounts.tables

    def counting(counts, sets, stopped):
        asked.append(counts.totals)
        return tables(counts, sets, stopped)

    monkeypatch.setattr(DaskCounts, "tables", counting)
    return asked


def whole_targets(frame, seed):
    """Numbers of which sums are exact in any order."""
    return random_targets(frame, seed).round() + 0.25


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("binning", ["quantile", "supervised"])
@pytest.mark.parametrize("options", [{}, {"max_depth": 4, "max_leaves": 9}, {"max_children": 2, "max_leaves": 6}])
def test_sums_of_whole_numbers_stay_on_the_workers(workers, summed, monkeypatch, options, binning, weighted):
    """Squared loss of whole numbers: no row comes here, and the model is that of memory to the last digit."""
    monkeypatch.setattr(cluster_columns, "gather_target", None)
    frame, _, weight = random_frame(15)
    target = whole_targets(frame, 15)
    options = {"binning": binning, "n_bins": 4, "max_depth": 3, **options}
    given = [frame, target, weight] if weighted else [frame, target]
    here = OptimalTreeRegressor(**options).fit(*given[:2], sample_weight=weight if weighted else None)
    X, y, *w = on_dask(*given)
    there = OptimalTreeRegressor(**options).fit(X, y, sample_weight=w[0] if w else None)
    same_model(there, here)
    assert [rule.prediction for rule in there.rules_] == [rule.prediction for rule in here.rules_]
    assert summed
    assert all(len(totals) == 3 for totals in summed)


@pytest.mark.parametrize("objective", ["squared", "poisson"])
@pytest.mark.parametrize("splits", ["multiway", "binary"])
def test_numbers_that_are_too_many_here_are_added_up_on_the_workers(workers, summed, monkeypatch, objective, splits):
    """Sums of fractions, where the rows have no room here: the best loss of memory, but for rounding."""
    frame, _, _ = random_frame(16)
    target, weight = random_targets(frame, 16), pd.Series(np.random.default_rng(16).random(len(frame)), name="weight")
    options = {"binning": "quantile", "n_bins": 4, "objective": objective, "splits": splits, "max_leaves": 6}
    here = OptimalTreeRegressor(**options).fit(frame, target, sample_weight=weight)
    monkeypatch.setattr(gathered_target, "usable_memory", lambda: 10_000)
    X, y, w = on_dask(frame, target, weight)
    there = OptimalTreeRegressor(**options).fit(X, y, sample_weight=w)
    assert summed
    assert there.certificate_.status == here.certificate_.status == "optimal"
    assert there.certificate_.value == pytest.approx(here.certificate_.value, rel=1e-12)
    assert np.var(there.predict(X).compute() - here.predict(frame)) < (1e-20 if splits == "multiway" else np.inf)


def test_what_sums_do_not_decide_fetches_the_numbers(workers):
    """Of targets that could stay, the rows come here for other objectives, constraints and rules."""
    frame, _, weight = random_frame(17)
    target = whole_targets(frame, 17)
    X, y, w = on_dask(frame, target, weight)
    for options in (
        {"objective": "absolute"},
        {"constraints": [MinSupport(100)]},
        {"structure": "rules"},
        {"feature_order": "importance"},
    ):
        options = {"binning": "quantile", "n_bins": 4, "max_depth": 2, **options}
        here = OptimalTreeRegressor(**options).fit(frame, target, sample_weight=weight)
        same_model(OptimalTreeRegressor(**options).fit(X, y, sample_weight=w), here)
