"""Models in the DOT language."""

from __future__ import annotations

import re
import shutil
import subprocess

import examples
import pytest

from omtree.show.dot import quote, to_dot


@pytest.mark.parametrize("name", examples.EVERY)
def test_every_node_and_branch_is_there(name: str) -> None:
    """Outside its strings the text has one statement per node and branch, and balanced braces."""
    model, _, _ = examples.EVERY[name]()
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
@pytest.mark.parametrize("name", examples.EVERY)
def test_graphviz_reads_it(name: str) -> None:
    """Graphviz draws every model without a complaint."""
    dot = to_dot(examples.EVERY[name]()[0])
    done = subprocess.run(["dot", "-Tsvg"], input=dot.encode(), capture_output=True, check=True)
    assert b"<svg" in done.stdout
    assert not done.stderr
