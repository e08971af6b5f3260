"""Trees near an old one: every row that gets another answer than before has a price."""

from __future__ import annotations

from typing import Any

import numpy as np

from omtree.data.table import FloatArray
from omtree.estimators.parameters import is_number
from omtree.sources.target import encode_labels


def costs_near(old: Any, change_price: float | None, X: Any, y: Any) -> FloatArray:
    """What each answer costs for each row: an error, and the price of another answer than the old model's.

    Parameters
    ----------
    old : fitted classifier
    change_price : float
        In errors.
    X, y
        The new rows, and their classes.

    Returns
    -------
    array of float, shape (n_samples, n_classes)
        The columns are the sorted classes of `y`.
    """
    if not is_number(change_price) or not 0 <= change_price < np.inf:  # type: ignore[operator]
        raise ValueError(f"change_price={change_price!r} is not possible; use a number of at least 0, in errors.")
    if not hasattr(old, "predict"):
        raise ValueError(f"near={old!r} is no fitted model; give one that predicts classes.")
    classes, labels = encode_labels(y)
    before = np.asarray(old.predict(X))
    places = np.arange(len(classes))
    changed = before[:, None] != np.asarray(classes)[None, :]
    return np.asarray((labels[:, None] != places) + float(change_price or 0.0) * changed, dtype=np.float64)
