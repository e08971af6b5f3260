"""Loss and prediction of many rules at once."""

import numpy as np
import pytest

from omtree.objectives.squared import Squared
from omtree.sources.target import Target


@pytest.mark.parametrize("seed", range(20))
def test_all_rules_at_once(seed):
    """Far from zero, with weights, and where samples of no rule come first."""
    rng = np.random.default_rng(seed)
    n, n_rules = int(rng.integers(8, 60)), int(rng.integers(1, 5))
    values = rng.normal(size=n) * 10.0 ** rng.integers(-3, 4) + rng.choice([0.0, 1e6])
    weights = rng.integers(1, 4, size=n).astype(float)
    owner = np.concatenate([np.arange(n_rules), [-1], rng.integers(-1, n_rules, size=n - n_rules - 1)])
    order = np.argsort(owner, kind="stable")
    starts = np.searchsorted(owner[order], np.arange(n_rules + 1))
    target = Target.of_numbers(values)
    found = Squared().of_rules(target, weights, order, starts)
    assert len(found) == n_rules
    for r, (loss, mean) in enumerate(found):
        inside = owner == r
        plain = np.average(values[inside], weights=weights[inside])
        assert mean == pytest.approx(plain, rel=1e-9)
        scale = (weights[inside] * (values[inside] - plain) ** 2).sum()
        assert loss == pytest.approx(scale, rel=1e-6, abs=1e-12 * np.abs(values).max() ** 2)
