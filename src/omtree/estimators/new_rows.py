"""Rows that come to an estimator: where they are, and whether their columns are those of the fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from narwhals.dependencies import is_into_dataframe
from sklearn.utils.validation import validate_data

from omtree.data.columns import as_row, check_labels, is_number_matrix
from omtree.model.answering import check_there
from omtree.sources.cluster.frames import is_dask
from omtree.sources.disk.scan import Scan, is_lazy, is_scan

if TYPE_CHECKING:
    from omtree.estimators.base import OptimalTreeBase


def is_elsewhere(X: Any) -> bool:
    """Whether rows are not in memory: on disk, or on a cluster."""
    return is_scan(X) or is_dask(X)


def check_new_rows(estimator: OptimalTreeBase, X: Any, wanted: Sequence[str]) -> bool:
    """Whether columns are to be found by name: those that are needed have to be there; else the number has to match."""
    labels = list(row) if (row := as_row(X)) is not None else check_labels(X) if is_into_dataframe(X) else None
    if labels is not None and "feature_names_in_" in vars(estimator):
        check_there(labels, wanted)
        return True
    if row is not None:
        raise ValueError("The model was fitted to columns without names; give rows as an array.")
    check_names(estimator, X, reset=False)
    return False


def check_names(estimator: OptimalTreeBase, X: Any, *, reset: bool) -> None:
    """Learn, or compare, the number and the names of the columns; the rest is read with the columns."""
    if isinstance(X, Scan):
        raise ValueError(
            "X is a scan, which only fit takes; read its rows in parts, or run omtree predict on the files."
        )
    if is_lazy(X):
        raise ValueError("X is a lazy frame or a relation, which only fit takes; compute it first, or parts of it.")
    # Where names or a number of columns are learnt, this is what scikit-learn would come to, in a tenth of the time.
    if is_number_matrix(X):
        if reset:
            estimator.__dict__.pop("feature_names_in_", None)
            estimator.n_features_in_ = X.shape[1]
        else:
            validate_data(estimator, X, reset=False, skip_check_array=True)
    elif is_into_dataframe(X):
        # Equal names are refused here, before scikit-learn stumbles over them.
        labels = check_labels(X)
        if reset and labels and all(type(label) is str for label in labels):
            estimator.feature_names_in_ = np.array(labels, dtype=object)
            estimator.n_features_in_ = len(labels)
        else:
            validate_data(estimator, X, reset=reset, skip_check_array=True)
    else:
        validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False)
