"""What a policy is fitted to, as the user gave it: rewards, actions and outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from omtree.data.table import FloatArray
from omtree.sources.target import MAX_CLASSES, check_rewards


def given_rewards(rewards: Any, actions: npt.NDArray[Any] | None) -> tuple[FloatArray, npt.NDArray[Any]]:
    """Rewards that are known, and the actions: names of columns, or their numbers."""
    shape = np.shape(rewards)
    if len(shape) != 2 or shape[1] < 2 or shape[1] > MAX_CLASSES:
        raise ValueError(
            f"rewards has shape {shape}; give a row for each row of X, and a column for each of 2 to {MAX_CLASSES} "
            "actions."
        )
    if actions is None:
        labels: Sequence[Any] | None = getattr(rewards, "columns", None)
        actions = np.arange(shape[1]) if labels is None else np.array([str(label) for label in labels], dtype=object)
    return check_rewards(rewards, shape[0], actions.tolist()), actions


def places_of(labels: npt.NDArray[Any], actions: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """The place of each label among the actions of a fitted model."""
    known = {action: place for place, action in enumerate(actions.tolist())}
    unknown = [label for label in labels.tolist() if label not in known]
    if unknown:
        raise ValueError(f"treatment has the action {unknown[0]!r}, which the policy does not know; leave it out.")
    return np.array([known[label] for label in labels.tolist()], dtype=np.intp)


def numbers_named(check: Any, values: Any, name: str) -> FloatArray:
    """Numbers, with complaints that name what they are."""
    try:
        return np.asarray(check(values))
    except ValueError as fault:
        raise ValueError(str(fault).replace("y ", f"{name} ", 1)) from None
