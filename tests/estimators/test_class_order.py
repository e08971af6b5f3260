"""Classes that have an order: whatever it is inside, everything outside is as scikit-learn has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from omtree import OptimalTreeClassifier, load
from omtree.cli import main
from omtree.constraints import Monotone, Recall
from omtree.export.predictor import load_predictor
from omtree.report.colours import class_colours
from omtree.report.summary import Summaries

LEVELS = ["low", "medium", "high"]
TABLE = pd.DataFrame({"a": np.arange(90) % 30, "b": np.arange(90) % 7})
Y = np.array(LEVELS, dtype=object)[np.minimum(TABLE["a"] // 10 + (TABLE["b"] == 3), 2)]


def fit(y: Any = Y, **options: Any) -> OptimalTreeClassifier:
    """A model with fixed cuts."""
    return OptimalTreeClassifier(max_depth=2, binning="quantile", **options).fit(TABLE, y)


@pytest.mark.parametrize(
    "ordered",
    [
        lambda: fit(pd.Series(pd.Categorical(Y, LEVELS, ordered=True))),
        lambda: fit(pd.Categorical(Y, [*LEVELS, "extreme"], ordered=True)),
        lambda: fit(pl.Series(Y.tolist(), dtype=pl.Enum(LEVELS))),
        lambda: fit(class_order=LEVELS),
    ],
)
def test_outside_nothing_changes(ordered: Any, tmp_path: Path) -> None:
    """Answers, probabilities, classes, loss and score are those without an order; pictures go from low to high."""
    plain, model = fit(), ordered()
    assert model.classes_.tolist() == plain.classes_.tolist() == ["high", "low", "medium"]
    assert model.certificate_.value == plain.certificate_.value
    assert model.score(TABLE, Y) == plain.score(TABLE, Y)
    assert plain.rules_.classes == ("high", "low", "medium")
    assert model.rules_.classes == tuple(LEVELS)
    said = model.predict_proba(TABLE)
    assert (model.classes_[said.argmax(axis=1)] == model.predict(TABLE)).all()
    assert Summaries.of(model.rules_).colours == class_colours(3, ordered=True)
    assert Summaries.of(plain.rules_).colours == class_colours(3)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    for each in (again, load_predictor(tmp_path / "model.json")):
        np.testing.assert_array_equal(each.predict(TABLE), model.predict(TABLE))
        np.testing.assert_array_equal(each.predict_proba(TABLE), said)
    assert again.classes_.tolist() == model.classes_.tolist()
    for each in (model, again, again.with_leaves(2), model.with_leaves(2)):
        page = each.report(tmp_path / "report.html", TABLE, Y).read_text()
        assert all(colour in page for colour in class_colours(3, ordered=True))


def test_costs_and_constraints_by_class() -> None:
    """Costs are in the order of the sorted classes whatever the order is, by class and by row; so are constraints."""
    costs = np.array([[0, 5, 1], [7, 0, 2], [1, 1, 0]])
    plain, model = fit(costs=costs), fit(costs=costs, class_order=LEVELS)
    assert model.certificate_.value == plain.certificate_.value
    place = {label: i for i, label in enumerate(plain.classes_)}
    paid = sum(costs[place[was], place[said]] for was, said in zip(Y, model.predict(TABLE), strict=True))
    assert model.certificate_.value == pytest.approx(paid)
    by_row = costs[[place[label] for label in Y]]
    fits = OptimalTreeClassifier(max_depth=2, binning="quantile")
    one = clone(fits).fit(TABLE, Y, costs=by_row)
    two = clone(fits).set_params(class_order=LEVELS).fit(TABLE, Y, costs=by_row)
    assert one.certificate_.value == two.certificate_.value == pytest.approx(paid)
    recall = fit(constraints=[Recall("medium", at_least=0.95)], class_order=LEVELS)
    assert np.mean(recall.predict(TABLE)[Y == "medium"] == "medium") >= 0.95


def test_monotone_goes_by_the_order() -> None:
    """Answers rise with a column in the order that was declared."""
    model = fit(class_order=LEVELS, constraints=[Monotone("a", 1)])
    rank = {level: i for i, level in enumerate(LEVELS)}
    for b in range(7):
        said = model.predict(pd.DataFrame({"a": np.arange(30), "b": b}))
        assert (np.diff([rank[label] for label in said]) >= 0).all()
    assert len(set(model.predict(TABLE))) > 1


def test_two_classes_keep_theirs() -> None:
    """Of two classes the second in the order of scikit-learn, or the one that is named, stays the positive one."""
    y = np.where(Y == "low", "bad", "good")
    model = OptimalTreeClassifier(class_order=["good", "bad"]).fit(TABLE, y)
    assert model.rules_.classes == ("bad", "good")
    model = OptimalTreeClassifier(class_order=["good", "bad"], positive="bad").fit(TABLE, y)
    assert model.rules_.classes == ("good", "bad")


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (["low", "high"], "does not name the class 'medium'"),
        (["low", "low", "medium", "high"], "names a class twice"),
        ("low", "use None or the classes from the lowest on"),
    ],
)
def test_wrong_orders(order: Any, words: str) -> None:
    """An order that leaves a class out is refused in a sentence."""
    with pytest.raises(ValueError, match=words):
        fit(class_order=order)


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--kind TARGET=low,medium,high` is the order of the classes."""
    data, out = str(tmp_path / "data.csv"), str(tmp_path / "model.json")
    TABLE.assign(level=Y).to_csv(data, index=False)
    fixed = ["fit", data, "-t", "level", "--depth", "2", "-q", "-o", out]
    assert main([*fixed, "--kind", "level=low,medium,high"]) == 0
    assert load(out).rules_.classes == tuple(LEVELS)
    assert load(out).rules_.ordered
    for option, words in (("level=low,high", "does not name the class 'medium'"), ("level=ordinal", "--task says")):
        assert main([*fixed, "--kind", option]) == 1
        assert words in capsys.readouterr().err
