"""The population stability index, and what of it is chance."""

from __future__ import annotations

import math

import numpy as np
import pytest

from omtree.papers.shift import shift_of


def test_index_by_hand():
    """The index is the sum of differences of shares times the logarithms of their ratios."""
    before, now = np.array([30.0, 50.0, 20.0]), np.array([100.0, 60.0, 40.0])
    found = shift_of("x", ["a", "b", "c"], before, now)
    wanted = sum((n - b) * math.log(n / b) for b, n in zip(before / before.sum(), now / now.sum(), strict=True))
    assert found.index == pytest.approx(wanted)
    assert found.bins[found.most_changed] == "a" or found.bins[found.most_changed] == "b"


def test_empty_bins_count_half_a_row():
    """A bin that was empty does not make the index infinite, and one empty in both is left out."""
    found = shift_of("x", ["a", "b", "c"], np.array([10.0, 0.0, 0.0]), np.array([5.0, 5.0, 0.0]))
    assert found.bins == ("a", "b")
    wanted = (0.5 - 1.0) * math.log(0.5) + (0.5 - 0.05) * math.log(0.5 / 0.05)
    assert found.index == pytest.approx(wanted)


def test_chance_is_exceeded_once_in_a_hundred():
    """Two samples of the same population exceed what is called chance in about one of a hundred cases."""
    rng = np.random.default_rng(0)
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    above = 0
    for _ in range(2000):
        found = shift_of("x", list("abcd"), rng.multinomial(400, shares) * 1.0, rng.multinomial(300, shares) * 1.0)
        above += found.index > found.chance
    assert 8 <= above <= 40


def test_few_rows_are_no_alarm():
    """A large index of a handful of rows may be chance, and is said to be."""
    found = shift_of("x", ["a", "b"], np.array([500.0, 500.0]), np.array([4.0, 1.0]))
    assert found.index > 0.25
    assert not found.alarming
    assert found.words == "may be chance"


def test_nothing_to_compare():
    """Without rows there is no shift."""
    assert shift_of("x", ["a", "b"], np.zeros(2), np.ones(2)) is None
