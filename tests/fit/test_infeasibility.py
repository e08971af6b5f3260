"""Why there is no model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from omtree import InfeasibleError, OptimalTreeClassifier
from omtree.constraints import Accuracy, Exclude


@pytest.mark.parametrize("structure", ["tree", "rules"])
@pytest.mark.parametrize("binning", ["adaptive", "quantile", "exact"])
def test_a_column_kept_out_is_a_part_of_the_reason(binning: str, structure: str) -> None:
    """Only with the column that is kept out does a model meet the limit, so that both are named; 24 numbers are cut."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"colour": rng.choice(list("abc"), 24), "x": rng.normal(size=24), "z": rng.normal(size=24)})
    y = ((X["x"] > 0) ^ (X["colour"] == "a")).astype(int)
    limits = {"max_depth": 2, "max_leaves": 4, "min_samples_leaf": 1, "structure": structure, "binning": binning}
    constraints = [Exclude({"colour"}), Accuracy(at_least=0.9)]
    assert OptimalTreeClassifier(constraints=constraints[1:], **limits).fit(X, y).certificate_.value <= 2.4
    with pytest.raises(InfeasibleError, match=r"meets Exclude\(.*\) and Accuracy\(.*\) together"):
        OptimalTreeClassifier(constraints=constraints, **limits).fit(X, y)
