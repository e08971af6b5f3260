"""The constraints that a page offers fit the table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omtree.studio.cards import page_facts
from omtree.studio.source import Source


def source(**columns: object) -> Source:
    """A table with two classes."""
    return Source("table", "y", "classification", pa.table(columns), np.array(["no", "yes"] * 50, dtype=object))


def test_groups_are_columns_of_few_values() -> None:
    """Parity is offered between groups that can be compared, and not at all where there are none."""
    many, few = np.arange(100) / 7, ["m", "f"] * 50
    facts = page_facts(source(many=many, sex=few, always=["a"] * 100))
    assert facts["groups"] == ["sex"]
    assert {"statistical_parity", "monotone", "root"} <= {card["type"] for card in facts["cards"]}
    offered = {card["type"] for card in page_facts(source(many=many))["cards"]}
    assert "monotone" in offered
    assert "statistical_parity" not in offered
    offered = {card["type"] for card in page_facts(source(sex=few))["cards"]}
    assert "monotone" not in offered
