"""The report as a file; what it does in a browser is tested there."""

from __future__ import annotations

import dataclasses
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers import shown_models
from omtree import OptimalTreeClassifier
from omtree.report.figures import Confusion, Residuals, score
from omtree.report.page import render_report
from omtree.report.page_data import page_data, script_json
from omtree.report.proof import badge_words, proof_facts, proof_sentences

VOID = {"meta", "br", "input", "img", "link", "hr"}


class Page(HTMLParser):
    """Checks that elements nest, and collects ids, references and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.stack

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        facts = dict(attrs)
        if facts.get("id"):
            self.ids.append(str(facts["id"]))
        self.references += [str(facts[key]) for key in ("src", "href", "action", "data", "poster") if key in facts]
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.stack or self.stack[-1] not in ("script", "style"):
            self.words.append(data)


@pytest.mark.parametrize("name", shown_models.EVERY)
def test_every_model_has_a_report(name: str, tmp_path: Path) -> None:
    """One well-formed file below 1 MB that refers to nothing outside itself, the same each time."""
    model, X, y = shown_models.EVERY[name]()
    file = model.report(tmp_path / "report.html", X, y, X.iloc[:50], y[:50], title="A <title>")
    text = file.read_text(encoding="utf-8")
    page = Page(text)
    assert file.stat().st_size < 1_000_000
    assert all(reference.startswith("#") and reference[1:] in page.ids for reference in page.references)
    assert len(page.ids) == len(set(page.ids))
    assert not page.tags & {"img", "link", "iframe", "b-hacked", "object"}
    assert "A <title>" in page.words
    assert text == render_report(model, X, y, X.iloc[:50], y[:50], title="A <title>")
    assert {"model", "try", "leaves", "proof", "features", "score-1", "score-2"} <= set(page.ids)
    assert ("constraints" in page.ids) == bool(model.certificate_.constraints)
    assert ("tradeoff" in page.ids) == (len(getattr(model, "loss_by_leaves_", ())) > 1)


def test_sections_need_their_data() -> None:
    """Without rows there is no score; rows without targets, or the other way round, are refused by name."""
    model, X, y = shown_models.flowers()
    assert not any(name.startswith("score") for name in Page(render_report(model)).ids)
    assert Page(render_report(model, X_test=X, y_test=y)).ids.count("score-1") == 1
    with pytest.raises(ValueError, match="X and y together"):
        render_report(model, X)
    with pytest.raises(ValueError, match="X_test and y_test together"):
        render_report(model, y_test=y)
    with pytest.raises(ValueError, match="training data"):
        render_report(model, X, y[:10])


def test_data_cannot_end_its_script() -> None:
    """The embedded JSON reads back as it was, and holds no character that HTML would act on."""
    model, _, _ = shown_models.mixed()
    data = page_data(model)
    text = script_json(data)
    assert json.loads(text) == json.loads(json.dumps(data))
    assert not re.search(r"[<>&\u2028\u2029]", text)
    page = render_report(model)
    inside = re.search(r'id="omtree-data">(.*?)</script>', page, re.S)
    assert inside is not None
    embedded = json.loads(inside[1])
    assert {name: embedded[name] for name in data} == json.loads(text)
    assert not re.search(r"[<>&\u2028\u2029]", inside[1])


def test_what_is_proven_is_said() -> None:
    """A proof is called one, and where there is none the page says so and names the bound."""
    flowers = shown_models.flowers()[0]
    proven = " ".join(Page(render_report(flowers)).words)
    assert "Proven optimal" in proven
    assert "It is proven that no other model of its kind, wherever it cuts numbers, makes fewer" in proven
    known = dataclasses.replace(flowers.certificate_, cuts="some", n_cuts=9, all_cuts_bound=3.0)
    same = "with the same 9 cut points of numbers"
    assert f"It is proven that no other model of its kind {same} makes fewer" in proof_sentences(known)[1]
    assert f"; {known.beyond_its_cuts}." in proof_sentences(known)[1]
    assert ("lower bound over all cuts", f"3 (gap {100 * known.all_cuts_gap:.1f} %)") in proof_facts(known)
    assert badge_words(known) == "Proven best for its cut points"
    scored = " ".join(Page(render_report(shown_models.by_f1()[0])).words)
    assert "the F1 is" in scored
    assert "It is proven that no other model of its kind with the same" in scored
    open_end = " ".join(Page(render_report(shown_models.numbers()[0])).words)
    assert "Not proven optimal, gap 50.0 %" in open_end
    assert "It is not proven to be the best" in open_end
    assert "time limit" in open_end
    assert "rows per <leaf>" in open_end


def test_constraints_are_listed() -> None:
    """Limits, slack and the worst rule are in the table; what has no number is a dash, and a miss is called one."""
    page = render_report(shown_models.numbers()[0])
    section = page[page.index('id="constraints"') : page.index('id="score') if 'id="score' in page else None]
    lines = [re.findall(r"<td[^>]*>(.*?)</td>", line) for line in re.findall(r"<tr>(<td.*?)</tr>", section)][:4]
    assert lines[0] == ["rows per &lt;leaf&gt;", "40", "at least 30", "10", "3", "yes"]
    assert lines[1][1:5] == ["4", "none", "–", ""]
    assert lines[2][1:4] == ["–", "at least 0.5", "0"]
    assert "no</strong>" in lines[3][5]


def test_counts_agree_with_the_model() -> None:
    """The confusion matrix counts what predict says; a class that training did not have gets a line, no column."""
    model, X, y = shown_models.mixed()
    found = score(model, "data", X, y)
    assert isinstance(found, Confusion)
    assert found.right == int((model.predict(X) == y).sum())
    assert sum(map(sum, found.counts)) == len(X)
    expected = pd.crosstab(pd.Series(y), pd.Series(model.predict(X)))
    for i, actual in enumerate(model.classes_):
        for j, predicted in enumerate(model.classes_):
            want = expected.loc[actual, predicted] if predicted in expected.columns else 0
            assert found.counts[i][j] == want
    other = np.where(np.arange(len(y)) < 5, "unheard of", y)
    new = score(model, "data", X, other)
    assert isinstance(new, Confusion)
    assert new.actual[-1] == "unheard of (new)"
    assert sum(new.counts[-1]) == 5
    assert new.recall[-1] == 0.0


def test_odd_labels(tmp_path: Path) -> None:
    """Half a surrogate in a class is written as a question mark; missing labels share one line."""
    X = pd.DataFrame({"a": [0, 0, 1, 1] * 5})
    y = np.array(["\ud800", "b"], dtype=object)[X["a"]]
    model = OptimalTreeClassifier(max_depth=1).fit(X, y)
    file = model.report(tmp_path / "odd.html", X, y)
    assert "?" in file.read_text(encoding="utf-8")
    found = score(model, "data", X, np.where(X["a"] == 0, np.nan, 1.0))
    assert isinstance(found, Confusion)
    assert found.actual[2:] == ["1 (new)", "missing (new)"]


def test_residuals_agree_with_the_model() -> None:
    """Mean absolute error, root mean square and R² are those of the residuals; the bars hold every row."""
    model, X, y = shown_models.numbers()
    found = score(model, "data", X, y)
    assert isinstance(found, Residuals)
    off = y - model.predict(X)
    assert found.mean_absolute == pytest.approx(np.abs(off).mean())
    assert found.root_mean_square == pytest.approx(np.sqrt((off**2).mean()))
    assert found.r2 == pytest.approx(1 - (off**2).sum() / ((y - y.mean()) ** 2).sum())
    assert sum(found.counts) == len(X)
    with pytest.raises(ValueError, match="missing or infinite"):
        score(model, "data", X, np.where(np.arange(len(y)) == 0, np.nan, y))


def test_the_form_starts_in_the_heaviest_rule() -> None:
    """The values the form begins with are those of a row that the heaviest rule answers for."""
    for make in shown_models.EVERY.values():
        model, X, _ = make()
        row = {}
        used = {f.name: f for f in model.rules_.features}
        for facts in page_data(model)["features"]:
            feature = next(f for name, f in used.items() if name == facts["name"])
            row[feature.name] = float(facts["start"]) if feature.levels is None else feature.levels[facts["start"]]
        frame = X.iloc[:1].copy()
        for name, value in row.items():
            frame[name] = pd.Series([value], index=frame.index).astype(X[name].dtype)
        answered = model.rules_[int(model.apply(frame)[0])]
        assert answered.support == max(rule.support for rule in model.rules_)


def test_wide_data_stays_small() -> None:
    """Hundreds of columns with hundreds of long levels still give a report below 1 MB."""
    rng = np.random.default_rng(1)
    n = 400
    X = pd.DataFrame(
        {f"column {i} {'x' * 100}": rng.choice([f"level {v} {'y' * 200}" for v in range(60)], n) for i in range(220)}
    )
    y = rng.integers(0, 2, n)
    model = OptimalTreeClassifier(max_depth=2, max_leaves=4, categories="values", time_limit=1).fit(X, y)
    assert len(render_report(model, X, y).encode()) < 1_000_000


def test_many_classes_list_their_mistakes() -> None:
    """Where a matrix would be too large to read, the most frequent mistakes are listed."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"a": rng.integers(0, 6, 500), "b": rng.integers(0, 6, 500)})
    y = (X["a"] * 6 + X["b"]).to_numpy()
    model = OptimalTreeClassifier(max_depth=2, max_leaves=8).fit(X, y)
    words: Any = " ".join(Page(render_report(model, X, y)).words)
    assert "The most frequent mistakes" in words
