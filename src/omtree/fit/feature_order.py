"""In which order the features enter the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from omtree.data.table import Feature, FloatArray, Table


def feature_positions(
    feature_order: str | Sequence[str] | None,
    names: Iterable[str],
    features: Sequence[Feature],
    table: Callable[[], tuple[Table, FloatArray | None]],
    seed: int,
) -> list[int] | None:
    """Positions of the features in the order of the graph's levels; None means as they are.

    Parameters
    ----------
    feature_order : None, "importance" or sequence of str
        Features that a list does not name follow those it names, in the order of the columns.
    names : iterable of str
        Names of all columns; constant ones may be named, they are not among the features.
    features : sequence of Feature
        The table's features.
    table : callable
        Makes the table, which only "importance" looks at, and the mean target of its rows where that is a number.
    seed : int
    """
    if feature_order is None:
        return None
    if isinstance(feature_order, str):
        if feature_order != "importance":
            raise ValueError(
                f"feature_order={feature_order!r} is not known; use None, 'importance' or a list of column names."
            )
        made, means = table()
        return importance_order(made, seed, means)
    wanted = list(feature_order)
    known = set(names)
    for name in wanted:
        if name not in known:
            raise ValueError(f"feature_order names the column {name!r}, which the data do not have; remove it.")
    if len(set(wanted)) < len(wanted):
        raise ValueError("feature_order names a column twice; name each at most once.")
    rank = {name: place for place, name in enumerate(wanted)}
    return sorted(range(len(features)), key=lambda f: rank.get(features[f].name, len(rank)))


def importance_order(table: Table, seed: int, means: FloatArray | None = None) -> list[int]:
    """Features by importance in a few shallow random trees on the codes, the most important first.

    Where the target is a number, `means` has its mean in each row.
    """
    options: dict[str, Any] = {"n_estimators": 20, "max_depth": 6, "max_features": None, "random_state": seed}
    model: Any
    if means is None:
        row, label = np.nonzero(table.statistics)
        model = ExtraTreesClassifier(**options)
        model.fit(table.codes.T[row], label, sample_weight=table.statistics[row, label])
    else:
        model = ExtraTreesRegressor(**options).fit(table.codes.T, means, sample_weight=table.weight)
    return [int(f) for f in np.argsort(-model.feature_importances_, kind="stable")]
