"""A kept part of a tree together with a size that is chosen."""

from __future__ import annotations

import numpy as np
import pandas as pd

from omtree import OptimalTreeClassifier
from omtree.constraints import Force, Recall


def test_sizes_that_are_too_small_are_passed_over():
    """A part that needs three leaves, and a recall, leave the choice among sizes of three and more."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    y = np.where(X["a"] + X["b"] > 0, "yes", "no")
    kept = Force({"split": "a", "at": [-0.5, 0.5]})
    model = OptimalTreeClassifier(max_depth=2, max_leaves="auto", constraints=[kept, Recall("yes", at_least=0.5)])
    model.fit(X, y)
    assert len(model.rules_) >= 3
    assert all(check.met for check in model.certificate_.constraints)
