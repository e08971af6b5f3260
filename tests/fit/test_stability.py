"""Stability: fits to resamples of the training rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import omtree

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {"a": RNG.normal(size=150).round(2), "b": RNG.normal(size=150).round(2), "c": RNG.choice(list("xy"), 150)}
)
CLEAR = (X["a"] > 0).to_numpy().astype(int)
NOISE = RNG.integers(0, 2, 150)


def test_a_clear_rule_stays_and_noise_does_not() -> None:
    """Where one column decides, it is always the root and hardly an answer changes; with noise many do."""
    options = {"max_depth": 1, "stability": 8}
    clear = omtree.OptimalTreeClassifier(**options).fit(X, CLEAR).stability_
    noise = omtree.OptimalTreeClassifier(**options).fit(X, NOISE).stability_
    assert clear.resamples == noise.resamples == 8
    assert clear.roots == {"a": 1.0}
    assert clear.change < 0.02
    assert noise.change > 0.1
    assert sum(noise.roots.values()) == pytest.approx(1.0)
    assert "answers that change" in str(noise)
    assert "8 resamples" in noise._repr_html_()


def test_the_change_is_that_of_the_models() -> None:
    """The share of changed answers is that of fits to the very resamples, recomputed from their predictions."""
    model = omtree.OptimalTreeClassifier(max_depth=2, stability=3, random_state=5, binning="quantile").fit(X, NOISE)
    rng = np.random.default_rng(int(np.random.RandomState(5).randint(2**31 - 1)))
    changes = []
    for _ in range(3):
        rows = np.sort(rng.integers(0, 150, 150))
        other = omtree.OptimalTreeClassifier(max_depth=2, random_state=5, binning="quantile")
        other.fit(X.iloc[rows], NOISE[rows])
        changes.append((other.predict(X) != model.predict(X)).mean())
    assert model.stability_.change == pytest.approx(np.mean(changes))


@pytest.mark.parametrize("structure", ["tree", "rules"])
def test_numbers_and_rules(structure: str) -> None:
    """A regressor's change is in standard deviations; rules have columns that are used."""
    model = omtree.OptimalTreeRegressor(max_depth=1, stability=3, structure=structure, max_leaves=2)
    found = model.fit(X, 10.0 * CLEAR + X["b"]).stability_
    assert found.number
    assert 0 <= found.change < 0.5
    assert found.used["a"] == 1.0
    assert found.roots in ([{"a": 1.0}] if structure == "tree" else [{"a": 1.0}, {}])
    assert not hasattr(omtree.OptimalTreeRegressor(max_depth=1).fit(X, X["b"]), "stability_")


def test_bad_numbers() -> None:
    """One resample says nothing."""
    with pytest.raises(ValueError, match="stability"):
        omtree.OptimalTreeClassifier(stability=1).fit(X, CLEAR)
