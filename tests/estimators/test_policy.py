"""Policies: the best action for each row, against enumeration, and what is said of their value."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

from helpers.charged_brute import best_charged, tiny_charged
from omtree import OptimalPolicyTree, load
from omtree.constraints import (
    MCC,
    AnswerCost,
    AnswerShare,
    Constraint,
    ForbidAnswer,
    MinClassCount,
    StatisticalParity,
    loads,
    to_toml,
)

LIMITS = {"max_depth": 2, "max_leaves": 3}


def tiny_policy(seed: int, n_actions: int = 2) -> tuple[list[list[object]], np.ndarray, np.ndarray]:
    """Cells, rewards of both signs, and the charges they mean."""
    cells, _, charges, _ = tiny_charged(seed, n_actions)
    rewards = np.round(3.0 - charges, 2)
    return cells, rewards, rewards.max(axis=1, keepdims=True) - rewards


def fitted(structure: str, constraints: list[Constraint], cells: object, **given: object) -> OptimalPolicyTree:
    """A policy of the limits of these tests, proven best."""
    model = OptimalPolicyTree(
        structure=structure, min_samples_leaf=1, binning="quantile", time_limit=None, constraints=constraints, **LIMITS
    ).fit(cells, **given)
    assert model.certificate_.status == "optimal"
    return model


@pytest.mark.parametrize("structure", ["tree", "rules"])
@pytest.mark.parametrize("seed", range(4))
def test_no_policy_brings_more(structure: str, seed: int) -> None:
    """The regret is the least there is, and the reward that the policy brings is what is left."""
    cells, rewards, charges = tiny_policy(seed, 3)
    model = fitted(structure, [], cells, rewards=rewards)
    best = best_charged(cells, charges, np.ones(len(cells)), structure=structure, **LIMITS)
    assert model.certificate_.value == pytest.approx(best, abs=1e-9)
    brought = rewards[np.arange(len(cells)), model.predict(cells)].mean()
    assert brought == pytest.approx((rewards.max(axis=1).sum() - best) / len(cells))
    assert model.value_.policy.value == pytest.approx(brought)
    assert model.score(cells, rewards) == pytest.approx(brought)


@pytest.mark.parametrize("structure", ["tree", "rules"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["share", "cost", "parity", "overlap"])
def test_the_best_policy_under_a_constraint(structure: str, seed: int, kind: str) -> None:
    """Limits on treatment, budget, fairness and overlap: the best policy among all that meet them, by enumeration."""
    cells, rewards, charges = tiny_policy(seed)
    n = len(cells)
    rng = np.random.default_rng(seed)
    group = np.where(rng.random(n) < 0.5, "a", "b")
    group[:2] = "a", "b"
    taken = rng.integers(2, size=n)
    taken[:2] = 0, 1
    given: dict[str, object] = {"rewards": rewards}
    if kind == "share":
        constraint: Constraint = AnswerShare(1, at_most=0.4)
        allowed = lambda owner, said: (said == 1).mean() <= 0.4 + 1e-9  # noqa: E731
    elif kind == "cost":
        constraint = AnswerCost({0: 1.0, 1: 3.0}, at_most=1.8)
        allowed = lambda owner, said: np.where(said == 1, 3.0, 1.0).mean() <= 1.8 + 1e-9  # noqa: E731
    elif kind == "parity":
        constraint = StatisticalParity("group", 0.2, class_=1)
        given["groups"] = pd.DataFrame({"group": group})
        rate = lambda said, g: (said[group == g] == 1).mean()  # noqa: E731
        allowed = lambda owner, said: abs(rate(said, "a") - rate(said, "b")) <= 0.2 + 1e-9  # noqa: E731
    else:
        constraint = MinClassCount(1, 2)
        # Scores of the direct method are the rewards themselves.
        given = {"treatment": taken, "outcome": np.zeros(n), "outcome_model": rewards}
        allowed = lambda owner, said: np.bincount(owner, weights=taken == 1).min() >= 2  # noqa: E731
    model = OptimalPolicyTree(
        structure=structure,
        method="dm",
        min_samples_leaf=1,
        binning="quantile",
        time_limit=None,
        constraints=[constraint],
        **LIMITS,
    ).fit(cells, **given)
    best = best_charged(cells, charges, np.ones(n), structure=structure, allowed=allowed, **LIMITS)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.value == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("kind", ["budget", "fairness"])
def test_limits_on_thousands_of_patients_are_met_and_proven(kind: str) -> None:
    """Three doses, 29 answers of yes or no and 3,000 rows: the limit binds, is kept, and the tree is proven best."""
    rng = np.random.default_rng(0)
    answers = (rng.random((3000, 29)) < rng.uniform(0.3, 0.6, 29)).astype(int)
    X = pd.DataFrame(answers, columns=[f"b{i}" for i in range(29)])
    needs = answers[:, 0] + answers[:, 1]
    rewards = 1.0 - np.abs(needs[:, None] - np.arange(3)) / 2.0 + rng.normal(0, 0.2, (3000, 3))
    limit: Constraint = AnswerShare(2, at_most=0.03) if kind == "budget" else StatisticalParity("b1", 0.03, class_=2)
    options = {"max_depth": 2, "splits": "binary", "time_limit": None}
    free = OptimalPolicyTree(**options).fit(X, rewards=rewards)
    model = OptimalPolicyTree(constraints=[limit], **options).fit(X, rewards=rewards)

    def asked(policy: OptimalPolicyTree) -> float:
        high, inside = policy.predict(X) == 2, answers[:, 1] == 1
        return float(high.mean() if kind == "budget" else abs(high[inside].mean() - high[~inside].mean()))

    assert asked(free) > 0.03
    assert asked(model) <= 0.03 + 1e-9
    assert model.certificate_.status == "optimal"
    assert model.certificate_.bound <= model.certificate_.value
    assert free.certificate_.value < model.certificate_.value
    # The free tree without its highest dose meets either limit, so the best one is no worse.
    lower = np.minimum(free.predict(X), 1)
    assert model.value_.policy.value >= rewards[np.arange(3000), lower].mean() - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_an_answer_is_never_given_where_it_is_forbidden(seed: int) -> None:
    """Of the trees that never give the action to any row of an interval the best one is found."""
    _, rewards, charges = tiny_policy(seed)
    # Every combination occurs, so that every leaf is reached by rows of the data.
    cells = [[x, b, c] for x in (0.0, 1.0, 2.0) for b in "ab" for c in (0.0, 1.0)]
    model = fitted("tree", [ForbidAnswer(1, "x0", (2, None))], cells, rewards=rewards)
    dear = np.array([cell[0] == 2.0 for cell in cells])
    best = best_charged(
        cells,
        charges,
        np.ones(len(cells)),
        structure="tree",
        allowed=lambda owner, said: not (said[dear] == 1).any(),
        **LIMITS,
    )
    assert model.certificate_.value == pytest.approx(best, abs=1e-9)
    said = model.predict([[7.5, b, c] for b in "ab" for c in (0.0, 1.0)])
    assert not (said == 1).any()


def test_forbidden_answers_cut_where_they_begin() -> None:
    """The end of the interval is a threshold, and not one row on the wrong side of it loses its action."""
    x = np.linspace(0.0, 1.0, 101)[:, None]
    rewards = np.column_stack([np.zeros(101), np.ones(101)])
    model = OptimalPolicyTree(max_depth=1, min_samples_leaf=1, constraints=[ForbidAnswer(1, "x0", (0.123, 0.2))])
    said = model.set_params(max_depth=2).fit(x, rewards=rewards).predict(x)
    assert said.tolist() == [0 if 0.123 <= value < 0.2 else 1 for value in x[:, 0]]


def history(n: int = 3000) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Columns, treatment, outcome, its true chance, and the true mean rewards: treat the old, not the young."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(20, 80, n), "site": rng.choice(["north", "south"], n)})
    effect = np.where(X["age"] > 50, 1.0, -1.0)
    chance = np.where(X["site"] == "north", 0.3, 0.7)
    treated = rng.random(n) < chance
    base = np.where(X["site"] == "north", 1.0, 0.0)
    outcome = base + np.where(treated, effect, 0.0) + rng.normal(0, 0.5, n)
    taken = np.where(treated, "treat", "wait")
    return X, taken, outcome, np.where(treated, chance, 1 - chance), np.column_stack([base + effect, base])


@pytest.mark.parametrize("method", ["dr", "ipw", "dm"])
@pytest.mark.parametrize("models", ["default", "given", "known"])
def test_scores_from_history_find_the_right_policy(method: str, models: str) -> None:
    """Whatever estimates chances and outcomes, the policy is right about nearly all rows and its value is."""
    X, taken, outcome, chance, truth = history()
    extra: dict[str, object] = {}
    if models == "given":
        numbers = pd.DataFrame({"age": X["age"], "north": (X["site"] == "north").astype(float)})
        X = numbers
        extra = {"propensity": LogisticRegression(), "outcome_model": LinearRegression()}
    elif models == "known":
        extra = {"propensity": chance, "outcome_model": truth}
    model = OptimalPolicyTree(max_depth=1, method=method).fit(X, taken, outcome, **extra)
    best = np.where(X["age"] > 50, "treat", "wait")
    assert (model.predict(X) == best).mean() > 0.97
    assert model.actions_.tolist() == ["treat", "wait"]
    value = model.value_
    # A line for the outcome is a poor model of a step: the direct method is off where it is.
    if not (method == "dm" and models == "given"):
        assert value.policy.value == pytest.approx(truth.max(axis=1).mean(), abs=0.1)
        assert value.policy.low < value.policy.value < value.policy.high
    assert value.history is not None
    assert value.history.value == pytest.approx(outcome.mean())
    assert value.gain["all wait"].low > 0
    assert value.gain["history"].low > 0
    assert sum(value.shares.values()) == pytest.approx(1.0)


def test_small_chances_are_clipped_and_that_is_said() -> None:
    """Chances below the limit are lifted to it, and the notes say how many."""
    X, taken, outcome, chance, _ = history(400)
    chance = chance.copy()
    chance[:7] = 1e-6
    model = OptimalPolicyTree(max_depth=1, method="ipw", clip=0.05).fit(X, taken, outcome, propensity=chance)
    assert model.scores_.clipped == 7
    assert np.abs(model.scores_.rewards).max() <= np.abs(outcome).max() / 0.05 + 1e-9
    assert any("below 0.05 in 7 rows" in note for note in model.notes_)


def test_rows_held_out_judge_a_policy() -> None:
    """Cross-validation expects about the true reward; evaluate on new rows does, with history beside it."""
    X, taken, outcome, _, truth = history()
    half = len(X) // 2
    model = OptimalPolicyTree(max_depth=2, max_leaves="auto").fit(X[:half], taken[:half], outcome[:half])
    wanted = truth.max(axis=1).mean()
    assert model.expectation_.measure == "mean reward"
    assert model.expectation_.value.value == pytest.approx(wanted, abs=0.15)
    assert model.expectation_.beats_baseline
    value = model.evaluate(X[half:], taken[half:], outcome[half:])
    assert value.policy.value == pytest.approx(wanted, abs=0.15)
    assert value.gain["all treat"].low > 0
    assert "history" in str(value)
    expected = model.expect(X[half:], truth[half:])
    assert expected.value.value == pytest.approx(model.score(X[half:], truth[half:]))


def test_a_policy_is_saved_drawn_and_exported(tmp_path: object) -> None:
    """A saved policy says the same, and so do its exports; the report shows what it brings."""
    X, taken, outcome, _, truth = history(600)
    model = OptimalPolicyTree(max_depth=2).fit(X, taken, outcome)
    model.save(f"{tmp_path}/policy.json")
    again = load(f"{tmp_path}/policy.json")
    assert isinstance(again, OptimalPolicyTree)
    assert again.predict(X).tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(again.predict_value(X), model.predict_value(X))
    assert again.value_ == model.value_
    assert pickle.loads(pickle.dumps(model)).predict(X).tolist() == model.predict(X).tolist()
    module: dict[str, object] = {}
    exec(model.to_python(), module)
    predict = module["predict"]
    assert callable(predict)
    assert [predict(row) for row in X[:50].to_dict("records")] == model.predict(X[:50]).tolist()
    assert "predict_proba" not in module
    assert "'treat'" in model.to_sql()
    assert "treat" in model.to_svg()
    assert "a row" in model.to_mermaid()
    page = model.report(f"{tmp_path}/policy.html", X_test=X, y_test=truth).read_text(encoding="utf-8")
    assert "What the policy brings" in page
    assert "What was done" in page
    assert "on average" in model.to_text()
    assert model.feature_importances_.argmax() == 0
    assert len(model.reasons(X[:3])) == 3
    with pytest.raises(ValueError, match="no trees of actions"):
        model.to_sklearn()
    smaller = model.with_leaves(2)
    assert smaller.predict_value(X).mean() <= model.predict_value(X).mean() + 1e-9
    assert clone(model).get_params() == model.get_params()


def test_constraints_on_answers_are_texts_too() -> None:
    """From TOML come the constraints that were written to it."""
    wanted = (
        AnswerShare("treat", at_most=0.3),
        AnswerCost({"treat": 2.5}, at_most=1.0),
        ForbidAnswer("treat", "age", (80, None)),
        ForbidAnswer("treat", "pregnant", {"yes"}),
    )
    assert loads(to_toml(wanted)) == wanted


@pytest.mark.parametrize(
    ("given", "parameters", "words"),
    [
        ({}, {}, "treatment and outcome"),
        ({"treatment": ["a", "b"] * 6}, {}, "treatment and outcome"),
        ({"rewards": np.ones((12, 2)), "outcome": np.ones(12)}, {}, "one or the other"),
        ({"rewards": np.ones((11, 2))}, {}, "rows"),
        ({"rewards": np.ones(12)}, {}, "rewards has shape"),
        ({"rewards": np.full((12, 2), np.inf)}, {}, "missing or infinite"),
        ({"treatment": ["a"] * 12, "outcome": np.ones(12)}, {}, "different actions"),
        ({"treatment": ["a", "b"] * 6, "outcome": ["x"] * 12}, {}, "outcome has"),
        ({"treatment": ["a", "b"] * 6, "outcome": np.ones(12), "propensity": np.full(12, 2.0)}, {}, "above 1"),
        ({"treatment": ["a", "b"] * 6, "outcome": np.ones(12), "propensity": np.ones(5)}, {}, "propensity has shape"),
        ({"treatment": ["a", "b"] * 6, "outcome": np.ones(12)}, {"score_folds": 9}, "fewer than the 9 folds"),
        ({"rewards": np.ones((12, 2))}, {"clip": 0.0}, "clip"),
        ({"rewards": np.ones((12, 2))}, {"constraints": [MCC(at_least=0.1)]}, "costs by row or rewards"),
        ({"rewards": np.ones((12, 2))}, {"constraints": [AnswerShare(7, at_most=0.1)]}, "names the class 7"),
        ({"rewards": np.ones((12, 2))}, {"constraints": [AnswerCost({}, at_most=0.1)]}, "has no costs"),
        ({"rewards": np.ones((12, 2))}, {"constraints": [ForbidAnswer(1, "x0", {"a"})]}, "give an interval"),
        ({"rewards": np.ones((12, 2))}, {"constraints": [ForbidAnswer(1, "x1", {"z"})]}, "does not have"),
        (
            {"rewards": np.ones((12, 2))},
            {"constraints": [ForbidAnswer(1, "x1", {"a"})], "structure": "rules"},
            "needs a tree",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, object], parameters: dict[str, object], words: str) -> None:
    """In one sentence that names what is wrong."""
    cells, _, _ = tiny_policy(0)
    with pytest.raises(ValueError, match=words):
        OptimalPolicyTree(**parameters).fit(cells, **given)
