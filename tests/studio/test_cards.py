"""The constraints that a page offers fit the table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from omtree.constraints import from_tables
from omtree.constraints.words import with_limit
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


def test_constraints_have_words_for_people() -> None:
    """What the page says of a card names columns and limits, and no parameters of the program."""
    words = [
        with_limit(each)
        for each in from_tables(
            [
                {"type": "budget", "costs": {"a": 1, "b": 2}, "limit": 3},
                {"type": "monotone", "feature": "a", "direction": -1, "class": "yes"},
                {"type": "monotone", "feature": "a", "direction": 1},
            ]
        )
    ]
    assert words == ["Budget of tests at most 3", "Answers of yes never rise along a", "Answers never fall along a"]


def test_monotone_says_whose_answers() -> None:
    """Of two classes it is asked which one's answers never fall; of numbers there is nothing to ask."""

    def fields(made: Source) -> list[str]:
        card = next(card for card in page_facts(made)["cards"] if card["type"] == "monotone")
        return [field["key"] for field in card["fields"]]

    classes = source(many=np.arange(100) / 7)
    assert fields(classes) == ["feature", "class", "direction"]
    numbers = Source("table", "y", "regression", classes.X, np.arange(100.0))
    assert fields(numbers) == ["feature", "direction"]
