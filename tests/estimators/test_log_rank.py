"""The log-rank score, against brute force and against scipy's test."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import CensoredData, logrank

import omtree
from omtree import OptimalSurvivalTree

Groups = list[np.ndarray]


def lives(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three 0/1 columns, times with ties, and events, which the first column hastens."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 3))
    times = np.ceil(rng.exponential(np.where(X[:, 0] == 1, 3.0, 9.0)) + 1.0)
    return X, times, rng.random(n) < 0.8


def score(groups: Groups, times: np.ndarray, events: np.ndarray, weight: np.ndarray) -> float:
    """Events and those to expect in every group, moment by moment."""
    observed, expected = np.zeros(len(groups)), np.zeros(len(groups))
    for moment in np.unique(times[events]):
        there = times >= moment
        hazard = weight[(times == moment) & events].sum() / weight[there].sum()
        for g, rows in enumerate(groups):
            inside = np.zeros(len(times), dtype=bool)
            inside[rows] = True
            observed[g] += weight[inside & (times == moment) & events].sum()
            expected[g] += hazard * weight[inside & there].sum()
    seen = expected > 0
    return float(((observed - expected)[seen] ** 2 / expected[seen]).sum())


def trees(X: np.ndarray, rows: np.ndarray, depth: int, support: int) -> list[Groups]:
    """The leaves of every binary tree over 0/1 columns."""
    found: list[Groups] = [[rows]]
    for column in range(X.shape[1]) if depth else ():
        inside = rows[X[rows, column] == 1], rows[X[rows, column] == 0]
        if min(map(len, inside)) >= support:
            below = [trees(X, part, depth - 1, support) for part in inside]
            found += [[*one, *two] for one, two in itertools.product(*below)]
    return found


@pytest.mark.parametrize("seed", range(5))
def test_trees_have_the_largest_score(seed: int) -> None:
    """Of all trees, with and without weights; the model's own leaves have it."""
    X, times, events = lives(seed)
    weights = np.random.default_rng(seed).integers(1, 4, len(X)).astype(float)
    for weight in (np.ones(len(X)), weights):
        for depth in (1, 2):
            model = OptimalSurvivalTree(max_depth=depth, objective="logrank", min_samples_leaf=1, splits="binary").fit(
                X, time=times, event=events, sample_weight=weight
            )
            best = max(score(groups, times, events, weight) for groups in trees(X, np.arange(len(X)), depth, 1))
            assert model.certificate_.status == "optimal"
            assert model.loss_by_leaves_[0] - model.certificate_.value == pytest.approx(best)
            leaf = model.apply(X)
            assert score([np.flatnonzero(leaf == r) for r in np.unique(leaf)], times, events, weight) == pytest.approx(
                best
            )


@pytest.mark.parametrize("seed", range(3))
def test_rules_have_the_largest_score(seed: int) -> None:
    """Of all sets of three disjoint rules of two conditions, in the way of the paper."""
    X, times, events = lives(seed, 24)
    sets = {tuple(range(len(X)))}
    for size in (1, 2):
        for columns in itertools.combinations(range(3), size):
            for cells in itertools.product((0, 1), repeat=size):
                sets.add(tuple(np.flatnonzero((X[:, columns] == cells).all(axis=1)).tolist()))
    usable = [frozenset(rows) for rows in sets if rows]

    def covers(left: frozenset[int], room: int) -> list[Groups]:
        if not left:
            return [[]]
        found = []
        for rows in usable if room else ():
            if min(left) in rows and rows <= left:
                found += [[np.array(sorted(rows)), *rest] for rest in covers(left - rows, room - 1)]
        return found

    best = max(score(groups, times, events, np.ones(len(X))) for groups in covers(frozenset(range(len(X))), 3))
    options = {"max_depth": 2, "max_leaves": 3, "min_samples_leaf": 1, "objective": "logrank"}
    model = OptimalSurvivalTree(structure="rules", **options).fit(X, time=times, event=events)
    single = OptimalSurvivalTree(max_leaves=1, objective="logrank").fit(X, time=times, event=events)
    assert model.certificate_.status == "optimal"
    assert single.certificate_.value - model.certificate_.value == pytest.approx(best)


def test_two_leaves_beside_the_test_of_scipy() -> None:
    """The score is never above the statistic with variances, near it where little differs, and largest as it is."""
    for seed in range(5):
        X, times, events = lives(seed, 300)
        times = times + np.random.default_rng(seed).random(300)  # without ties
        model = OptimalSurvivalTree(max_depth=1, objective="logrank", splits="binary").fit(X, time=times, event=events)
        statistics = []
        for column in range(3):
            inside = X[:, column] == 1
            parts = [
                CensoredData(uncensored=times[side & events], right=times[side & ~events]) for side in (inside, ~inside)
            ]
            statistics.append(float(logrank(*parts).statistic) ** 2)
            leaves = [np.flatnonzero(inside), np.flatnonzero(~inside)]
            own = score(leaves, times, events, np.ones(300))
            assert own <= statistics[-1]
            assert column == 0 or own >= 0.9 * statistics[-1]
        assert statistics[0] == max(statistics)
        assert model.rules_.features[model.tree_.nodes[0].feature].name == "x0"


def test_it_is_saved_shown_and_chosen_by_folds(tmp_path: Path) -> None:
    """A file keeps the objective, the headline tells the score, and sizes are chosen by it; other names are refused."""
    X, times, events = lives(0, 200)
    model = OptimalSurvivalTree(max_depth=2, objective="logrank", max_leaves="auto").fit(X, time=times, event=events)
    assert model.get_n_leaves() >= 2
    assert model.certificate_.unit == "log-rank loss"
    model.save(tmp_path / "model.json")
    again = omtree.load(tmp_path / "model.json")
    assert again.objective == "logrank"
    assert again.predict(X).tolist() == model.predict(X).tolist()
    model.report(tmp_path / "report.html")
    assert "log-rank" in (tmp_path / "report.html").read_text()
    with pytest.raises(ValueError, match="objective='cox' is not known; use 'hazard' or 'logrank'"):
        OptimalSurvivalTree(objective="cox").fit(X, time=times, event=events)
