"""Model files that were damaged: refused in a sentence, or a model that works."""

from __future__ import annotations

import json

import numpy as np
import pytest

from helpers.damaged_models import damage, fault_of, saved_models
from omtree import OptimalTreeClassifier
from omtree.export.saving import from_json
from omtree.export.schema import made
from omtree.model.expectation import Figure


@pytest.mark.parametrize("name", [saved.name for saved in saved_models()])
def test_whole_files_work(name: str) -> None:
    """What was not damaged loads, and everything can be done with it."""
    saved = next(each for each in saved_models() if each.name == name)
    assert len(from_json(saved.text).rules_) > 1
    assert not fault_of(saved, saved.text)


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_damaged_files(first: int) -> None:
    """Parts that are gone, doubled, of another type or another size: one sentence on loading, or no failure in use."""
    for seed in range(first, first + 50):
        saved = saved_models()[seed % len(saved_models())]
        text, done = damage(saved.text, np.random.default_rng(seed))
        fault = fault_of(saved, text)
        assert not fault, f"seed {seed}, {saved.name}, {done}: {fault}"


def test_most_damage_is_noticed() -> None:
    """The check is no empty one: another type in place of a number of the model is told, by its name."""
    text = saved_models()[0].text.replace('["iterations", 0]', '["iterations", "many"]')
    with pytest.raises(ValueError, match=r"The text is a damaged model of omtree: iterations is 'many'\.$"):
        from_json(text)


def test_classes_are_a_list() -> None:
    """A text is no list of classes, though Python would take its letters for them."""
    model = OptimalTreeClassifier(max_depth=1).fit(np.arange(8.0).reshape(-1, 1), ["no"] * 4 + ["yes"] * 4)
    document = json.loads(model.to_json())
    document["classes"]["values"] = "no"
    with pytest.raises(ValueError, match=r"damaged model of omtree: 'no' is not a list\.$"):
        from_json(json.dumps(document))


@pytest.mark.parametrize("fields", [{}, {"value": 1.0, "low": 0.0}, {"value": "1", "low": 0, "high": 2}])
def test_fields_have_their_types(fields: dict[str, object]) -> None:
    """A dataclass is made of all of its fields, each of its type, or not at all."""
    with pytest.raises(ValueError, match="is "):
        made(Figure, fields)
    assert made(Figure, {"value": 1, "low": 0.5, "high": 2}) == Figure(1.0, 0.5, 2.0)
