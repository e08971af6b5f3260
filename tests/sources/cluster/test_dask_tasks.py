"""Policies, survival, costs by row, several targets and lines in leaves on Dask frames: the same model as in memory."""

import os
import signal

import numpy as np
import pandas as pd
import pytest

from helpers.dask_tables import on_dask, random_frame, same_model
from omtree import OptimalPolicyTree, OptimalSurvivalTree, OptimalTreeClassifier, OptimalTreeRegressor
from omtree.constraints import AnswerShare, MinConfidence, StatisticalParity
from omtree.sources.cluster import gathered_target
from omtree.sources.cluster.frames import Cluster

dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore:Columns that cannot tell")

#: Parameters of any model.
OPTIONS = [
    {"max_depth": 2},
    {"max_depth": 3, "binning": "quantile", "n_bins": 4},
    {"max_depth": 2, "binning": "quantile", "n_bins": 4, "structure": "rules"},
    {"max_depth": 2, "splits": "binary", "binning": "supervised", "n_bins": 5},
]


@pytest.fixture(scope="module")
def workers():
    """A cluster of three workers that are threads here."""
    cluster = distributed.LocalCluster(n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:
        yield client


def fractions(seed, n_rows):
    """Weights that add up to other last digits in another order; some are zero."""
    rng = np.random.default_rng(seed)
    return pd.Series(np.where(rng.random(n_rows) < 0.1, 0.0, rng.random(n_rows)), name="weight")


def rewards_of(frame, seed):
    """What three actions bring."""
    rng = np.random.default_rng(seed)
    red, noise = (frame["text"] == "red").to_numpy(), rng.normal(size=(len(frame), 3))
    return pd.DataFrame(
        noise + np.stack([frame["many"], 2.0 * red - 0.5, 0.3 * frame["few"]], axis=1), columns=["wait", "pill", "cut"]
    )


def lifetimes_of(frame, seed):
    """Times and events that depend on two columns, and from when on rows were seen."""
    rng = np.random.default_rng(seed)
    time = rng.exponential(np.exp(frame["many"] + (frame["text"] == "red"))) + 0.01
    event = pd.Series(rng.random(len(frame)) < 0.7, name="event")
    time = pd.Series(time.round(3), name="time")
    return time, event, (time * rng.random(len(frame)) * 0.3).rename("entry")


@pytest.mark.parametrize("options", OPTIONS)
def test_a_cluster_finds_the_policy_of_memory(workers, options):
    """Rewards as another frame and as columns of X, fractional weights: model, value and intervals of memory."""
    frame, _, _ = random_frame(21)
    rewards, weight = rewards_of(frame, 21), fractions(21, len(frame))
    expected = OptimalPolicyTree(**options).fit(frame, rewards=rewards, sample_weight=weight)
    X, r, w = on_dask(frame, rewards, weight)
    found = OptimalPolicyTree(**options).fit(X, rewards=r, sample_weight=w)
    same_model(found, expected)
    assert found.value_ == expected.value_
    assert [rule.values for rule in found.rules_] == [rule.values for rule in expected.rules_]
    np.testing.assert_array_equal(found.scores_.rewards, expected.scores_.rewards)
    np.testing.assert_array_equal(found.predict(X).compute(), expected.predict(frame))
    np.testing.assert_array_equal(found.predict_value(X).compute(), expected.predict_value(frame))
    (both,) = on_dask(pd.concat([frame, rewards, weight], axis=1))
    named = OptimalPolicyTree(**options).fit(both, rewards=list(rewards), sample_weight="weight")
    same_model(named, expected)
    assert named.value_ == expected.value_


def test_limits_on_a_policy_hold_on_a_cluster(workers):
    """A budget and a fairness limit give the policy of memory."""
    frame, _, weight = random_frame(22)
    rewards = rewards_of(frame, 22)
    X, r, w = on_dask(frame, rewards, weight)
    options = {"max_depth": 2, "binning": "quantile", "n_bins": 4}
    for limit in (AnswerShare("pill", at_most=0.1), StatisticalParity("flag", 0.02, class_="pill")):
        expected = OptimalPolicyTree(**options, constraints=[limit]).fit(frame, rewards=rewards, sample_weight=weight)
        found = OptimalPolicyTree(**options, constraints=[limit]).fit(X, rewards=r, sample_weight=w)
        same_model(found, expected)
        free = OptimalPolicyTree(**options).fit(frame, rewards=rewards, sample_weight=weight)
        assert free.certificate_.value < expected.certificate_.value


@pytest.mark.parametrize("objective", ["hazard", "logrank"])
@pytest.mark.parametrize("options", OPTIONS)
def test_a_cluster_finds_the_survival_tree_of_memory(workers, options, objective):
    """Times by name and as series, left truncation, fractional weights: model and curves of memory."""
    frame, _, _ = random_frame(23)
    time, event, entry = lifetimes_of(frame, 23)
    weight = fractions(23, len(frame))
    options = {**options, "objective": objective}
    beside = {"time": time, "event": event, "entry": entry, "sample_weight": weight}
    expected = OptimalSurvivalTree(**options).fit(frame, **beside)
    X, *series = on_dask(frame, time, event, entry, weight)
    found = OptimalSurvivalTree(**options).fit(X, **dict(zip(beside, series, strict=True)))
    same_model(found, expected)
    assert [rule.survival for rule in found.rules_] == [rule.survival for rule in expected.rules_]
    np.testing.assert_array_equal(found.event_times_, expected.event_times_)
    np.testing.assert_array_equal(found.predict(X).compute(), expected.predict(frame))
    np.testing.assert_array_equal(found.predict_median(X).compute(), expected.predict_median(frame))
    (both,) = on_dask(pd.concat([frame, time, event, entry, weight], axis=1))
    names = {"time": "time", "event": "event", "entry": "entry", "sample_weight": "weight"}
    same_model(OptimalSurvivalTree(**options).fit(both, **names), expected)


@pytest.mark.parametrize("options", OPTIONS)
def test_costs_by_row_on_a_cluster(workers, options):
    """Each answer costs each row something else; with weights of classes as well."""
    frame, label, _ = random_frame(24)
    costs = pd.DataFrame(np.random.default_rng(24).random((len(frame), 3)), columns=["c0", "c1", "c2"])
    weight = fractions(24, len(frame))
    X, y, c, w = on_dask(frame, label, costs, weight)
    for class_weight in (None, "balanced", {"high": 2.5}):
        expected = OptimalTreeClassifier(**options, class_weight=class_weight)
        expected.fit(frame, label, sample_weight=weight, costs=costs)
        found = OptimalTreeClassifier(**options, class_weight=class_weight).fit(X, y, sample_weight=w, costs=c)
        same_model(found, expected)
        np.testing.assert_array_equal(found.predict(X).compute(), expected.predict(frame))
        np.testing.assert_array_equal(found.predict_proba(X).compute(), expected.predict_proba(frame))


@pytest.mark.parametrize("options", OPTIONS)
def test_several_targets_on_a_cluster(workers, options):
    """Numbers and classes, two at a time, with their weights."""
    frame, label, _ = random_frame(25)
    weight = fractions(25, len(frame))
    numbers = pd.DataFrame({"a": frame["many"] ** 2 + frame["few"], "b": 10.0 * (frame["text"] == "red")})
    classes = pd.DataFrame({"label": label, "late": np.where(frame["many"] > 0, "yes", "no")})
    X, n, c, w = on_dask(frame, numbers, classes, weight)
    for kind, here, there in ((OptimalTreeRegressor, numbers, n), (OptimalTreeClassifier, classes, c)):
        for output_weights in (None, [1.0, 3.0]):
            expected = kind(**options, output_weights=output_weights).fit(frame, here, sample_weight=weight)
            found = kind(**options, output_weights=output_weights).fit(X, there, sample_weight=w)
            same_model(found, expected)
            assert tuple(found.outputs_.names) == tuple(expected.outputs_.names)
            answers = found.predict(X).compute()
            assert list(answers.columns) == list(here.columns)
            np.testing.assert_array_equal(answers, expected.predict(frame))
    (both,) = on_dask(pd.concat([frame, numbers], axis=1))
    same_model(
        OptimalTreeRegressor(**options).fit(both, ["a", "b"]), OptimalTreeRegressor(**options).fit(frame, numbers)
    )
    with pytest.raises(ValueError, match="predict_proba of several targets needs rows in memory"):
        found.predict_proba(X)


@pytest.mark.parametrize("leaves", [{}, {"leaf_slopes": "all"}, {"leaf_columns": ["holes", "few"], "ridge": 0.1}])
@pytest.mark.parametrize("options", OPTIONS)
def test_lines_in_leaves_on_a_cluster(workers, options, leaves):
    """Lines along columns that were chosen or named, with missing cells and fractional weights."""
    frame, _, _ = random_frame(26)
    weight = fractions(26, len(frame))
    target = (frame["few"] * np.where(frame["text"] == "red", 2.0, -1.0) + frame["many"]).rename("y")
    options = {**options, **leaves, "leaves": "linear"}
    expected = OptimalTreeRegressor(**options).fit(frame, target, sample_weight=weight)
    (both,) = on_dask(pd.concat([target, frame, weight], axis=1))
    found = OptimalTreeRegressor(**options).fit(both, "y", sample_weight="weight")
    same_model(found, expected)
    assert [rule.prediction for rule in found.rules_] == [rule.prediction for rule in expected.rules_]
    np.testing.assert_array_equal(found.predict(both).compute(), expected.predict(frame))


def test_a_worker_that_dies_takes_no_target_with_it(monkeypatch):
    """Rewards, times and coded rows are read again where a process that held them is killed."""
    frame, _, _ = random_frame(27)
    rewards, (time, event, _) = rewards_of(frame, 27), lifetimes_of(frame, 27)
    options = {"max_depth": 2, "binning": "quantile", "n_bins": 4}
    policy = OptimalPolicyTree(**options).fit(frame, rewards=rewards)
    curves = OptimalSurvivalTree(**options).fit(frame, time=time, event=event)
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
        X, r, t, e = on_dask(frame, rewards, time, event, npartitions=6)
        same_model(OptimalPolicyTree(**options).fit(X, rewards=r), policy)
        of_rewards = len(killed)
        same_model(OptimalSurvivalTree(**options).fit(X, time=t, event=e), curves)
        # Once when the target was read, once when the rows were coded.
        assert of_rewards >= 2
        assert len(killed) >= of_rewards + 2
        assert not set(killed) & set(client.run(os.getpid).values())


def test_files_that_dask_would_read_together(tmp_path):
    """Rewards of a Parquet folder, of which Dask reads several files at once, stay with their rows."""
    rng = np.random.default_rng(28)
    n_rows, folder = 600, tmp_path / "rows"
    folder.mkdir()
    whole = pd.DataFrame({f"x{place}": rng.normal(size=n_rows) for place in range(30)})
    whole["wait"], whole["treat"] = rng.normal(size=n_rows), np.where(whole["x3"] > 0.2, 2.0, -2.0)
    for part in range(12):
        whole.iloc[50 * part : 50 * part + 50].to_parquet(folder / f"part-{part:02d}.parquet")
    frame = dd.read_parquet(folder)
    found = OptimalPolicyTree(max_depth=1).fit(frame, rewards=["wait", "treat"])
    same_model(found, OptimalPolicyTree(max_depth=1).fit(whole.iloc[:, :30], rewards=whole[["wait", "treat"]]))


def test_what_cannot_be_on_a_cluster_is_named(monkeypatch):
    """Targets that are not there, of other partitions, not numbers or too many: a sentence each."""
    frame, label, _ = random_frame(29, 60)
    rewards, (time, event, _) = rewards_of(frame, 29), lifetimes_of(frame, 29)
    X, r, t, e, y = on_dask(frame, rewards, time, event, label)
    with pytest.raises(ValueError, match="fitted to rewards: names of its columns, or a Dask frame"):
        OptimalPolicyTree().fit(X)
    with pytest.raises(ValueError, match="make these of treatment and outcome first"):
        OptimalPolicyTree().fit(X, y, t)
    with pytest.raises(ValueError, match="rewards names the column 'walk', which X does not have"):
        OptimalPolicyTree().fit(X, rewards=["walk", "few"])
    with pytest.raises(ValueError, match="rewards must be a Dask series"):
        OptimalPolicyTree().fit(X, rewards=rewards)
    with pytest.raises(ValueError, match="5 partitions and rewards has 2"):
        OptimalPolicyTree().fit(X, rewards=r.repartition(npartitions=2))
    with pytest.raises(ValueError, match="rewards has missing or infinite entries"):
        OptimalPolicyTree().fit(X, rewards=["few", "holes"])
    with pytest.raises(ValueError, match="time= and event= are columns"):
        OptimalSurvivalTree().fit(X, time=t)
    with pytest.raises(ValueError, match="event has entries that are neither 0 nor 1"):
        OptimalSurvivalTree().fit(X, time=t, event="few")
    with pytest.raises(ValueError, match="time has negative entries"):
        OptimalSurvivalTree().fit(X, time="many", event=e)
    with pytest.raises(ValueError, match="costs has shape"):
        OptimalTreeClassifier().fit(X, y, costs=r[["wait", "cut"]])
    with pytest.raises(ValueError, match="'size', which is nominal; a line goes along a column of numbers"):
        OptimalTreeRegressor(leaves="linear", leaf_columns=["size"]).fit(X, t)
    with pytest.raises(ValueError, match="MinConfidence"):
        OptimalTreeRegressor(constraints=[MinConfidence(0.9)]).fit(X, r[["wait", "cut"]])
    monkeypatch.setattr(gathered_target, "usable_memory", lambda: 1_000)
    with pytest.raises(ValueError, match="This fit needs the coded rows in memory here"):
        OptimalPolicyTree().fit(X, rewards=r)
