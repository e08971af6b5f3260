"""Damaged model files are refused in a sentence, or are models that answer."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path

from fuzz.damage import check_sentence, damaged_bytes, damaged_document
from omtree.export.saving import from_json

SAVED = [
    path.read_bytes() for path in sorted((Path(__file__).resolve().parent.parent / "export" / "saved").glob("*.json"))
]


def check(number: int) -> None:
    """Load damaged file `number`; if that goes well, the model must take a row and be written again."""
    rng = random.Random(number)
    content = rng.choice(SAVED)
    if number % 3:
        document = json.loads(content)
        for _ in range(rng.choice((1, 1, 1, 3))):
            damaged_document(document, rng)
        text = json.dumps(document)
    else:
        text = damaged_bytes(content, rng).decode("utf-8", "replace")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = from_json(text)
        except ValueError as fault:
            check_sentence(fault)
            return
        model.predict({feature.name: None for feature in model.rules_.features})
        assert str(model.rules_)
        model.to_json(sizes=False)
