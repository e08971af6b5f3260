"""Models in the DOT language."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest
from sklearn.datasets import load_iris

from helpers import shown_models
from omtree import OptimalTreeClassifier
from omtree.export.dot import quote, to_dot


@pytest.mark.parametrize("name", shown_models.EVERY)
def test_every_node_and_branch_is_there(name: str) -> None:
    """Outside its strings the text has one statement per node and branch, and balanced braces."""
    model, _, _ = shown_models.EVERY[name]()
    dot = model.to_dot()
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', dot)
    assert '"' not in bare.replace('""', "")
    assert bare.count("{") == bare.count("}") == 1
    if model.tree_ is not None:
        assert len(re.findall(r"^  n\d+ \[", bare, re.M)) == len(model.tree_.nodes)
        assert bare.count("->") == len(model.tree_.nodes) - 1
    else:
        assert bare.count("->") == sum(len(rule.conditions) for rule in model.rules_)


def test_quotes_and_breaks() -> None:
    """Quotes and backslashes are escaped; a line break is one of the label."""
    assert quote('a"b\\n\nc') == '"a\\"b\\\\n\\nc"'
    with pytest.raises(ValueError, match="cannot be drawn"):
        to_dot("no model")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("name", shown_models.EVERY)
def test_graphviz_reads_it(name: str) -> None:
    """Graphviz draws every model without a complaint."""
    dot = to_dot(shown_models.EVERY[name]()[0])
    done = subprocess.run(["dot", "-Tsvg"], input=dot.encode(), capture_output=True, check=True)
    assert b"<svg" in done.stdout
    assert not done.stderr


def test_following_the_branches_gives_the_answer() -> None:
    """A reader who follows the branches of the picture of a tree over numbers ends at what `predict` says."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = OptimalTreeClassifier(max_depth=3).fit(X, y)
    dot = model.to_dot()
    labels = dict(re.findall(r'^  (n\d+) \[label="(.*?)\\n', dot, re.M))
    branches: dict[str, list[tuple[str, str]]] = {}
    for above, below, words in re.findall(r'^  (n\d+) -> (n\d+) \[label="(.*?)"', dot, re.M):
        branches.setdefault(above, []).append((words, below))

    def holds(words: str, value: float) -> bool:
        number = r"(-?[\d.]+)"
        if found := re.fullmatch(f"< {number}", words):
            return value < float(found[1])
        if found := re.fullmatch(f"≥ {number}", words):
            return value >= float(found[1])
        found = re.fullmatch(f"{number} to <{number}", words)
        assert found is not None, words
        return float(found[1]) <= value < float(found[2])

    rows = X.sample(200, replace=True, random_state=0) + np.random.default_rng(0).normal(0, 0.3, size=(200, 4)).round(1)
    for (_, row), answer in zip(rows.iterrows(), model.predict(rows), strict=True):
        node = "n0"
        while node in branches:
            (node,) = (below for words, below in branches[node] if holds(words, row[labels[node]]))
        assert labels[node] == str(answer)
