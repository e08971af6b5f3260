"""Fits and predictions on Dask frames: the same model as in memory, whatever happens to the workers."""

import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from helpers.dask_tables import on_dask, random_frame, random_targets, same_model
from omtree import OptimalTreeClassifier, OptimalTreeRegressor
from omtree.constraints import MinConfidence, Recall, StatisticalParity
from omtree.fit import thresholds
from omtree.sources.cluster import cluster_facts, gathered_target
from omtree.sources.cluster.cluster_counts import DaskCounts
from omtree.sources.cluster.frames import Cluster

dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def workers():
    """A cluster of three workers that are threads here."""
    cluster = distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:
        yield client


def test_files_that_dask_would_read_together(tmp_path):
    """Labels of a Parquet folder, of which Dask reads several files at once, stay with their rows.

    Of an ordered categorical in such files Dask does not know the levels; that is told.
    """
    frame, label, _ = random_frame(5)
    whole = pd.concat([frame.drop(columns="constant"), label], axis=1)
    for part in range(4):
        whole.iloc[225 * part : 225 * (part + 1)].to_parquet(tmp_path / f"part{part}.parquet")
    rows = dd.read_parquet(tmp_path)
    options = {"max_depth": 2, "binning": "quantile"}
    with pytest.raises(ValueError, match=r"Column 'size' is an ordered categorical whose levels Dask does not know"):
        OptimalTreeClassifier(**options).fit(rows, "label")
    options["feature_kinds"] = {"size": ["S", "M", "L"]}
    found = OptimalTreeClassifier(**options).fit(rows.drop(columns="label"), rows["label"])
    same_model(found, OptimalTreeClassifier(**options).fit(frame.drop(columns="constant"), label))


OPTIONS = [
    {"binning": "quantile"},
    {"binning": "quantile", "max_depth": 4, "n_bins": 4, "max_leaves": 9},
    {"binning": "supervised", "max_depth": 2, "categories": "values"},
    {"max_depth": 2},
    {"binning": "quantile", "max_depth": 2, "costs": [[0, 1, 2], [5, 0, 1], [1, 1, 0]]},
    {"binning": "quantile", "objective": "gini", "max_leaves": 6},
    {"binning": "quantile", "max_depth": 2, "feature_kinds": {"few": "nominal"}, "min_samples_leaf": 20},
]


@pytest.mark.filterwarnings("ignore:Columns that cannot tell")
@pytest.mark.parametrize("options", OPTIONS)
def test_a_cluster_finds_the_model_of_memory(workers, options):
    """With all types of columns, weights and limits the model on three workers is the one in memory."""
    frame, label, weight = random_frame(len(options))
    expected = OptimalTreeClassifier(**options).fit(frame, label, sample_weight=weight)
    X, y, w = on_dask(frame, label, weight)
    found = OptimalTreeClassifier(**options).fit(X, y, sample_weight=w)
    same_model(found, expected)
    assert list(found.feature_names_in_) == list(frame.columns)
    pd.testing.assert_series_equal(
        found.predict(X).compute(), pd.Series(expected.predict(frame)), check_names=False, check_dtype=False
    )
    np.testing.assert_array_equal(found.predict_proba(X).compute(), expected.predict_proba(frame))
    np.testing.assert_array_equal(found.apply(X).compute(), expected.apply(frame))


@pytest.mark.filterwarnings("ignore:Columns that cannot tell")
def test_large_data_choose_the_same_sample_for_their_thresholds(workers, monkeypatch):
    """Adaptive thresholds are found on a sample; it is the one that memory would draw."""
    monkeypatch.setattr(thresholds, "MAX_CELLS", 100)
    monkeypatch.setattr(thresholds, "MIN_SAMPLES", 300)
    frame, label, _ = random_frame(1)
    expected = OptimalTreeClassifier(max_depth=2).fit(frame, label)
    found = OptimalTreeClassifier(max_depth=2).fit(*on_dask(frame, label))
    same_model(found, expected)


@pytest.mark.filterwarnings("ignore:Columns that cannot tell")
def test_quantiles_of_many_values_are_exact(workers, monkeypatch):
    """Columns with too many values to list are counted in ranges, and cut where memory would cut them."""
    monkeypatch.setattr(cluster_facts, "FEW_VALUES", 50)
    frame, label, weight = random_frame(7)
    frame["wide"] = np.exp(20 * frame["many"])
    expected = OptimalTreeClassifier(max_depth=2, binning="quantile").fit(frame, label, sample_weight=weight)
    X, y, w = on_dask(frame, label, weight)
    found = OptimalTreeClassifier(max_depth=2, binning="quantile").fit(X, y, sample_weight=w)
    same_model(found, expected)
    for own, other in zip(found.graph_.features, expected.graph_.features, strict=True):
        np.testing.assert_array_equal(own.thresholds, other.thresholds)


@pytest.mark.filterwarnings("ignore:Columns that cannot tell")
def test_names_of_columns_and_no_client_will_do():
    """The target and the weights may be columns of X, and without a client Dask computes in threads."""
    frame, label, weight = random_frame(2)
    expected = OptimalTreeClassifier(max_depth=2, binning="quantile").fit(frame, label, sample_weight=weight)
    whole = dd.from_pandas(pd.concat([frame, label, weight], axis=1), npartitions=3)
    found = OptimalTreeClassifier(max_depth=2, binning="quantile").fit(whole, "label", sample_weight="weight")
    same_model(found, expected)


@pytest.mark.filterwarnings("ignore:Columns that cannot tell")
def test_a_class_weight_scales_the_counts(workers):
    """Weights of classes are multiplied after counting; the value agrees but for rounding."""
    frame, label, _ = random_frame(3)
    options = {"max_depth": 2, "binning": "quantile", "class_weight": "balanced"}
    expected = OptimalTreeClassifier(**options).fit(frame, label)
    found = OptimalTreeClassifier(**options).fit(*on_dask(frame, label))
    assert found.certificate_.value == pytest.approx(expected.certificate_.value, rel=1e-12)
    assert str(found.tree_) == str(expected.tree_)


@pytest.mark.filterwarnings("ignore:Columns that cannot tell")
def test_a_worker_that_dies_changes_nothing(monkeypatch):
    """A process killed after it coded its rows takes them with it; Dask codes them again, and the model is the same."""
    frame, label, _ = random_frame(4)
    options = {"max_depth": 4, "max_leaves": 8, "binning": "quantile", "n_bins": 4}
    expected = OptimalTreeClassifier(**options).fit(frame, label)
    killed = []
    count = DaskCounts.tables

    def killing(counts, sets, stopped):
        if not killed:
            distributed.wait(counts._parts)
            with_rows = {name for names in client.who_has().values() for name in names}
            pids = client.run(os.getpid)
            killed.append(next(pids[name] for name in pids if name in with_rows))
            os.kill(killed[0], signal.SIGKILL)
        return count(counts, sets, stopped)

    monkeypatch.setattr(DaskCounts, "tables", killing)
    cluster = distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:
        found = OptimalTreeClassifier(**options).fit(*on_dask(frame, label, npartitions=6))
        assert killed[0] not in client.run(os.getpid).values()
    same_model(found, expected)


GATHERED = [
    {"constraints": [StatisticalParity("flag", 0.02)]},
    {"constraints": [StatisticalParity("few", 0.1), Recall("high", at_least=0.6)], "max_depth": 2},
    {"constraints": [StatisticalParity("text", 0.1)], "splits": "binary", "max_depth": 2},
    {"constraints": [MinConfidence(0.6)], "max_children": 2},
    {"structure": "rules", "max_depth": 2},
    {"objective": "f1"},
]


@pytest.mark.filterwarnings("ignore:Columns that cannot tell")
@pytest.mark.parametrize("options", GATHERED)
def test_what_joint_counts_do_not_decide_is_solved_on_merged_rows(workers, options):
    """Constraints over groups and rules, scores and sets of rules: the model of memory, from rows merged by workers."""
    frame, label, weight = random_frame(11)
    label = label.where(label == "high", "low")
    options = {"binning": "quantile", "n_bins": 4, **options}
    expected = OptimalTreeClassifier(**options).fit(frame, label, sample_weight=weight)
    X, y, w = on_dask(frame, label, weight)
    same_model(OptimalTreeClassifier(**options).fit(X, y, sample_weight=w), expected)


NUMBERS = [
    {"binning": "quantile"},
    {"max_depth": 2},
    {"binning": "supervised", "max_depth": 2, "objective": "poisson"},
    {"binning": "quantile", "splits": "binary", "max_leaves": 6},
    {"binning": "quantile", "objective": "absolute", "max_depth": 2},
]


@pytest.mark.filterwarnings("ignore:Columns that cannot tell")
@pytest.mark.parametrize("options", NUMBERS)
def test_a_cluster_finds_the_regression_of_memory(workers, options):
    """Numeric targets, with weights of which some are zero: the model of memory, to the last digit."""
    frame, _, weight = random_frame(12)
    target = random_targets(frame, 12)
    expected = OptimalTreeRegressor(**options).fit(frame, target, sample_weight=weight)
    X, y, w = on_dask(frame, target, weight)
    found = OptimalTreeRegressor(**options).fit(X, y, sample_weight=w)
    same_model(found, expected)
    assert [rule.prediction for rule in found.rules_] == [rule.prediction for rule in expected.rules_]
    np.testing.assert_array_equal(found.predict(X).compute(), expected.predict(frame))


@pytest.mark.filterwarnings("ignore:Columns that cannot tell")
def test_a_worker_that_dies_takes_no_gathered_rows_with_it(monkeypatch):
    """Of a regression and of a fair tree the coded rows are made again where a process that held them is killed."""
    frame, label, _ = random_frame(13)
    label, target = label.where(label == "high", "low"), random_targets(frame, 13)
    options = {"max_depth": 2, "binning": "quantile", "n_bins": 4}
    fair = {**options, "constraints": [StatisticalParity("flag", 0.02)]}
    keep, killed = Cluster.keep, []

    def killing(cluster, tasks):
        kept = keep(cluster, tasks)
        distributed.wait(kept)
        with_rows = {name for names in client.who_has().values() for name in names}
        pids = client.run(os.getpid)
        killed.append(next(pids[name] for name in pids if name in with_rows))
        os.kill(killed[-1], signal.SIGKILL)
        return kept

    local = distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0")
    with local, distributed.Client(local) as client:
        monkeypatch.setattr(Cluster, "keep", killing)
        same_model(
            OptimalTreeRegressor(**options).fit(*on_dask(frame, target, npartitions=6)),
            OptimalTreeRegressor(**options).fit(frame, target),
        )
        same_model(
            OptimalTreeClassifier(**fair).fit(*on_dask(frame, label, npartitions=6)),
            OptimalTreeClassifier(**fair).fit(frame, label),
        )
        assert len(killed) > 1
        assert not set(killed) & set(client.run(os.getpid).values())


@pytest.mark.filterwarnings("ignore:Columns that cannot tell")
def test_rows_that_are_too_many_here_are_refused_in_a_sentence(monkeypatch):
    """Where the coded rows would not fit into the memory of the driver, that is said before the search."""
    monkeypatch.setattr(gathered_target, "usable_memory", lambda: 10_000)
    frame, label, _ = random_frame(5)
    X, y = on_dask(frame, label)
    options = {"binning": "quantile", "max_depth": 2}
    assert OptimalTreeClassifier(**options).fit(X, y).certificate_.status == "optimal"
    for other in ({"objective": lambda rule: rule.weight}, {"structure": "rules"}, {"feature_order": "importance"}):
        with pytest.raises(ValueError, match=r"This fit needs the coded rows in memory here, about 0\.0 GB"):
            OptimalTreeClassifier(**options, **other).fit(X, y)
    with pytest.raises(ValueError, match="This fit needs the coded rows in memory here"):
        OptimalTreeRegressor(**options, objective="absolute").fit(X, X["few"])


@pytest.mark.filterwarnings("ignore:Columns that cannot tell")
def test_groups_and_targets_that_cannot_be_are_named():
    """Groups beside X, groups that X does not have, and targets that are texts or missing: a sentence each."""
    frame, label, _ = random_frame(5)
    X, y = on_dask(frame, label)
    with pytest.raises(ValueError, match="groups must be columns of X"):
        OptimalTreeClassifier().fit(X, y, groups=y)
    with pytest.raises(ValueError, match="the group column 'sex', which X does not have"):
        OptimalTreeClassifier(constraints=[StatisticalParity("sex", 0.1, class_="high")]).fit(X, y)
    with pytest.raises(ValueError, match="'many' has 900 different values, more than"):
        OptimalTreeClassifier(constraints=[StatisticalParity("many", 0.1, class_="high")]).fit(X, y)
    with pytest.raises(ValueError, match="a regressor needs numbers"):
        OptimalTreeRegressor().fit(X, y)
    with pytest.raises(ValueError, match="y contains NaN or infinite targets"):
        OptimalTreeRegressor().fit(X, X["holes"])


@pytest.mark.filterwarnings("ignore:Columns that cannot tell")
def test_bad_input_is_named():
    """Labels that are no Dask series, other partitions, missing labels, bad weights and dates: a sentence each."""
    frame, label, weight = random_frame(6, 50)
    X, y, w = on_dask(frame, label, weight)
    model = OptimalTreeClassifier()
    with pytest.raises(ValueError, match="y must be a Dask series"):
        model.fit(X, label)
    with pytest.raises(ValueError, match="'nothing', which X does not have"):
        model.fit(X, "nothing")
    with pytest.raises(ValueError, match="5 partitions and y has 2"):
        model.fit(X, y.repartition(npartitions=2))
    with pytest.raises(ValueError, match="missing labels"):
        model.fit(X, y.where(y != "low"))
    with pytest.raises(ValueError, match="sample_weight has missing, infinite or negative"):
        model.fit(X, y, sample_weight=w - 2)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X, y.where(y == "low", "low"))
    with pytest.raises(ValueError, match="'many' has infinite values"):
        model.fit(X.assign(many=X["many"].where(X["many"] < 1, np.inf)), y)
    with pytest.raises(ValueError, match="date"):
        model.fit(X.assign(when=dd.to_datetime(X["few"])), y)
    fitted = OptimalTreeClassifier(max_depth=1).fit(X, y)
    with pytest.raises(ValueError, match="lacks the column 'holes'"):
        fitted.predict(X[["few", "many"]])


def test_dask_is_not_loaded_unless_it_is_used():
    """Importing the package, and a fit in memory, leave Dask alone."""
    code = (
        "import sys, omtree; omtree.OptimalTreeClassifier(max_depth=1).fit([[0], [1]], [0, 1]);"
        "assert not {'dask', 'distributed'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
