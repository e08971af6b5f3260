"""Wishes: what is asked for, from a page or a file."""

from __future__ import annotations

import pytest

from helpers.studio_tables import hostile_source
from omtree.constraints import Recall
from omtree.studio.wishes import Wishes

SOURCE = hostile_source()


def test_round_trip():
    """Wishes survive a way through JSON, and say what was changed."""
    first = Wishes.first(SOURCE)
    wishes = Wishes.of(
        {"depth": 2, "left_out": ["plain"], "constraints": [{"type": "recall", "class": "no", "at_least": 0.5}]}, SOURCE
    )
    assert Wishes.of(wishes.to_plain(), SOURCE) == wishes
    assert wishes.changed_from(first) == ("depth", "left_out", "constraints")
    assert wishes.constraint_objects() == (Recall("no", at_least=0.5),)
    assert wishes.words_from(first) == "depth 2; without plain; Recall (class no) at least 0.5"


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ([], "Wishes are an object"),
        ({"code": "import os"}, "'code' is nothing that can be wished for"),
        ({"depth": 0}, "use 1 to 6"),
        ({"depth": True}, "use 1 to 6"),
        ({"leaves": 1000}, "use 1 to 16"),
        ({"objective": "squared"}, "is no objective"),
        ({"positive": "maybe"}, "is no class"),
        ({"min_leaf": "a"}, "is not possible"),
        ({"left_out": ["unknown"]}, "is not in the table"),
        ({"left_out": "plain"}, "is no list"),
        ({"left_out": SOURCE.columns}, "keep at least one"),
        ({"constraints": [3]}, "tables"),
        ({"constraints": [{"type": "magic"}]}, "unknown type 'magic'"),
    ],
)
def test_nonsense(document, sentence):
    """What makes no sense is refused in a sentence."""
    with pytest.raises(ValueError) as fault:
        Wishes.of(document, SOURCE)
    assert sentence in str(fault.value)
