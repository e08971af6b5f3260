"""Explanations are true: the path is the row's own, and the change flips the answer and is a smallest one."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from helpers.model_zoo import model_and_rows
from omtree import OptimalTreeClassifier


def answers(model, codes):
    """The prediction for each column of codes."""
    by_tree = model.certificate_.structure == "tree"
    rules = model.tree_.apply(codes) if by_tree else model.rules_.assign(codes)
    return [model.rules_[rule].prediction for rule in rules]


def fewest_changes(model, codes, most=3):
    """How many features must change for another answer: all values of all sets of features are tried."""
    features = model.rules_.features
    now = answers(model, codes[:, None])[0]
    used = sorted({condition.feature for rule in model.rules_ for condition in rule.conditions})
    for size in range(1, most + 1):
        for chosen in itertools.combinations(used, size):
            for values in itertools.product(*(range(features[f].n_values) for f in chosen)):
                changed = codes.copy()
                changed[list(chosen)] = values
                if answers(model, changed[:, None])[0] != now:
                    return size
    return None


@pytest.mark.parametrize("seed", range(1, 13))
def test_smallest_change(seed):
    """The change names values that all flip the answer, and no smaller set of columns can."""
    model, rows = model_and_rows(seed)
    rows = rows.head(6)
    codes = model._encode(rows)
    for row, explanation in enumerate(model.explain(rows)):
        fewest = fewest_changes(model, codes[:, row])
        if explanation.change is None:
            assert fewest is None
            continue
        conditions = explanation.change.conditions
        assert fewest in (None, len(conditions))
        for values in itertools.product(*(condition.codes for condition in conditions)):
            changed = codes[:, row].copy()
            changed[[condition.feature for condition in conditions]] = values
            prediction = answers(model, changed[:, None])[0]
            assert prediction != explanation.prediction
            assert prediction == explanation.change.prediction


@pytest.mark.parametrize("seed", range(1, 13))
def test_path(seed):
    """The steps are those of the rule that predict uses, and say truly whether they hold."""
    model, rows = model_and_rows(seed)
    codes = model._encode(rows)
    rules = model.apply(rows)
    predictions = model.predict(rows)
    for row, explanation in enumerate(model.explain(rows)):
        assert explanation.rule == rules[row]
        assert explanation.prediction == predictions[row]
        if explanation.matches is not None:
            conditions = model.rules_[explanation.rule].conditions
            truth = [codes[condition.feature, row] in condition.codes for condition in conditions]
            assert [step.holds for step in explanation.steps] == truth
            assert explanation.matches == model.matches(rows.iloc[[row]])[0]


@pytest.fixture
def credit():
    """A model that asks for income and, below 3000, for the home."""
    frame = pd.DataFrame({"income": [1000.0, 2000, 2500, 3500, 4000, 5000] * 4, "home": ["own"] * 12 + ["rent"] * 12})
    y = np.where((frame["income"] > 3000) | (frame["home"] == "own"), "paid", "lost")
    return OptimalTreeClassifier(max_depth=2, n_bins=3).fit(frame, y)


def test_words(credit):
    """A person can read the path, the cells and the change."""
    row = pd.DataFrame({"income": [2000.0], "home": ["rent"]})
    text = str(credit.explain(row)[0])
    assert text.startswith("prediction: lost")
    assert "income is 2000" in text
    assert "home is rent" in text
    assert "it would be paid with " in text
    assert "\n" in text


def test_words_of_unseen_and_missing(credit):
    """Values that training did not have are called that."""
    rows = pd.DataFrame({"income": [np.nan, 2000.0], "home": ["rent", "boat"]})
    first, second = credit.explain(rows)
    assert "income is missing, never seen here: taken as" in str(first)
    assert "home is boat, never seen here: taken as" in str(second)


def test_words_of_rules():
    """Rules that are no tree say when none of them, or several, hold."""
    texts = []
    for seed in (2, 5, 8, 11):
        model, rows = model_and_rows(seed)
        texts += [str(explanation) for explanation in model.explain(rows)]
    assert any("meets no rule; this is the nearest one" in text and "does not hold" in text for text in texts)
    assert any("rules; this is the heaviest one" in text for text in texts)


def test_model_without_questions():
    """A model of one rule says the same of every row."""
    model, rows = model_and_rows(0)
    explanation = model.explain(rows.head(1))[0]
    assert explanation.change is None
    assert "says so of every row" in str(explanation)
