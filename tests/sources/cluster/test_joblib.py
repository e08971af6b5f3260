"""Many fits at once go where joblib sends them."""

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

from omtree import OptimalTreeClassifier


@pytest.mark.parametrize("backend", ["loky", "dask"])
def test_cross_validation_moves_to_another_backend(backend):
    """Models are pickled to the workers of the backend, and the scores are those of one process."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = OptimalTreeClassifier(max_depth=2, binning="quantile")
    expected = cross_val_score(model, X, y, cv=3)
    if backend == "loky":
        with joblib.parallel_config(backend="loky", n_jobs=2):
            found = cross_val_score(model, X, y, cv=3)
    else:
        distributed = pytest.importorskip("distributed")
        cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0")
        with cluster, distributed.Client(cluster), joblib.parallel_config(backend="dask"):
            found = cross_val_score(model, X, y, cv=3)
    np.testing.assert_array_equal(found, expected)
