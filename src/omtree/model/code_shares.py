"""How the training rows are spread over the values of a feature: what later rows are compared with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from omtree.data.table import Feature, Table


def code_shares(table: Table, positions: Iterable[int]) -> dict[int, tuple[float, ...]]:
    """The share of the training weight that has each code of some features.

    Parameters
    ----------
    table : Table
    positions : iterable of int
        The features.

    Examples
    --------
    >>> home = Feature("home", 0, "nominal", 2, False, levels=("own", "rent"))
    >>> table = Table((home,), np.array([[0, 1]], np.uint8), np.array([[3.0], [1.0]]), np.array([0, 0, 0, 1]))
    >>> code_shares(table, [0])
    {0: (0.75, 0.25)}
    """
    weight = table.weight
    total = float(weight.sum())
    if not total > 0:
        return {}
    return {
        place: tuple(
            (np.bincount(table.codes[place], weights=weight, minlength=table.features[place].n_codes) / total).tolist()
        )
        for place in positions
    }


def shares_in(document: Mapping[str, Any], features: Sequence[Feature]) -> dict[int, tuple[float, ...]]:
    """The shares in a saved model; errors are those of Python where they make no sense."""
    found = {}
    for key, shares in document.items():
        place = int(key)
        known = tuple(float(share) for share in shares)
        if not 0 <= place < len(features) or len(known) != features[place].n_codes:
            raise ValueError("the shares of the training rows are not those of a feature")
        if min(known) < 0 or not math.isclose(sum(known), 1.0, rel_tol=1e-6):
            raise ValueError(f"the shares of {features[place].name!r} do not add up to one")
        found[place] = known
    return found
