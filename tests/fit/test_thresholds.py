"""Thresholds that are refined while the tree is sought."""

from __future__ import annotations

import dataclasses
import logging
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import omtree.engines.rules.start
import omtree.engines.trees
import omtree.fit.quick_trees
import omtree.fit.threshold_rounds
import omtree.fit.thresholds
from helpers.datasets import tic_tac_toe
from omtree import OptimalTreeClassifier
from omtree.data.table import Feature
from omtree.deadline import Deadline
from omtree.engines.answers import TreeAnswer
from omtree.engines.dispatch import TreeSolver
from omtree.fit.pose import Pose
from omtree.fit.search_space import cuts_in_words
from omtree.fit.thresholds import ThresholdSearch
from omtree.objectives.error import Error
from omtree.problem.problem import Problem
from omtree.sources.samples import Training


def band(n: int = 3000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Class 1 is a narrow band of the first of four columns, where the second is not small; some labels are wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    inside = (X[:, 0] > 0.31) & (X[:, 0] < 0.47) & (X[:, 1] > -0.57)
    return X, np.where(rng.random(n) < 0.02, ~inside, inside).astype(int)


def blobs(seed: int, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Three classes in four columns: skewed, heavy at one value, rounded, and with missing cells."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, 4)) + y[:, None] * rng.normal(size=(3, 4))[y]
    X[:, 0] = np.exp(X[:, 0])
    X[rng.random(n) < 0.6, 1] = 0.0
    X[:, 2] = X[:, 2].round(1)
    X[rng.random(n) < 0.1, 3] = np.nan
    return X, y


def value(X: Any, y: Any, weight: Any = None, **params: Any) -> float:
    """The loss of the best model."""
    return float(OptimalTreeClassifier(time_limit=None, **params).fit(X, y, weight).certificate_.value)


@pytest.mark.parametrize("seed", range(8))
def test_never_worse_than_quantiles(seed: int) -> None:
    """On the training rows the tree over refined thresholds is at least as good as over as many quantiles."""
    X, y = blobs(seed)
    for depth, n_bins in ((1, 2), (1, 5), (2, 3), (2, 6)):
        params = {"max_depth": depth, "n_bins": n_bins}
        assert value(X, y, **params) <= value(X, y, binning="quantile", **params)


def test_finds_what_lies_between_quantiles() -> None:
    """A band narrower than a bin is found: few errors remain beyond the wrong labels, where quantiles miss it."""
    X, y = band()
    wrong = 0.03 * len(y)
    assert value(X, y, max_depth=2) < wrong < value(X, y, max_depth=2, binning="quantile")


def test_every_accepted_round_is_better() -> None:
    """The loss falls from round to round, and the answer is that of the best round."""
    X, y = band()
    training = Training.of_classes(X, y)
    features, _ = training.features(4, "quantile")
    pose = Pose(Error(), 2, 4, 30.0, training.total, "groups", None)
    seen: list[tuple[Problem, TreeAnswer]] = []

    def solve(problem: Problem, deadline: Deadline) -> TreeAnswer:
        answer = TreeSolver(Error(), cache_mb=64)(problem, deadline)
        seen.append((problem, answer))
        return answer

    found = ThresholdSearch(training, pose, 4, Deadline()).tree(features, solve)
    losses = [answer.solution.value for _, answer in seen]
    assert 2 < len(losses) <= omtree.fit.threshold_rounds.MAX_ROUNDS
    assert (np.diff(losses) <= 0).all()
    assert (np.diff(losses[: found.rounds]) < 0).all()
    assert found.answer.solution.value == losses[found.rounds - 1] == min(losses)
    assert found.problem is seen[found.rounds - 1][0]


def test_bins_stay_few() -> None:
    """Refined columns have about as many bins as asked for, however many rounds there were."""
    X, y = band()
    model = OptimalTreeClassifier(max_depth=2, n_bins=6).fit(X, y)
    counts = [len(level.feature.thresholds) for level in model.graph_]
    assert max(counts) <= 2 * 6
    assert all((np.diff(level.feature.thresholds) > 0).all() for level in model.graph_)


def test_the_certificate_names_the_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search space says how many thresholds the columns have, and of which round they are."""
    no_brief_search(monkeypatch)
    X, y = band()
    model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    space = model.certificate_.search_space
    found = re.search(r"numbers cut at the (\d+) to (\d+) thresholds per column of refinement round (\d+)\)", space)
    assert found is not None, space
    counts = [len(level.feature.thresholds) for level in model.graph_]
    assert [int(found[1]), int(found[2])] == [min(counts), max(counts)]
    assert int(found[3]) > 1
    assert set(model.certificate_.seconds) == {"data", "thresholds", "search", "check"}


def test_where_numbers_are_cut_in_words() -> None:
    """Each way to cut has its words; equal numbers of thresholds are named once."""
    feature = Feature("x", 0, "numeric", 3, False, thresholds=np.array([1.0, 2.0]))
    assert cuts_in_words("exact", 8, [feature]) == "between any two values"
    assert cuts_in_words("supervised", 8, [feature]) == "into at most 8 bins where the label changes"
    assert cuts_in_words("adaptive", 8, [feature], 1) == "into at most 8 quantile bins"
    assert cuts_in_words("adaptive", 2, [feature], 1) == "at the 2 thresholds per column"
    assert cuts_in_words("adaptive", 8, [feature], 3) == "at the 2 thresholds per column of refinement round 3"


def test_nothing_to_refine_is_one_solve(caplog: pytest.LogCaptureFixture) -> None:
    """Categories, and numbers with few values, are solved once, and the bins are all their values."""
    boards = tic_tac_toe()
    X = pd.DataFrame(boards.X, columns=list(boards.names)).assign(count=np.arange(958) % 5)
    with caplog.at_level(logging.INFO, logger="omtree"):
        OptimalTreeClassifier(max_depth=2).fit(X, boards.y)
    assert len([record for record in caplog.records if "search" in record.getMessage()]) == 1


@pytest.mark.parametrize("structure", ["rules", "tree"])
def test_weights_are_repetitions(structure: Any) -> None:
    """A row of weight two is two rows and one of weight zero none, refined thresholds included."""
    X, y = blobs(3, 300)
    times = np.random.default_rng(0).integers(0, 4, size=len(y))
    again = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), times))
    params = {"structure": structure, "max_depth": 2, "n_bins": 4}
    weighted = OptimalTreeClassifier(**params).fit(X, y, times)
    repeated = OptimalTreeClassifier(**params).fit(X[again], y[again])
    assert weighted.certificate_.value == repeated.certificate_.value
    for one, other in zip(weighted.graph_, repeated.graph_, strict=True):
        assert one.feature.thresholds.tolist() == other.feature.thresholds.tolist()


def test_equal_input_gives_equal_models() -> None:
    """Two fits, on one thread and on two, give the same rules."""
    X, y = blobs(4)
    first = OptimalTreeClassifier(max_depth=2).fit(X, y)
    second = OptimalTreeClassifier(max_depth=2, n_jobs=2).fit(X, y)
    assert str(first.rules_) == str(second.rules_)


def test_many_rows_get_their_thresholds_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """With thresholds from a sample the tree is still the best on all rows, and the same every time."""
    X, y = band(6000)
    fixed = OptimalTreeClassifier(max_depth=2, n_bins=5, binning="quantile").fit(X, y)
    monkeypatch.setattr(omtree.fit.thresholds, "MAX_CELLS", 8000)
    monkeypatch.setattr(omtree.fit.thresholds, "MIN_SAMPLES", 1000)
    model = OptimalTreeClassifier(max_depth=2, n_bins=5).fit(X, y)
    assert model.certificate_.weight == 6000
    assert model.certificate_.status == "optimal"
    assert model.certificate_.value == (model.predict(X) != y).sum() < fixed.certificate_.value
    assert min(rule.support for rule in model.rules_) >= 60
    again = OptimalTreeClassifier(max_depth=2, n_bins=5).fit(X, y)
    assert str(again.rules_) == str(model.rules_)


def test_rules_are_sought_over_the_refined_thresholds() -> None:
    """Rules are no worse than the best tree, which gave them its thresholds."""
    X, y = band(1000)
    params = {"max_depth": 2, "n_bins": 4, "time_limit": None}
    tree = OptimalTreeClassifier(**params).fit(X, y)
    rules = OptimalTreeClassifier(structure="rules", **params).fit(X, y)
    assert rules.certificate_.value <= tree.certificate_.value
    assert "refinement round" in rules.certificate_.search_space


def test_binary_splits_are_refined_as_well() -> None:
    """A binary tree may cut a column twice on one path; its thresholds are all kept."""
    X, y = band()
    params = {"max_depth": 3, "splits": "binary", "n_bins": 4}
    assert value(X, y, **params) < value(X, y, binning="quantile", **params)


def test_most_bins() -> None:
    """With nearly as many bins as there are codes, refining stays within the codes."""
    X, y = band(800)
    model = OptimalTreeClassifier(max_depth=1, n_bins=250).fit(X, y)
    assert max(level.feature.n_codes for level in model.graph_) <= 254


def test_exact_thresholds_beyond_the_codes_are_refused() -> None:
    """More distinct values than codes are refused in a sentence that names the column and what to use instead."""
    X, y = band(300)
    with pytest.raises(ValueError, match=r"Column 'x0' has more than 254 distinct values.*binning='adaptive'"):
        OptimalTreeClassifier(binning="exact", objective="gini").fit(X, y)


def search_that_stops(monkeypatch: pytest.MonkeyPatch, after: int, **changes: Any) -> None:
    """Let the tree search answer `after` times as ever, and then as if it had been stopped."""
    honest = omtree.engines.trees.solve
    calls = []

    def solve(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        found = honest(*args, **kwargs)
        return found if len(calls) <= after else dataclasses.replace(found, **changes)

    monkeypatch.setattr(omtree.engines.trees, "solve", solve)


def no_brief_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few cuts only, or one round would be enough."""
    monkeypatch.setattr(omtree.fit.cut_search, "BRIEF_DEPTH", 0)


@pytest.mark.parametrize("after", [0, 1, 2])
def test_an_interrupted_fit_keeps_its_best_model(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in any round ends the fit with a model, a warning and a certificate that says so."""
    no_brief_search(monkeypatch)
    X, y = band()
    search_that_stops(monkeypatch, after, interrupted=True, status="stopped", bound=0.0)
    with pytest.warns(UserWarning, match="interrupted"):
        model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    assert model.certificate_.status == "interrupted"
    assert str(model.certificate_).startswith("interrupted: the model makes")
    assert model.certificate_.value == (model.predict(X) != y).sum()


def test_interrupted_on_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while thresholds are sought on a sample still gives a model for all rows."""
    X, y = band()
    monkeypatch.setattr(omtree.fit.thresholds, "MAX_CELLS", 0)
    monkeypatch.setattr(omtree.fit.thresholds, "MIN_SAMPLES", 1000)
    search_that_stops(monkeypatch, 0, interrupted=True, status="stopped", bound=0.0)
    with pytest.warns(UserWarning, match="interrupted"):
        model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    assert model.certificate_.status == "interrupted"
    assert model.certificate_.weight == len(y)


def test_a_search_that_ends_early_is_not_refined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a proof in the first round no other follows; a gap that is small enough is called reached."""
    no_brief_search(monkeypatch)
    X, y = band()
    best = value(X, y, max_depth=2, binning="quantile")
    honest = omtree.engines.trees.solve
    values: list[float] = []

    def unproven(*args: Any, **kwargs: Any) -> Any:
        found = honest(*args, **kwargs)
        values.append(found.value)
        return dataclasses.replace(found, status="time_limit", bound=0.95 * found.value)

    monkeypatch.setattr(omtree.engines.trees, "solve", unproven)
    certificate = OptimalTreeClassifier(max_depth=2, time_limit=0.5).fit(X, y).certificate_
    assert len(values) == 1
    assert certificate.status == "time_limit"
    assert certificate.bound <= certificate.value <= min(best, values[0])
    assert OptimalTreeClassifier(max_depth=2, gap=0.1).fit(X, y).certificate_.status == "gap_reached"


def test_a_short_time_limit_gives_a_model() -> None:
    """With hardly any time there is a model all the same, and its certificate is true."""
    X, y = band()
    model = OptimalTreeClassifier(max_depth=4, time_limit=0.01).fit(X, y)
    assert model.certificate_.bound <= model.certificate_.value == (model.predict(X) != y).sum()


def test_rules_start_from_the_tree_the_thresholds_were_made_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules are no worse than the refined tree, even when their engine has no time for anything of its own."""
    X, y = band()
    tree = value(X, y, max_depth=2)

    def no_time(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(omtree.engines.rules.start, "tree_paths", no_time)
    with pytest.warns(UserWarning, match="interrupted"):
        assert value(X, y, max_depth=2, structure="rules") <= tree


@pytest.mark.parametrize("structure", ["tree", "rules"])
def test_an_interrupt_in_the_first_quick_tree_ends_the_fit(structure: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while thresholds are sought on a part of the rows is not forgotten: no search without a limit follows."""
    monkeypatch.setattr(omtree.fit.thresholds, "MAX_CELLS", 10)
    monkeypatch.setattr(omtree.fit.thresholds, "MIN_SAMPLES", 300)
    honest = omtree.fit.quick_trees.improve
    limits: list[float] = []

    def stopped(*arguments: Any, **options: Any) -> Any:
        return dataclasses.replace(honest(*arguments, **options), interrupted=True)

    search = omtree.engines.trees.solve

    def watched(*arguments: Any, **options: Any) -> Any:
        limits.append(options["deadline"].remaining)
        return search(*arguments, **options)

    monkeypatch.setattr(omtree.fit.quick_trees, "improve", stopped)
    monkeypatch.setattr(omtree.engines.trees, "solve", watched)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    model = OptimalTreeClassifier(max_depth=2, structure=structure, time_limit=None)
    with pytest.warns(UserWarning, match="interrupted"):
        model.fit(X, X[:, 0] > X[:, 1])
    assert model.certificate_.status == "interrupted"
    assert max(limits, default=0.0) <= 0.0
