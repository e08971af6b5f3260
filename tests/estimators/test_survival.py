"""Survival trees: the least deviance by enumeration, curves and scores by their definitions."""

from __future__ import annotations

import itertools
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.base import clone

from helpers.constrained_brute import rule_models, tree_models
from omtree import OptimalSurvivalTree, load
from omtree.constraints import MinEvents, Monotone, Recall
from omtree.data.build import encode_rows, make_features
from omtree.data.columns import read_columns
from omtree.fit.held_out import mean_loss
from omtree.model.leaf_differences import leaf_differences
from omtree.model.survival_curve import SurvivalCurve
from omtree.model.survival_scores import Censoring, brier_scores, concordance
from omtree.objectives.hazard import Hazard
from omtree.sources.lifetimes import Lifetimes

LIMITS = {"max_depth": 2, "max_leaves": 4}


def tiny_lifetimes(seed: int) -> tuple[list[list[object]], np.ndarray, np.ndarray, np.ndarray]:
    """Cells, times with ties, events and whole weights of a few samples."""
    rng = np.random.default_rng(seed)
    cells: list[list[object]] = [
        [float(rng.integers(3)), "ab"[rng.integers(2)], float(rng.integers(2))] for _ in range(14)
    ]
    cells[:3] = [[0.0, "a", 0.0], [1.0, "b", 1.0], [2.0, "a", 1.0]]
    times = rng.integers(1, 9, size=14).astype(float)
    events = rng.random(14) < 0.6
    events[:2] = True
    return cells, times, events, rng.integers(1, 4, size=14).astype(float)


def slow_exposure(times: np.ndarray, events: np.ndarray, weight: np.ndarray, entry: np.ndarray) -> np.ndarray:
    """The hazard of all over the time that each sample was seen, event by event."""
    hazard = {}
    for moment in sorted(set(times[events])):
        dead = weight[events & (times == moment)].sum()
        hazard[moment] = dead / weight[(times >= moment) & (entry < moment)].sum()
    return np.array(
        [sum(h for moment, h in hazard.items() if start < moment <= t) for t, start in zip(times, entry, strict=True)]
    )


def best_deviance(
    cells: list[list[object]], times: np.ndarray, events: np.ndarray, weight: np.ndarray, structure: str, least: float
) -> float:
    """Least sum over leaves of half the deviance, each at its own hazard, by enumeration."""
    columns = read_columns(cells)
    features, _ = make_features(columns, np.zeros(len(cells), dtype=np.intp), 1, None, 8, "quantile")
    codes = encode_rows(columns, features)
    exposure = slow_exposure(times, events, weight, np.full(len(times), -1.0))

    def leaf(inside: np.ndarray) -> float:
        if weight[inside & events].sum() < least:
            return math.inf
        expected = (weight * exposure)[inside].sum()
        risk = (weight * events)[inside].sum() / expected if expected > 0 else 0.0
        total = 0.0
        for w, d, h in zip(weight[inside], events[inside], exposure[inside], strict=True):
            total += w * (risk * h - d + (math.log(1.0 / (risk * h)) if d else 0.0))
        return total

    models = rule_models if structure == "rules" else tree_models
    return min(
        sum(leaf(np.array([bool(part.rows >> s & 1) for s in range(len(cells))])) for part in leaves)
        for leaves in models(codes, features, LIMITS["max_depth"], LIMITS["max_leaves"])
    )


@pytest.mark.parametrize("structure", ["tree", "rules"])
@pytest.mark.parametrize("least", [0, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_deviance_is_that_of_enumeration(structure: str, seed: int, least: float) -> None:
    """No model of the limits has less, with or without a least number of events in every leaf."""
    cells, times, events, weight = tiny_lifetimes(seed)
    model = OptimalSurvivalTree(
        structure=structure,
        min_samples_leaf=1,
        binning="quantile",
        time_limit=None,
        constraints=[MinEvents(least)] if least else [],
        **LIMITS,
    ).fit(cells, time=times, event=events, sample_weight=weight)
    assert model.certificate_.status == "optimal"
    best = best_deviance(cells, times, events, weight, structure, least)
    assert model.certificate_.value == pytest.approx(best, rel=1e-9)
    assert model.certificate_.bound == pytest.approx(best, rel=1e-6)


def test_exposure_is_the_hazard_of_all_over_the_time_seen() -> None:
    """With ties, weights and late entries, as event by event."""
    rng = np.random.default_rng(3)
    times = rng.integers(2, 12, size=40).astype(float)
    entry = np.minimum(rng.integers(0, 4, size=40), times - 1.0)
    events, weight = rng.random(40) < 0.5, rng.integers(1, 4, size=40).astype(float)
    lifetimes = Lifetimes.of(times, events, entry, weight)
    np.testing.assert_allclose(lifetimes.exposure, slow_exposure(times, events, weight, entry))
    assert weight @ lifetimes.exposure == pytest.approx(weight @ events)


def cohort(n: int = 600, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns and a structured target: the old die sooner, in one group much sooner."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.integers(20, 90, n), "group": rng.choice(["a", "b"], n)})
    rate = np.where(X["age"] > 60, np.where(X["group"] == "a", 0.4, 0.12), 0.05)
    died, lost = rng.exponential(1 / rate), rng.exponential(12.0, n)
    y = np.array(list(zip(died <= lost, np.minimum(died, lost), strict=True)), dtype=[("death", bool), ("time", float)])
    return X, y


def test_risks_curves_and_scores() -> None:
    """The tree finds the groups; risks order the rows, and curves are those of Kaplan and Meier in every leaf."""
    X, y = cohort()
    model = OptimalSurvivalTree(max_depth=2, max_leaves=4).fit(X, y)
    assert model.predict(pd.DataFrame({"age": [80, 30], "group": ["a", "a"]})).tolist()[0] > 3.0
    survival = model.predict_survival_function(X, return_array=True)
    hazard = model.predict_cumulative_hazard_function(X, return_array=True)
    assert survival.shape == (len(X), len(model.event_times_))
    assert (np.diff(survival, axis=1) <= 1e-12).all()
    leaf = model.apply(X)
    for rule in range(len(model.rules_)):
        own = y[leaf == rule]
        alive, summed = 1.0, 0.0
        for place, moment in enumerate(model.event_times_):
            share = (own["death"] & (own["time"] == moment)).sum() / max(1, (own["time"] >= moment).sum())
            alive, summed = alive * (1.0 - share), summed + share
            assert survival[leaf == rule][0, place] == pytest.approx(alive, abs=1e-12)
            assert hazard[leaf == rule][0, place] == pytest.approx(summed)
    function = model.predict_survival_function(X[:1])[0]
    np.testing.assert_allclose(function(model.event_times_), survival[0])
    assert function(0.0) == 1.0
    assert model.score(X, y) > 0.65
    assert 0.0 < model.brier_score(X, y) < 0.25
    halves = np.array([np.searchsorted(-survival[i], -0.5) for i in range(len(X))])
    times = np.append(model.event_times_, np.inf)
    np.testing.assert_allclose(model.predict_median(X), times[halves])


def test_concordance_and_brier_by_their_definitions() -> None:
    """All pairs one by one, and the weighted squares one by one."""
    rng = np.random.default_rng(5)
    n = 60
    times, events = rng.integers(1, 20, n).astype(float), rng.random(n) < 0.6
    risk = rng.integers(0, 6, n).astype(float)
    right = pairs = 0.0
    for i in range(n):
        for j in range(n):
            if events[i] and (times[i] < times[j] or (times[i] == times[j] and not events[j])):
                pairs += 1
                right += 1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0
    assert concordance(times, events, risk) == pytest.approx(right / pairs)
    survival = rng.random((n, 2))
    moments = np.array([5.0, 9.5])

    def seen(moment: float, *, before: bool) -> float:
        chance = 1.0
        for lost in sorted(set(times[~events])):
            if lost < moment or (lost == moment and not before):
                still = ((times > lost) | ((times == lost) & ~events)).sum()
                chance *= 1.0 - ((times == lost) & ~events).sum() / still
        return chance

    wanted = []
    for place, moment in enumerate(moments):
        total = 0.0
        for i in range(n):
            if times[i] <= moment and events[i]:
                total += survival[i, place] ** 2 / seen(times[i], before=True)
            elif times[i] > moment:
                total += (1.0 - survival[i, place]) ** 2 / seen(moment, before=False)
        wanted.append(total / n)
    np.testing.assert_allclose(brier_scores(Censoring(times, events), times, events, survival, moments), wanted)


def test_sizes_are_chosen_by_deviance_on_rows_held_out() -> None:
    """Cross-validation keeps what is real, and says how much of the deviance is saved on new rows."""
    X, y = cohort()
    X = X.assign(noise=np.random.default_rng(9).normal(size=len(X)))
    model = OptimalSurvivalTree(max_depth=3, max_leaves="auto").fit(X, y)
    assert 2 <= len(model.rules_) <= 5
    assert model.expectation_.measure == "explained deviance"
    assert model.expectation_.gain.low > 0
    new_X, new_y = cohort(seed=1)
    assert model.expect(new_X.assign(noise=0.0), new_y).value.value > 0.05


def test_a_survival_tree_is_saved_drawn_and_exported(tmp_path: object) -> None:
    """A saved model has the same curves; exports have the risks; the report draws every leaf."""
    X, y = cohort()
    model = OptimalSurvivalTree(max_depth=2).fit(X, y)
    model.save(f"{tmp_path}/model.json")
    again = load(f"{tmp_path}/model.json")
    assert isinstance(again, OptimalSurvivalTree)
    np.testing.assert_allclose(
        again.predict_survival_function(X, return_array=True), model.predict_survival_function(X, return_array=True)
    )
    assert [rule.survival for rule in again.rules_] == [rule.survival for rule in model.rules_]
    assert pickle.loads(pickle.dumps(model)).predict(X).tolist() == model.predict(X).tolist()
    module: dict[str, object] = {}
    exec(model.to_python(), module)
    predict = module["predict"]
    assert callable(predict)
    np.testing.assert_allclose([predict(row) for row in X[:40].to_dict("records")], model.predict(X[:40]))
    assert model.to_sql().startswith("CASE")
    page = model.report(f"{tmp_path}/model.html", X, y, X, y).read_text(encoding="utf-8")
    assert "Survival in the leaves" in page
    assert page.count("Survival of leaf") == len(model.rules_)
    assert "integrated Brier score" in page
    assert "Differences between leaves" in page
    assert page.count("<td>apart</td>") == sum(pair.is_clear for pair in model.leaf_differences()) > 0
    assert "median" in model.to_text()
    assert "share without the event" in model.to_svg()
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.loss_by_leaves_[0] > model.loss_by_leaves_[-1]
    assert clone(model).get_params() == model.get_params()


def test_leaves_are_compared_in_pairs() -> None:
    """The ratio is that of the risks, and the ends of its interval are where a binomial test begins to object."""
    X, y = cohort()
    model = OptimalSurvivalTree(max_depth=2).fit(X, y)
    curves = [rule.survival for rule in model.rules_]
    pairs = model.leaf_differences(0.9)
    n_pairs = len(curves) * (len(curves) - 1) // 2
    assert {frozenset((pair.first, pair.second)) for pair in pairs} == {
        frozenset(both) for both in itertools.combinations(range(len(curves)), 2)
    }
    assert [pair.ratio for pair in pairs] == sorted((pair.ratio for pair in pairs), reverse=True)
    for pair in pairs:
        first, second = curves[pair.first], curves[pair.second]
        assert first is not None
        assert second is not None
        assert 1.0 <= pair.ratio == pytest.approx(second.risk / first.risk)
        for end, side in ((pair.low, "greater"), (pair.high, "less")):
            share = end * second.exposure / (end * second.exposure + first.exposure)
            test = binomtest(int(second.events), int(first.events + second.events), share, alternative=side)
            assert test.pvalue == pytest.approx(0.05 / n_pairs, rel=1e-6)
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.leaf_differences(1.0)


def test_leaves_without_events_have_half_open_intervals() -> None:
    """Nothing is said that the events cannot tell."""
    none, some, empty = (
        SurvivalCurve(events, exposure, (), (), ()) for events, exposure in ((0, 5.0), (9, 3.0), (0, 0.0))
    )
    (pair,) = leaf_differences([some, none])
    assert (pair.first, pair.second) == (1, 0)
    assert pair.ratio == pair.high == math.inf
    assert 1.0 < pair.low < math.inf
    assert not any(pair.is_clear for pair in leaf_differences([none, none, empty]))
    assert leaf_differences([some]) == []


def test_risk_never_falls_where_that_is_demanded() -> None:
    """A monotone risk along a column holds for all rows."""
    X, y = cohort()
    model = OptimalSurvivalTree(max_depth=2, constraints=[Monotone("age", +1)]).fit(X, y)
    risks = model.predict(pd.DataFrame({"age": np.arange(20, 90), "group": "a"}))
    assert (np.diff(risks) >= -1e-12).all()


@pytest.mark.parametrize(
    ("given", "parameters", "words"),
    [
        ({}, {}, "structured array"),
        ({"time": np.ones(14)}, {}, "give both"),
        ({"time": -np.ones(14), "event": np.ones(14)}, {}, "negative"),
        ({"time": np.ones(14), "event": np.full(14, 2)}, {}, "neither 0 nor 1"),
        ({"time": np.ones(13), "event": np.ones(14)}, {}, "one of each"),
        ({"time": np.full(14, np.nan), "event": np.ones(14)}, {}, "missing"),
        ({"time": ["x"] * 14, "event": np.ones(14)}, {}, "not numbers"),
        ({"time": np.ones(14), "event": np.zeros(14)}, {}, "false in every row"),
        ({"time": np.ones(14), "event": np.ones(14), "entry": np.ones(14)}, {}, "entry is not before"),
        ({"y": np.ones(14)}, {}, "no fields"),
        ({"y": np.ones(14), "time": np.ones(14)}, {}, "give y, or time and event"),
        ({"time": np.ones(14), "event": np.ones(14)}, {"constraints": [Recall("a", at_least=0.5)]}, "about classes"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, object], parameters: dict[str, object], words: str) -> None:
    """In one sentence that names what is wrong."""
    cells, _, _, _ = tiny_lifetimes(0)
    with pytest.raises(ValueError, match=words):
        OptimalSurvivalTree(**parameters).fit(cells, **given)


def test_an_event_of_weight_zero_before_all_others_is_no_trouble():
    """It is before the hazard begins, where a logarithm would be of nothing: no warning, and the same model."""
    rng = np.random.default_rng(5)
    X, times, events = (
        rng.normal(size=(60, 2)),
        np.append(0.01, rng.exponential(size=59) + 0.1),
        np.ones(60, dtype=bool),
    )
    model, without = (OptimalSurvivalTree(max_depth=2, min_samples_leaf=2) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, time=times, event=events, sample_weight=np.append(0.0, np.ones(59)))
    without.fit(X[1:], time=times[1:], event=events[1:])
    assert model.certificate_.value == without.certificate_.value


def test_sizes_are_compared_by_cautious_risks():
    """For rows held out a leaf expects one event more than it saw, and one more than usual; the loss is by hand."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 2))
    time, event = rng.exponential(np.where(X[:, 0] > 0, 1.0, 3.0)) + 0.01, rng.random(120) < 0.6
    model = OptimalSurvivalTree(max_depth=2).fit(X, time=time, event=event)
    training, owner = model._bench.training, model.apply(X)
    lifetimes = training.target.lifetimes
    risk = np.empty(120)
    for leaf in range(len(model.rules_)):
        inside = owner == leaf
        risk[inside] = (lifetimes.events[inside].sum() + 1) / (lifetimes.exposure[inside].sum() + 1)
    expected = risk * lifetimes.exposure
    losses = expected - lifetimes.events - np.log(np.where(lifetimes.events, expected, 1.0))
    assert mean_loss(Hazard(), model.rules_, owner, training) == pytest.approx(losses.mean())
    # Without events, a rule of little exposure is near the usual risk, and so is what it costs to be wrong.
    never = OptimalSurvivalTree(max_depth=1, min_samples_leaf=2).fit(
        [[0.0]] * 18 + [[1.0]] * 2, time=np.arange(1.0, 21.0), event=[True] * 18 + [False] * 2
    )
    assert min(rule.prediction for rule in never.rules_) == 0
    assert mean_loss(Hazard(), never.rules_, never.apply([[1.0]] * 20), never._bench.training) < 5
