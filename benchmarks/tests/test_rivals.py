"""Every adapter that can run here keeps the interface; those that cannot say why."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.rivals import ADAPTERS, TITLES, Absent, Limits, find

#: Trees over the same 0/1 columns, depth and support: their optima are equal.
BINARY = ("streed", "dl85", "contree", "flowoct")


def table(n: int = 90, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Three binary columns and one of three values; the class depends on two of them, with noise."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (n, 3))
    third = rng.integers(0, 3, n)
    X = pd.DataFrame({f"b{j}": pd.Categorical(np.where(codes[:, j] == 1, "yes", "no")) for j in range(3)})
    X["level"] = pd.Categorical(
        np.array(["low", "mid", "high"])[third], categories=["low", "mid", "high"], ordered=True
    )
    y = np.where((codes[:, 0] ^ (third > 0)) == (rng.random(n) < 0.1), "no", "yes").astype(object)
    return X, y


def ready(name: str) -> None:
    """Leave the test where the method is not installed."""
    try:
        find(name).version()
    except Absent as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_fits_predicts_and_counts(name: str) -> None:
    """A fit makes as many errors as its predictions do, beats the best constant, and takes some time."""
    ready(name)
    X, y = table()
    rival = find(name)
    found = rival.fit(X, y, 2, Limits(2.0))
    assert found.errors == (found.predict(X) != y).sum()
    assert found.errors < min((y == "yes").sum(), (y == "no").sum())
    assert found.seconds > 0
    assert set(found.predict(X.iloc[:7])) <= set(y)


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_option_of_the_grid_is_accepted(name: str) -> None:
    """Whatever validation may choose can be fitted."""
    ready(name)
    X, y = table(40)
    rival = find(name)
    errors = [rival.fit(X, y, 2, Limits(1.0), **options).errors for options in rival.grid(X, 2)]
    assert all(0 <= count <= len(y) for count in errors)


def test_binary_methods_agree_on_the_optimum() -> None:
    """Four exact methods for binary trees find the same number of errors, and ours with binary splits too."""
    X, y = table()
    limits = Limits(60.0, support=1 / len(y))
    found = {"ours": find("tree").fit(X, y, 2, limits, splits="binary")}
    for name in BINARY:
        try:
            find(name).version()
        except Absent:
            continue
        found[name] = find(name).fit(X, y, 2, limits)
    assert len(found) > 1
    assert all(one.proven for one in found.values())
    assert len({one.errors for one in found.values()}) == 1


def test_smaller_trees_come_without_a_fit() -> None:
    """Our tree offers the best tree of every useful size; fewer leaves never make fewer errors."""
    X, y = table()
    found = find("tree").fit(X, y, 3, Limits(20.0))
    assert found.smaller is not None
    errors = [found.smaller(size).errors for size in found.sizes]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] == found.errors


def test_an_absent_method_says_so() -> None:
    """A package that is not installed is told by name."""
    from benchmarks.rivals.base import package_version

    with pytest.raises(Absent, match="no-such-package"):
        package_version("no-such-package")


def test_every_method_has_a_title() -> None:
    """Tables can name every method."""
    assert set(ADAPTERS) <= set(TITLES)


def test_chaid_answers_for_a_value_it_never_saw() -> None:
    """A row with a value that no training row had still gets a class."""
    ready("chaid")
    X, y = table(200)
    X = X.assign(level=X["level"].cat.add_categories(["none"]))
    found = find("chaid").fit(X, y, 2, Limits())
    unseen = pd.Categorical(["none"] * 200, categories=X["level"].cat.categories, ordered=True)
    assert set(found.predict(X.assign(level=unseen))) <= set(y)
