"""The studio in a real browser: fit, slide, edit, undo, compare, save, reload, cancel."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from omtree.export.saving import from_json

RESTING = "body[data-busy=false]"


class Window:
    """A page of the studio, with everything it complained about or asked for."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **options})
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)
        self.rest()

    def rest(self) -> None:
        """Wait until the studio has nothing left to do."""
        self.page.wait_for_selector(RESTING, timeout=60_000)

    def moved(self, act: Any) -> None:
        """Do something that leads to another revision, and wait for its tree."""
        before = self.page.get_attribute("body", "data-revision")
        act()
        self.page.wait_for_selector(f"body:not([data-revision='{before}'])", timeout=60_000)
        self.rest()

    def slide(self, name: str, value: float) -> None:
        """Move a slider."""
        self.page.eval_on_selector(
            f"#{name}", "(e, v) => { e.value = v; e.dispatchEvent(new Event('input', {bubbles: true})); }", value
        )

    @property
    def leaves(self) -> int:
        """Of the tree that is shown."""
        return int(self.page.locator("#stage [data-leaf]").count())

    def saved(self, what: str) -> str:
        """The content of a file."""
        with self.page.expect_download() as download:
            self.page.click(f"#save-{what}")
        return str(download.value.path().read_text(encoding="utf-8"))


@pytest.fixture
def opened(chromium: Any, running: Any) -> Iterator[Any]:
    """Opens windows; at the end nothing was complained about, run by hostile names, or asked of anybody else."""
    windows: list[Window] = []

    def open_window(**options: Any) -> Window:
        windows.append(Window(chromium, running.address, **options))
        return windows[-1]

    yield open_window
    for window in windows:
        assert window.page.evaluate("() => window.hacked") is None
        assert window.complaints == []
        assert all(url.startswith((f"http://{running.host}/", "data:")) for url in window.requests)
        window.context.close()


def test_a_whole_journey(opened):
    """From the first tree over sliders, edits, undo, comparison and files to a reload, all in one window."""
    window = opened()
    page = window.page
    assert page.inner_text("h1") == "<u>target</u>"
    assert page.locator("#leads .figure").first.inner_text() != "not known"
    first = window.leaves
    # Which class it is about is named, and the curve is drawn as large as it is shown.
    assert page.locator("#positive option:checked").inner_text() == "no"
    across = page.eval_on_selector("#curve svg", "(e) => [e.viewBox.baseVal.width, e.getBoundingClientRect().width]")
    assert across[1] > 0.9 * across[0]

    # Slide: fewer leaves, from what is known already.
    window.moved(lambda: window.slide("leaves", 2))
    assert window.leaves <= 2 < first
    assert not page.is_checked("#auto")

    # What the other good trees ask about, and where they disagree.
    page.locator("#told summary").click()
    assert page.locator("#columns-told tbody tr").count() >= 1
    assert "training rows" in page.inner_text("#disagree")
    assert page.locator("#columns-told tbody td").first.inner_text().endswith("%")

    # Another good tree beside this one.
    page.locator("#gallery button").first.click()
    page.wait_for_selector("#side-by-side[open] #right-tree svg")
    assert page.inner_text("#differences tbody tr:nth-child(3) th") == "asks about"
    page.click("#close")

    # Undo with the keyboard, and forth again.
    window.moved(lambda: page.keyboard.press("Control+z"))
    assert window.leaves == first
    window.moved(lambda: page.click("#redo"))
    assert window.leaves <= 2
    window.moved(lambda: page.click("#undo"))

    # Edit by pointing: a question ends, which leaves fewer leaves, and the wish is shown as a card.
    page.locator("#stage [data-node]").last.click()
    window.moved(lambda: page.get_by_role("button", name="End here").click())
    assert "Kept of the tree" in page.inner_text("#cards")
    assert "ends" in page.inner_text("#cards .kept")
    assert "without it" in page.inner_text("#prices")
    assert page.locator("#history li[aria-current]").inner_text().startswith("end where ")
    assert from_json(window.saved("model")).certificate_.constraints[0].met
    window.moved(lambda: page.get_by_role("button", name="Remove Kept of the tree").click())

    # A cut is moved by writing where it should be; Enter does it, and its price is on the right.
    for place in range(page.locator("#stage [data-node]").count()):
        page.locator("#stage [data-node]").nth(place).click()
        if page.locator("#edit-move").count():
            break
    cut = float(page.input_value("#edit-move").split(",")[0]) + 0.125
    page.fill("#edit-move", str(cut))
    window.moved(lambda: page.press("#edit-move", "Enter"))
    assert f"cut at {cut}" in page.inner_text("#prices")
    assert str(cut) in page.inner_text("#cards .kept")
    assert from_json(window.saved("model")).certificate_.constraints[0].met
    # The other good trees keep to it as well, and those that can be compared are.
    assert page.locator("#sort option[value=gap]").is_hidden()
    window.moved(lambda: page.get_by_role("button", name="Remove Kept of the tree").click())

    # The question at the root is never to be asked again.
    page.locator("#stage [data-node]").first.click()
    name = page.locator("#stage [data-node] text").first.text_content()
    window.moved(lambda: page.get_by_role("button", name="Never ask about").click())
    assert page.locator("#history li[aria-current]").inner_text().startswith("without ")
    wishes = json.loads(window.saved("session"))
    banned = wishes["revisions"][wishes["current"]]["wishes"]["left_out"]
    assert banned[0].startswith(name.rstrip("…")[:10])
    assert banned[0] not in {f.name for f in from_json(window.saved("model")).rules_.features}

    # A cut beyond all rows is refused with what is wrong, and the tree stays.
    page.locator("#stage [data-node]").first.click()
    for place in range(page.locator("#stage [data-node]").count()):
        page.locator("#stage [data-node]").nth(place).click()
        if page.locator("#edit-move").count():
            break
    page.fill("#edit-move", "123456")
    window.moved(lambda: page.press("#edit-move", "Enter"))
    assert page.inner_text("#status").startswith("What is kept of the tree cannot be kept: there are 0 rows where ")
    window.moved(lambda: page.click("#undo"))

    # A constraint as a card with a slider; the slider is moved with the keyboard.
    window.moved(lambda: page.select_option("#add", "recall"))
    page.focus("#card-0-1")
    window.moved(lambda: page.keyboard.press("ArrowRight"))
    assert page.inner_text("#card-0-1-now") == "0.91"
    assert page.locator("#history li[aria-current]").inner_text().startswith("Recall (class no) at least 0.91")
    assert page.inner_text("#prices").startswith("Recall (class no) at least 0.91 costs")
    assert "Recall" in page.inner_text("#checks")
    model = from_json(window.saved("model"))
    assert model.certificate_.constraints[0].value >= 0.91

    # Compare two states side by side.
    page.click("#compare")
    page.wait_for_selector("#side-by-side[open] #right-tree svg")
    assert page.locator("#left-tree svg").count() == 1
    assert page.inner_text("#differences tbody tr:nth-child(2) th") == "loss in training"
    assert "another answer" in page.inner_text("#changes")
    page.select_option("#left", index=0)
    page.click("#close")

    # Files: all of them are there.
    assert "<title>" in window.saved("report")
    assert "to be filled in" in window.saved("card")
    assert 'type = "recall"' in window.saved("constraints")
    assert "model.fit" in window.saved("script")

    # A reload shows the same state.
    history = page.locator("#history li").count()
    page.reload()
    page.wait_for_selector("#stage svg")
    window.rest()
    assert page.locator("#history li").count() == history
    assert page.inner_text("#card-0-1-now") == "0.91"


def test_lines_of_a_phone_are_nodes(opened):
    """Where there is no room for the picture, the lines of the outline stand for its nodes, and no page is too wide."""
    page = opened(viewport={"width": 390, "height": 800}).page
    lines = page.locator("#outline .line")
    assert lines.count() == page.locator("#stage [data-node], #stage [data-leaf]").count()
    for place in range(lines.count()):
        lines.nth(place).click()
        words = page.inner_text("#node b")
        said = lines.nth(place).inner_text().lower()
        assert words.split(" ")[0].lower() in said
        rows = page.inner_text("#node p").split(";")[0].split(" ")[0]
        assert rows in said
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_two_windows_and_cancel_on_a_phone(opened):
    """A second window, on a phone and in the dark, has its own history; a long fit is cancelled and the tree stays."""
    window = opened(viewport={"width": 390, "height": 800}, color_scheme="dark")
    page = window.page
    assert page.locator("#history li").count() == 1
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 391
    assert page.evaluate("() => scrollY") == 0
    assert page.get_attribute("html", "data-theme") == "dark"
    assert page.locator("#outline li").first.is_visible()
    before = page.get_attribute("body", "data-revision")
    window.slide("depth", 6)
    page.select_option("#objective", '"mcc"')
    page.wait_for_selector(f"body:not([data-revision='{before}'])")
    page.keyboard.press("Escape")
    window.rest()
    assert page.is_disabled("#stop")
    assert page.locator("#outline li").count() > 1


def test_labels(opened):
    """Every control has a name for a screen reader, and every node of the tree says what it asks."""
    page = opened().page
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button,select,input,[role=button]")]
             .filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length))
             .map((e) => e.outerHTML)"""
    )
    assert unnamed == []
    assert page.locator("#stage [data-node][role=button][aria-label*='asks about']").count() >= 1
    page.locator("#stage [data-node]").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("() => document.activeElement.getAttribute('aria-label')").count(":") >= 1
    page.keyboard.press("Enter")
    assert page.locator("#node b").inner_text()


CONTROLS = {"button", "link", "slider", "checkbox", "combobox", "textbox", "spinbutton", "DisclosureTriangle"}


def spoken(window):
    """What the browser tells a screen reader: role, name, value and properties of everything that is not left out."""
    session = window.context.new_cdp_session(window.page)
    session.send("Accessibility.enable")
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    by_id = {node["nodeId"]: node for node in nodes}

    def facts(node):
        found = {each["name"]: each["value"].get("value") for each in node.get("properties", [])}
        above = by_id.get(node.get("parentId"))
        while above is not None and above.get("ignored"):
            above = by_id.get(above.get("parentId"))
        return {
            "role": node["role"]["value"],
            "name": node.get("name", {}).get("value", ""),
            "inside": "" if above is None else above["role"]["value"],
            **{key: found[key] for key in ("live", "level", "valuetext", "focusable", "disabled") if key in found},
        }

    return [facts(node) for node in nodes if not node.get("ignored")]


def test_what_a_screen_reader_is_told(opened):
    """Landmarks, headings, named controls with values in words, the tree as buttons, and changes told by themselves."""
    window = opened()
    page = window.page
    said = spoken(window)
    roles = [each["role"] for each in said]
    assert all(each["name"] for each in said if each["role"] in CONTROLS | {"image", "region", "toolbar"})
    assert roles.count("main") == roles.count("banner") == roles.count("contentinfo") == 1
    levels = [each["level"] for each in said if each["role"] == "heading"]
    assert levels.count(1) == 1
    assert set(levels) == {1, 2, 3}
    regions = [each["name"] for each in said if each["role"] == "region"]
    assert regions == ["What is asked", "The tree", "What to expect", "What is proven", "History", "Save"]
    # The nodes of the tree are buttons in a group, since nothing inside a picture is spoken; small pictures have words.
    nodes = [each for each in said if each["role"] == "button" and ": a" in each["name"]]
    tree = [each for each in nodes if "asks about" in each["name"] or "answer" in each["name"]]
    assert len(tree) == page.locator("#stage [data-node],#stage [data-leaf]").count()
    assert all(each["inside"] != "image" for each in tree)
    assert not any(each["role"] == "group" and "predicts" in each["name"] for each in said)
    values = [page.get_attribute(f"#{name}", "aria-valuetext") for name in ("depth", "leaves", "support")]
    assert values[2].endswith("of the rows")
    assert all(values)
    # A new tree is told without being asked for, and so is a fault.
    assert page.get_attribute("#status", "aria-live") == "polite"
    assert page.get_attribute("#fault", "role") == "alert"
    before = page.inner_text("#status")
    window.moved(lambda: window.slide("support", 20))
    assert page.inner_text("#status") not in ("", before)


def test_the_order_of_the_tab_key(opened):
    """From wishes to the tree to what is known of it, as on the screen; every control once, and none is a trap."""
    page = opened().page
    wanted = page.evaluate(
        """() => [...document.querySelectorAll("a,button,input,select,summary,[tabindex='0']")]
             .filter((e) => e.checkVisibility() && !e.disabled && !e.closest("dialog") && e.tabIndex >= 0)
             .map((e) => e.id || e.getAttribute("aria-label") || e.textContent.trim())"""
    )
    page.evaluate("() => document.body.focus()")
    order = []
    for _ in wanted:
        page.keyboard.press("Tab")
        order.append(
            page.evaluate(
                """() => { const e = document.activeElement;
                     return e.id || e.getAttribute("aria-label") || e.textContent.trim(); }"""
            )
        )
        assert page.evaluate("() => document.activeElement.matches(':focus-visible')")
    assert order == wanted
    areas = page.evaluate("() => ['asked', 'tree', 'history'].map((id) => document.getElementById(id).offsetLeft)")
    assert areas == sorted(areas)


def test_with_the_keyboard_alone(opened):
    """A question is ended with the keyboard, which stays at that node; a column never asked about is kept nowhere."""
    window = opened()
    page = window.page
    page.locator("#stage [data-node]").last.focus()
    page.keyboard.press("Enter")
    words = page.inner_text("#node b")
    assert page.evaluate("() => document.activeElement.textContent") == "Keep this question"
    page.keyboard.press("Tab")
    window.moved(lambda: page.keyboard.press("Enter"))  # ends there: another tree
    assert "ends" in page.inner_text("#cards .kept")
    assert page.evaluate("() => document.activeElement.getAttribute('aria-label')").startswith(f"{words}: answer")
    page.locator("#stage [data-node]").first.focus()
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent").startswith("Never ask about")
    window.moved(lambda: page.keyboard.press("Enter"))
    assert page.locator("body.failed").count() == 0
    assert page.locator("#cards .card").count() == 0
