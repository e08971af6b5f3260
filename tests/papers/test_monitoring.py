"""What new rows say about a model."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score

from omtree import OptimalPolicyTree, OptimalTreeClassifier, OptimalTreeRegressor, load
from omtree.constraints import Recall, StatisticalParity
from omtree.papers.card import Evidence, make_card
from omtree.papers.monitoring import monitor


def loans(n: int = 600, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Incomes, homes and sexes; who earns more pays back more often."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": rng.gamma(4, 800, n).round(),
            "home": rng.choice(["own", "rent", "free"], n, p=[0.5, 0.4, 0.1]),
            "sex": rng.choice(["f", "m"], n),
            "note": rng.choice(["a", "b"], n),
        }
    )
    X.loc[rng.random(n) < 0.05, "income"] = np.nan
    chance = 1 / (1 + np.exp(-(X["income"].fillna(2000) - 2800) / 500))
    return X, np.where(rng.random(n) < chance, "paid", "lost")


@pytest.fixture(scope="module")
def fitted() -> OptimalTreeClassifier:
    """A tree that was asked to keep to a recall and to parity."""
    X, y = loans()
    constraints = (Recall("lost", at_least=0.6), StatisticalParity("sex", 0.3))
    return OptimalTreeClassifier(max_depth=2, max_leaves=4, constraints=constraints).fit(X, y)


def test_training_rows_are_no_shift(fitted, tmp_path):
    """The rows of the training, compared with what the model or its file keeps of them, have an index of zero."""
    X, y = loans()
    fitted.save(tmp_path / "model.json")
    for model in (fitted, load(tmp_path / "model.json")):
        found = monitor(model, X, y)
        assert found.alarms == ()
        assert {shift.name for shift in found.columns} <= {"income", "home", "sex", "note"}
        assert found.columns
        assert all(shift.index == pytest.approx(0.0, abs=1e-12) for shift in (*found.columns, found.leaves))
        assert [leaf.before for leaf in found.by_leaf] == pytest.approx([leaf.now for leaf in found.by_leaf])
        assert all(check.met for check in found.constraints)


def test_shift_of_a_column_by_hand(fitted):
    """The index of a column is that of its shares in the model's bins, missing cells and new values apart."""
    X, y = loans()
    now = X.copy()
    now["income"] *= 1.4
    now.loc[:30, "income"] = np.nan
    shift = next(each for each in monitor(fitted, now, y).columns if each.name == "income")
    feature = next(each for each in fitted.rules_.features if each.name == "income")

    def shares(column: pd.Series) -> np.ndarray:
        codes = np.searchsorted(feature.thresholds, column.to_numpy(), side="right")
        codes[column.isna()] = feature.n_values
        return np.bincount(codes, minlength=feature.n_codes) / len(column)

    before, after = (np.maximum(shares(table["income"]), 0.5 / len(X)) for table in (X, now))
    assert shift.index == pytest.approx(float(((after - before) * np.log(after / before)).sum()))


def test_older_rows_cover_every_column(fitted, tmp_path):
    """With older rows all columns are compared, also texts whose values the saved model does not tell."""
    X, y = loans()
    now = X.copy()
    now["note"] = "c"
    fitted.save(tmp_path / "model.json")
    for model in (fitted, load(tmp_path / "model.json")):
        found = monitor(model, now, y, X_before=X, y_before=y)
        by_name = {shift.name: shift for shift in found.columns}
        assert set(by_name) == {"income", "home", "sex", "note"}
        assert by_name["note"].alarming
        assert all(by_name[name].index == 0 for name in ("income", "home", "sex"))
        assert found.alarms == tuple(sentence for sentence in found.alarms if "Column note" in sentence)


def test_alarms_for_leaves_and_constraints(fitted):
    """Leaves that are right less often, and constraints that fail now, are alarms with their figures."""
    X, y = loans()
    turned = np.where(y == "paid", "lost", "paid")
    found = monitor(fitted, X, turned)
    said = fitted.predict(X)
    assert found.expectation.value.value == pytest.approx(accuracy_score(turned, said))
    for leaf in found.by_leaf:
        inside = fitted.apply(X) == leaf.number - 1
        assert leaf.rows == inside.sum()
        assert leaf.now == pytest.approx(accuracy_score(turned[inside], said[inside]))
    assert any(sentence.startswith("Leaf ") for sentence in found.alarms)
    assert any(sentence.startswith("Recall('lost'") for sentence in found.alarms)


def test_without_targets(fitted):
    """Rows without targets are compared all the same, and nothing is said about accuracy."""
    X, _ = loans(seed=5)
    found = monitor(fitted, X)
    assert found.expectation is None
    assert found.constraints == ()
    assert all(leaf.now is None for leaf in found.by_leaf)


def test_weights_ask_for_older_rows():
    """The spread of weighted training rows is no measure for new ones, and a note says so."""
    X, y = loans()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = OptimalTreeClassifier(max_depth=2, max_leaves=4, class_weight="balanced").fit(X, y)
    found = monitor(model, X, y)
    assert found.columns == ()
    assert found.leaves is None
    assert all(math.isnan(leaf.share_before) for leaf in found.by_leaf)
    assert "weighted rows" in found.notes[0]
    older = monitor(model, X, y, X_before=X, y_before=y)
    assert older.leaves.index == 0


def test_numbers():
    """Of numbers the mean of each leaf is compared, and a mean that moved far is an alarm."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=400)})
    y = np.where(X["a"] > 0, 10.0, 0.0) + rng.normal(size=400)
    model = OptimalTreeRegressor(max_depth=1, max_leaves=2).fit(X, y)
    assert monitor(model, X, y).alarms == ()
    found = monitor(model, X, y + 3.0)
    assert len(found.alarms) == 2
    assert [leaf.now - leaf.before for leaf in found.by_leaf] == pytest.approx([3.0, 3.0])


def test_policies_have_no_true_answers():
    """Of a policy the spread of rows is compared; answers to compare with, and a card, are refused in a sentence."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200)})
    gain = X["a"].to_numpy()
    policy = OptimalPolicyTree(max_depth=1).fit(X, rewards=np.column_stack([gain, -gain]))
    assert monitor(policy, X).alarms == ()
    assert any("Column a" in sentence for sentence in monitor(policy, X + 3).alarms)
    with pytest.raises(ValueError, match="no true answers"):
        monitor(policy, X, gain)
    with pytest.raises(ValueError, match="classes and of numbers"):
        make_card(policy, Evidence())
