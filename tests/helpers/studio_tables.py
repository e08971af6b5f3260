"""A table with hostile names for the studio, and a look at processes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from helpers import shown_models
from omtree.studio.source import Source


def hostile_source(n_rows: int = 300) -> Source:
    """Names and classes that would run if they were not shown as text."""
    rng = np.random.default_rng(0)
    names = [shown_models.HOSTILE[0], '"><img src=x onerror="window.hacked=1">', "plain"]
    columns = {name: rng.normal(size=n_rows) for name in names}
    first, second, third = columns.values()
    score = first + second * (third > 0) + rng.normal(scale=0.3, size=n_rows)
    y = np.where(score > 0.3, "<b>yes</b>", "no").astype(object)
    table = pa.table({**columns, "sex": rng.choice(["f", "m"], n_rows).tolist()})
    half = n_rows * 2 // 3
    test = ("<i>test</i>.csv", "", table.slice(half), y[half:])
    return Source("data</script>.csv", "<u>target</u>", "classification", table.slice(0, half), y[:half], test=test)


def is_running(process_id: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        with open(f"/proc/{process_id}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
