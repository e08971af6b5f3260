"""The tiny frames have what they promise, and their codes are right."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers.tiny_frames import code, random_grouped, random_regression


def test_codes_by_hand() -> None:
    """Numbers and present sizes in their order, text by the alphabet, missing cells last; equal rows are one."""
    sizes = pd.Categorical(["L", "S", "L", None], categories=["S", "M", "L"], ordered=True)
    X = pd.DataFrame({"number": [5.0, -1.0, 5.0, np.nan], "size": sizes, "colour": ["red", "blue", "red", "red"]})
    coded = code(X)
    assert coded.codes[:, coded.row_of].tolist() == [[1, 0, 1, 2], [1, 0, 1, 2], [1, 0, 1, 1]]
    assert coded.codes.shape == (3, 3)
    assert [(f.kind, f.n_values, f.has_missing) for f in coded.features] == [
        ("numeric", 2, True),
        ("ordinal", 2, True),
        ("nominal", 2, False),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_frames_are_small_and_varied(seed: int) -> None:
    """At most ten distinct rows of two or three columns of at most five codes; targets, groups, weights as promised."""
    rng = np.random.default_rng(seed)
    numbers, counts, grouped = random_regression(rng), random_regression(rng, counts=True), random_grouped(rng, 3)
    for data in (numbers, counts, grouped):
        coded = code(data.X)
        assert 2 <= len(coded.features) <= 3
        assert 2 <= coded.codes.shape[1] <= 10
        assert all(2 <= f.n_codes <= 5 for f in coded.features)
        assert len(data.X) == len(data.y) == len(data.weight) == len(coded.row_of) <= 14
        assert (data.weight >= 0.5).all()
    assert counts.y.min() >= 0 < counts.y.max()
    assert set(grouped.y) == {0, 1, 2}
    assert set(grouped.group) == {"a", "b"}


def test_every_kind_of_column_and_cell_turns_up() -> None:
    """Among a few frames there are all kinds, each with and without missing cells, and all kinds of weights."""
    frames = [random_regression(np.random.default_rng(seed)) for seed in range(60)]
    seen = {(f.kind, f.has_missing) for data in frames for f in code(data.X).features}
    assert seen == {(kind, missing) for kind in ("numeric", "ordinal", "nominal") for missing in (False, True)}
    assert {bool((data.weight % 1).any()) for data in frames} == {False, True}
    assert any((data.weight == 1).all() for data in frames)
