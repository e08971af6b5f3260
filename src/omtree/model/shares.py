"""The shares of classes in rules as probabilities."""

from __future__ import annotations

import numpy as np

from omtree.data.table import FloatArray
from omtree.model.rules import RuleSet

#: Rows that are added to every rule, shared among the classes, where nothing else is said.
ADDED_ROWS = 2.0


def class_shares(rules: RuleSet, smoothing: float | None, mean_weight: float = 1.0) -> FloatArray:
    """The probability of each class in each rule.

    Parameters
    ----------
    rules : RuleSet
    smoothing : float or None
        Rows that are added to every class; None: two rows, shared among the classes.
    mean_weight : float
        What a row weighs on average, so that the unit of weights does not matter.

    Returns
    -------
    array of float, shape (n_rules, n_classes)
    """
    added = ADDED_ROWS / len(rules.classes) if smoothing is None else smoothing
    weights = np.array([rule.class_weights for rule in rules]) + added * mean_weight
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
