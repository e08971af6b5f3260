"""Pictures as SVG."""

from __future__ import annotations

import itertools
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from helpers import shown_models
from omtree import OptimalTreeClassifier
from omtree.data.table import Feature
from omtree.model.rules import Rule, RuleSet
from omtree.model.tree import Tree
from omtree.problem.graph import Condition, FeatureGraph
from omtree.report.colours import class_colours
from omtree.report.graph_picture import graph_to_svg
from omtree.report.measure import text_width
from omtree.report.scene import Band, Box, Scene, Words
from omtree.report.summary import Summaries
from omtree.report.svg import model_scene, to_svg
from omtree.report.tree_picture import tree_scene

SVG = "{http://www.w3.org/2000/svg}"


def texts_of(svg: str) -> str:
    return " ".join("".join(element.itertext()) for element in ElementTree.fromstring(svg).iter(f"{SVG}text"))


def titles_of(svg: str) -> str:
    return " ".join("".join(element.itertext()) for element in ElementTree.fromstring(svg).iter(f"{SVG}title"))


def wide_tree(leaves: int, name: str = "f", n_classes: int = 2) -> Tree:
    """A tree of two levels with about so many leaves."""
    side = int(np.ceil(np.sqrt(leaves)))
    levels = tuple(f"{name} {i}" for i in range(side))
    features = [Feature(f"{name}{k}", k, "nominal", side, False, levels=levels) for k in range(2)]
    rules = []
    for a in range(side):
        for b in range(side):
            conditions = tuple(Condition(k, (v,), features[k].describe((v,))) for k, v in ((0, a), (1, b)))
            weights = tuple(float(1 + (a * b + c) % 7) for c in range(n_classes))
            rules.append(Rule(conditions, sum(weights), weights, f"{name} class", 1.0, 0))
    tree = Tree.from_rules(RuleSet(rules, features, [f"{name} {c}" for c in range(n_classes)]))
    assert tree is not None
    return tree


@pytest.mark.parametrize("name", shown_models.EVERY)
@pytest.mark.parametrize("direction", ["auto", "down", "right"])
def test_pictures_are_complete_accessible_and_the_same_each_time(name: str, direction: Any) -> None:
    """Well-formed, with a title and a description, nothing loaded, every leaf there, equal text on a second call."""
    model, _, _ = shown_models.EVERY[name]()
    svg = model.to_svg(direction)
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert root[0].tag == f"{SVG}title"
    assert root[1].tag == f"{SVG}desc"
    assert all("".join(root[i].itertext()) for i in (0, 1))
    assert not re.search(r"(href|src|url\(|@import)", re.sub(r">[^<]*<", "><", svg))
    kind = "rule" if model.tree_ is None else "leaf"
    shown = {int(g.get(f"data-{kind}", -1)) for g in root.iter(f"{SVG}g") if g.get(f"data-{kind}")}
    wanted = range(len(model.rules_)) if model.tree_ is None else [n.index for n in model.tree_.nodes if n.is_leaf]
    assert shown == set(wanted)
    assert svg == to_svg(model, direction)
    assert len(svg) < 300_000


def test_hostile_names_are_text() -> None:
    """Markup in names, categories and classes stays text, in the picture and in its titles."""
    model, _, _ = shown_models.mixed()
    for svg in (model.to_svg(), graph_to_svg(model)):
        root = ElementTree.fromstring(svg)
        assert {element.tag for element in root.iter()} <= {
            SVG + t for t in ("svg", "title", "desc", "style", "rect", "g", "text", "line", "path", "circle")
        }
    assert "<script>window.hacked=1</script>" in titles_of(model.to_svg())
    control = Feature("a\x00b\x1b", 0, "nominal", 2, False, levels=("x\x08", "y"))
    rules = [Rule((Condition(0, (v,), ""),), 1.0, (1.0,), "\ud800", 0.0, 0) for v in (0, 1)]
    assert ElementTree.fromstring(to_svg(RuleSet(rules, [control], ["\ud800"]))) is not None


@pytest.mark.parametrize("direction", ["down", "right"])
@pytest.mark.parametrize("name", [name for name in shown_models.EVERY if name != "no_tree"])
def test_boxes_do_not_overlap_and_stay_inside(name: str, direction: Any) -> None:
    """No two nodes of a tree touch, and none leaves the picture."""
    scene = model_scene(shown_models.EVERY[name]()[0], direction)
    boxes = [group.marks[0] for group in scene.groups if group.kind in ("node", "leaf")]
    for box in boxes:
        assert isinstance(box, Box)
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= scene.width
        assert box.y + box.height <= scene.height
    for a, b in itertools.combinations(boxes, 2):
        assert isinstance(a, Box)
        assert isinstance(b, Box)
        apart = a.x + a.width <= b.x or b.x + b.width <= a.x or a.y + a.height <= b.y or b.y + b.height <= a.y
        assert apart


def bands_of(scene: Scene) -> dict[int, Band]:
    return {
        group.number: group.marks[0]
        for group in scene.groups
        if group.kind == "edge" and group.number is not None and isinstance(group.marks[0], Band)
    }


@pytest.mark.parametrize("name", ["flowers", "mixed", "numbers"])
def test_bands_are_as_wide_as_their_rows(name: str) -> None:
    """The width of a branch is proportional to the support of what it leads to, thin ones aside."""
    model, _, _ = shown_models.EVERY[name]()
    bands = bands_of(model_scene(model))
    assert len(bands) == len(model.tree_.nodes) - 1
    scale = 26.0 / model.tree_.nodes[0].support
    for node, band in bands.items():
        assert band.width == pytest.approx(max(1.4, scale * model.tree_.nodes[node].support))


def test_a_wide_tree_grows_to_the_right() -> None:
    """With direction="auto" a tree with many leaves is not drawn wider than a page."""
    model, _, _ = shown_models.deep()
    assert model_scene(model, "down").width > 1400 > model_scene(model).width
    with pytest.raises(ValueError, match="direction"):
        model.to_svg("up")


def test_size_does_not_depend_on_the_number_of_rows() -> None:
    """There is no mark per row: ten times the rows give a picture of about the same size."""
    _, X, y = shown_models.flowers()
    small = OptimalTreeClassifier(max_depth=2).fit(X, y).to_svg()
    large = OptimalTreeClassifier(max_depth=2).fit(pd.concat([X] * 10), np.tile(y, 10)).to_svg()
    assert abs(len(large) - len(small)) < 500


@pytest.mark.parametrize("direction", ["down", "right"])
@pytest.mark.parametrize(("leaves", "name", "n_classes"), [(900, "f", 40), (225, "a long name, " * 400, 3)])
def test_enormous_models_are_folded(leaves: int, name: str, n_classes: int, direction: Any) -> None:
    """With very many leaves, classes or characters the picture stays below 300 kB and says what it leaves out."""
    tree = wide_tree(leaves, name, n_classes)
    svg = to_svg(tree, direction)
    assert len(svg.encode()) < 300_000
    if leaves > 300:
        assert "more leaves" in texts_of(svg)
        assert "lighter branches are folded" in texts_of(svg)
    table = to_svg(tree.rules)
    assert len(table.encode()) < 300_000
    assert f"heaviest of {leaves} rules" in texts_of(table)


def test_rules_that_are_no_tree_become_a_table() -> None:
    """Every condition and answer is in the table, and the bars of coverage are in proportion."""
    model, _, _ = shown_models.no_tree()
    svg = model.to_svg()
    words = texts_of(svg)
    assert all(str(rule.prediction) in words for rule in model.rules_)
    assert words.count("biopsy") == sum(any(c.feature == 1 for c in rule.conditions) for rule in model.rules_)
    bars = {
        group.number: next(m.width for m in group.marks if isinstance(m, Box) and m.style == "cover")
        for group in model_scene(model).groups
        if group.kind == "rule"
    }
    heaviest = max(rule.support for rule in model.rules_)
    assert bars == {r: pytest.approx(120 * rule.support / heaviest) for r, rule in enumerate(model.rules_)}


@pytest.mark.parametrize("n", range(1, 6))
def test_colours_differ_in_greyscale(n: int) -> None:
    """Up to five classes are told apart without any colour: neighbours differ by a tenth of the grey scale or more."""
    greys = [
        sum(w * int(colour[i : i + 2], 16) / 255 for w, i in ((0.299, 1), (0.587, 3), (0.114, 5)))
        for colour in class_colours(n)
    ]
    assert greys == sorted(greys)
    assert all(b - a > 0.09 for a, b in itertools.pairwise(greys))


@pytest.mark.parametrize("direction", ["down", "right"])
def test_labels_stand_beside_their_branches(direction: Any) -> None:
    """Where a branch arrives, its label is clear of it on one side."""
    scene = tree_scene(wide_tree(16), direction)
    bands = {g.number: g.marks[0] for g in scene.groups if g.kind == "edge"}
    seen = 0
    for group in scene.groups:
        band = bands.get(group.number) if group.kind in ("node", "leaf") else None
        labels = [mark for mark in group.marks if isinstance(mark, Words) and mark.halo]
        if not isinstance(band, Band):
            continue
        for label in labels:
            seen += 1
            if direction == "down":
                wide = text_width(label.text, label.size)
                left = label.x - wide if label.anchor == "end" else label.x
                assert left >= band.x1 + band.width / 2 or left + wide <= band.x1 - band.width / 2
            else:
                above, below = label.y <= band.y1 - band.width / 2, label.y - 9 >= band.y1 + band.width / 2
                assert above or below
    assert seen >= len(bands)


def test_classes_with_an_order_have_colours_with_one() -> None:
    """Three or more numbers as classes go from light to dark; names, two numbers and actions are told apart instead."""
    shown = {names: Summaries(names, 10.0, rows=True).colours for names in ((1, 2, 3), ("a", "b", "c"), (0, 1))}
    assert shown[1, 2, 3] == class_colours(3, ordered=True)
    lightness = [sum(int(colour[i : i + 2], 16) for i in (1, 3, 5)) for colour in shown[1, 2, 3]]
    assert lightness == sorted(lightness, reverse=True)
    assert shown["a", "b", "c"] == class_colours(3)
    assert shown[0, 1] == class_colours(2)
    assert Summaries((1, 2, 3), 10.0, rows=True, actions=True).colours == class_colours(3)


def test_pictures_share_a_page() -> None:
    """The style of a picture is the same for all models, so that two in one notebook do not recolour each other."""
    styles = {re.search("<style>.*</style>", make()[0].to_svg())[0] for make in shown_models.EVERY.values()}
    assert len(styles) == 1


def test_a_numeric_target_has_box_plots() -> None:
    """Each leaf shows where the middle half of its targets lies, on one scale for all leaves."""
    model, _, _ = shown_models.numbers()
    boxes = [
        next(m for m in group.marks if isinstance(m, Box) and m.style == "spread")
        for group in model_scene(model, "right").groups
        if group.kind == "leaf"
    ]
    spans = [rule.targets.quantiles[3] - rule.targets.quantiles[1] for rule in model.rules_]
    ratios = [box.width / span for box, span in zip(boxes, spans, strict=True)]
    assert ratios == pytest.approx([ratios[0]] * len(ratios))


def test_what_cannot_be_drawn_is_refused() -> None:
    """Something that is no model gets one sentence."""
    with pytest.raises(ValueError, match="cannot be drawn"):
        to_svg(3)
    with pytest.raises(ValueError, match="no feature graph"):
        graph_to_svg(3)


def test_feature_graph() -> None:
    """Levels, SKIP nodes, source and sink; a dark path for each step of the model's rules."""
    model, _, _ = shown_models.no_tree()
    svg = graph_to_svg(model)
    words = texts_of(svg)
    assert words.count("SKIP") == 3
    assert "source" in words
    assert "sink" in words
    assert svg.count('class="omt-used"') == 1
    assert svg == graph_to_svg(model)
    with pytest.raises(ValueError, match="'age'"):
        graph_to_svg(model, ["age"])
    assert texts_of(graph_to_svg(model, ["biopsy"])).count("SKIP") == 1


def test_a_large_feature_graph_is_cut() -> None:
    """Many features with many conditions stay below 300 kB, and the picture says how many are drawn."""
    features = [
        Feature(f"number {i}", i, "numeric", 30, True, thresholds=np.arange(29.0) * 1000.123) for i in range(40)
    ]
    svg = graph_to_svg(FeatureGraph(features))
    assert len(svg) < 300_000
    assert "conditions of 12 features are drawn" in texts_of(svg)


@pytest.mark.parametrize("name", shown_models.EVERY)
def test_every_model_has_a_feature_graph(name: str) -> None:
    """Also where a feature is split twice on a path, or rules share conditions."""
    svg = graph_to_svg(shown_models.EVERY[name]()[0])
    assert ElementTree.fromstring(svg).get("role") == "img"
    assert len(svg) < 300_000
