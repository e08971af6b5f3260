"""Tables with all kinds of columns, in memory and as files, and models compared to the last digit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import omtree

#: What is on disk is taken as it is.
PLAIN = omtree.Reading(guess=False)

COLUMNS = ["age", "size", "colour", "income", "member", "score", "same"]


def table(seed: int = 0, n_rows: int = 900) -> pa.Table:
    """Numbers with few and with many values, texts, flags, missing cells, a constant, classes, a number, weights."""
    rng = np.random.default_rng(seed)
    age, size = rng.normal(40, 12, n_rows).round(1), rng.integers(0, 5, n_rows)
    colour = rng.choice(["red", "green", "blue", "it's", ""], n_rows)
    income = np.where(rng.random(n_rows) < 0.1, np.nan, rng.exponential(30, n_rows))
    label = (age > 45) ^ (size > 2) ^ (colour == "red") ^ (rng.random(n_rows) < 0.1)
    return pa.table(
        {
            "age": age,
            "size": size.astype(np.int16),
            "colour": pa.array([None if rng.random() < 0.05 else str(text) for text in colour]),
            "income": income,
            "member": pa.array([None if rng.random() < 0.1 else bool(flag) for flag in rng.random(n_rows) < 0.4]),
            "score": rng.normal(size=n_rows).astype(np.float32),
            "same": np.full(n_rows, 7),
            "group": rng.choice(["a", "b"], n_rows),
            "y": pa.array(np.array(["no", "yes"])[label.astype(int)]),
            "digit": (label + (size > 3)).astype(np.int8),
            "amount": age / 10 + rng.normal(size=n_rows) + 3 * label,
            "weight": rng.integers(0, 3, n_rows).astype(float),
            "share": rng.random(n_rows).round(2),
        }
    )


def write_parquet(rows: pa.Table, folder: Path, pieces: int = 3) -> str:
    """The table as several files; what to scan."""
    folder.mkdir(parents=True, exist_ok=True)
    size = -(-rows.num_rows // pieces)
    for place in range(pieces):
        pq.write_table(rows.slice(place * size, size), folder / f"part-{place}.parquet", row_group_size=100)
    return str(folder / "*.parquet")


def assert_same_model(here: Any, there: Any) -> None:
    """Same rules, same numbers, same certificate, but for times."""
    assert here.certificate_.value == there.certificate_.value
    assert here.certificate_.bound == there.certificate_.bound
    assert here.certificate_.status == there.certificate_.status
    assert here.certificate_.search_space == there.certificate_.search_space
    assert omtree.to_text(here.rules_) == omtree.to_text(there.rules_)
    for mine, yours in zip(here.rules_, there.rules_, strict=True):
        assert (mine.support, mine.class_weights, mine.loss) == (yours.support, yours.class_weights, yours.loss)
        assert (mine.prediction, mine.targets) == (yours.prediction, yours.targets)
    assert here.n_features_in_ == there.n_features_in_
    assert list(here.feature_names_in_) == list(there.feature_names_in_)
