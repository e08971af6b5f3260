"""The model card: golden files, and figures equal to those of scikit-learn and fairlearn."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import accuracy_score, precision_score, recall_score, roc_auc_score

from helpers import shown_models
from omtree import OptimalSurvivalTree, OptimalTreeClassifier, OptimalTreeRegressor, __version__, load
from omtree.constraints import Recall, StatisticalParity
from omtree.papers.card import Evidence, make_card
from omtree.papers.card_items import ANNEX_IV, TRIPOD
from omtree.papers.card_pages import to_html, to_markdown
from omtree.papers.group_figures import class_figures, groups_of, largest_difference, number_figures

GOLDEN = Path(__file__).parent / "golden"


def patients(n: int, seed: int) -> tuple[pa.Table, np.ndarray]:
    """Blood values, with cells missing, sexes, and who is ill."""
    rng = np.random.default_rng(seed)
    value = rng.normal(10, 3, n).round(1)
    sex = rng.choice(["f", "m"], n)
    ill = np.where(value + rng.normal(0, 1.5, n) + (sex == "m") > 11, "ill", "well")
    cells = [None if gone else float(v) for v, gone in zip(value, rng.random(n) < 0.05, strict=True)]
    return pa.table({"value": cells, "sex": sex.tolist(), "site": rng.choice(["a", "b"], n).tolist()}), ill


def fitted() -> OptimalTreeClassifier:
    """A small tree under constraints."""
    X, y = patients(300, 0)
    model = OptimalTreeClassifier(
        max_depth=2,
        max_leaves=4,
        positive="ill",
        constraints=(Recall("ill", at_least=0.7), StatisticalParity("sex", 0.3, class_="ill")),
    ).fit(X, y)
    model.target_name_ = "state"
    model.origin_ = {"file": "patients.csv", "sha256": "ab" * 32, "fitted": "2024-05-01"}
    # The time of a fit is never the same.
    model.certificate_ = replace(model.certificate_, total_seconds=0.1, seconds={})
    return model


def evidence() -> Evidence:
    """Test rows with a column of groups, and the training rows."""
    X, y = patients(200, 1)
    test = Evidence(model_hash="cd" * 32, today="2024-05-02").with_test(
        "new.csv", "ef" * 32, X, y, {"site": X["site"].to_pylist()}, X.select(["sex"])
    )
    return test.with_training(patients(300, 0)[0], matches=True)


def test_golden_card():
    """The card of a stored model, as Markdown, is the one kept here; both are made anew only on purpose."""
    model = load(GOLDEN / "patients.json")
    found = to_markdown(make_card(model, evidence(), purpose="Whom to see first.")).replace(__version__, "VERSION")
    assert found == (GOLDEN / "card.txt").read_text(encoding="utf-8")


class Texts(HTMLParser):
    """The texts of a page, and the tags that are open."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def cells(card: Any) -> list[str]:
    """Every text of a card."""
    found = []
    for section in card.sections:
        found.append(section.title)
        for block in section.blocks:
            for value in vars(block).values():
                if isinstance(value, str):
                    found.append(value)
                elif not isinstance(value, (bool, int)):
                    found += [cell for line in value for cell in ([line] if isinstance(line, str) else line)]
    return [text for text in found if text and "<svg" not in text]


def test_html_says_what_the_card_says():
    """The page has every text of the card, the picture, no script, and blanks where nobody said anything."""
    card = make_card(fitted(), evidence())
    page = Texts()
    page.feed(to_html(card))
    whole = " ".join(" ".join(page.texts).split())
    tree = next(block for section in card.sections for block in section.blocks if hasattr(block, "svg")).text
    for text in cells(card):
        if text != tree and text not in ("python", "console"):
            assert " ".join(text.split()) in whole
    assert "svg" in page.tags
    assert "script" not in page.tags
    assert whole.count("to be filled in") == 8


@pytest.mark.parametrize("name", sorted(shown_models.EVERY))
def test_names_are_shown_as_text(name):
    """Hostile names of columns and classes become no markup, in HTML or Markdown, whatever the model."""
    model, X, y = shown_models.EVERY[name]()
    test = Evidence(today="2024-05-02").with_test("t.csv", "", X, y, {X.columns[0]: X.iloc[:, 0].tolist()})
    card = make_card(model, test, purpose=shown_models.HOSTILE[0], owner=shown_models.HOSTILE[0])
    page = Texts()
    page.feed(to_html(card))
    assert not page.tags & {"script", "img", "iframe", "b:if", "object"}
    plain = re.sub(r"^(`{3,}).*?^\1$", "", to_markdown(card), flags=re.DOTALL | re.MULTILINE)
    assert not re.search(r"(?<!\\)<(?!br)", plain)


def test_figures_are_those_of_scikit_learn():
    """Accuracy, recall, precision and AUC on the card equal scikit-learn's."""
    model, test = fitted(), evidence().test
    said, actual = model.predict(test.X), test.y
    texts = cells(make_card(model, evidence()))
    assert f"{100 * accuracy_score(actual, said):.1f} %" in texts
    for label in ("ill", "well"):
        recall = 100 * recall_score(actual, said, pos_label=label)
        precision = 100 * precision_score(actual, said, pos_label=label)
        assert any(text.startswith(f"{recall:.1f} % (") for text in texts)
        assert any(text.startswith(f"{precision:.1f} % (") for text in texts)
    share = model.predict_proba(test.X)[:, model.classes_.tolist().index("ill")]
    assert any(f"AUC {roc_auc_score(actual == 'ill', share):.3f}" in text for text in texts)


def test_group_figures_are_those_of_fairlearn():
    """Figures by group, and the largest differences between groups, equal fairlearn's."""
    metrics = pytest.importorskip("fairlearn.metrics")
    rng = np.random.default_rng(4)
    actual, said = rng.integers(0, 2, 500), rng.integers(0, 2, 500)
    group = rng.choice(["a", "b", "c"], 500, p=[0.6, 0.3, 0.1])
    found = class_figures(groups_of(group.tolist()), said, actual, 1)
    wanted = metrics.MetricFrame(
        metrics={
            "accuracy": accuracy_score,
            "selected": metrics.selection_rate,
            "recall": metrics.true_positive_rate,
            "false_alarms": metrics.false_positive_rate,
        },
        y_true=actual,
        y_pred=said,
        sensitive_features=group,
    ).by_group
    for figures in found:
        for name in wanted.columns:
            assert getattr(figures, name).value == pytest.approx(wanted.loc[figures.name, name])
    parity = metrics.demographic_parity_difference(actual, said, sensitive_features=group)
    assert largest_difference([each.selected for each in found]) == pytest.approx(parity)
    odds = metrics.equalized_odds_difference(actual, said, sensitive_features=group)
    ours = [largest_difference([getattr(each, name) for each in found]) for name in ("recall", "false_alarms")]
    assert max(ours) == pytest.approx(odds)


def test_groups_of_numbers_by_hand():
    """Of numbers the card has root mean square and mean of the errors in every group."""
    said, actual = np.array([1.0, 2.0, 3.0, 5.0]), np.array([1.0, 1.0, 4.0, 4.0])
    first, second = number_figures(groups_of(["x", "x", "y", "y"]), said, actual)
    assert (first.rmse, first.bias) == pytest.approx((0.5**0.5, 0.5))
    assert (second.rmse, second.bias) == pytest.approx((1.0, 0.0))
    X = pd.DataFrame({"a": np.arange(60.0)})
    model = OptimalTreeRegressor(max_depth=1).fit(X, np.arange(60.0) > 30)
    test = Evidence().with_test("t", "", X, np.arange(60.0), {"half": (X["a"] > 20).tolist()})
    assert "mean of answer less truth" in cells(make_card(model, test))


def test_many_groups_are_counted_together():
    """Beyond a dozen groups the smallest are one."""
    found = groups_of([f"g{i % 20}" for i in range(400)])
    assert len(found) == 12
    assert found[-1][0] == "9 others"
    assert sum(int(rows.sum()) for _, rows in found) == 400


def test_without_evidence_items_are_open():
    """A card without test rows says that nothing is known, and has no item answered by what is not there."""
    X, y = patients(300, 0)
    model = OptimalTreeClassifier(max_depth=2, max_leaves=4).fit(X, y)
    card = make_card(model, Evidence())
    texts = cells(card)
    assert any(text.startswith("Nothing is known about new rows") for text in texts)
    assert {"groups", "calibration"}.isdisjoint(section.key for section in card.sections)
    lines = {line[0]: line[2] for section in card.sections if section.key == "items" for line in section.blocks[1].rows}
    assert lines["14"].startswith("in part")
    assert lines["23a"] == lines["2"] == lines["1"] == "open"


def test_every_item_names_sections_that_exist():
    """Items refer to sections by keys that a full card has, and each item once."""
    keys = {section.key for section in make_card(fitted(), evidence()).sections}
    for items in (TRIPOD, ANNEX_IV):
        assert len({item for item, *_ in items}) == len(items)
        assert {key for _, _, sections, _ in items for key in sections} <= keys


def lifetimes(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Times to an event that depend on age."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(20, 90, n), "sex": rng.choice(["f", "m"], n)})
    y = np.zeros(n, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = rng.random(n) < 0.7, rng.exponential(np.where(frame["age"] > 60, 1.0, 4.0)) + 0.01
    return frame, y


def test_a_log_rank_model_shows_its_score_in_training_not_a_deviance() -> None:
    """The losses of its leaves are no deviances, from which a share saved would be a number that means nothing."""
    X, y = lifetimes(300, 3)
    model = OptimalSurvivalTree(max_depth=1, objective="logrank").fit(X, y)
    score = sum((rule.survival.events - rule.survival.exposure) ** 2 / rule.survival.exposure for rule in model.rules_)
    said = f"log-rank {score:.4g}"
    assert said in to_markdown(make_card(model, Evidence()))
    new, actual = lifetimes(200, 4)
    tested = to_markdown(make_card(model, Evidence().with_test("new.csv", "ef" * 32, new, actual, {})))
    assert said in tested
    assert "explained deviance in training" not in tested
    plain = OptimalSurvivalTree(max_depth=1).fit(X, y)
    text = to_markdown(make_card(plain, Evidence().with_test("new.csv", "ef" * 32, new, actual, {})))
    assert "explained deviance in training" in text


def test_figures_in_training_have_the_unit_of_the_model() -> None:
    """Without new rows the card says the deviance saved, R2 or the share right."""
    X, y = lifetimes(300, 5)
    options = {"max_depth": 1, "binning": "quantile"}
    cards = {
        "of the deviance": OptimalSurvivalTree(**options).fit(X, y),
        "R2 0.": OptimalTreeRegressor(**options, leaves="linear").fit(X, y["time"]),
        "% right": OptimalTreeClassifier(**options).fit(X, y["event"]),
    }
    for words, model in cards.items():
        (line,) = [
            line for line in to_markdown(make_card(model, Evidence())).splitlines() if "Nothing is known" in line
        ]
        assert words in line


def test_a_survival_card_by_group_says_how_many_had_the_event() -> None:
    """Each group has its rows, its events and those that the risks expect."""
    X, y = lifetimes(300, 6)
    model = OptimalSurvivalTree(max_depth=1).fit(X, y)
    new, actual = lifetimes(200, 7)
    evidence = Evidence().with_test("new.csv", "ef" * 32, new, actual, {"sex": new["sex"].tolist()})
    text = to_markdown(make_card(model, evidence))
    for sex in "fm":
        inside = (new["sex"] == sex).to_numpy()
        assert f"| {sex} | {inside.sum()} | {actual['event'][inside].sum()} |" in text
