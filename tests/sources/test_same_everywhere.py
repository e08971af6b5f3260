"""One model from rows in memory, on disk, in a file beyond memory and on three workers of which one is killed."""

import os
import signal

import numpy as np
import pandas as pd
import pytest

import omtree.data.merging
import omtree.sources.disk.disk_samples
import omtree.sources.disk.rows
from helpers.dask_tables import same_model
from omtree import OptimalTreeClassifier, OptimalTreeRegressor, scan
from omtree.constraints import StatisticalParity
from omtree.sources.cluster.frames import Cluster

dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pytest.importorskip("duckdb")

OPTIONS = {"binning": "quantile", "n_bins": 5, "max_depth": 3, "max_leaves": 7}
#: By name: the estimator, its target, and its own parameters.
MODELS = {
    "squared": (OptimalTreeRegressor, "pounds", {}),
    "gini": (OptimalTreeClassifier, "answer", {"objective": "gini"}),
    "entropy": (OptimalTreeClassifier, "answer", {"objective": "entropy"}),
    "costs": (OptimalTreeClassifier, "answer", {"costs": [[0, 1, 2], [4, 0, 1], [9, 3, 0]]}),
    "children": (OptimalTreeClassifier, "answer", {"max_children": 2}),
    "parity": (
        OptimalTreeClassifier,
        "answer",
        {"constraints": [StatisticalParity("sex", 0.02, class_="yes")], "n_bins": 3},
    ),
}


def rows_of(seed):
    """Numbers, texts and flags, some missing, three classes and whole numbers."""
    rng = np.random.default_rng(seed)
    n_rows = 1_200
    rows = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n_rows),
            "dose": np.where(rng.random(n_rows) < 0.1, np.nan, rng.exponential(size=n_rows)),
            "ward": rng.choice(["A", "B", "C", None], n_rows),
            "sex": rng.choice(["f", "m"], n_rows),
            "noise": rng.normal(size=n_rows),
        }
    )
    late = (rows["age"] > 55) & (rows["dose"] < 1) | (rows["sex"] == "f") & (rows["ward"] == "A")
    answer = np.where(late, "yes", np.where(rows["noise"] > 0.8, "maybe", "no"))
    rows["answer"] = np.where(rng.random(n_rows) < 0.15, rng.choice(["yes", "no"], n_rows), answer)
    rows["pounds"] = (10 * late + 0.2 * rows["age"] + rng.exponential(3, n_rows)).round()
    return rows


@pytest.fixture(scope="module")
def workers():
    """Three processes."""
    local = distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0")
    with local, distributed.Client(local) as client:
        yield client


@pytest.fixture
def killed(workers, monkeypatch):
    """Processes that were killed once they had coded rows."""
    keep, dead = Cluster.keep, []

    def killing(cluster, tasks):
        kept = keep(cluster, tasks)
        if not dead:
            distributed.wait(kept)
            with_rows = {name for names in workers.who_has().values() for name in names}
            pids = workers.run(os.getpid)
            dead.append(next(pids[name] for name in pids if name in with_rows))
            os.kill(dead[0], signal.SIGKILL)
        return kept

    monkeypatch.setattr(Cluster, "keep", killing)
    return dead


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", MODELS)
def test_one_model(name, seed, workers, killed, tmp_path, monkeypatch):
    """Value, bound, rules and every number of them, to the last digit."""
    kind, target, own = MODELS[name]
    options, rows = {**OPTIONS, **own}, rows_of(seed)
    columns = ["age", "dose", "ward", "sex", "noise"]
    here = kind(**options).fit(rows[columns], rows[target])
    assert here.certificate_.leaves > 2
    if "constraints" in own:
        free = kind(**{**options, "constraints": []}).fit(rows[columns], rows[target])
        assert free.certificate_.value < here.certificate_.value

    found = []
    given = dd.from_pandas(rows, npartitions=6)
    found.append(kind(**options).fit(given[columns], given[target]))
    assert killed[0] not in workers.run(os.getpid).values()
    path = tmp_path / "rows.parquet"
    rows.to_parquet(path)
    found.append(kind(**options).fit(scan(path, target, columns=columns)))
    monkeypatch.setattr(omtree.sources.disk.disk_samples, "SMALL_SHARE", 0.0)
    found.append(kind(**options).fit(scan(path, target, columns=columns)))
    monkeypatch.setattr(omtree.sources.disk.rows, "TABLE_SHARE", 1e-7)
    monkeypatch.setattr(omtree.data.merging, "_FIRST_MERGE", 50)
    if "constraints" not in own:
        found.append(kind(**options).fit(scan(path, target, columns=columns)))
    for there in found:
        same_model(there, here)
        assert [rule.prediction for rule in there.rules_] == [rule.prediction for rule in here.rules_]
        assert [rule.loss for rule in there.rules_] == [rule.loss for rule in here.rules_]
