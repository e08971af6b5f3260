"""A tree as a picture: questions in boxes, answers in leaves, bands as wide as the rows that take them."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from omtree.data.wording import amount, shorten
from omtree.model.tree import Tree, TreeNode
from omtree.report.layout import tidy
from omtree.report.measure import text_width, widest, wrap
from omtree.report.scene import Band, Box, Group, Mark, Scene, Words
from omtree.report.summary import Summaries
from omtree.report.words import answer, branch_words, condition_words, percent

Direction = Literal["auto", "down", "right"]

#: More nodes than this are not drawn; the lightest branches are folded instead.
MOST_NODES = 160
#: A tree that would be wider than this grows to the right.
WIDEST_DOWN = 1180.0

_MARGIN = 18.0
_NAME, _SMALL, _LABEL = 13.0, 11.0, 11.5
_LINE, _SMALL_LINE = 16.0, 15.0
_PAD = 9.0
_BAR, _SIDE_BAR = 9.0, 84.0
_WIDEST_BAND, _THINNEST_BAND = 26.0, 1.4


@dataclass(frozen=True)
class _Face:
    """One node as it will be drawn: its texts and its size."""

    node: TreeNode
    name: tuple[str, ...]
    note: str
    label: tuple[str, ...]
    width: float
    height: float
    folded: bool

    @property
    def label_width(self) -> float:
        return widest(self.label, _LABEL)

    @property
    def label_height(self) -> float:
        return _SMALL_LINE * len(self.label)


def tree_scene(tree: Tree, direction: Direction = "auto", title: str = "") -> Scene:
    """The tree as a scene.

    Parameters
    ----------
    tree : Tree
    direction : {"auto", "down", "right"}
        Where it grows; wide trees are easier to read when they grow to the right.
    title : str
        What a screen reader says first.
    """
    if direction not in ("auto", "down", "right"):
        raise ValueError(f"direction must be 'auto', 'down' or 'right', got {direction!r}.")
    picture = _TreePicture(tree, title)
    if direction != "auto":
        return picture.draw(down=direction == "down")
    scene = picture.draw(down=True)
    return scene if scene.width <= WIDEST_DOWN else picture.draw(down=False)


class _TreePicture:
    def __init__(self, tree: Tree, title: str) -> None:
        self.tree = tree
        self.title = title or tree_title(tree)
        self.summaries = Summaries.of(tree.rules)
        self.answers = [
            wrap(answer(rule.prediction, tree.rules.classes), 150.0, _NAME, 2, bold=True) for rule in tree.rules
        ]
        self.answer_width = widest((line for lines in self.answers for line in lines), _NAME, bold=True)
        # Numbered as in tables of the leaves.
        self.notes = [f"#{number} · {self.summaries.short(rule)}" for number, rule in enumerate(tree.rules, start=1)]
        self.note_width = widest(self.notes, _SMALL)
        self.shown = _heaviest(tree, MOST_NODES)
        self.place = {node: i for i, node in enumerate(self.shown)}
        self.children = [
            [self.place[kid] for kid in tree.nodes[node].children if kid in self.place] for node in self.shown
        ]

    def draw(self, down: bool) -> Scene:
        faces = [self._face(self.tree.nodes[node], down) for node in self.shown]
        if down:
            sizes = [max(face.width, 2 * (self._beside(face) + face.label_width)) for face in faces]
            centres = tidy(self.children, sizes, 18.0, 30.0)
        else:
            sizes = [max(face.height, 2 * (self._beside(face) + face.label_height)) for face in faces]
            centres = tidy(self.children, sizes, 8.0, 14.0)
        starts, end = _levels(faces, down)
        across = max(c + s / 2 for c, s in zip(centres, sizes, strict=True))
        width, height = (across, end) if down else (end, across)
        corners = [
            (c - f.width / 2, starts[f.node.depth]) if down else (starts[f.node.depth], c - f.height / 2)
            for c, f in zip(centres, faces, strict=True)
        ]
        corners = [(x + _MARGIN, y + _MARGIN) for x, y in corners]
        width = max(width, 300.0)
        legend, legend_height = self.summaries.legend(_MARGIN, _MARGIN + height + 22, width)
        notes = self._notes(_MARGIN, _MARGIN + height + 22 + legend_height)
        scene = Scene(
            width + 2 * _MARGIN,
            height + 22 + legend_height + 16.0 * len(notes) + 2 * _MARGIN,
            self.title,
            self._description(),
            self.summaries.colours,
        )
        scene.groups += self._bands(faces, corners, down)
        before = self._before(centres)
        scene.groups += [
            self._group(face, *corner, down, side) for face, corner, side in zip(faces, corners, before, strict=True)
        ]
        scene.groups.append(Group((*legend, *notes), "legend"))
        return scene

    def _face(self, node: TreeNode, down: bool) -> _Face:
        features = self.tree.rules.features
        label: tuple[str, ...] = ()
        if node.condition is not None:
            words = branch_words(features[node.condition.feature], node.condition.codes)
            label = wrap(words, 130.0 if down else 150.0, _LABEL, 3 if down else 2)
        folded = bool(node.children) and node.children[0] not in self.place
        rows = self.summaries.rows
        if node.rule is not None:
            name = self.answers[node.rule]
            note, bar = self.notes[node.rule], _BAR + 7.0
        else:
            assert node.feature is not None
            question = (
                f"{_count_leaves(self.tree, node)} more leaves" if folded else shorten(features[node.feature].name)
            )
            name = wrap(question, 180.0, _NAME, 3, bold=True)
            note, bar = amount(node.support, rows), 0.0
        if node.rule is not None and not down:
            # Leaves in a column: one line each, their bars below one another.
            width = self.answer_width + _SIDE_BAR + self.note_width + 2 * _PAD + 22
            return _Face(node, name, note, label, width, 12 + _LINE * len(name), folded)
        inner = max(widest(name, _NAME, bold=True), text_width(note, _SMALL), 74.0)
        height = 2 * _PAD + _LINE * len(name) + bar + _SMALL_LINE - 4
        return _Face(node, name, note, label, inner + 2 * _PAD + 4, height, folded)

    def _band_width(self, face: _Face) -> float:
        return max(_WIDEST_BAND * face.node.support / self.summaries.total, _THINNEST_BAND)

    def _beside(self, face: _Face) -> float:
        """How far from the middle of a branch its label begins."""
        return self._band_width(face) / 2 + 5 if face.label else 0.0

    def _before(self, centres: Sequence[float]) -> list[bool]:
        """Whether each node stands before its parent: the branch comes from behind, and its label is in front of it."""
        before = [False] * len(centres)
        for parent, kids in enumerate(self.children):
            for kid in kids:
                before[kid] = centres[kid] < centres[parent] - 1
        return before

    def _group(self, face: _Face, x: float, y: float, down: bool, before: bool) -> Group:
        node = face.node
        style = "fold" if face.folded else "leaf" if node.is_leaf else "node"
        marks: list[Mark] = [Box(x, y, face.width, face.height, style, 3.0 if node.is_leaf else 9.0)]
        middle, base = x + face.width / 2, y + _PAD + 11
        if node.rule is not None and not down:
            marks += self._side_leaf(face, node.rule, x, y)
        else:
            marks += [Words(middle, base + _LINE * i, t, _NAME, bold=True) for i, t in enumerate(face.name)]
            base += _LINE * len(face.name)
            if node.rule is not None:
                rule = self.tree.rules[node.rule]
                marks += self.summaries.marks(rule, x + _PAD, base - 9, face.width - 2 * _PAD, _BAR)
                base += _BAR + 7.0
            marks.append(Words(middle, base - 1, face.note, _SMALL, style="soft"))
        beside, lines = self._beside(face), len(face.label)
        anchor: Literal["start", "end"] = "end"
        if down:
            anchor = "end" if before else "start"
            left = middle - beside if before else middle + beside
            base = y - 6 - _SMALL_LINE * (lines - 1)
        else:
            centre = y + face.height / 2
            left = x - 8
            base = centre - beside - _SMALL_LINE * (lines - 1) if before else centre + beside + 9
        marks += [Words(left, base + _SMALL_LINE * i, t, _LABEL, anchor, halo=True) for i, t in enumerate(face.label)]
        return Group(tuple(marks), "leaf" if node.is_leaf else "node", node.index, node_words(self.tree, node))

    def _side_leaf(self, face: _Face, rule: int, x: float, y: float) -> list[Mark]:
        """Answer, bar and note side by side."""
        middle = y + face.height / 2
        base = middle + 4.5 - _LINE * (len(face.name) - 1) / 2
        names = [Words(x + _PAD, base + _LINE * i, t, _NAME, "start", bold=True) for i, t in enumerate(face.name)]
        left = x + _PAD + self.answer_width + 10
        bar = self.summaries.marks(self.tree.rules[rule], left, middle - _BAR / 2, _SIDE_BAR, _BAR)
        return [*names, *bar, Words(left + _SIDE_BAR + 10, middle + 4, face.note, _SMALL, "start", "soft")]

    def _bands(self, faces: Sequence[_Face], corners: Sequence[tuple[float, float]], down: bool) -> list[Group]:
        """The branches; those of one node lie side by side where they leave it, as wide as their rows."""
        total = self.summaries.total
        groups = []
        for parent, kids in enumerate(self.children):
            wide = [_WIDEST_BAND * faces[kid].node.support / total for kid in kids]
            x, y = corners[parent]
            face = faces[parent]
            offset = -sum(wide) / 2
            for kid, w in zip(kids, wide, strict=True):
                kx, ky = corners[kid]
                at = offset + w / 2
                offset += w
                if down:
                    ends = (x + face.width / 2 + at, y + face.height, kx + faces[kid].width / 2, ky)
                else:
                    ends = (x + face.width, y + face.height / 2 + at, kx, ky + faces[kid].height / 2)
                band = Band(*ends, self._band_width(faces[kid]), down)
                groups.append(Group((band,), "edge", faces[kid].node.index))
        return groups

    def _notes(self, x: float, y: float) -> list[Words]:
        if len(self.shown) == len(self.tree.nodes):
            return []
        text = f"The {len(self.shown)} heaviest of {len(self.tree.nodes)} nodes; lighter branches are folded."
        return [Words(x, y + 10, text, 11, "start", "soft")]

    def _description(self) -> str:
        rules = self.tree.rules
        lines = [f"{i}. {rule_words(self.tree, i)}" for i in range(min(len(rules), 40))]
        more = len(rules) - len(lines)
        return " ".join(lines) + (f" And {more} more leaves." if more > 0 else "")


def tree_title(tree: Tree) -> str:
    """One line that says what the picture is."""
    leaves = "1 leaf" if tree.n_leaves == 1 else f"{tree.n_leaves} leaves"
    return f"Decision tree, {leaves}, depth {tree.depth}"


def rule_words(tree: Tree, position: int) -> str:
    """A leaf's rule, with its conditions and its answer."""
    rule, features = tree.rules[position], tree.rules.features
    texts = [condition_words(c, features[c.feature]) for c in rule.conditions]
    return f"{'If ' + ' and '.join(texts) if texts else 'Always'}: {answer(rule.prediction, tree.rules.classes)}."


def node_words(tree: Tree, node: TreeNode) -> str:
    """What a pointer over the node, or a screen reader at it, says."""
    summaries = Summaries.of(tree.rules)
    features = tree.rules.features
    where = "all rows" if node.condition is None else condition_words(node.condition, features[node.condition.feature])
    if node.rule is not None:
        return f"{where}: {summaries.words(tree.rules[node.rule])}"
    assert node.feature is not None
    share = percent(node.support / summaries.total)
    return f"{where}: {amount(node.support, summaries.rows)} ({share}), split by {shorten(features[node.feature].name)}"


def _levels(faces: Sequence[_Face], down: bool) -> tuple[list[float], float]:
    """Where each level starts along the direction of growth, and where the last one ends."""
    starts: list[float] = []
    end = 0.0
    for depth in range(max(face.node.depth for face in faces) + 1):
        level = [face for face in faces if face.node.depth == depth]
        if depth:
            room = max(face.label_height if down else face.label_width + 10 for face in level)
            end += (38.0 if down else 44.0) + room
        starts.append(end)
        end += max(face.height if down else face.width for face in level)
    return starts, end


def _heaviest(tree: Tree, most: int) -> list[int]:
    """The nodes to draw, in their order: whole families, the heaviest first."""
    shown = {0}
    queue = [(-tree.nodes[0].support, 0)]
    while queue:
        _, index = heapq.heappop(queue)
        kids = tree.nodes[index].children
        if len(shown) + len(kids) > most:
            continue
        shown.update(kids)
        for kid in kids:
            heapq.heappush(queue, (-tree.nodes[kid].support, kid))
    return sorted(shown)


def _count_leaves(tree: Tree, node: TreeNode) -> int:
    return 1 if node.is_leaf else sum(_count_leaves(tree, tree.nodes[kid]) for kid in node.children)
