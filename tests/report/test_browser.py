"""The report and the pictures in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from helpers import shown_models
from omtree import OptimalTreeClassifier
from omtree.data.table import Pooled
from omtree.data.wording import show_number


class Opened:
    """A report in a tab, with everything it complained about or asked for."""

    def __init__(self, page: Any, file: Path) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(file.as_uri())


@pytest.fixture
def open_report(chromium: Any, tmp_path: Path) -> Iterator[Any]:
    """Opens the report of an example; at the end nothing was complained about, asked for or run by hostile names."""
    opened: list[Opened] = []

    def show(name: str, **options: Any) -> Any:
        model, X, y = shown_models.EVERY[name]()
        file = model.report(tmp_path / f"{name}.html", X, y, X.iloc[:40], y[:40], title=shown_models.HOSTILE[0])
        tab = Opened(chromium.new_page(viewport={"width": 1280, "height": 900}, **options), file)
        opened.append(tab)
        return tab.page

    yield show
    for tab in opened:
        assert tab.page.evaluate("window.hacked") is None
        assert tab.complaints == []
        assert len(tab.requests) == 1
        tab.page.close()


def page_rows(model: Any, features: list[dict[str, Any]], rows: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Rows as the page's own functions take them: numbers, positions of levels, None or "other"."""
    by_name = {feature.name: feature for feature in model.rules_.features}
    columns: list[list[Any]] = []
    for facts in features:
        feature = by_name[facts["name"]]
        cells = rows[feature.name].astype(object).tolist()
        if feature.levels is None:
            columns.append([None if pd.isna(cell) else float(cell) for cell in cells])
            continue
        codes: dict[Any, int] = {}
        for code, level in enumerate(feature.levels):
            codes |= dict.fromkeys(level.members if isinstance(level, Pooled) else [level], code)
        columns.append([None if pd.isna(cell) else codes.get(cell, "other") for cell in cells])
    return list(zip(*columns, strict=True)) if columns else [()] * len(rows)


def strange_rows(name: str, n: int) -> pd.DataFrame:
    """Rows that mix what training had with missing cells, unseen levels and values on, and next to, a threshold."""
    model, X, _ = shown_models.EVERY[name]()
    rng = np.random.default_rng(11)
    made = {}
    features = {feature.name: feature for feature in model.rules_.features}
    for column in X.columns:
        pool = X[column].astype(object).to_numpy()
        feature = features.get(column)
        if feature is not None and feature.thresholds is not None and len(feature.thresholds):
            cuts = feature.thresholds
            pool = np.concatenate([X[column].to_numpy(dtype=float), *([cuts] * 8)])
            pool = np.concatenate([pool, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf), [-1e300, 1e300, 0.1]])
            cells = rng.choice(pool, n)
            made[column] = np.where(rng.random(n) < 0.15, np.nan, cells)
        else:
            cells = rng.choice(pool, n)
            cells[rng.random(n) < 0.15] = None
            if X[column].dtype != bool:  # with a text among them, booleans would be read as texts
                cells[rng.random(n) < 0.15] = "never seen before"
            made[column] = cells
    return pd.DataFrame(made, columns=X.columns)


FEATURES = "JSON.parse(document.getElementById('omtree-data').textContent).features"
SIZES = "JSON.parse(document.getElementById('omtree-data').textContent).sizes"


@pytest.mark.parametrize("name", shown_models.EVERY)
def test_the_page_answers_as_predict_does(name: str, open_report: Any) -> None:
    """On 3,000 rows, strange ones among them, the page's answer is that of apply and predict."""
    model, X, _ = shown_models.EVERY[name]()
    page = open_report(name)
    features = page.evaluate(FEATURES)
    for rows in (X, strange_rows(name, 3000)):
        # As text: the driver is slow with many small values.
        values = json.dumps(page_rows(model, features, rows))
        np.testing.assert_array_equal(
            page.evaluate("rows => JSON.parse(rows).map(omtree.apply)", values), model.apply(rows)
        )
        said = page.evaluate("rows => JSON.parse(rows).slice(0, 200).map(omtree.predict)", values)
        wanted = model.predict(rows.iloc[:200])
        if model.rules_.classes:
            assert said == [str(answer) for answer in wanted]
        else:
            assert [float(text.replace(",", "")) for text in said] == pytest.approx(wanted.tolist(), rel=1e-3)


@pytest.mark.parametrize("name", ["flowers", "mixed", "mixed_rules", "no_tree", "numbers"])
def test_the_form_answers_as_predict_does(name: str, open_report: Any) -> None:
    """Typed and chosen by hand: the form's answer, and the row of the table it marks, are those of the model."""
    model, _, _ = shown_models.EVERY[name]()
    page = open_report(name)
    features = page.evaluate(FEATURES)
    rows = strange_rows(name, 12)
    for row, rule in zip(page_rows(model, features, rows), model.apply(rows), strict=True):
        for i, (facts, value) in enumerate(zip(features, row, strict=True)):
            if "cuts" in facts:
                page.fill(f"#value-{i}", "" if value is None else show_number(value))
            else:
                page.select_option(f"#value-{i}", "missing" if value is None else str(value))
        marked = page.locator("#leaf-table tr.on-path")
        assert marked.count() == 1
        assert marked.get_attribute("data-rule") == str(rule)
        assert page.text_content("#result .says") == marked.locator(".answer").text_content()


def test_the_form_says_what_it_cannot_read(open_report: Any) -> None:
    """Text where a number belongs is marked, and there is no answer until it is gone."""
    page = open_report("flowers")
    for wrong in ("two", "1,5,0", "0x10", "Infinity", "1e999"):
        page.fill("#value-0", wrong)
        assert page.get_attribute("#value-0", "aria-invalid") == "true"
        assert page.locator("#result .says").count() == 0
    page.fill("#value-0", "2,5")
    assert page.get_attribute("#value-0", "aria-invalid") == "false"
    page.fill("#value-0", " 2.5e0 ")
    assert page.get_attribute("#value-0", "aria-invalid") == "false"
    assert page.locator("#result .says").count() == 1


def test_nodes_can_be_chosen_and_folded(open_report: Any) -> None:
    """A click shows the rule of a node; its knob, a double click, Space and the buttons fold what is below."""
    model, _, _ = shown_models.deep()
    page = open_report("deep")
    tree = model.tree_
    leaf = next(node for node in tree.nodes if node.is_leaf)
    page.locator(f'[data-leaf="{leaf.index}"] rect').first.click()
    body = page.text_content("#detail-body")
    rule = model.rules_[leaf.rule]
    assert str(rule.prediction) in body
    assert page.locator("#detail-body li").count() == len(rule.conditions)
    assert f"{rule.support:.0f} rows" in body

    def visible() -> int:
        return int(page.locator("[data-node]:not(.gone), [data-leaf]:not(.gone)").count())

    def below(index: int) -> int:
        return sum(1 + below(kid) for kid in tree.nodes[index].children)

    everything = len(tree.nodes)
    assert visible() == everything
    child = tree.nodes[0].children[0]
    page.locator(f'[data-node="{child}"] .knob').click()
    assert visible() == everything - below(child)
    assert page.get_attribute(f'[data-node="{child}"]', "aria-expanded") == "false"
    page.locator(f'[data-node="{child}"] .knob').click()
    assert visible() == everything
    page.click("[data-fold=all]")
    assert visible() == 1 + len(tree.nodes[0].children)
    page.click("[data-fold=none]")
    assert visible() == everything


def test_the_tree_can_be_walked_with_the_keyboard(open_report: Any) -> None:
    """Arrows move between nodes, Enter shows one, Space folds it; one node is in the order of tabs."""
    model, _, _ = shown_models.flowers()
    page = open_report("flowers")
    assert page.locator('svg [tabindex="0"]').count() == 1
    page.focus('[data-node="0"]')
    page.keyboard.press("ArrowDown")
    focused = "Number(document.activeElement.dataset.node ?? document.activeElement.dataset.leaf)"
    at = page.evaluate(focused)
    assert at in model.tree_.nodes[0].children
    page.keyboard.press("ArrowUp")
    assert page.evaluate(focused) == 0
    page.keyboard.press(" ")
    assert page.locator(".gone[data-leaf]").count() == model.tree_.n_leaves
    page.keyboard.press(" ")
    page.keyboard.press("Enter")
    assert "Every row starts here" in page.text_content("#detail-body")


def test_tables_sort(open_report: Any) -> None:
    """A click on a heading sorts by it, another one the other way round; numbers as numbers."""
    model, _, _ = shown_models.deep()
    page = open_report("deep")
    column = "[...document.querySelectorAll('#leaf-table tbody tr')].map(row => Number(row.dataset.rule))"
    supports = [rule.support for rule in model.rules_]
    page.click("#leaf-table th:has-text('Rows') button")
    assert [supports[r] for r in page.evaluate(column)] == sorted(supports)
    page.click("#leaf-table th:has-text('Rows') button")
    assert [supports[r] for r in page.evaluate(column)] == sorted(supports, reverse=True)
    assert page.get_attribute("#leaf-table th:has-text('Rows')", "aria-sort") == "descending"
    page.click("#leaf-table th:has-text('Answer') button")
    answers = page.evaluate("[...document.querySelectorAll('#leaf-table .answer')].map(cell => cell.textContent)")
    assert answers == sorted(answers)


def test_zoom_and_pan(open_report: Any) -> None:
    """The buttons and the wheel with Ctrl zoom, dragging moves, and Fit shows everything."""
    page = open_report("deep")
    box = "document.querySelector('#stage svg').viewBox.baseVal"
    start = page.evaluate(f"{box}.width")
    page.click("[data-zoom=in]")
    assert page.evaluate(f"{box}.width") == pytest.approx(start / 1.25)
    x = page.evaluate(f"{box}.x")
    place = page.locator("[data-node]").nth(5).locator("rect").bounding_box()
    page.mouse.move(place["x"] + 20, place["y"] + 10)
    page.mouse.down()
    page.mouse.move(place["x"] - 60, place["y"] + 10)
    page.mouse.move(place["x"] - 80, place["y"] + 10)
    page.mouse.up()
    assert "Every row starts here" in page.text_content("#detail-body")
    assert page.evaluate(f"{box}.x") > x + 20
    page.click("[data-zoom=fit]")
    scene = page.evaluate("document.querySelector('#stage svg .omt-paper').getBBox().width")
    assert page.evaluate(f"{box}.x") <= 0
    assert page.evaluate(f"{box}.x + {box}.width") >= scene


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(open_report: Any, scheme: str) -> None:
    """The page follows the system, the button turns it round, and text has contrast enough either way."""
    page = open_report("mixed", color_scheme=scheme)
    contrast = """() => {
      const light = (text) => {
        const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
          .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const card = light(getComputedStyle(document.querySelector('section')).backgroundColor);
      const words = [...document.querySelectorAll('section p, section td, section th, section label')]
        .map((element) => light(getComputedStyle(element).color));
      const inside = [...document.querySelectorAll('#stage text')].map((e) => light(getComputedStyle(e).fill));
      const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      return [card, Math.min(...[...words, ...inside].map((w) => ratio(w, card)))];
    }"""
    card, least = page.evaluate(contrast)
    assert (card < 0.2) == (scheme == "dark")
    assert least > 4.5
    page.click("#theme")
    card, least = page.evaluate(contrast)
    assert (card < 0.2) == (scheme == "light")
    assert least > 4.5


def test_another_size_redraws_the_tree(open_report: Any) -> None:
    """Choosing a size draws its tree, fills the table and answers as that model does; the own size brings all back."""
    model, X, _ = shown_models.judged()
    page = open_report("judged")
    sizes = [int(button.get_attribute("data-size")) for button in page.locator("[data-size]").all()]
    assert len(sizes) > 2
    before = page.inner_html("#stage")
    for size in sizes:
        page.click(f'[data-size="{size}"]')
        other = next(m for m in map(model.with_leaves, range(1, 5)) if len(m.rules_) == size)
        assert page.locator("[data-leaf]").count() == size
        assert page.locator("#leaf-table tbody tr").count() == size
        assert page.get_attribute(f'[data-size="{size}"]', "aria-pressed") == "true"
        assert page.locator('[data-size][aria-pressed="true"]').count() == 1
        features = page.evaluate(FEATURES if size == len(model.rules_) else f"{SIZES}[{size}].features")
        values = json.dumps(page_rows(other, features, X))
        np.testing.assert_array_equal(
            page.evaluate("rows => JSON.parse(rows).map(omtree.apply)", values), other.apply(X)
        )
        page.locator("#leaf-table tbody tr").first.click()
        assert "Predicts" in page.text_content("#detail-body") or size == 1
    page.click(f'[data-size="{len(model.rules_)}"]')
    assert page.text_content("#model-note") == ""
    assert page.locator("#stage [data-leaf]").count() == before.count("data-leaf")


def test_the_form_says_what_would_change_the_answer(open_report: Any) -> None:
    """Below the answer stands the nearest change that gives another one."""
    page = open_report("judged")
    said = page.text_content("#result .says")
    change = page.locator("#result .hint").last.text_content()
    assert change.startswith("It would be ")
    assert not change.startswith(f"It would be {said}")


@pytest.mark.parametrize("name", ["judged", "flowers", "mixed"])
def test_the_change_in_the_form_is_the_condition_of_the_leaf(open_report: Any, name: str) -> None:
    """The change is said by conditions of the leaf that it leads to, and rows that meet these get its answer."""
    page = open_report(name)
    rules = json.loads(page.text_content("#omtree-data"))["rules"]
    said = page.text_content("#result .says")
    change = page.locator("#result .hint").last.text_content()
    assert change.startswith("It would be ")
    leaves = [rule for rule in rules if change.startswith(f"It would be {rule['answer']} with ")]
    assert said not in {rule["answer"] for rule in leaves}
    conditions = [part.rsplit(" (now ", 1)[0] for part in change.split(" with ", 1)[1].split(") and ")]
    assert any(set(conditions) <= set(rule["words"]) for rule in leaves)


def test_two_changes_are_said_where_one_is_not_enough(chromium: Any, tmp_path: Path) -> None:
    """Where no single change leads to another answer two are said, and together they lead to it."""
    X = pd.DataFrame([(a, b) for a in range(10) for b in range(10)] * 2, columns=["a", "b"])
    y = np.where((X["a"] >= 5) & (X["b"] >= 5), "high", "low")
    model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    page = chromium.new_page()
    page.goto(model.report(tmp_path / "report.html").as_uri())
    for name in ("a", "b"):
        page.get_by_label(name, exact=True).fill("2,5")
    assert page.text_content("#result .says") == "low"
    change = page.locator("#result .hint").last.text_content()
    assert change.startswith("It would be high with ")
    assert "a \u2265 5 (now 2,5)" in change
    assert "b \u2265 5 (now 2,5)" in change
    for name in ("a", "b"):
        page.get_by_label(name, exact=True).fill("5")
    assert page.text_content("#result .says") == "high"
    page.close()


def test_on_a_phone(open_report: Any) -> None:
    """On a narrow screen the tree is an indented list, nothing sticks out, and tables scroll on their own."""
    model, _, _ = shown_models.judged()
    page = open_report("judged")
    assert not page.locator(".outline").is_visible()
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.locator(".outline").is_visible()
    assert not page.locator("#stage").is_visible()
    assert page.locator(".outline .says").count() == len(model.rules_)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_hostile_texts_are_shown_as_text(open_report: Any) -> None:
    """Names, categories and classes with markup are readable on the page, and none of it became an element."""
    page = open_report("mixed")
    assert page.text_content("h1") == shown_models.HOSTILE[0]
    labels = page.locator("#fields label").all_text_contents()
    assert shown_models.HOSTILE[2] in labels
    options = page.locator("#fields option").all_text_contents()
    assert shown_models.HOSTILE[0] in options
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2


def test_it_prints(open_report: Any) -> None:
    """On paper there is the tree and the tables, and nothing that needs a hand."""
    page = open_report("flowers", color_scheme="dark")
    page.click("[data-fold=all]")
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator("#try").is_visible()
    assert not page.locator("nav").is_visible()
    assert page.locator("#leaf-table").is_visible()
    assert page.locator("[data-leaf]").first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    # What the leading figures mean, such as their intervals, is on paper, too; buttons are not.
    assert all(hint.is_visible() for hint in page.locator(".leads .hint").all())
    assert page.locator("main button:visible").count() == page.locator("#leaf-table th button").count()
    # A4 less its margins.
    page.set_viewport_size({"width": 688, "height": 1000})
    assert page.evaluate("document.documentElement.scrollWidth") <= 688


def test_rules_have_room_on_paper(open_report: Any) -> None:
    """On paper the rules of the leaves have a third of the width at least, also beside columns about test rows."""
    page = open_report("judged")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 688, "height": 1000})
    assert page.evaluate("document.querySelector('#leaf-table td.rule').offsetWidth") > 688 / 3
    assert page.evaluate("document.documentElement.scrollWidth") <= 688


def test_charts_side_by_side_can_be_read(open_report: Any) -> None:
    """No letter of the charts that stand side by side is smaller than nine pixels."""
    page = open_report("judged")
    sizes = """[...document.querySelectorAll('.charts svg text')].map((text) =>
      parseFloat(getComputedStyle(text).fontSize) * text.ownerSVGElement.getBoundingClientRect().width
      / text.ownerSVGElement.viewBox.baseVal.width)"""
    assert min(page.evaluate(sizes)) >= 9
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 688, "height": 1000})
    # Under each other at full width they would fill a page, and leave the one before half empty.
    assert page.evaluate("document.querySelector('.charts').offsetHeight") < 600


def test_it_reads_without_a_script(chromium: Any, tmp_path: Path) -> None:
    """With scripts off the picture and the tables are there, and no button that would do nothing."""
    model, X, y = shown_models.flowers()
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(model.report(tmp_path / "plain.html", X, y).as_uri())
    assert page.locator("#stage svg").is_visible()
    assert page.locator("#leaf-table tbody tr").count() == len(model.rules_)
    assert not page.locator("[data-zoom=in]").is_visible()
    context.close()


@pytest.mark.parametrize("name", shown_models.EVERY)
def test_texts_stay_in_their_boxes(chromium: Any, tmp_path: Path, name: str) -> None:
    """Measured with the browser's fonts, no text of a node sticks out of its box, and none leaves the picture."""
    model, _, _ = shown_models.EVERY[name]()
    page = chromium.new_page()
    for direction in ("down", "right"):
        file = tmp_path / f"{direction}.svg"
        file.write_text(model.to_svg(direction), encoding="utf-8")
        page.goto(file.as_uri())
        out = page.evaluate("""() => {
          const whole = document.documentElement.viewBox.baseVal, wrong = [];
          for (const text of document.querySelectorAll('text')) {
            const t = text.getBBox();
            if (t.x < 0 || t.x + t.width > whole.width + 1) wrong.push(text.textContent);
          }
          for (const group of document.querySelectorAll('[data-node],[data-leaf]')) {
            const box = group.querySelector('rect').getBBox();
            for (const text of group.querySelectorAll('text:not(.omt-halo)')) {
              const t = text.getBBox();
              if (t.x < box.x || t.x + t.width > box.x + box.width) wrong.push(text.textContent);
            }
          }
          return wrong;
        }""")
        assert out == []
    page.close()
