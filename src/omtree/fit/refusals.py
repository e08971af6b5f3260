"""What cannot be asked: limits that do not go together, and losses that cannot be written as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from omtree.data.table import FloatArray
from omtree.objectives import Objective, RuleStatistics
from omtree.sources.target import Target

#: Losses below this lose digits, and differences of them all of theirs.
LEAST_LOSS = 1e-305


def check_losses(objective: Objective, target: Target, weight: FloatArray) -> None:
    """Refuse numeric targets whose loss overflows, or vanishes though they differ; your own losses may do so."""
    if not target.is_number or type(objective).kernel is Objective.kernel:
        return
    if len(weight) != len(target.values) or len(weight) == 0:
        return  # samples elsewhere, which are checked once their targets and weights are read
    inside = weight > 0
    targets = target.values[inside]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        spread = np.ptp(targets)
        loss = objective.loss(RuleStatistics.of_samples(target, weight, inside))
    if not np.isfinite(spread) or not np.isfinite(loss):
        raise ValueError(f"The targets in y, or their weights, are too large for {objective.unit}; divide them.")
    if spread > 0 and loss < LEAST_LOSS:
        raise ValueError(f"The targets in y, or their weights, are too small for {objective.unit}; multiply them.")


def check_size(values: Mapping[str, Any]) -> None:
    """Complain about limits on the size of a model that do not go together."""
    if values["leaf_price"] > 0:
        if values["structure"] != "tree":
            raise ValueError("leaf_price is for trees; use structure='tree', or limit the rules by max_leaves.")
        if values["max_leaves"] == "auto":
            raise ValueError("max_leaves='auto' chooses a size by itself; leave it out, or leaf_price.")
    elif values["max_depth"] is None and values["max_leaves"] in (None, "auto"):
        raise ValueError("max_depth=None needs another limit on the size of the model; give max_leaves or leaf_price.")
