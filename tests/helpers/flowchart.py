"""Reads Mermaid flowcharts as far as this package writes them."""

from __future__ import annotations

import re

import pandas as pd

from omtree.estimators.base import OptimalTreeBase

_ENTITY = re.compile(r"#(\d+);")
_BOX = re.compile(r'  (\w+)(\(\["|\[")([^"]*)("\]\)|"\])')
_ARROW = re.compile(r'  (\w+) -- "([^"]*)" --> (\w+)')


def walk_flowchart(text: str, model: OptimalTreeBase, rows: pd.DataFrame) -> list[str]:
    """Where every row ends: the first line of the last box."""
    first, *lines = text.splitlines()
    assert first == "flowchart TD"
    boxes: dict[str, str] = {}
    arrows: dict[str, list[tuple[str, str]]] = {}
    for line in lines:
        if box := _BOX.fullmatch(line):
            boxes[box[1]] = _plain(box[3].split("<br/>")[0])
        else:
            arrow = _ARROW.fullmatch(line)
            assert arrow is not None, line
            arrows.setdefault(arrow[1], []).append((_plain(arrow[2]), arrow[3]))
    tree = model.tree_
    ends = []
    passed = model.decision_path(rows).toarray()
    for row in passed:
        place = "node0"
        while place in arrows:
            texts = [str(tree.nodes[i].condition) for i in row.nonzero()[0]]
            targets = [target for text, target in arrows[place] if text in texts and row[int(target[4:])]]
            assert len(targets) == 1
            place = targets[0]
        ends.append(boxes[place])
    return ends


def _plain(text: str) -> str:
    return _ENTITY.sub(lambda entity: chr(int(entity[1])), text)
