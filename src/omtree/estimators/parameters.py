"""Checks of an estimator's parameters, each complaint one sentence that names the parameter and what to do."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from omtree.constraints import Constraint

_CHOICES: Mapping[str, tuple[str | None, ...]] = {
    "structure": ("tree", "rules"),
    "categories": ("groups", "values"),
    "splits": ("multiway", "binary"),
    "binning": ("adaptive", "quantile", "supervised", "exact"),
    "preset": (None, "paper"),
    "selection": ("best", "one_se"),
}

_INTEGERS = (int, np.integer)


def check_parameters(params: Mapping[str, Any]) -> None:
    """Complain about the first parameter whose value makes no sense, whatever the data.

    Examples
    --------
    >>> check_parameters({"max_depth": 0})
    Traceback (most recent call last):
    ...
    ValueError: max_depth=0 is not possible; use a whole number of at least 1.
    """
    for name, value in params.items():
        if name in _CHOICES:
            if not any(value is choice or value == choice for choice in _CHOICES[name]):
                raise ValueError(f"{name}={value!r} is not known; use {_options(_CHOICES[name])}.")
        elif name in _CHECKS:
            wanted = _CHECKS[name](value)
            if wanted:
                raise ValueError(f"{name}={value!r} is not possible; use {wanted}.")


def least_support(min_samples_leaf: float, weight: float) -> float:
    """The least weight of a rule: a whole number is a weight, a fraction is a share of all the weight.

    Examples
    --------
    >>> least_support(5, 200.0), least_support(0.01, 200.0)
    (5.0, 2.0)
    """
    if not isinstance(min_samples_leaf, _INTEGERS):
        return float(min_samples_leaf) * weight
    if min_samples_leaf > weight:
        raise ValueError(
            f"min_samples_leaf={min_samples_leaf!r} is above the weight of all rows, {weight:g}; use a smaller one."
        )
    return float(min_samples_leaf)


def most_leaves(max_leaves: int | None, max_depth: int, n_samples: int) -> int:
    """The most rules of a model: ``2**max_depth`` unless given, and never more than rows."""
    if max_leaves is None:
        return n_samples if max_depth > 60 else min(2**max_depth, n_samples)
    if max_leaves > n_samples:
        raise ValueError(f"max_leaves={max_leaves!r} is more than the {n_samples} rows of the data; use fewer leaves.")
    return int(max_leaves)


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, _INTEGERS) and not isinstance(value, bool) and int(value) >= least


def _number(value: Any) -> bool:
    numbers = (*_INTEGERS, float, np.floating)
    return isinstance(value, numbers) and not isinstance(value, bool) and not math.isnan(value)


def _max_depth(value: Any) -> str:
    return "" if _whole(value, 1) else "a whole number of at least 1"


def _max_leaves(value: Any) -> str:
    fine = value is None or _whole(value, 1) or (isinstance(value, str) and value == "auto")
    return "" if fine else "None, 'auto' or a whole number of at least 1"


def _cv(value: Any) -> str:
    fine = value is None or _whole(value, 2)
    fine |= not isinstance(value, str) and (hasattr(value, "split") or isinstance(value, Iterable))
    return "" if fine else "None, a number of folds of at least 2, a splitter, or pairs of row numbers (train, test)"


def _max_children(value: Any) -> str:
    return "" if value is None or _whole(value, 2) else "None or a whole number of at least 2"


def _min_samples_leaf(value: Any) -> str:
    if _whole(value, 1) or (_number(value) and not isinstance(value, _INTEGERS) and 0 < value <= 1):
        return ""
    return "a whole number of at least 1 (a weight) or a fraction above 0 and at most 1 (a share)"


def _n_bins(value: Any) -> str:
    return "" if _whole(value, 2) and value <= 250 else "a whole number from 2 to 250"


def _time_limit(value: Any) -> str:
    return "" if value is None or (_number(value) and value > 0) else "a positive number of seconds, or None"


def _gap(value: Any) -> str:
    return "" if _number(value) and 0 <= value < 1 else "a fraction of at least 0 and below 1"


def _cache_mb(value: Any) -> str:
    return "" if _number(value) and value > 0 else "a positive number of megabytes"


def _smoothing(value: Any) -> str:
    return "" if _number(value) and 0 <= value < math.inf else "a number of at least 0"


def _constraints(value: Any) -> str:
    fine = isinstance(value, Iterable) and all(isinstance(item, Constraint) for item in value)
    return "" if fine else "a sequence of constraint objects"


def _feature_kinds(value: Any) -> str:
    return "" if value is None or isinstance(value, Mapping) else "None or a dict from columns to kinds"


def _feature_order(value: Any) -> str:
    return "" if value is None or isinstance(value, Iterable) else "None, 'importance' or a list of column names"


def _n_jobs(value: Any) -> str:
    fine = value is None or (isinstance(value, _INTEGERS) and not isinstance(value, bool) and value != 0)
    return "" if fine else "None, a number of threads, or -1 for all of them"


_CHECKS = {
    "max_depth": _max_depth,
    "max_leaves": _max_leaves,
    "cv": _cv,
    "max_children": _max_children,
    "min_samples_leaf": _min_samples_leaf,
    "n_bins": _n_bins,
    "time_limit": _time_limit,
    "gap": _gap,
    "cache_mb": _cache_mb,
    "smoothing": _smoothing,
    "constraints": _constraints,
    "feature_kinds": _feature_kinds,
    "feature_order": _feature_order,
    "n_jobs": _n_jobs,
}


def _options(choices: tuple[str | None, ...]) -> str:
    texts = [repr(choice) for choice in choices]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"
